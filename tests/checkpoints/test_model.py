"""Random edits, captures and restores, compared byte for byte with plain copies.

`CHECKPOINT_EXAMPLES` and `CHECKPOINT_STEPS` in the environment make the runs longer.
"""

import os
import random
import shutil
import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from checkpoints.git.trees import files_in
from checkpoints.model import Checkpoint
from checkpoints.paths import bytes_of, is_within
from checkpoints.restore.restore import Restorer
from checkpoints.store.store import Store
from checkpoints.workspace.capture import Capturer, CaptureSettings
from tests.checkpoints.support import MOMENT

EXAMPLES = int(os.environ.get("CHECKPOINT_EXAMPLES", "12"))
STEPS = int(os.environ.get("CHECKPOINT_STEPS", "30"))
LIMIT_BYTES = 64

NAMES = st.sampled_from([b"a", b"b", b"A", b"build", b"x.log", b"bad\xff", b"new\nline", b"sp ace\\"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(b"/".join)
CONTENT = st.binary(max_size=LIMIT_BYTES + 8)

Copy = dict[bytes, tuple[str, bytes]]


def plain_copy(folder: Path, prefix: bytes = b"") -> Copy:
    """Return everything in a folder, read in the plainest way there is."""
    found: Copy = {}
    for item in folder.iterdir():
        path = prefix + os.fsencode(item.name)
        mode = item.lstat().st_mode
        if stat.S_ISLNK(mode):
            found[path] = ("link", os.fsencode(item.readlink()))
        elif stat.S_ISDIR(mode):
            found[path] = ("folder", b"")
            found |= plain_copy(item, path + b"/")
        elif stat.S_ISREG(mode):
            found[path] = ("program" if mode & 0o100 else "file", item.read_bytes())
        else:
            found[path] = ("special", b"")
    return found


def is_plain_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def captured(copy: Copy) -> Copy:
    """Return what of a copy belongs into a checkpoint, by the test's own reading of the rules."""
    return {path: what for path, what in copy.items() if not is_out(copy, path)}


def is_out(copy: Copy, path: bytes) -> bool:
    return is_beyond(copy, path) or is_ignored(copy, path)


def is_beyond(copy: Copy, path: bytes) -> bool:
    """Whether it is of a kind or size that no checkpoint holds."""
    kind, content = copy[path]
    return kind == "special" or (kind in ("file", "program") and len(content) > LIMIT_BYTES)


def is_ignored(copy: Copy, path: bytes) -> bool:
    parts = path.split(b"/")
    for depth in range(1, len(parts) + 1):
        above = b"/".join(parts[:depth])
        if parts[depth - 1] == b"x.log" or (parts[depth - 1] == b"build" and copy[above][0] == "folder"):
            return True
    return False


KINDS = {0o100644: "file", 0o100755: "program", 0o120000: "link", 0o40000: "folder"}


def held(store: Store, checkpoint: Checkpoint) -> Copy:
    """Return what a checkpoint holds, folders on the way included."""
    found: Copy = {}
    for path, entry in files_in(store, bytes.fromhex(checkpoint.tree)):
        content = b"" if entry.is_folder else store.read(entry.id)[1]
        found[path] = (KINDS[entry.mode], content)
        parts = path.split(b"/")
        for depth in range(1, len(parts)):
            found[b"/".join(parts[:depth])] = ("folder", b"")
    return found


class Workspace(RuleBasedStateMachine):
    """Edits of every kind in one workspace."""

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp(prefix="checkpoint-model-"))
        self.root = self.base / "work"
        self.root.mkdir()
        (self.root / ".gitignore").write_text("*.log\nbuild/\n")
        self.store = Store(self.base / "state", self.root)
        self.capturer = Capturer(self.store, self.root, CaptureSettings(limit_bytes=LIMIT_BYTES))
        self.copies: list[tuple[Checkpoint, Copy]] = []

    def teardown(self) -> None:
        self.capturer.close()
        self.store.close()
        shutil.rmtree(self.base)

    def at(self, path: bytes) -> Path:
        """Return where a path lies; what stands in the way of its folders is removed."""
        full = self.root
        for name in path.split(b"/")[:-1]:
            full /= os.fsdecode(name)
            if full.is_symlink() or not full.is_dir():
                full.unlink(missing_ok=True)
                full.mkdir()
        return self.root / os.fsdecode(path)

    def make_room(self, full: Path) -> None:
        if full.is_dir() and not full.is_symlink():
            shutil.rmtree(full)
        else:
            full.unlink(missing_ok=True)

    @rule(path=PATHS, content=CONTENT, program=st.booleans())
    def write(self, path: bytes, content: bytes, program: bool) -> None:
        full = self.at(path)
        if not is_plain_file(full):
            self.make_room(full)
        full.write_bytes(content)
        full.chmod(0o755 if program else 0o644)

    @rule(path=PATHS, content=st.binary(min_size=8, max_size=8))
    def write_with_the_same_size_and_time(self, path: bytes, content: bytes) -> None:
        full = self.at(path)
        self.make_room(full)
        full.write_bytes(b"8 bytes!")
        state = full.stat()
        full.write_bytes(content)
        os.utime(full, ns=(state.st_atime_ns, state.st_mtime_ns))

    @rule(path=PATHS)
    def remove(self, path: bytes) -> None:
        self.make_room(self.at(path))

    @rule(path=PATHS)
    def make_folder(self, path: bytes) -> None:
        full = self.at(path)
        self.make_room(full)
        full.mkdir()

    @rule(path=PATHS, to=st.sampled_from(["a", "..", "/etc", "missing", "b/a"]))
    def link(self, path: bytes, to: str) -> None:
        full = self.at(path)
        self.make_room(full)
        full.symlink_to(to)

    @rule(path=PATHS)
    def make_pipe(self, path: bytes) -> None:
        full = self.at(path)
        self.make_room(full)
        os.mkfifo(full)

    @rule(path=PATHS, to=PATHS)
    def rename(self, path: bytes, to: bytes) -> None:
        source = self.at(path)
        if is_within(to, path) or is_within(path, to) or not os.path.lexists(source):
            return
        target = self.at(to)
        self.make_room(target)
        if os.path.lexists(source):
            source.rename(target)

    @rule(path=PATHS, to=PATHS)
    def hard_link(self, path: bytes, to: bytes) -> None:
        source = self.at(path)
        if not is_plain_file(source) or is_within(to, path) or is_within(path, to):
            return
        target = self.at(to)
        self.make_room(target)
        if is_plain_file(source):
            target.hardlink_to(source)

    @rule(path=PATHS)
    def change_mode(self, path: bytes) -> None:
        full = self.at(path)
        if is_plain_file(full):
            full.chmod(full.stat().st_mode ^ 0o111)

    @rule()
    def capture(self) -> None:
        copy = plain_copy(self.root)
        checkpoint = self.capturer.capture(MOMENT)
        assert held(self.store, checkpoint) == captured(copy)
        named = {path for path in copy if is_beyond(copy, path) and not is_ignored(copy, path)}
        assert {bytes_of(one.path) for one in checkpoint.skipped} == named
        self.copies.append((checkpoint, copy))

    @precondition(lambda self: self.copies)
    @rule(data=st.data(), thorough=st.booleans())
    def restore(self, data: st.DataObject, thorough: bool) -> None:
        target, then = data.draw(st.sampled_from(self.copies), label="target")
        before = plain_copy(self.root)
        restorer = Restorer(self.capturer)
        plan = restorer.plan(target, MOMENT, thorough=thorough)
        assert held(self.store, plan.undo) == captured(before)
        result = restorer.restore(plan, confirmed=True, unusual_confirmed=True)
        after = plain_copy(self.root)
        self.copies.append((plan.undo, before))
        kept = [bytes_of(one.path) for one in result.kept]
        self.check_restored(captured(then), before, after, kept)

    def check_restored(self, then: Copy, before: Copy, after: Copy, kept: list[bytes]) -> None:
        for path in before.keys() | after.keys() | then.keys():
            was_out = path in before and is_out(before, path)
            if was_out and before[path][0] != "folder":
                assert after.get(path) == before[path], f"{path!r} was in no checkpoint, and was touched"
            elif any(is_within(path, one) for one in kept):
                assert after.get(path) in (before.get(path), then.get(path)), f"{path!r} was kept, and is neither"
            elif was_out:
                assert after.get(path) == ("folder", b"")
            else:
                assert after.get(path) == then.get(path), f"{path!r} is not what it was"

    @invariant()
    def the_last_capture_still_reads_back(self) -> None:
        if self.copies:
            checkpoint, copy = self.copies[-1]
            assert held(self.store, checkpoint) == captured(copy)


class Forgetful(Workspace):
    """The same with a watcher that loses notes; a scrub must find what it lost."""

    @initialize(seed=st.integers(0, 2**32))
    def lose_notes(self, seed: int) -> None:
        chance = random.Random(seed)
        watcher = self.capturer.watcher
        take = watcher.note

        def take_some(number: int, mask: int, name: bytes, position: int) -> None:
            if chance.random() > 0.5:
                take(number, mask, name, position)

        watcher.note = take_some  # type: ignore[method-assign]

    @rule()
    def capture(self) -> None:
        self.capturer.scrub()
        super().capture()

    @precondition(lambda self: self.copies)
    @rule(data=st.data(), thorough=st.just(value=True))
    def restore(self, data: st.DataObject, thorough: bool) -> None:
        super().restore(data, thorough)


def run(machine: type[Workspace], *, shrink: bool = True) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, *([Phase.shrink] if shrink else [])],
            report_multiple_bugs=False,
            database=None,
        ),
    )


@pytest.mark.timeout(0 if STEPS > 30 or EXAMPLES > 12 else 300)
def test_random_edits_captures_and_restores_agree_with_plain_copies() -> None:
    run(Workspace)


@pytest.mark.timeout(0 if STEPS > 30 or EXAMPLES > 12 else 300)
def test_a_scrub_finds_what_a_forgetful_watcher_lost() -> None:
    run(Forgetful)


class Careless(Forgetful):
    """The same without a scrub, to show that notes really are lost and that the comparison sees it."""

    @rule()
    def capture(self) -> None:
        Workspace.capture(self)


def test_without_a_scrub_a_forgetful_watcher_is_caught() -> None:
    with pytest.raises(
        (AssertionError, Flaky)
    ):  # flaky: what was missed once need not be missed when it is played again
        careless_runs()


def careless_runs() -> None:
    for _ in range(10):  # each is some dozens of random histories, and most have one that shows it
        run(Careless, shrink=False)
