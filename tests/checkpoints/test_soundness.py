"""What went wrong for others, as tests: eight experiments, full disks, hostile agents, and several at once."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkpoints.errors import CheckpointError, RestoreFailedError, RestoreRefusedError, StoreFullError
from checkpoints.git.trees import files_in
from checkpoints.restore.restore import Restorer
from checkpoints.store.health import examine
from checkpoints.store.packing import pack
from checkpoints.store.restore_journal import interrupted
from checkpoints.store.store import Store
from checkpoints.workspace.capture import Capturer
from checkpoints.workspace.ignore import Rules
from checkpoints.workspace.scan import Scanner
from tests.checkpoints.restore.test_restore import go_back
from tests.checkpoints.support import MOMENT, git, shape

pytestmark = pytest.mark.slow

Capturing = Callable[..., Capturer]
Opening = Callable[[Path, Path], Store]

# ── the eight experiments ─────────────────────────────────────────────────────────────────────────────────────────────


def test_1_a_restore_keeps_ignored_files_and_the_users_index_and_head(workspace: Path, capturer: Capturer) -> None:
    (workspace / "x.log").write_text("ignored")
    (workspace / "empty").mkdir()
    git(workspace, "add", "-N", ".")
    target = capturer.capture(MOMENT)
    kept = [(workspace / ".git/index").read_bytes(), (workspace / ".git/HEAD").read_bytes()]
    (workspace / "README").write_text("other")
    go_back(capturer, target)
    assert (workspace / "x.log").read_text() == "ignored"
    assert (workspace / "empty").is_dir()
    assert [(workspace / ".git/index").read_bytes(), (workspace / ".git/HEAD").read_bytes()] == kept


def test_2_a_file_ignored_only_by_an_uncommitted_rule_survives(workspace: Path, capturer: Capturer) -> None:
    target = capturer.capture(MOMENT)
    (workspace / ".gitignore").write_text("data/\n")
    (workspace / "data").mkdir()
    (workspace / "data/set").write_text("precious")
    go_back(capturer, target)
    assert (workspace / "data/set").read_text() == "precious"


def test_3_a_file_that_changes_after_the_undo_was_taken_is_not_overwritten(workspace: Path, capturer: Capturer) -> None:
    target = capturer.capture(MOMENT)
    (workspace / "README").write_text("one")
    restorer = Restorer(capturer)
    plan = restorer.plan(target, MOMENT)
    (workspace / "README").write_text("two")
    with pytest.raises(RestoreRefusedError):
        restorer.restore(plan, confirmed=True)
    assert (workspace / "README").read_text() == "two"


def test_4_what_an_agent_plants_in_the_repository_never_runs(
    workspace: Path, tmp_path: Path, store: Store, capturer: Capturer
) -> None:
    ran = tmp_path / "ran"
    touch = f"touch {ran}; cat"
    for key in (
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "core.fsmonitor",
        "diff.evil.textconv",
    ):
        git(workspace, "config", key, touch)
    git(workspace, "config", "core.hooksPath", str(tmp_path / "hooks"))
    git(workspace, "config", "core.autocrlf", "true")
    git(workspace, "config", "core.ignoreStat", "true")
    git(workspace, "config", "alias.pack-objects", f"!{touch}")
    for folder in (tmp_path / "hooks", workspace / ".git/hooks"):
        folder.mkdir(exist_ok=True)
        for hook in ("pre-commit", "post-index-change", "reference-transaction", "post-checkout", "pre-auto-gc"):
            (folder / hook).write_text(f"#!/bin/sh\ntouch {ran}\n")
            (folder / hook).chmod(0o755)
    (workspace / ".gitattributes").write_text("* text=auto eol=crlf filter=evil diff=evil ident export-ignore\n")
    (workspace / "crlf").write_bytes(b"a\r\nb\n$Id$\n")
    target = capturer.capture(MOMENT)
    before = shape(workspace)
    (workspace / "crlf").write_bytes(b"other\n")
    go_back(capturer, target, thorough=True)
    pack(store)
    capturer.scrub()
    assert shape(workspace) == before
    assert not ran.exists()
    git(workspace, "add", "crlf")
    assert ran.exists(), "the trap works: git itself falls into it"


def test_5_the_content_of_a_repository_inside_is_captured(workspace: Path, capturer: Capturer) -> None:
    inner = workspace / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "lib").write_text("content")
    git(inner, "add", "-A")
    git(inner, "commit", "-qm", "inner")
    target = capturer.capture(MOMENT)
    (inner / "lib").write_text("changed")
    go_back(capturer, target)
    assert (inner / "lib").read_text() == "content"


def test_6_a_repository_inside_without_a_commit_stops_nothing(workspace: Path, capturer: Capturer) -> None:
    git(workspace, "init", "-q", "inner")
    (workspace / "inner/lib").write_text("content")
    target = capturer.capture(MOMENT)
    (workspace / "inner/lib").unlink()
    go_back(capturer, target)
    assert (workspace / "inner/lib").read_text() == "content"


def test_7_a_blob_that_was_staged_and_pruned_is_still_in_the_checkpoint(
    store: Store, workspace: Path, capturer: Capturer
) -> None:
    (workspace / "staged").write_text("staged, then pruned")
    git(workspace, "add", "staged")
    target = capturer.capture(MOMENT)
    git(workspace, "rm", "-q", "-f", "--cached", "staged")
    (workspace / "staged").unlink()
    git(workspace, "gc", "-q", "--prune=now")
    go_back(capturer, target)
    assert (workspace / "staged").read_text() == "staged, then pruned"


def test_8_an_edit_of_the_same_size_and_time_is_seen(store: Store, workspace: Path, capturer: Capturer) -> None:
    (workspace / "README").write_bytes(b"12345678")
    capturer.capture(MOMENT)
    for number in range(6):
        state = (workspace / "README").stat()
        content = f"{number:08}".encode()
        (workspace / "README").write_bytes(content)
        os.utime(workspace / "README", ns=(state.st_atime_ns, state.st_mtime_ns))
        found = dict(files_in(store, bytes.fromhex(capturer.capture(MOMENT).tree)))
        assert store.read(found[b"README"].id)[1] == content


def test_a_locked_index_of_the_project_stops_nothing_and_stays_locked(workspace: Path, capturer: Capturer) -> None:
    locked = [workspace / ".git/index.lock", workspace / ".git/HEAD.lock", workspace / ".git/refs/heads/main.lock"]
    for lock in locked:
        lock.write_text("somebody's")
    target = capturer.capture(MOMENT)
    (workspace / "README").write_text("other")
    go_back(capturer, target, thorough=True)
    assert (workspace / "README").read_text() == "read me\n"
    assert capturer.scrub().missed == ()
    assert [lock.read_text() for lock in locked] == ["somebody's"] * 3


# ── no room ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class FullDisk:
    """Makes one write of the process fail for want of room."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = -1
        self.failed = False
        for name in ("write", "pwrite", "mkdir", "symlink", "rename", "replace", "fsync", "fdatasync"):
            monkeypatch.setattr(os, name, self.failing(getattr(os, name)))
        open_, create = os.open, self.failing(os.open)
        monkeypatch.setattr(
            os,
            "open",
            lambda path, flags, *how, **more: (create if flags & os.O_CREAT else open_)(path, flags, *how, **more),
        )

    def failing(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def act(*words: Any, **more: Any) -> Any:
            if self.left == 0:
                self.left = -1
                self.failed = True
                raise OSError(28, os.strerror(28))
            self.left -= 1
            return real(*words, **more)

        return act

    def at(self, write: int) -> None:
        self.left, self.failed = write, False


@pytest.mark.parametrize("size", [100, 1_200_000])
def test_a_disk_that_is_full_at_any_write_of_a_capture_loses_nothing(
    store: Store, workspace: Path, capturer: Capturer, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    capturer.capture(MOMENT)
    disk = FullDisk(monkeypatch)
    for write in range(50):
        content = os.urandom(size)
        (workspace / "new").write_bytes(content)
        before = store.checkpoints
        disk.at(write)
        try:
            capturer.capture(MOMENT)
            store.settle()
        except StoreFullError:
            pass
        assert store.checkpoints[: len(before)] == before
        if not disk.failed:
            assert write > 3
            break
        after = capturer.capture(MOMENT)
        found = dict(files_in(store, bytes.fromhex(after.tree)))
        assert store.read(found[b"new"].id)[1] == content
        assert [problem for problem in examine(store) if "rely" not in problem.what] == []
    else:
        pytest.fail("it never came to an end")
    disk.at(-1)
    assert not list(store.packs.glob("tmp_*"))


def test_a_disk_that_is_full_at_any_write_of_a_restore_leaves_the_workspace_whole(
    workspace: Path, capturer: Capturer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "folder").mkdir()
    (workspace / "folder/file").write_text("file")
    target = capturer.capture(MOMENT)
    first = shape(workspace)
    disk = FullDisk(monkeypatch)
    for write in range(50):
        (workspace / "README").write_text("other")
        (workspace / "src/link").unlink(missing_ok=True)
        shutil.rmtree(workspace / "folder", ignore_errors=True)
        before = shape(workspace)
        restorer = Restorer(capturer)
        plan = restorer.plan(target, MOMENT, thorough=False)
        disk.at(write)
        try:
            restorer.restore(plan, confirmed=True, unusual_confirmed=True)
        except (StoreFullError, RestoreFailedError, OSError):
            disk.at(-1)
            if shape(workspace) == before:
                continue
            assert interrupted(capturer.store)
            restorer.recover()
        disk.at(-1)
        assert shape(workspace) == first
        if not disk.failed and write > 5:
            disk.at(-1)
            return
    pytest.fail("it never came to an end")


def test_a_real_limit_on_file_size_is_told_and_survived(tmp_path: Path) -> None:
    """In a process of its own, since the limit holds for all of it."""
    script = """
import os, resource, signal, sys
from pathlib import Path
from checkpoints.workspace.capture import Capturer
from checkpoints.errors import StoreFullError
from checkpoints.store.store import Store
from tests.checkpoints.support import MOMENT
base = Path(sys.argv[1])
(base / "work").mkdir()
store = Store(base / "state", base / "work")
capturer = Capturer(store, base / "work")
capturer.capture(MOMENT)
(base / "work/big").write_bytes(os.urandom(2_000_000))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))
try:
    capturer.capture(MOMENT)
except StoreFullError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
capturer.capture(MOMENT)
print(len(store.checkpoints))
"""
    root = Path(__file__).parent.parent.parent
    words = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=True)
    assert "no room to write a pack of new objects: File too large" in done.stdout
    assert done.stdout.endswith("2\n")


# ── several at once ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_two_agents_of_one_project_share_a_store_and_not_their_files(
    store: Store, workspace: Path, capturing: Capturing, tmp_path: Path
) -> None:
    git(workspace, "worktree", "add", "-q", str(tmp_path / "second"))
    places = [workspace, tmp_path / "second"]
    capturers = [capturing(store, place) for place in places]
    firsts = [capturer.capture(MOMENT) for capturer in capturers]
    shapes = [shape(place) for place in places]
    problems: list[BaseException] = []

    def work(place: Path, capturer: Capturer) -> None:
        try:
            for number in range(20):
                (place / f"file{number}").write_text(f"{place} {number}")
                capturer.capture(MOMENT)
        except BaseException as error:  # noqa: BLE001
            problems.append(error)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(places, capturers, strict=True)]
    for thread in threads:
        thread.start()
    pack(store)
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(store.checkpoints) == 42
    assert len({checkpoint.number for checkpoint in store.checkpoints}) == 42
    go_back(capturers[0], firsts[0])
    assert shape(places[0]) == shapes[0]
    assert len(shape(places[1])) == len(shapes[1]) + 20
    assert [problem for problem in examine(store) if "rely" not in problem.what] == []


def test_a_second_workspace_writes_only_what_it_has_of_its_own(
    store: Store, workspace: Path, capturing: Capturing, tmp_path: Path
) -> None:
    (workspace / "big").write_bytes(os.urandom(300_000))
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "big")
    capturing(store, workspace).capture(MOMENT)
    pack(store)
    size = store.size_bytes
    git(workspace, "worktree", "add", "-q", str(tmp_path / "second"))
    second = capturing(store, tmp_path / "second")
    (tmp_path / "second/own").write_text("own")
    target = second.capture(MOMENT)
    store.settle()
    assert store.size_bytes - size < 10_000
    before = shape(tmp_path / "second")
    (tmp_path / "second/big").unlink()
    go_back(second, target)
    assert shape(tmp_path / "second") == before


def test_captures_go_on_while_a_scrub_looks_at_everything(
    store: Store, workspace: Path, capturer: Capturer, monkeypatch: pytest.MonkeyPatch
) -> None:
    capturer.capture(MOMENT)
    look = Scanner.folder

    def look_while_others_work(scanner: Scanner, fd: int, path: bytes, before: bytes, rules: Rules) -> bytes:
        monkeypatch.undo()
        (workspace / "README").write_text("written and captured while the scrub looks")
        thread = threading.Thread(target=capturer.capture, args=(MOMENT,))
        thread.start()
        thread.join()
        (workspace / "src/main.py").write_text("written, and not captured yet")
        return look(scanner, fd, path, before, rules)

    monkeypatch.setattr(Scanner, "folder", look_while_others_work)
    assert capturer.scrub().missed == ()
    assert len(store.checkpoints) == 2


def test_an_agent_that_writes_while_it_is_captured_ends_up_captured(
    store: Store, workspace: Path, capturer: Capturer
) -> None:
    capturer.capture(MOMENT)
    script = (
        "import itertools, pathlib, sys\n"
        "for n in itertools.count():\n"
        "    for k in range(5):\n"
        "        pathlib.Path(sys.argv[1], f'live{k}').write_bytes(b'%d' % n * 50_000)\n"
        "    p = pathlib.Path(sys.argv[1], 'dir'); p.mkdir(exist_ok=True)\n"
        "    (p / 'x').write_text(str(n)); (p / 'x').rename(p / f'y{n % 7}')\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(workspace)]) as writer:
        try:
            while not (workspace / "dir").exists():
                os.sched_yield()
            for _ in range(20):
                capturer.capture(MOMENT)
        finally:
            writer.send_signal(signal.SIGKILL)
    last = capturer.capture(MOMENT)
    found = dict(files_in(store, bytes.fromhex(last.tree)))
    held = {os.fsdecode(path): store.read(entry.id)[1] for path, entry in found.items()}
    assert held == {path: content for path, (kind, content) in shape(workspace).items() if kind != "folder"}
    assert last.unsettled == ()


def test_links_swapped_in_while_it_looks_lead_nowhere(
    store: Store, workspace: Path, capturer: Capturer, tmp_path: Path
) -> None:
    """A folder becomes a link to the outside and back, all the time: no secret gets into any checkpoint."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "main.py").write_text("a secret from outside")
    (outside / "extra").write_text("a secret from outside")
    ended = threading.Event()

    def swap() -> None:
        source, aside, link = workspace / "src", workspace / "aside", workspace / "link"
        while not ended.is_set():
            link.symlink_to(outside)
            source.rename(aside)
            link.rename(source)
            source.unlink()
            aside.rename(source)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        made = [capturer.capture(MOMENT, scrub=number % 2 == 0) for number in range(30)]
    finally:
        ended.set()
        swapper.join()
    for checkpoint in made:
        for _, entry in files_in(store, bytes.fromhex(checkpoint.tree)):
            assert entry.is_folder or b"secret" not in store.read(entry.id)[1]


def test_more_changes_than_the_kernel_queues_lead_to_a_full_look(
    store: Store, workspace: Path, capturer: Capturer
) -> None:
    capturer.capture(MOMENT)
    with capturer.watcher._mutex:
        for number in range(6_000):
            (workspace / f"f{number % 10}").touch()
            (workspace / f"f{number % 10}").unlink()
        (workspace / "after").write_text("its own note was dropped by the kernel")
    checkpoint = capturer.capture(MOMENT)
    assert b"after" in dict(files_in(store, bytes.fromhex(checkpoint.tree)))


def test_when_the_kernel_refuses_to_watch_every_capture_looks_at_everything(
    store: Store, workspace: Path, capturer: Capturer
) -> None:
    capturer.capture(MOMENT)
    capturer.watcher._give_up("The kernel refuses to watch more than 3 folders.")
    (workspace / "new").write_text("new")
    found = dict(files_in(store, bytes.fromhex(capturer.capture(MOMENT).tree)))
    assert b"new" in found
    assert "refuses" in capturer.watcher.problem


def test_a_restore_needs_no_repository_and_no_git(
    tmp_path: Path, capturing: Capturing, opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "a").write_text("a")
    store = opening(tmp_path / "state", folder)
    capturer = capturing(store, folder)
    target = capturer.capture(MOMENT)
    (folder / "a").unlink()
    go_back(capturer, target)
    assert (folder / "a").read_text() == "a"


def test_a_file_that_the_daemon_may_not_read_is_named_and_not_touched() -> None:
    """Root may read everything, so this runs in a child with another user id where the test is root."""
    script = """
import json, os, sys
from pathlib import Path
from checkpoints.workspace.capture import Capturer
from checkpoints.store.store import Store
from checkpoints.restore.restore import Restorer
from checkpoints.store.records import _checkpoints
from tests.checkpoints.support import MOMENT
base = Path(sys.argv[1])
_checkpoints()  # imports more, which another user may not be able to read
if os.getuid() == 0:
    os.chown(base, 65534, 65534)
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
os.umask(0o022)
work = base / "work"
(work / "closed").mkdir(parents=True)
(work / "closed/inner").write_text("x")
(work / "secret").write_text("y")
store = Store(base / "state", work)
capturer = Capturer(store, work)
target = capturer.capture(MOMENT)
(work / "closed").chmod(0)
(work / "secret").chmod(0)
now = capturer.capture(MOMENT)
plan = Restorer(capturer).plan(target, MOMENT)
result = Restorer(capturer).restore(plan, confirmed=True)
(work / "closed").chmod(0o755)
(work / "secret").chmod(0o644)
print(json.dumps([[one.path for one in now.skipped], [one.path for one in result.kept], (work / "closed/inner").read_text()]))
"""
    root = Path(__file__).parent.parent.parent
    # Not below pytest's own folder: each session that starts closes that one to other users again.
    with tempfile.TemporaryDirectory() as base:
        words = [sys.executable, "-c", script, base]
        done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [["closed", "secret"], ["closed", "secret"], "x"]


def test_the_error_of_a_missing_workspace_says_what_can_be_done(
    store: Store, workspace: Path, capturer: Capturer
) -> None:
    capturer.capture(MOMENT)
    shutil.rmtree(workspace)
    with pytest.raises(CheckpointError, match="--to-new-workspace"):
        capturer.capture(MOMENT)
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > len(list(Path("/proc/self/fd").iterdir())), (
        "no descriptor leaks"
    )
