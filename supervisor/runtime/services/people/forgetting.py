"""The forgetting of an ended agent: all that was written of it goes, durably, and what is left of it is looked for.

What is to be forgotten is written down first. A daemon that is killed in the middle does the rest at its next start:
each step can be done again. The note goes last, so that nothing of the agent is left then.
"""

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

import anyio.to_thread
import orjson

from host.durable import REAL_DISK, Disk, replace_file
from host.folders import below, remove_folder
from monitors.contract.errors import ChaperonError, UsageError
from monitors.contract.wording import counted
from supervisor.config.paths import StatePaths
from supervisor.core.fold.summary import Summary
from supervisor.protocol import events
from supervisor.runtime.incidents.feed import IncidentFeed
from supervisor.runtime.journal.forgetting import ForgottenWords, only_of
from supervisor.runtime.log import log
from supervisor.runtime.metrics.metrics import Metrics
from supervisor.runtime.protection.protector import Protector
from supervisor.runtime.services.people.removal import RemovalParts, remove
from supervisor.runtime.state_files import StateFiles

SEARCHED_BYTES = 1024 * 1024
"""Part of a file that is searched at a time."""


class ForgettingParts(RemovalParts, Protocol):
    """The parts of the daemon that forgetting needs."""

    incidents: IncidentFeed
    metrics: Metrics
    protector: Protector


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The outcome for one agent."""

    agent: str
    done: bool
    """Whether it is forgotten."""
    records: int = 0
    """Records of the journal that went."""
    checkpoints: int = 0
    """Checkpoints that went."""
    incidents: int = 0
    """Reports of incidents that went."""
    kept: tuple[str, ...] = ()
    """Its own things that were kept, in words: its branch and its workspace, unless they were asked for."""
    left: tuple[str, ...] = ()
    """Files of the state directory in which its name, a session or a mark of its own was still found."""
    why: str = ""
    """Why it could not be forgotten."""


@dataclass(frozen=True, slots=True)
class ForgettingNote:
    """The agent that is being forgotten, and what it is known by."""

    agent: str
    by: str
    project: str
    workspace: str
    unique: tuple[str, ...]
    """Its sessions, its branch, and the workspace that was made for it."""
    marks: tuple[str, ...]
    """Marks of masked values that only its records have."""

    @property
    def words(self) -> ForgottenWords:
        """The words by which it is known."""
        return ForgottenWords(self.agent, self.unique)


class Forgetting:
    """Forgets agents, one at a time.

    Args:
        daemon: The daemon that had them.
        kept: Its state.
        places: The directories of that.
        disk: Another, in tests.
    """

    def __init__(self, daemon: ForgettingParts, kept: StateFiles, places: StatePaths, disk: Disk = REAL_DISK) -> None:
        self._daemon, self._kept, self._places, self._disk = daemon, kept, places, disk
        self._one_at_a_time = anyio.Lock()

    async def forget(self, agent: str, by: str, *, branch: bool = False, force: bool = False) -> Forgotten:
        """Forget an agent.

        Args:
            agent: Its name.
            by: The person who asks.
            branch: Whether its branch and its workspace go too, if they were made for it.
            force: Whether work that is lost with these may be.

        Raises:
            NotFoundError: There is no such agent.
            UsageError: It lives, or something that goes on needs it; nothing was forgotten.
            ChaperonError: A step failed; what is left is forgotten at the next start.
            OSError: The same.
        """
        async with self._one_at_a_time:
            known = self._daemon.board.summary(agent)
            self._refuse(known)
            if branch and known.branch and known.removed_at is None:
                removal = await remove(self._daemon, agent, by, force=force)
                if not removal.done:
                    lost = " ".join(removal.lost)
                    return Forgotten(
                        agent, False, why=removal.why or f"with its branch something would be lost: {lost}"
                    )
                known = self._daemon.board.summary(agent)
            note = await anyio.to_thread.run_sync(self._note, known, by)
            return await self._complete(note, _kept(known))

    async def resume(self) -> None:
        """Do what a daemon before had no time for; a failure is logged, and the next start tries again."""
        try:
            note = await anyio.to_thread.run_sync(read_note, self._places.forgetting)
            if note is not None:
                done = await self._complete(note, ())
                log.info("an agent that was being forgotten is: %s went", counted(done.records, "record"))
        except (ChaperonError, OSError, ValueError) as error:
            log.error("an agent that is being forgotten could not be, and is at the next start: %s", error)

    def _refuse(self, known: Summary) -> None:
        """Raise an error if the agent lives, or if something that goes on needs it."""
        problem, way_out = self._needed(known)
        if problem:
            raise UsageError(
                f"Agent {known.agent!r} cannot be forgotten: {problem}. Nothing was changed.", way_out=way_out
            )

    def _needed(self, known: Summary) -> tuple[str, str]:
        agent, board = known.agent, self._daemon.board
        if known.ended_at is None:
            return f"it is {known.state}", f"Stop it first: chaperon stop {agent}"
        if any(session.summary.agent == agent for session in board.live()):
            return "its end is still being written down", "Ask again in a moment."
        if (merge := board.merges.get(agent)) is not None and not merge.phase.over:
            return f"its merge is {merge.phase}", f"Wait for it, carry it out, or withdraw it: chaperon merge {agent}"
        if (task := board.tasks.of_agent(agent)) is not None and task.state.held:
            return f"task {task.spec.id} is {task.state} by it", f"chaperon task cancel {task.spec.id}"
        for one in board.projects.all(known.project):
            if any(mark.agent == agent for mark in one.agents):
                return f"the project checkpoint {one.name} would bring it back", "Forget that checkpoint first."
        return "", ""

    def _note(self, known: Summary, by: str) -> ForgettingNote:
        sessions, marks = only_of(self._places.journal, known.agent, self._daemon.protector.seals)
        own = [known.branch, known.workspace] if known.branch else []
        unique = (*sorted(sessions), *own)
        note = ForgettingNote(known.agent, by, known.project, known.workspace, unique, tuple(sorted(marks)))
        replace_file(self._places.forgetting, orjson.dumps(asdict(note)), disk=self._disk)
        return note

    async def _complete(self, note: ForgettingNote, kept: tuple[str, ...]) -> Forgotten:
        daemon, stores = self._daemon, self._daemon.checkpoint_manager.stores
        if all(one.workspace != note.workspace for one in daemon.board.at_work()):
            await daemon.checkpoint_manager.release(note.workspace)
        checkpoints = await stores.forget_agent(note.agent, note.project or note.workspace)
        await anyio.to_thread.run_sync(self._remove_files, note)
        records = await self._kept.forget(
            daemon.journal, daemon.board, daemon.metrics, note.words, lambda: self._journalled(note.by)
        )
        ids = await daemon.incidents.forget(note.words)
        left = await anyio.to_thread.run_sync(traces, self._places, note)
        await anyio.to_thread.run_sync(self._disk.unlink, self._places.forgetting)
        return Forgotten(note.agent, True, records, len(checkpoints), len(ids), kept, tuple(left))

    def _journalled(self, by: str) -> int:
        return self._daemon.happened(events.AgentForgotten(**self._daemon.stamp(""), by=by))

    def _remove_files(self, note: ForgettingNote) -> None:
        self._daemon.protector.forget_agent(note.agent)
        aside = re.compile(rf"{re.escape(note.agent)}-[0-9]+")
        folders = []
        for agents in {self._places.agents, self._places.own_folders}:
            folders.append(agents / note.agent)
            if (moved := agents.with_name(self._places.set_aside.name)).is_dir():
                folders += [one for one in moved.iterdir() if aside.fullmatch(one.name)]
        for folder in folders:
            if folder.exists():
                remove_folder(folder)


def read_note(path: Path) -> ForgettingNote | None:
    """Return the note on an agent that is being forgotten; None if there is none. Blocks.

    Raises:
        OSError: It cannot be read.
        ValueError: It is damaged.
    """
    try:
        read = orjson.loads(path.read_bytes())
        return ForgettingNote(**{**read, "unique": tuple(read["unique"]), "marks": tuple(read["marks"])})
    except FileNotFoundError:
        return None
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged: {error!r}") from None


def traces(places: StatePaths, note: ForgettingNote) -> list[str]:
    """Return the files below the state directory that still name an agent, the note left out. Blocks: it reads all."""
    keys = b"|".join(key.encode() for key in ("agent", "agents", "worker", "from_agent", "successor"))
    unique = [re.escape(word.encode()) for word in (*note.unique, *note.marks)]
    named = rb'"(?:%b)": ?\[?"%b"' % (keys, re.escape(note.agent.encode()))
    wanted = re.compile(b"|".join([named, *(rb"%b(?![\\w-]|\\.\\w)" % word for word in unique)]))
    found = []
    for path in sorted(below(places.chaperons)):
        inside = path.relative_to(places.chaperons)
        if path == places.forgetting or path.is_symlink() or not path.is_file():
            continue
        if note.agent in inside.parts or _has(path, wanted.search):
            found.append(str(inside))
    return found


def _has(path: Path, search: Callable[[bytes], object]) -> bool:
    before = b""
    try:
        with path.open("rb") as file:
            while chunk := file.read(SEARCHED_BYTES):
                if search(before + chunk):
                    return True
                before = chunk[-4096:]
    except FileNotFoundError:  # a temporary file, which has gone since
        return False
    return False


def _kept(known: Summary) -> tuple[str, ...]:
    if not known.branch or known.removed_at is not None:
        return ()
    workspace = f"its workspace {known.workspace}" if Path(known.workspace).is_dir() else ""
    return tuple(word for word in (f"its branch {known.branch}", workspace) if word)
