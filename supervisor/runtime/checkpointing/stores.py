"""The stores of all projects: opened on demand, listed, compared, examined, and deleted at a person's request."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import pygit2

from checkpoints.errors import CheckpointError
from checkpoints.git.sealed_pack import CLEAR, StoreSeals
from checkpoints.model import Checkpoint, Difference
from checkpoints.restore.plan import compare
from checkpoints.store import health, stored
from checkpoints.store.deletion import delete_store
from checkpoints.store.restore_journal import in_use, journals_in
from checkpoints.store.store import Store
from checkpoints.store.upkeep import forget
from host.threads import until_cancelled
from monitors.contract.errors import ChaperonError, NotFoundError, UsageError
from supervisor.runtime.checkpointing.keyed_locks import KeyedLocks
from supervisor.runtime.log import log

T = TypeVar("T")

THREADS = 8
"""Stores and workspaces in work at once. The work is to wait for the disk, whose syncs go together: eight threads
made 280 new stores a second, four made 160, and more were no faster."""


@dataclass(frozen=True, slots=True)
class CheckpointList:
    """All checkpoints, and the stores that could not be read."""

    checkpoints: tuple[Checkpoint, ...]
    problems: tuple[str, ...]


class Stores:
    """One store a project, in one folder."""

    def __init__(self, folder: Path, seals: StoreSeals = CLEAR) -> None:
        self.folder = folder
        self.seals = seals
        self.opened: dict[Path, Store] = {}
        """By folder."""
        self.threads = anyio.CapacityLimiter(THREADS)
        self._opening = KeyedLocks()
        self._replayed = False

    # ── opening and closing ───────────────────────────────────────────────────────────────────────────────────────

    async def of(self, project: Path) -> Store:
        """The store of a project, opened or made.

        Raises:
            CheckpointError: It cannot be opened.
        """
        return await self.open(self._folder_of(project), project)

    async def open(self, folder: Path, project: Path | None = None) -> Store:
        """The store in a folder; raises like `of`. Where the project is not said, it must be there."""
        async with self._opening.of(folder):
            if folder not in self.opened:
                self.opened[folder] = await self.in_thread(lambda: _open(folder, project, self.seals))
            return self.opened[folder]

    async def replay(self) -> None:
        """Put announced entries of an earlier life, lost by a power cut, in place, once.

        After that, ledgers read without opening the stores have every checkpoint.
        """
        if not self._replayed:
            await self.all()
            self._replayed = True

    async def close(self, store: Store) -> None:
        """Write everything to its own place and close the store.

        If the disk takes nothing more, the write-ahead log holds the rest.
        """
        self.opened.pop(store.folder, None)
        try:
            await self.in_thread(store.close)
        except (CheckpointError, OSError) as error:
            log.warning("The store %s was closed as it is: %s", store.folder, error)
            await self.in_thread(store.lose)

    async def interrupted(self) -> list[Path]:
        """The folders of stores with a restore that a crash cut."""
        return await self.in_thread(lambda: [folder for folder in self._folders() if journals_in(folder)])

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Do blocking work in one of a few threads."""
        return await anyio.to_thread.run_sync(work, limiter=self.threads)

    async def until_cancelled(self, work: Callable[[int], T]) -> T:
        """Do blocking work in one of a few threads, given a descriptor that becomes readable if it is given up."""
        return await until_cancelled(work, self.threads)

    def _folder_of(self, project: Path) -> Path:
        return self.folder / sha256(str(project).encode()).hexdigest()[:16]

    def _folders(self) -> list[Path]:
        return stored.folders(self.folder)

    # ── what there is ─────────────────────────────────────────────────────────────────────────────────────────────

    async def all(self) -> CheckpointList:
        """Every checkpoint of every project, oldest first in each; a store that cannot be read is named."""
        found: list[Checkpoint] = []
        problems: list[str] = []
        for folder in await self.in_thread(self._folders):
            try:
                store = await self.open(folder)
                found += store.checkpoints
                problems += [f"{store.ledger.path}: a line is no record: {line}" for line in store.ledger.damaged]
            except (ChaperonError, OSError, ValueError, pygit2.GitError) as error:
                problems.append(f"{folder}: {error}")
        return CheckpointList(tuple(found), tuple(problems))

    async def find(self, name: str, agent: str = "") -> Checkpoint:
        """The checkpoint of this name.

        Raises:
            NotFoundError: There is none.
            UsageError: There are several, in different projects.
        """
        kept = await self.all()
        named = [one for one in kept.checkpoints if one.name == name and agent in ("", one.facts.agent)]
        if not named:
            others = sorted({one.facts.agent for one in kept.checkpoints if one.name == name})
            whose = f" of an agent {agent!r}" if agent else ""
            but = f"; there is one of {', '.join(others)}" if others else ""
            raise NotFoundError(
                f"There is no checkpoint {name!r}{whose}{but}.", way_out="`chaperon checkpoints` lists them."
            )
        if len(named) > 1:
            where = ", ".join(one.workspace for one in named)
            raise UsageError(f"{len(named)} checkpoints are called {name!r}: of {where}.", way_out="Say --agent.")
        return named[0]

    def holding(self, checkpoint: Checkpoint) -> Store:
        """The store that a checkpoint was found in."""
        return next(store for store in self.opened.values() if checkpoint in store.checkpoints)

    async def difference(self, one: Checkpoint, other: Checkpoint) -> tuple[Difference, ...]:
        """Return the changes from one checkpoint to another of the same project.

        Raises:
            UsageError: They are of different projects.
        """
        store = self.holding(one)
        if other not in store.checkpoints:
            raise UsageError(f"{one.name} and {other.name} are of different projects, so they cannot be compared.")
        return await self.in_thread(lambda: compare(store, one, other))

    async def examine(self, *, repair: bool = False) -> list[dict[str, Any]]:
        """Each store, with what is wrong with it; every object is read.

        Args:
            repair: Take checkpoints back in that the ledger lost.
        """
        return [await self._examine(folder, repair=repair) for folder in await self.in_thread(self._folders)]

    async def _examine(self, folder: Path, *, repair: bool) -> dict[str, Any]:
        try:
            store = await self.open(folder)
            repaired = await self.in_thread(lambda: health.repair(store)) if repair else ()
            problems = (*repaired, *await self.in_thread(lambda: health.examine(store)))
        except (ChaperonError, OSError, ValueError, pygit2.GitError) as error:
            problem = {"what": str(error), "checkpoints": [], "repaired": False, "way_out": "", "severe": True}
            return {"project": str(folder), "checkpoints": 0, "size_bytes": 0, "problems": [problem]}
        return {
            "project": str(store.project),
            "checkpoints": len(store.checkpoints),
            "size_bytes": await self.in_thread(lambda: store.size_bytes),
            "problems": [{**asdict(one), "severe": bool(one.checkpoints) and not one.repaired} for one in problems],
        }

    # ── what goes ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def forget(self, checkpoint: Checkpoint) -> None:
        """Forget one checkpoint; its files go when the store is packed next.

        Raises:
            UsageError: A restore that was cut short needs it.
        """
        store = self.holding(checkpoint)
        if checkpoint.name in await self.in_thread(lambda: in_use(store)):
            raise UsageError(f"A rollback that was cut short needs {checkpoint.name}; nothing was forgotten.")
        await self.in_thread(lambda: store.drop([checkpoint.name]))

    async def forget_agent(self, agent: str, project: str) -> tuple[str, ...]:
        """Forget all checkpoints of an agent, with all that only they hold; returns their names.

        Args:
            agent: Its name.
            project: Its repository; there may be no store of it.

        Raises:
            UsageError: A restore that was cut short needs one of them.
            CheckpointError: A store could not be opened or packed; a second call does the rest.
        """
        folder = self._folder_of(Path(project))
        if folder not in await self.in_thread(self._folders):
            return ()
        store = await self.open(folder)
        return await self.until_cancelled(partial(forget, store, agent))

    async def delete(self, project: str) -> None:
        """Delete the store of a project, all of it. Nobody may use it meanwhile.

        Raises:
            NotFoundError: There is none.
            CheckpointError: A restore is under way; nothing was deleted.
        """
        folder = self._folder_of(Path(project))
        if folder not in await self.in_thread(self._folders):
            raise NotFoundError(
                f"There are no checkpoints of {project!r}.", way_out="`chaperon checkpoints doctor` lists the projects."
            )
        if folder in self.opened:
            await self.close(self.opened[folder])
        await self.in_thread(lambda: delete_store(folder))


def _open(folder: Path, project: Path | None, seals: StoreSeals) -> Store:
    try:
        return Store(folder, project or stored.project_named(folder), seals)
    except (OSError, ValueError, KeyError, pygit2.GitError) as error:
        raise CheckpointError(
            f"The store {folder} cannot be opened ({error}).", way_out="chaperon checkpoints doctor says more."
        ) from error
