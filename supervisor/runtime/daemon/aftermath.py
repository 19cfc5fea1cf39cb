"""The remains of a stopped agent: looked up once its processes had ended, and added to the report of the stop.

The files of its workspace come from the checkpoints, so those that the shell wrote are among them. Branches, stashes,
pushes, tags and worktrees come from the repository's own notes, processes from the marks of the agent's, files
elsewhere from the reviews of its calls. Nothing is cleared away: what is named comes with the way to do it.
"""

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import anyio.to_thread

from checkpoints.paths import text_of
from checkpoints.workspace import repository
from checkpoints.workspace.traces import Moved, traces
from interventions.aftermath import MOST_FILES, MOST_LEFTOVERS, Aftermath, Leftover
from interventions.stop_report import completed
from monitors.contract.errors import ChaperonError
from monitors.contract.wording import counted
from monitors.contract.words import Decision
from supervisor.core.board import Board
from supervisor.core.fold.summary import Summary
from supervisor.protocol.events import AftermathSeen, AnyEvent, EventStamp, ReviewMade
from supervisor.runtime.checkpointing.manager import CheckpointManager
from supervisor.runtime.incidents.feed import IncidentFeed
from supervisor.runtime.journal.journal import Journal, JournalError
from supervisor.runtime.log import log
from supervisor.runtime.processes.earlier_life import launches
from supervisor.runtime.processes.identity import is_running, read_identity
from supervisor.runtime.processes.leftovers import find_leftovers, survivors
from supervisor.runtime.shim import process_tree

OWN_FOLDERS = re.compile(r"[^A-Za-z0-9]")
"""Characters that the CLI replaces in a workspace's path to name its own folder below `claude-UID` in the folder for
temporary files: measured with version 2.1.329."""


class Aftermaths:
    """Looks up the remains of agents.

    Args:
        board: All agents.
        manager: Has the checkpoints.
        journal: Has the reviews.
        incidents: Has the reports.
        happened: Receives the findings.
        stamp: Gives agent and times of an event of now.
        directory: Gives the folder of an agent's shim.
    """

    def __init__(
        self,
        board: Board,
        manager: CheckpointManager,
        journal: Journal,
        incidents: IncidentFeed,
        happened: Callable[[AnyEvent], object],
        stamp: Callable[[str], EventStamp],
        directory: Callable[[str], Path],
    ) -> None:
        self._board = board
        self._manager = manager
        self._journal = journal
        self._incidents = incidents
        self._happened = happened
        self._stamp = stamp
        self._directory = directory

    async def look(self, agent: str) -> None:
        """Look up the remains of an agent that was stopped and has ended.

        If that was done before, they are in report and journal.
        """
        summary = self._board.summary(agent)
        incident = summary.aftermath_due
        if not incident or not summary.state.ended:
            return
        try:
            found = await self._find(summary)
        except JournalError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever failed, the agent has ended and others must not suffer it
            log.exception("what agent %s left behind could not be looked for", agent)
            found = Aftermath(not_looked=(f"everything: {type(error).__name__}: {error}",))
        await self._incidents.complete(incident, lambda report: completed(report, found))
        self._happened(AftermathSeen(**self._stamp(agent), incident_id=incident, aftermath=found))

    async def _find(self, summary: Summary) -> Aftermath:
        not_looked: list[str] = []
        files: list[str] = []
        try:
            files = await self._manager.changed_since_start(summary.workspace, summary.agent, summary.started_at)
        except ChaperonError as error:
            not_looked.append(f"files of the workspace: {error}")
        directory = self._directory(summary.agent)
        leftovers, problems = await anyio.to_thread.run_sync(self._look_around, summary, directory)
        return Aftermath(
            tuple(files[:MOST_FILES]),
            max(0, len(files) - MOST_FILES),
            tuple(self._board.shared_with(summary.agent)),
            tuple(leftovers[:MOST_LEFTOVERS]),
            (*not_looked, *problems),
        )

    def _look_around(self, summary: Summary, directory: Path) -> tuple[list[Leftover], list[str]]:
        return _leftovers(summary, directory, self._written_elsewhere(summary))

    def _written_elsewhere(self, summary: Summary) -> list[Path]:
        """Return the files outside of the workspace that reviews say its calls wrote, and that are there. Blocks."""
        found: dict[Path, None] = {}
        workspace = Path(summary.workspace)
        for record in self._journal.read(summary.first_event - 1):
            event = record.event
            if event.agent != summary.agent or not isinstance(event, ReviewMade):
                continue
            for touch in () if event.review.decision is Decision.BLOCK else event.review.touches:
                path = Path(touch.path)
                if touch.access == "write" and not path.is_relative_to(workspace) and not path.is_relative_to("/dev"):
                    found[path] = None
        return [path for path in found if os.path.lexists(path)]


def _leftovers(summary: Summary, directory: Path, written: Sequence[Path]) -> tuple[list[Leftover], list[str]]:
    """Return what there is, and what could not be looked at. Blocks."""
    problems: list[str] = []
    found = [*_processes(directory), *_files(summary, written)]
    folders = repository.find(Path(summary.workspace)) if Path(summary.workspace).is_dir() else None
    if folders is None:
        problems.append(f"the repository: {summary.workspace} is gone, or has none")
        return found, problems
    seen = traces(folders, summary.started_at)
    if seen.problem:
        problems.append(seen.problem)
    found += [_branch(one) for one in seen.branches if one.name != summary.branch or not one.is_new]
    for number, entry in enumerate(seen.stashes):
        what = f"stash@{{{number}}}, made at {_clock(entry.at)}: {entry.what[:200]}"
        found.append(
            Leftover("stash", what, f"git stash show -p stash@{{{number}}}; git stash drop stash@{{{number}}}")
        )
    found += [_push(ref) for ref in seen.pushes]
    found += [Leftover("tag", f"the tag {name}", f"git tag -d {name}") for name in seen.tags]
    for path in seen.worktrees:
        if path != summary.workspace:
            found.append(Leftover("worktree", f"the worktree {path}", f"git worktree remove {path}"))
    return found, problems


def _branch(branch: Moved) -> Leftover:
    first = branch.entries[0]
    if first.begins:
        what = f"the branch {branch.name}, made at {_clock(first.at)}"
        return Leftover("branch", what, f"git log {branch.name}; git branch -D {branch.name}")
    commits = sum(entry.what.startswith("commit") for entry in branch.entries)
    what = f"the branch {branch.name}, moved {counted(len(branch.entries), 'time')} since {_clock(first.at)} ({counted(commits, 'commit')})"
    return Leftover("commits", what, f"git log {first.old[:12]}..{branch.name}; it stood at {first.old}")


def _push(ref: Moved) -> Leftover:
    remote, _, branch = ref.name.partition("/")
    first = ref.entries[0]
    what = f"a push to {branch} of {remote} at {_clock(first.at)}"
    if first.begins:
        return Leftover("push", f"{what}, which was not there before", f"git push {remote} --delete {branch}")
    return Leftover("push", what, f"git push --force-with-lease {remote} {first.old}:{branch}")


def _processes(directory: Path) -> Iterator[Leftover]:
    for launch in launches(directory):
        identity = read_identity(launch)
        if identity is None:
            continue
        alive = survivors(identity) if is_running(identity) else find_leftovers(identity)
        if is_running(identity) and not (launch / "exit.json").exists():  # one that has written it is on its way out
            alive = {*alive, identity.shim_pid}
        for pid in sorted(alive):
            yield Leftover("process", f"process {pid} ({process_tree.name(pid)})", f"kill -9 {pid}")


def _files(summary: Summary, written: Iterable[Path]) -> Iterator[Leftover]:
    for path in written:
        yield Leftover("file", f"{_shown(path)}, written outside of the workspace", f"rm -r -- {_shown(path)}")
    own = Path(tempfile.gettempdir(), f"claude-{os.geteuid()}", OWN_FOLDERS.sub("-", summary.workspace))
    if own.is_dir() and not own.is_symlink():
        yield Leftover("file", f"{_shown(own)}, the CLI's own temporary files", f"rm -r -- {_shown(own)}")


def _shown(path: Path) -> str:
    return text_of(os.fsencode(path))


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
