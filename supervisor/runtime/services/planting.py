"""Files that people's programs obey later, left in a workspace by a program of its agent, while no call told of them.

A reviewed call is judged by what it writes; what a program writes while it runs is not. So a workspace is looked at
when a turn ends and when its agent does. That takes a few look-ups, and a walk of bounded length if there was a call
since the last one. What was there before the agent, and what a reviewed call names, is passed over, and so is what git
brought from the history that the repository had then. What a remote has, and what a hook manager of the project writes,
is told with less weight. A daemon that was started anew counts from its own start.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread
from anyio.abc import TaskGroup

from monitors.contract.errors import NotFoundError
from monitors.contract.wording import counted
from monitors.contract.words import Decision, Severity
from supervisor.core.board import Board
from supervisor.core.fold.summary import Summary
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.runtime.sandbox.layout import RUN_LATER

if TYPE_CHECKING:
    from supervisor.runtime.sandbox.history import Origin
    from supervisor.runtime.sandbox.planted import Planted

MOST_TOLD = 500
"""Paths, and commands about git, of one agent that are remembered."""

MOST_COMMAND = 4_000
"""Characters of a command that are remembered."""

MOST_NAMED = 8
"""Files and keys that an incident names."""

LONGEST_NAME = 160
"""Characters of each."""

OVER = frozenset({AgentState.IDLE, AgentState.FINISHING, AgentState.WAITING})
"""States that follow on a turn, beside the ended ones."""

QUOTES = str.maketrans("", "", "\"'\\")
"""Signs by which a shell or git's configuration quotes a part of a key, as in `url."https://x/".insteadOf`."""

NAMES = frozenset({".git", *RUN_LATER})

WAY_OUT = (
    "Look at them before you use this workspace with git, a shell, an editor or another agent; take out what you do "
    "not want. In bubblewrap agents cannot change those that are there already."
)


WAY_OUT_OF_BROUGHT = (
    "Nothing needs to be done if that is what the work was for. What a remote has is what the repository says that it "
    "has, which an agent could write."
)

HOOKS_PATH = "core.hookspath"


@dataclass(slots=True)
class _Known:
    """One agent, while it works."""

    since: float
    told: set[str] = field(default_factory=set)
    commands: set[str] = field(default_factory=set)
    keys: frozenset[tuple[str, str]] | None = None
    """Keys of git that were there, or were reported; None before the first look."""
    tips: frozenset[str] = frozenset()
    """Commits that references named at the first look."""
    acted: bool = False
    """Whether programs may have run since the last look into all folders."""
    looking: bool = False
    again: bool = False
    over: bool = False


class Planting:
    """Looks at workspaces, and reports what no reviewed call told of.

    Args:
        board: The agents.
        fault: Notes an incident: the agent, the incident's type, a sentence, how severe, and the way out.
        now: Returns the Unix time.
        tasks: Where the looks live.
    """

    def __init__(
        self,
        board: Board,
        fault: Callable[[str, str, str, Severity, str], object],
        now: Callable[[], float],
        tasks: TaskGroup,
    ) -> None:
        self._board, self._fault, self._tasks = board, fault, tasks
        self._agents: dict[str, _Known] = {}
        for about in board.at_work():
            self._agents[about.agent] = _Known(now())
            self._begin(about.agent)

    def saw(self, event: events.AnyEvent) -> None:
        """Remember what calls tell of, and look once a turn is over."""
        match event:
            case events.ReviewMade() if event.review.decision is not Decision.BLOCK and event.agent in self._agents:
                self._agents[event.agent].acted = True
                self._tell(self._agents[event.agent], event)
            case events.TaskSubmitted():
                self._agents[event.agent] = _Known(event.at)
                self._begin(event.agent)
            case events.AgentLaunched(number=1) if event.agent in self._agents:
                self._agents[event.agent].since = event.at  # a new workspace was written until then
            case events.CheckpointRestored() if event.agent in self._agents:
                self._agents[event.agent].since = event.at  # the files were written by the restore
            case events.StateChanged(after=after) if event.agent in self._agents and (after in OVER or after.ended):
                self._agents[event.agent].over = after.ended
                self._begin(event.agent)
            case _:
                pass

    def _tell(self, known: _Known, made: events.ReviewMade) -> None:
        for touch in made.review.touches:
            if touch.access != "read" and len(known.told) < MOST_TOLD and NAMES.intersection(touch.path.split("/")):
                known.told.add(touch.path)
        subject = made.action.subject
        if "git" in subject and len(known.commands) < MOST_TOLD:
            known.commands.add(subject[:MOST_COMMAND].lower().translate(QUOTES))

    def _begin(self, agent: str) -> None:
        known = self._agents[agent]
        if known.looking:
            known.again = True
            return
        known.looking = True
        self._tasks.start_soon(self._look, agent, known, name=f"look for planted files of {agent}")

    async def _look(self, agent: str, known: _Known) -> None:
        """Look until nothing happened meanwhile; the agent is forgotten with its end."""
        from supervisor.runtime.sandbox.history import tips
        from supervisor.runtime.sandbox.planted import look

        known.again = True
        while known.again:
            known.again = False
            try:
                about = self._board.summary(agent)
            except NotFoundError:
                break
            workspace, checkout = Path(about.workspace), Path(about.project or about.workspace)
            deep, known.acted = known.keys is None or known.acted or known.over, False
            found = await anyio.to_thread.run_sync(partial(look, workspace, checkout, known.since, deep=deep))
            if known.keys is None:
                known.tips = await anyio.to_thread.run_sync(tips, checkout)
                known.keys, known.acted = found.keys, True  # how the agent finds it
            else:
                await self._report(about, known, known.keys, found)
        known.looking = False
        if known.over:
            self._agents.pop(agent, None)

    async def _report(
        self, about: Summary, known: _Known, before: frozenset[tuple[str, str]], found: "Planted"
    ) -> None:
        paths = [path for path in found.files if not _is_reported(path, known.told)]
        known.keys = before | found.keys
        keys = [(key, value) for key, value in sorted(found.keys - before) if not _named(key, known.commands)]
        known.told.update(paths)
        if not paths and not keys:
            return
        origins = await anyio.to_thread.run_sync(_origins, paths, keys, Path(about.workspace), known.tips)
        brought = [name for name, origin in origins if origin in ("remote", "manager")]
        planted = [name for name, origin in origins if not origin]
        where = f"came into {about.workspace}"
        if planted:
            text = f"{where}, and no reviewed call told of it"
            self._tell_of(about, planted, text, Severity.MEDIUM, WAY_OUT)
        if brought:
            text = f"{where}, as a remote has them, or as a hook manager of the project writes them"
            self._tell_of(about, brought, text, Severity.LOW, WAY_OUT_OF_BROUGHT)

    def _tell_of(self, about: Summary, names: list[str], where: str, severity: Severity, way_out: str) -> None:
        shown = ", ".join(_short(name, about.workspace) for name in names[:MOST_NAMED])
        more = f", and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
        what = counted(len(names), "file or setting", "files and settings")
        self._fault(
            about.agent,
            "run_later",
            f"While agent {about.agent} worked, {what} that programs of people obey later {where}: {shown}{more}.",
            severity,
            way_out,
        )


def _origins(
    paths: list[str], keys: list[tuple[str, str]], workspace: Path, tips: frozenset[str]
) -> list[tuple[str, "Origin"]]:
    """Return the names of files and keys, each with where it comes from. Blocks."""
    from supervisor.runtime.sandbox.history import origin, points_to_manager

    found = [(path, origin(Path(path), workspace, tips)) for path in paths]
    for key, value in keys:
        is_managers = key.lower().endswith(f": {HOOKS_PATH}") and points_to_manager(value, workspace, tips)
        found.append((f"{key} = {value}", "manager" if is_managers else ""))
    return found


def _is_reported(path: str, told: set[str]) -> bool:
    return any(path == one or path.startswith(f"{one.rstrip('/')}/") for one in told)


def _named(key: str, commands: set[str]) -> bool:
    """Whether a reviewed command names a key of git."""
    name = key.rpartition(": ")[2].lower().translate(QUOTES)
    return any(name in command for command in commands)


def _short(text: str, workspace: str) -> str:
    """Return a name for people, relative to the workspace; what would act in a terminal is escaped."""
    shown = repr(text.removeprefix(f"{workspace}/"))[1:-1]
    return shown if len(shown) <= LONGEST_NAME else f"{shown[: LONGEST_NAME - 1]}…"
