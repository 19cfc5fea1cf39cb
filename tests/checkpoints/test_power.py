"""What a power cut would leave: contents as of their last sync, names as of the last sync of their folder, nothing else."""

import os
import random
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from checkpoints.restore import restore as restoring
from checkpoints.restore.restore import Restorer
from checkpoints.store.health import examine
from checkpoints.store.packing import pack
from checkpoints.store.store import Store
from checkpoints.workspace.capture import Capturer
from tests.checkpoints.support import MOMENT, shape

pytestmark = pytest.mark.slow


class Disk:
    """A folder as the kernel has made it durable so far: by the calls that ask for that, and names as soon as it likes."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch, *, eager: bool) -> None:
        self.root = root
        self.eager = eager
        """Whether names are durable at once, as they may be, instead of when they are asked for."""
        self.contents: dict[int, bytes] = {}
        self.names: dict[int, dict[str, int]] = {}
        self.kinds: dict[int, int] = {}
        self.held: dict[int, int] = {}
        """A descriptor of each inode that was noted: its number is given to no other file meanwhile."""
        self.cut: Callable[[], None] = lambda: None
        """Called after each sync: that is when the power may go."""
        for name in ("fsync", "fdatasync"):
            patch.setattr(os, name, self.syncing(getattr(os, name)))
        patch.setattr(restoring, "sync_filesystem", self.sync_all)
        self.sync_all()

    def syncing(self, real: Callable[[int], None]) -> Callable[[int], None]:
        def sync(fd: int) -> None:
            real(fd)
            self.note(Path(f"/proc/self/fd/{fd}").readlink())
            self.cut()

        return sync

    def sync_all(self, _: int = 0) -> None:
        for path in (self.root, *self.root.rglob("*")):
            self.note(path)
        self.cut()

    def note(self, path: Path) -> None:
        state = path.lstat()
        if state.st_ino not in self.held:
            self.held[state.st_ino] = os.open(path, os.O_PATH | os.O_NOFOLLOW)
        self.kinds[state.st_ino] = state.st_mode
        if stat.S_ISDIR(state.st_mode):
            self.note_names(path)
        else:
            self.contents[state.st_ino] = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()

    def note_names(self, path: Path) -> None:
        here = {entry.name: entry.inode() for entry in os.scandir(path)}
        self.kinds |= {entry.inode(): entry.stat(follow_symlinks=False).st_mode for entry in os.scandir(path)}
        for names in self.names.values():  # a move is durable as a whole: what came here is gone from there
            for name in [name for name, number in names.items() if number in here.values()]:
                del names[name]
        self.names[path.stat().st_ino] = here

    def left(self, to: Path) -> Path:
        """Write what is durable into another folder; a file that was never synced is empty."""
        for path in (self.root, *self.root.rglob("*")) if self.eager else ():
            if path.is_dir() and not path.is_symlink():
                self.note_names(path)
        self._write(self.root.stat().st_ino, to)
        return to

    def _write(self, number: int, to: Path) -> None:
        mode = self.kinds[number]
        if stat.S_ISDIR(mode):
            to.mkdir()
            for name, below in self.names.get(number, {}).items():
                self._write(below, to / name)
        elif stat.S_ISLNK(mode):
            to.symlink_to(os.fsdecode(self.contents.get(number, b"?")))
        else:
            to.write_bytes(self.contents.get(number, b""))
            to.chmod(stat.S_IMODE(mode))


@pytest.fixture(params=[False, True], ids=["names late", "names early"])
def disk(request: pytest.FixtureRequest, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    made = Disk(workspace.parent, monkeypatch, eager=request.param)
    yield made
    for fd in made.held.values():
        os.close(fd)


@pytest.fixture
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Places for what cuts leave."""
    base = tmp_path_factory.mktemp("left")
    numbers = iter(range(1_000))
    return lambda: base / str(next(numbers))


def test_whenever_the_power_goes_each_announced_checkpoint_is_whole(
    disk: Disk, workspace: Path, elsewhere: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    announced: list[str] = []
    cuts = 0

    def cut() -> None:
        nonlocal cuts
        cuts += 1
        left = disk.left(elsewhere())
        with monkeypatch.context() as undone:
            undone.setattr(disk, "cut", lambda: None)
            store = Store(left / "state", workspace)
            assert not {name for problem in examine(store) for name in problem.checkpoints}.intersection(announced)
            assert [name for name in announced if store.ledger.get(name) is None] == []
            store.close()

    store = Store(workspace.parent / "state", workspace)
    capturer = Capturer(store, workspace)
    disk.cut = cut
    for number, size in enumerate((10, 20, 1_500_000, 70_000, 30, 300_000, 40)):
        (workspace / "new").write_bytes(random.Random(number).randbytes(size))
        announced.append(capturer.capture(MOMENT).name)
        cut()
    del announced[0]
    store.drop([store.checkpoints[0].name])
    pack(store)
    announced.append(capturer.capture(replace(MOMENT, name="last")).name)
    cut()
    disk.cut = lambda: None
    capturer.close()
    store.close()
    assert cuts > 20


def test_whenever_the_power_goes_a_restore_is_completed_or_returned(
    disk: Disk, workspace: Path, elsewhere: Callable[[], Path]
) -> None:
    store = Store(workspace.parent / "state", workspace)
    capturer = Capturer(store, workspace)
    target = capturer.capture(MOMENT)
    then = shape(workspace)
    (workspace / "README").write_text("other")
    (workspace / "src/main.py").unlink()
    (workspace / "src/link").unlink()
    (workspace / "new").write_text("new")
    before = shape(workspace)
    restorer = Restorer(capturer, step=lambda _: disk.cut())
    plan = restorer.plan(target, MOMENT)
    disk.sync_all()
    lefts: list[Path] = []
    disk.cut = lambda: lefts.append(disk.left(elsewhere()))
    restorer.restore(plan, confirmed=True, unusual_confirmed=True)
    lefts.append(disk.left(elsewhere()))
    disk.cut = lambda: None
    capturer.close()
    store.close()
    workspace.rename(elsewhere())
    found = [recovered(left, workspace) for left in lefts]
    assert found[0] == before
    assert found[-1] == then
    assert all(one in (before, then) for one in found)
    assert len(found) > 8


def recovered(left: Path, workspace: Path) -> dict[str, tuple[str, bytes]]:
    """Put what a cut left where the workspace was, let a new daemon recover, and return what is there then."""
    (left / workspace.name).rename(workspace)
    store = Store(left / "state", workspace)
    capturer = Capturer(store, workspace)
    Restorer(capturer).recover()
    capturer.close()
    store.close()
    found = shape(workspace)
    shutil.rmtree(workspace)
    return found
