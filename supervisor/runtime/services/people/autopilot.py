"""Autopilot: a stretch without a person, with checkpoints before it, an end or a budget, and a report after it.

At its end, or once its budget is spent, no new task is claimed and all agents are held as their turns end, until a
person resumes them. The stretch is kept by the journal, so a restart of the daemon changes nothing; each step of its
end is taken once, since a crash between two of them is followed by the rest.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Protocol

import anyio.to_thread

from checkpoints.model import Reason
from checkpoints.workspace.repository import project_of
from monitors.contract.errors import UsageError
from monitors.contract.wording import dollars
from monitors.contract.words import Severity
from supervisor.core.registers.standing import AUTOPILOT_PAUSE
from supervisor.protocol.events import AutopilotBegan, AutopilotEnded
from supervisor.protocol.kinds.orders import OrderGiven
from supervisor.runtime.daemon_parts import BootParts, FaultParts, TimeParts
from supervisor.runtime.log import log
from supervisor.runtime.services.people import orders
from supervisor.runtime.services.people.autopilot_report import report_text
from supervisor.runtime.services.people.orders import OrderParts

LONGEST_SECONDS = 14 * 86_400.0
"""Longest stretch: two weeks, a vacation."""

BY = "chaperon"
"""The author of what follows from its end."""

FOLDER = "autopilot"
"""The folder of the reports, in the state directory."""


class ProjectCheckpointMaker(Protocol):
    """Makes checkpoints of whole projects."""

    async def make(
        self, project: str, name: str, by: str, *, reason: Reason = ..., note: str = "", once: bool = False
    ) -> object:
        """Capture a project under a name; raises ChaperonError if it cannot be."""
        ...


class AutopilotParts(OrderParts, TimeParts, BootParts, FaultParts, Protocol):
    """The parts of the daemon that autopilot needs."""

    @property
    def projects(self) -> ProjectCheckpointMaker:
        """Makes checkpoints of whole projects."""
        ...


@dataclass(frozen=True, slots=True)
class AutopilotWanted:
    """A stretch that a person asks for."""

    id: str
    until: float | None
    """Unix time in seconds."""
    max_cost_usd: float | None
    reason: str = ""


class Autopilot:
    """Begins and ends stretches without a person. All that it knows is in the journal's fold, so there may be several.

    Args:
        daemon: Gives time and costs, and takes orders.
        state: The state directory, for reports.
        checkpoint_before: Returns whether projects are captured before.
    """

    def __init__(
        self, daemon: AutopilotParts, state: Path, checkpoint_before: Callable[[], bool] = lambda: True
    ) -> None:
        self._daemon, self._folder, self._checkpoint_before = daemon, state / FOLDER, checkpoint_before

    async def begin(self, wanted: AutopilotWanted, by: str) -> AutopilotBegan:
        """Begin one; a request that comes twice begins one.

        Raises:
            UsageError: It has neither end nor budget, its end is past or too far, or another is under way.
            ChaperonError: A project could not be captured. Nothing was begun.
        """
        known = self._daemon.board.orders
        if known.autopilot is not None and known.autopilot.id == wanted.id:
            return known.autopilot
        self._refuse(wanted)
        at = datetime.fromtimestamp(self._daemon.wall(), UTC)
        name = at.strftime("before-autopilot-%Y-%m-%dT%H-%M-%S")
        projects = await self._projects() if self._checkpoint_before() else []
        for project in projects:
            note = f"before {by} left the agents alone"
            await self._daemon.projects.make(project, name, by, reason=Reason.UNATTENDED, note=note, once=True)
        self._refuse(wanted)  # that took its time
        began = AutopilotBegan(
            **self._daemon.stamp(""),
            id=wanted.id,
            by=by,
            until=wanted.until,
            max_cost_usd=wanted.max_cost_usd,
            spent_before_usd=self._daemon.board.costs.cost_usd,
            checkpoints=tuple(f"{project}: {name}" for project in projects),
            reason=wanted.reason,
            boot_id=self._daemon.boot_id(),
        )
        for pause in [each for each in known.pauses.values() if each.id.startswith(AUTOPILOT_PAUSE)]:
            await self._order("resume", f"{pause.id}-over-{wanted.id}", by, lifts=pause.id)
        await self._daemon.journal.written(self._daemon.happened(began))
        return began

    async def look(self) -> None:
        """End the one that is under way if its time is over or its budget is spent."""
        began = self._daemon.board.orders.autopilot
        if began is None:
            return
        if self._is_over(began):
            await self.end(began, "time", BY)
        elif began.max_cost_usd is not None and self.spent(began) >= began.max_cost_usd:
            await self.end(began, "budget", BY)

    async def end(self, began: AutopilotBegan, why: Literal["time", "budget", "person"], by: str) -> AutopilotEnded:
        """End it: hold the agents unless a person is there again, write the report, and tell people."""
        spent = self.spent(began)
        if why != "person":
            reached = (
                "its end was reached" if why == "time" else f"its budget of {dollars(began.max_cost_usd or 0)} is spent"
            )
            await self._order(
                "pause", f"{AUTOPILOT_PAUSE}{began.id}", BY, reason=f"autopilot is over: {reached}", at_turn_end=True
            )
        if self._daemon.board.orders.autopilot is not began:  # another request ended it meanwhile
            return self._daemon.board.orders.autopilot_before or _nothing(began, spent, by)
        text = report_text(self._daemon.board, began, why, spent, self._daemon.wall())
        path = await anyio.to_thread.run_sync(self._write, began.id, text)
        ended = AutopilotEnded(**self._daemon.stamp(""), id=began.id, why=why, by=by, spent_usd=spent, report=path)
        await self._daemon.journal.written(self._daemon.happened(ended))
        if why != "person":
            what = f"Autopilot is over ({'its end was reached' if why == 'time' else 'its budget is spent'}), at {dollars(spent)}."
            what += " All agents stand still as their turns end, and no new task is claimed."
            way_out = f"{f'The report: {path}. ' if path else ''}To go on: chaperon resume --all"
            self._daemon.fault("", "autopilot_over", what, Severity.MEDIUM, way_out)
        return ended

    def spent(self, began: AutopilotBegan) -> float:
        """Return the cost of all agents since it began, in US dollars."""
        return max(0.0, self._daemon.board.costs.cost_usd - began.spent_before_usd)

    def _is_over(self, began: AutopilotBegan) -> bool:
        """Whether its end is reached by either clock: one that is set back would make it longer."""
        if began.until is None or self._daemon.wall() >= began.until:
            return began.until is not None
        same_boot = began.boot_id != "" and began.boot_id == self._daemon.boot_id()
        return same_boot and self._daemon.mono() - began.mono >= began.until - began.at

    def _refuse(self, wanted: AutopilotWanted) -> None:
        under_way, now = self._daemon.board.orders.autopilot, self._daemon.wall()
        if under_way is not None:
            raise UsageError(
                f"{under_way.by} has begun an autopilot that is under way; nothing was changed.",
                way_out="See it with chaperon autopilot, or end it: chaperon autopilot --off",
            )
        if wanted.until is None and wanted.max_cost_usd is None:
            raise UsageError(
                "An autopilot needs an end or a budget; nothing was begun.",
                way_out="Say --for 8h, --until 07:00, --max-cost 20, or two of them.",
            )
        if wanted.until is not None and not now < wanted.until <= now + LONGEST_SECONDS:
            raise UsageError("The end of an autopilot lies ahead, within two weeks; nothing was begun.")

    async def _projects(self) -> Sequence[str]:
        """Return the projects in which agents work or tasks are open."""
        board = self._daemon.board
        found = {one.project for one in board.at_work() if one.project}
        places = {task.spec.repository for task in (*board.tasks.pending(), *board.tasks.held())}

        def look() -> set[str]:
            return {str(project_of(Path(place))) for place in places if Path(place).is_dir()}

        return sorted(found | (await anyio.to_thread.run_sync(look) if places else set()))

    async def _order(self, control: Literal["pause", "resume"], id_: str, by: str, **about: Any) -> None:
        await orders.give(self._daemon, OrderGiven(**self._daemon.stamp(""), id=id_, control=control, by=by, **about))

    def _write(self, id_: str, text: str) -> str:
        """Write the report; returns its path, empty if it cannot be written. Blocks."""
        path = self._folder / f"{id_}.txt"
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            path.write_text(text, encoding="utf-8", errors="replace")
        except OSError as error:
            log.warning("the report of the autopilot could not be written to %s (%s)", path, error)
            return ""
        return str(path)


def _nothing(began: AutopilotBegan, spent: float, by: str) -> AutopilotEnded:
    return AutopilotEnded(agent="", at=began.at, mono=began.mono, id=began.id, why="person", by=by, spent_usd=spent)
