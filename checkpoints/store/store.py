"""The store: one bare repository per project, owned by chaperon, closed to the agent.

```
<store>/
  project.json   which project this is
  ledger.jsonl   the checkpoints: the truth
  wal            data that is announced and not yet synced in its own place
  objects.git/   files as git objects; refs/checkpoints/NAME, for any git, follows from the ledger
  restores/      journals of restores that are under way, and what they took from workspaces until it is removed
```
Nothing of the project's own configuration is used: no filter, hook, attribute or monitor can run, because content is
read from the disk and written here as it is, by this package and not by git.
"""

import os
import re
import shutil
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from checkpoints.errors import StoreFullError, room_needed
from checkpoints.git.object_reader import ObjectBase
from checkpoints.git.objects import ObjectKind, encode_commit
from checkpoints.git.pack import PackWriter, put_pack
from checkpoints.git.sealed_pack import CLEAR, SUFFIX, StoreSeals, is_sealed, names_of, put_sealed_pack
from checkpoints.model import Checkpoint
from checkpoints.store import layout
from checkpoints.store.ledger import Ledger, dropped, made
from checkpoints.store.records import message_of
from checkpoints.store.refs import NAME, Refs
from checkpoints.store.stored import LEDGER, size_of
from checkpoints.store.wal import Promise, WriteAheadLog, blank
from host.durable import is_temporary, sync_path
from monitors.contract.errors import NotFoundError, UsageError

MAX_PROMISE_BYTES = 1 << 20
"""A larger capture is synced in its own place instead of going through the write-ahead log as well."""


class Store(ObjectBase):
    """The checkpoints of one project. Safe between threads; one daemon owns it."""

    def __init__(self, folder: Path, project: Path, seals: StoreSeals = CLEAR) -> None:
        """Open the store in this folder for this project, and create it if it is missing.

        Raises:
            CheckpointError: The folder holds the store of another project.
            ChaperonError: It is sealed, and these do not open it; nothing was changed.
        """
        self.folder = folder
        self.project = project
        self._mutex = threading.RLock()
        self._tips: dict[str, str] = {}
        layout.lay(folder, project, {"wal": blank(0)})
        self._lock = layout.take_ownership(folder)
        with ExitStack() as undone:
            undone.callback(os.close, self._lock)
            super().__init__(folder / "objects.git", seals)
            self._refs = Refs(self.objects / "refs" / "checkpoints")
            for left in self.packs.iterdir():
                if is_temporary(left.name):
                    left.unlink(missing_ok=True)
            ledger = folder / LEDGER
            self._wal = WriteAheadLog(folder / "wal", ledger.stat().st_size if ledger.exists() else 0)
            undone.callback(self._wal.close)
            self.ledger = Ledger(ledger, self._wal.settled_bytes, seals)
            undone.callback(self.ledger.close)
            self._replay()
            undone.pop_all()

    def _replay(self) -> None:
        """Put in place what was announced and not synced when the last owner ended."""
        with room_needed("what was announced before a crash"):
            for promise in self._wal.replay():
                if promise.pack:
                    (put_sealed_pack if is_sealed(promise.pack) else put_pack)(self.packs, promise.pack)
                self.ledger.append([promise.line])
            self.settle()

    # ── checkpoints ───────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """All of them, oldest first."""
        return self.ledger.checkpoints

    def of_workspace(self, workspace: str) -> tuple[Checkpoint, ...]:
        """Return those of one workspace, oldest first."""
        return tuple(checkpoint for checkpoint in self.checkpoints if checkpoint.workspace == workspace)

    def find(self, name: str) -> Checkpoint:
        """Return the checkpoint of this name.

        Raises:
            NotFoundError: There is none.
        """
        found = self.ledger.get(name)
        if found is None:
            raise NotFoundError(
                f"There is no checkpoint {name!r} of {self.project}.", way_out="`chaperon checkpoints` lists them."
            )
        return found

    def check_name(self, name: str) -> None:
        """Refuse a name that is taken or cannot be one.

        Raises:
            UsageError: It is.
        """
        if not NAME.fullmatch(name) or ".." in name or name.endswith((".", ".lock")):
            raise UsageError(
                f"{name!r} cannot be a checkpoint's name.",
                way_out="Use 1 to 120 letters, digits, dots, underscores and hyphens; begin with a letter or digit.",
            )
        if self.ledger.get(name) is not None:
            raise UsageError(f"There is a checkpoint {name!r} already.", way_out="Choose another name.")

    def publish(self, checkpoint: Checkpoint, objects: PackWriter, known_commit: bytes | None = None) -> Checkpoint:
        """Make a checkpoint durable, then announce it, and return it with its number and commit.

        Args:
            checkpoint: All but number and commit.
            objects: What is new in it.
            known_commit: A commit of the same tree, if there is one: equal trees cost nothing.

        Raises:
            StoreFullError: There was no room; nothing was announced.
            UsageError: The name is taken.
        """
        with self._mutex:
            number = self.ledger.next_number
            name = checkpoint.name or _made_name(checkpoint, number)
            self.check_name(name)
            checkpoint = replace(checkpoint, name=name, number=number)
            if known_commit is None:
                body = encode_commit(bytes.fromhex(checkpoint.tree), checkpoint.facts.at, message_of(checkpoint))
                known_commit = objects.add(ObjectKind.COMMIT, body)
            checkpoint = replace(checkpoint, commit=known_commit.hex())
            self._announce(checkpoint, objects)
        return checkpoint

    def _announce(self, checkpoint: Checkpoint, objects: PackWriter) -> None:
        line = made(checkpoint, self.seals)
        if objects.is_large or len(line) + objects.size_bytes > MAX_PROMISE_BYTES:
            self._announce_large(checkpoint, line, objects)
            return
        pack = objects.seal()
        if not self._wal.fits(len(line) + len(pack)):
            self.settle()
            self._wal.grow(len(line) + len(pack))
        before = self.ledger.size_bytes
        self.ledger.append([line])
        try:
            with room_needed("the write-ahead log"):
                self._wal.append(Promise(line, pack))
        except (OSError, StoreFullError):
            self.ledger.take_back(checkpoint, before)
            raise
        self._unsettled |= objects.pending

    def _announce_large(self, checkpoint: Checkpoint, line: bytes, objects: PackWriter) -> None:
        """Sync each part in its own place: a first capture, or thousands of files, would fill the log at once."""
        objects.finish()
        self.settle()
        before = self.ledger.size_bytes
        self.ledger.append([line])
        try:
            self.settle()
        except (OSError, StoreFullError):
            self.ledger.take_back(checkpoint, before)
            raise

    def settle(self) -> None:
        """Put everything in its own place, durably: one pack for all captures since. Best called when idle.

        Raises:
            StoreFullError: There was no room; the write-ahead log still answers for everything.
        """
        with self._mutex:
            if self._unsettled:
                together = self.writer("settled")
                for oid, packed in self._unsettled.items():
                    together.add_packed(oid, packed)
                together.finish()
            if not self._wal.is_empty or self.ledger.size_bytes != self._wal.settled_bytes:
                with room_needed("the ledger of checkpoints"):
                    self.ledger.sync()
                    self._wal.begin_anew(self.ledger.size_bytes)
            self.sealed.look_anew()
            self._unsettled = {}
            self._refs.mend(self.ledger)

    @property
    def problem(self) -> str:
        """The fault of the write-ahead log found when the store was opened; empty for none."""
        return self._wal.problem

    @property
    def is_settled(self) -> bool:
        """Whether everything is durable in its own place."""
        return self._wal.is_empty

    def drop(self, names: Sequence[str]) -> None:
        """Forget checkpoints. Their files go with the next `pack`."""
        with self._mutex:
            self.ledger.append(dropped(name, self.seals) for name in names)
            self.settle()

    def blank_log(self) -> None:
        """Settle, and leave no bytes of earlier promises in the write-ahead log."""
        with self._mutex:
            self.settle()
            self._wal.blank()

    def hold_tip(self, label: str, commit: str) -> None:
        """Keep the last commit of a workspace, dropped or not: the next capture there builds upon its trees."""
        with self._mutex:
            self._tips[label] = commit

    def forget_tip(self, label: str) -> None:
        """Release the tip: the workspace is no longer captured."""
        with self._mutex:
            self._tips.pop(label, None)

    def refs(self) -> tuple[tuple[str, str], ...]:
        """Return name and commit of each ref, whether the ledger knows it or not."""
        return self._refs.all()

    def take_in(self, checkpoint: Checkpoint) -> None:
        """Add a checkpoint whose objects are there and whose line in the ledger was lost; its number is the next."""
        with self._mutex:
            self.ledger.append([made(replace(checkpoint, number=self.ledger.next_number), self.seals)])
            self.settle()

    # ── borrowing, and giving back ────────────────────────────────────────────────────────────────────────────────────

    @property
    def alternates(self) -> Path:
        """The file that says where objects are borrowed from; absent once nothing is."""
        return self.objects / "objects" / "info" / "alternates"

    @property
    def borrows(self) -> bool:
        """Whether checkpoints may still rely on objects of the project."""
        return self.alternates.exists()

    @property
    def restores(self) -> Path:
        """The folder of the restores' journals, and of files that restores took out of workspaces."""
        return self.folder / "restores"

    def sweep(self) -> None:
        """Remove what restores took from workspaces; checkpoints have it. Best called when idle."""
        for left in self.restores.iterdir():
            if left.is_dir():
                shutil.rmtree(left)

    @property
    def size_bytes(self) -> int:
        """How much the store takes on the disk, packs and ledger, without what is borrowed."""
        return size_of(self.folder)

    @property
    def pack_count(self) -> int:
        """How many packs there are."""
        return len(names_of(self.packs.glob("pack-*")))

    @property
    def lies_open(self) -> bool:
        """Whether something in it is not sealed that would be now; packing mends that."""
        return self.seals.seals and (self.ledger.lies_open or any(self.packs.glob("pack-*.pack")))

    def begin_packing(self) -> tuple[frozenset[str], frozenset[str]]:
        """Return the commits to pack, and the names of the packs that one with all of them replaces."""
        with self._mutex:
            self.settle()
            commits = {checkpoint.commit for checkpoint in self.checkpoints} | set(self._tips.values())
            return frozenset(commits), names_of(self.packs.glob("pack-*"))

    def end_packing(self, new: str | None, old: frozenset[str]) -> None:
        """Take a new pack for the old ones: from here on nothing is borrowed, and what was dropped is gone."""
        with self._mutex:
            sync_path(self.packs)
            self.alternates.unlink(missing_ok=True)
            sync_path(self.alternates.parent)
            for name in old - {new}:
                for ending in (".idx", ".pack", SUFFIX):
                    (self.packs / f"{name}{ending}").unlink(missing_ok=True)
            self.settle()
            self.ledger.compact(self._wal.begin_anew)
            self._wal.begin_anew(self.ledger.size_bytes)
            self._look_anew()

    def close(self) -> None:
        """Settle, and let another process own the store."""
        with self._mutex:
            if self._lock >= 0:
                self.settle()
                self.lose()

    def lose(self) -> None:
        """Let go of the store as a crash would: nothing more is written."""
        with self._mutex:
            if self._lock < 0:
                return
            self._trees.clear()
            self._wal.close()
            self.ledger.close()
            os.close(self._lock)
            self._lock = -1


def _made_name(checkpoint: Checkpoint, number: int) -> str:
    agent = re.sub(r"[^A-Za-z0-9_-]+", "-", checkpoint.facts.agent).strip("-") or "workspace"
    return f"{agent[:60]}-{checkpoint.facts.reason.value.replace('_', '-')}-{number}"
