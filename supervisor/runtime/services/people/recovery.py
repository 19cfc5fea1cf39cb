"""The ways back from an incident, carried out from its report alone, on another day and by another daemon."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from pydantic import ValidationError

from host.folders import remove_folder
from interventions.recovery_options import Resumption, carry_out
from monitors.contract import anyjson
from monitors.contract.errors import NotFoundError, UsageError
from supervisor.core.board import Board
from supervisor.protocol import events
from supervisor.runtime.clock import Clock
from supervisor.runtime.daemon.submission import NAME, OwnApproval, Submission, UnavailableError
from supervisor.runtime.incidents.log import REPORTS_NAME, SAFE_ID
from supervisor.runtime.journal.journal import Journal
from supervisor.runtime.protection.protector import UNPROTECTED, Protector

LONGEST_NAME = 28
"""Of an agent's 32 characters, those that its successor's name keeps before `-r1`."""

Restore = Callable[[str, str, str], Awaitable[object]]
"""Sets the files of an agent's workspace back to a checkpoint: the agent, the checkpoint, and who asks."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """The recovery that was done."""

    option: str
    agent: str
    """The agent that goes on; empty if none does."""
    says: str
    """The same for a person."""


class Recovering:
    """Carries out recovery options.

    Args:
        board: All agents.
        happened: Takes in what was done; returns its number in the journal.
        journal: Says when that is on disk.
        clock: Tells the time that events carry.
        submit: Starts the agents that go on.
        give_up: Removes a workspace; returns why it was left, empty if it is gone.
        state: The state directory, with the reports and the agents' directories.
        restore: Sets files back; None if this daemon cannot.
        protector: Gives reports back in full.
    """

    def __init__(
        self,
        board: Board,
        happened: Callable[[events.AnyEvent], int],
        journal: Journal,
        clock: Clock,
        submit: Callable[[Submission, str], Awaitable[object]],
        give_up: Callable[[str], Awaitable[str]],
        state: Path,
        restore: Restore | None = None,
        protector: Protector = UNPROTECTED,
    ) -> None:
        self._protector = protector
        self._board = board
        self._happened = happened
        self._journal = journal
        self._clock = clock
        self._submit = submit
        self._give_up = give_up
        self._state = state
        self._restore = restore

    async def report(self, incident: str) -> dict[str, Any]:
        """The report of an incident.

        Raises:
            NotFoundError: There is none, or it cannot be read.
        """
        path = self._state / REPORTS_NAME / f"{incident}.json"
        if not SAFE_ID.fullmatch(incident):
            raise NotFoundError(
                f"{incident!r} is no incident's id.", way_out="chaperon incidents lists them, with their ids as --json."
            )
        try:
            read = anyjson.decode(self._protector.whole_report(incident, await anyio.Path(path).read_bytes()))
        except FileNotFoundError:
            raise NotFoundError(
                f"The incident {incident!r} has no report, so there is nothing to recover from.",
                way_out="chaperon incidents says what can be done about it; only stops have reports.",
            ) from None
        except (OSError, ValueError) as error:
            raise NotFoundError(
                f"The report {path} cannot be read ({error}); nothing was done.",
                way_out="The journal has it too: chaperon tail --json.",
            ) from None
        if not isinstance(read, dict):
            raise NotFoundError(f"The report {path} is no object; nothing was done.")
        return read

    async def carry_out(self, incident: str, option: str, by: str) -> Recovered:
        """Carry one option out.

        Raises:
            NotFoundError: There is no such incident.
            UsageError: There is no such option, it is not possible, or its agent still runs.
            UnavailableError: This daemon cannot restore checkpoints.
        """
        report = await self.report(incident)
        wanted = carry_out(report, option)
        self._refuse_running(wanted)
        done = await self._carried_out(incident, report, wanted, by)
        agent = wanted.agent
        with suppress(NotFoundError):  # a report from a state directory whose journal is gone
            self._board.summary(agent)
            seq = self._happened(
                events.RecoveryTaken(
                    **self._clock.stamp(agent),
                    incident_id=incident,
                    option=wanted.option,
                    by=by,
                    successor=done.agent,
                )
            )
            await self._journal.written(seq)
        return done

    async def options(self, incident: str) -> list[dict[str, str]]:
        """Return the ways back from an incident for people, each with who took it already; raises like `report`."""
        report = await self.report(incident)
        rows, agent = listed(report), str(report.get("agent", ""))
        with suppress(NotFoundError):
            for row, taken in ((row, taken) for taken in self._board.summary(agent).recovered for row in rows):
                if (taken.incident, taken.option) == (incident, row["option"]):
                    when = datetime.fromtimestamp(taken.at, UTC).isoformat(" ", "seconds")
                    goes_on = f": agent {taken.successor} went on" if taken.successor else ""
                    row["taken"] = f"by {taken.by} at {when}{goes_on}"
        return rows

    async def _carried_out(self, incident: str, report: Mapping[str, Any], wanted: Resumption, by: str) -> Recovered:
        if wanted.clean_up:
            rows = (row for row in report.get("recovery_options", ()) if row.get("option") == wanted.option)
            return await self._clean_up(wanted, [left for row in rows for left in _to_clear(row)])
        submission = self._submission(wanted, incident)  # before files are set back: it may be refused
        if wanted.checkpoint:
            if self._restore is None:
                raise UnavailableError(
                    f"This daemon cannot set files back to checkpoint {wanted.checkpoint!r}; nothing was done.",
                    way_out=f"Go on without: chaperon recover {incident} resume-with-limits",
                )
            await self._restore(wanted.agent, wanted.checkpoint, by)
        return await self._go_on(wanted, submission, by)

    def _refuse_running(self, wanted: Resumption) -> None:
        """A Claude session has one owner, and a workspace that is cleaned up has none."""
        session = wanted.task.resume_session if wanted.task else None
        for known in self._board.at_work():
            if known.agent == wanted.agent or known.session_id == session or known.workspace == wanted.workspace:
                raise UsageError(
                    f"Agent {known.agent!r} is {known.state} there, so nothing was done.",
                    way_out=f"Stop it first: chaperon stop {known.agent}",
                )

    async def _go_on(self, wanted: Resumption, submission: Submission, by: str) -> Recovered:
        await self._submit(submission, by)
        name = submission.name or ""
        how = "in the same session" if submission.resume_session else "in a new session"
        back = f", with its files set back to {wanted.checkpoint}" if wanted.checkpoint else ""
        return Recovered(
            wanted.option, name, f"Agent {name} goes on {how}{back}. Follow it: chaperon tail -f --agent {name}"
        )

    def _submission(self, wanted: Resumption, incident: str) -> Submission:
        """Return the submission of the agent that goes on.

        Raises:
            UsageError: The report has what no agent can be started with.
        """
        assert wanted.task is not None
        task = wanted.task
        try:
            return Submission(
                prompt=task.prompt,
                repository=wanted.workspace,
                workspace="in-place",
                name=self._successor(wanted.agent),
                expected_paths=task.expected_paths,
                constraints=task.constraints,
                goals=task.goals,
                limits=task.limits,
                model=task.model,
                permission_mode=task.permission_mode,
                monitoring_level=task.monitoring_level,
                resume_session=task.resume_session,
                approval=OwnApproval(**asdict(wanted.approval)) if wanted.approval else None,
            )
        except ValidationError as error:  # the report may be of another program, or of an older version
            faults = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
            raise UsageError(
                f"The report has what no agent can be started with ({faults}); nothing was done.",
                way_out=f"Take another way back, as rollback-and-retry: chaperon recover {incident}",
            ) from None

    def _successor(self, agent: str) -> str:
        taken = {summary.agent for summary in self._board.summaries()}
        base = re.sub(r"-r\d+$", "", agent)[:LONGEST_NAME]
        number = 1
        while (name := f"{base}-r{number}") in taken:
            number += 1
        return name

    async def _clean_up(self, wanted: Resumption, left: Sequence[str]) -> Recovered:
        kept = await self._give_up(wanted.workspace)
        if NAME.fullmatch(wanted.agent):
            directory = self._state / "agents" / wanted.agent
            with suppress(OSError):
                await anyio.to_thread.run_sync(remove_folder, directory)
        what = (
            f"Its workspace {wanted.workspace} was left: {kept.rstrip('.')}."
            if kept
            else f"Its workspace {wanted.workspace} was removed."
        )
        says = [f"The task of agent {wanted.agent} is given up. {what}", *(f"Left behind: {one}" for one in left)]
        return Recovered(wanted.option, "", "\n".join(says))


def listed(report: Mapping[str, Any]) -> list[dict[str, str]]:
    """The options of a report, for people: name, description and command, and what is left to be cleared away."""
    rows = report.get("recovery_options")
    return [
        {
            **{name: str(row.get(name, "")) for name in ("option", "description", "command")},
            "taken": "",
            "clean_up": "\n".join(_to_clear(row)),
        }
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, Mapping)
    ]


def _to_clear(row: Mapping[str, Any]) -> list[str]:
    """Return the remains in an option's row: a line each, with the remedy, and the parts that were not looked at."""
    left, unseen = row.get("clean_up"), row.get("not_looked_at")
    found = [
        f"{each.get('what')}: {each.get('way_out')}"
        for each in (left if isinstance(left, list) else [])
        if isinstance(each, Mapping)
    ]
    return [*found, *(f"not looked at: {why}" for why in (unseen if isinstance(unseen, list) else []))]
