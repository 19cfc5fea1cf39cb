"""Changes of the workspace from one tree to another that lose nothing if they are cut off.

Each file that is removed is first moved aside, whole, and compared with what it should be; each new file is first
written aside, whole, and then moved to a name that nothing has. So at any moment each file is in one of two places,
and which of its two steps were done can be seen on the disk: doing all of it again completes it, and `undo` returns.
"""

import contextlib
import errno
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from checkpoints.errors import CheckpointError, room_needed
from checkpoints.git.objects import EXECUTABLE, LINK, ObjectKind, TreeEntry, object_id
from checkpoints.git.trees import Pair
from checkpoints.paths import join, parent_of, text_of
from checkpoints.steps import Step
from checkpoints.store.store import Store
from checkpoints.workspace.rename_noreplace import exists, move
from checkpoints.workspace.safe_open import Content, Folders, names_in, read
from host.durable import write_all
from monitors.contract.progress import Report, unreported

_ANY_SIZE = 1 << 30
"""Every file compared was captured or staged once, so it is far smaller. The limit bounds the cost of a file that
was swapped in."""


PASSES = 3
"""How often each path is passed in a restore."""

REPORTED = 48
"""Passes between two reports of how far it is."""


class InTheWayError(CheckpointError):
    """A path is not what it was when the restore was planned, or cannot be changed."""

    def __init__(self, path: bytes, why: str = "it changed while the workspace was being restored") -> None:
        """Name the path and what is wrong with it."""
        super().__init__(f"{text_of(path)} could not be restored: {why}.")
        self.path = path


@dataclass(frozen=True, slots=True)
class PathChange:
    """One file or link: what goes, what comes, and under which number it lies aside."""

    number: bytes
    path: bytes
    before: TreeEntry | None
    after: TreeEntry | None


class Application:
    """Carries out one restore, from the start or from wherever it was interrupted."""

    def __init__(
        self,
        store: Store,
        root: int,
        staging: bytes,
        pairs: Sequence[Pair],
        step: Step,
        *,
        from_the_start: bool,
        report: Report = unreported,
    ) -> None:
        """Plan the jobs; their order, and so their numbers, follows from the pairs alone.

        Args:
            store: Where what comes is read.
            root: The workspace, open.
            staging: The folder in it where files lie aside.
            pairs: What changes.
            step: Told of each step before it is done.
            from_the_start: Nothing of it was done yet, so that nothing is looked for.
            report: Told how many paths are done.
        """
        self._from_the_start = from_the_start
        self._report, self._passed = report, 0
        self._store = store
        self._root = root
        self._staging = staging
        self._step = step
        self._umask = _umask()
        self._jobs = tuple(_jobs(pairs))
        self._folders_going = [pair.path for pair in reversed(pairs) if _is_folder(pair.before)]
        self._folders_coming = [pair.path for pair in pairs if _is_folder(pair.after)]
        self.left_folders: list[bytes] = []
        """Folders that had to stay because they hold what is not captured."""

    @property
    def paths(self) -> set[bytes]:
        """Every path that is touched."""
        return {*(job.path for job in self._jobs), *self._folders_going, *self._folders_coming}

    # ── preparing ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def stage(self) -> None:
        """Write each file that comes aside; those that are in place, or lie aside whole, are left.

        Raises:
            StoreFullError: There was no room on the workspace's disk.
            StoreDamagedError: The store cannot give a file.
        """
        with room_needed("the files to restore"):
            for folder in (self._staging, self._staging + b"/old", self._staging + b"/new"):
                with contextlib.suppress(FileExistsError):
                    os.mkdir(folder, 0o700, dir_fd=self._root)
        with Folders(self._root) as folders:
            for job in self._jobs:
                folders.trim()
                self._pass()
                if job.after is not None and not self._is_placed(folders, job):
                    self._stage_one(folders, job)

    def _is_placed(self, folders: Folders, job: PathChange) -> bool:
        if self._from_the_start:
            return False
        parent = folders.get(parent_of(job.path))
        old = folders.get(self._staging + b"/old")
        if parent is None or old is None or (job.before is not None and not exists(job.number, old)):
            return False
        return _entry_at(_name(job.path), parent) == job.after

    def _stage_one(self, folders: Folders, job: PathChange) -> None:
        new = folders.get(self._staging + b"/new")
        if new is None or job.after is None:
            return
        if not self._from_the_start:
            if _entry_at(job.number, new) == job.after:
                return
            with contextlib.suppress(FileNotFoundError):
                os.unlink(job.number, dir_fd=new)
        content = self._store.read(job.after.id)[1]
        self._step("stage")
        with room_needed("the files to restore"):
            if job.after.mode == LINK:
                os.symlink(content, job.number, dir_fd=new)
            else:
                _write_file(job.number, new, content, self._permissions(folders, job))

    def _permissions(self, folders: Folders, job: PathChange) -> int:
        """Return the permissions of the file that is replaced, but for the executable bits; git knows of no others."""
        parent = folders.get(parent_of(job.path))
        bits = 0o666 & ~self._umask
        if parent is not None and job.before is not None:
            with contextlib.suppress(OSError):
                state = os.lstat(_name(job.path), dir_fd=parent)
                bits = stat.S_IMODE(state.st_mode) & 0o666 if stat.S_ISREG(state.st_mode) else bits
        executable = job.after is not None and job.after.mode == EXECUTABLE
        return bits | ((bits & 0o444) >> 2 | 0o100 if executable else 0)

    # ── forth ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def carry_out(self) -> None:
        """Do all that is not done yet.

        Raises:
            InTheWayError: Something is not what it should be; call `undo`.
        """
        with Folders(self._root) as folders:
            for job in self._jobs:
                folders.trim()
                self._pass()
                if job.before is not None and not self._is_placed(folders, job):
                    self._take_away(folders, job)
        self._remove_folders(self._folders_going)
        self._make_folders(self._folders_coming)
        with Folders(self._root) as folders:
            for job in self._jobs:
                folders.trim()
                self._pass()
                if job.after is not None and not self._is_placed(folders, job):
                    self._put(folders, job)

    def _pass(self) -> None:
        """Report every so often; each path is passed three times: staged, its place cleared, put."""
        self._passed += 1
        if not self._passed % REPORTED:
            self._report(self._passed // PASSES, len(self._jobs))

    def _take_away(self, folders: Folders, job: PathChange) -> None:
        parent, old = folders.get(parent_of(job.path)), folders.get(self._staging + b"/old")
        if old is None:
            raise InTheWayError(self._staging)
        if exists(job.number, old):
            return
        if parent is None:
            raise InTheWayError(job.path)
        self._step("take away")
        try:
            move(_name(job.path), parent, job.number, old)
        except OSError as error:
            raise InTheWayError(job.path, os.strerror(error.errno or 0)) from error
        if _entry_at(job.number, old) != job.before:
            raise InTheWayError(job.path)

    def _put(self, folders: Folders, job: PathChange) -> None:
        parent, new = folders.get(parent_of(job.path)), folders.get(self._staging + b"/new")
        if parent is None or new is None:
            raise InTheWayError(job.path)
        self._step("put")
        try:
            move(job.number, new, _name(job.path), parent)
        except OSError as error:
            raise InTheWayError(job.path, os.strerror(error.errno or 0)) from error

    def _remove_folders(self, paths: Sequence[bytes]) -> None:
        for path in paths:
            with Folders(self._root) as folders:
                parent = folders.get(parent_of(path))
                if parent is None:
                    continue
                self._step("remove folder")
                try:
                    os.rmdir(_name(path), dir_fd=parent)
                except FileNotFoundError:
                    continue
                except NotADirectoryError:
                    continue
                except OSError as error:
                    if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                        raise
                    self.left_folders.append(path)

    def _make_folders(self, paths: Sequence[bytes]) -> None:
        for path in paths:
            with Folders(self._root) as folders:
                parent = folders.get(parent_of(path))
                if parent is None:
                    raise InTheWayError(path)
                self._step("make folder")
                with contextlib.suppress(FileExistsError):
                    os.mkdir(_name(path), dir_fd=parent)

    # ── back ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def undo(self) -> list[bytes]:
        """Undo the changes that were made, and return the paths for which that failed.

        Files of those paths stay in the staging folder, which is then kept: nothing is lost.
        """
        with Folders(self._root) as folders:
            for job in self._jobs:
                folders.trim()
                if job.after is not None:
                    self._take_back(folders, job)
        self._remove_folders(list(reversed(self._folders_coming)))
        self._make_folders_again()
        with Folders(self._root) as folders:
            stuck = []
            for job in self._jobs:
                folders.trim()
                if job.before is not None and not self._give_back(folders, job):
                    stuck.append(job.path)
            return stuck

    def _take_back(self, folders: Folders, job: PathChange) -> None:
        """Move what was put back aside, unless it was changed since: then it stays."""
        parent, new = folders.get(parent_of(job.path)), folders.get(self._staging + b"/new")
        if parent is None or new is None or exists(job.number, new):
            return
        if _entry_at(_name(job.path), parent) == job.after:
            with contextlib.suppress(OSError):
                move(_name(job.path), parent, job.number, new)

    def _make_folders_again(self) -> None:
        for path in reversed(self._folders_going):
            with Folders(self._root) as folders, contextlib.suppress(OSError):
                parent = folders.get(parent_of(path))
                if parent is not None:
                    os.mkdir(_name(path), dir_fd=parent)

    def _give_back(self, folders: Folders, job: PathChange) -> bool:
        """Move what was taken away back to its place; whether it is there."""
        parent, old = folders.get(parent_of(job.path)), folders.get(self._staging + b"/old")
        if old is None or not exists(job.number, old):
            return True
        if parent is None:
            return False
        try:
            move(job.number, old, _name(job.path), parent)
        except OSError:
            return False
        return True

    def put_away(self, folder: Path) -> None:
        """Move the staging folder out of the workspace into this one.

        If that is on another disk, remove the staging folder.

        Removal takes a millisecond a file on a disk that discards freed blocks; the move saves the caller that wait.
        """
        try:
            os.rename(self._staging, os.fsencode(folder) + b"/" + self._staging, src_dir_fd=self._root)
        except FileNotFoundError:
            return
        except OSError:
            self.clear()

    def clear(self) -> None:
        """Remove the staging folder with what lies aside in it."""
        with Folders(self._root) as folders:
            for folder in (b"old", b"new"):
                fd = folders.get(join(self._staging, folder))
                for name, _ in list(names_in(fd)) if fd is not None else ():
                    self._step("clear")
                    os.unlink(name, dir_fd=fd)
            top = folders.get(self._staging)
            for folder in (b"old", b"new"):
                with contextlib.suppress(FileNotFoundError):
                    if top is not None:
                        os.rmdir(folder, dir_fd=top)
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(self._staging, dir_fd=self._root)


def _jobs(pairs: Sequence[Pair]) -> list[PathChange]:
    jobs: list[PathChange] = []
    for pair in pairs:
        before = None if _is_folder(pair.before) else pair.before
        after = None if _is_folder(pair.after) else pair.after
        if before is not None or after is not None:
            jobs.append(PathChange(b"%d" % len(jobs), pair.path, before, after))
    return jobs


def _is_folder(entry: TreeEntry | None) -> bool:
    return entry is not None and entry.is_folder


def _name(path: bytes) -> bytes:
    return path.rpartition(b"/")[2]


def _entry_at(name: bytes, folder: int) -> TreeEntry | None:
    """Return the entry that what has this name would get; None for nothing, and for what can have none."""
    content = read(name, folder, _ANY_SIZE)
    if not isinstance(content, Content) or not content.settled:
        return None
    return TreeEntry(content.mode, object_id(ObjectKind.BLOB, content.data))


def _write_file(name: bytes, folder: int, content: bytes, permissions: int) -> None:
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        write_all(fd, content)
        os.fchmod(fd, permissions)
    finally:
        os.close(fd)


def _umask() -> int:
    """Return the process's umask, from the kernel: asking by setting it would race with other threads."""
    found = re.search(r"^Umask:\s*([0-7]+)$", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1], 8) if found else 0o077
