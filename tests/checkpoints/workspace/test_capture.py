"""Capturing: what is in a checkpoint, what is not, and what it costs when nothing changed."""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from checkpoints.errors import WorkspaceGoneError
from checkpoints.git.trees import files_in
from checkpoints.model import Checkpoint, Nested, Why
from checkpoints.restore.restore import Restorer
from checkpoints.store.store import Store
from checkpoints.workspace.capture import Capturer, CaptureSettings
from monitors.contract.errors import UsageError
from tests.checkpoints.support import MOMENT, git

Capturing = Callable[..., Capturer]
Opening = Callable[[Path, Path], Store]


def paths(store: Store, checkpoint: Checkpoint) -> set[str]:
    return {os.fsdecode(path) for path, _ in files_in(store, bytes.fromhex(checkpoint.tree))}


def content(store: Store, checkpoint: Checkpoint, path: str) -> bytes:
    found = dict(files_in(store, bytes.fromhex(checkpoint.tree)))[os.fsencode(path)]
    return store.read(found.id)[1]


def test_tracked_and_untracked_files_are_in_and_ignored_ones_are_out(
    store: Store, workspace: Path, capturer: Capturer
) -> None:
    (workspace / "new.txt").write_text("new")
    (workspace / "x.log").write_text("noise")
    (workspace / "build").mkdir()
    (workspace / "build/out").write_text("made")
    found = paths(store, capturer.capture(MOMENT))
    assert found == {".gitignore", "README", "new.txt", "src/main.py", "src/run.sh", "src/link"}


def test_the_commit_is_one_that_git_can_read(store: Store, workspace: Path, capturer: Capturer) -> None:
    checkpoint = capturer.capture(MOMENT)
    store.settle()
    listed = git(store.objects, "ls-tree", "-r", f"refs/checkpoints/{checkpoint.name}")
    assert "100755 blob" in listed
    assert "120000 blob" in listed
    assert git(store.objects, "cat-file", "-p", f"{checkpoint.commit}:src/main.py") == "print(1)\n"
    assert git(store.objects, "fsck", "--strict", "--full", "--no-dangling") == ""


def test_what_changed_since_is_captured_without_a_full_scan(
    store: Store, workspace: Path, capturer: Capturer, monkeypatch: pytest.MonkeyPatch
) -> None:
    capturer.capture(MOMENT)
    (workspace / "src/main.py").write_text("print(2)\n")
    (workspace / "src/run.sh").unlink()
    (workspace / "deep/er").mkdir(parents=True)
    (workspace / "deep/er/file").write_text("deep")
    monkeypatch.setattr(Capturer, "_full", lambda *_: pytest.fail("it scanned everything"))
    later = capturer.capture(MOMENT)
    assert paths(store, later) == {".gitignore", "README", "src/main.py", "src/link", "deep/er/file"}
    assert content(store, later, "src/main.py") == b"print(2)\n"


def test_equal_files_share_one_commit_and_write_no_object(store: Store, capturer: Capturer) -> None:
    first = capturer.capture(MOMENT)
    store.settle()
    packs = sorted(store.packs.iterdir())
    second = capturer.capture(MOMENT)
    store.settle()
    assert (second.commit, second.name != first.name) == (first.commit, True)
    assert sorted(store.packs.iterdir()) == packs


def test_what_is_the_same_as_in_the_last_commit_is_borrowed_and_not_written(store: Store, capturer: Capturer) -> None:
    capturer.capture(MOMENT)
    store.settle()
    own = git(store.objects, "count-objects", "-v")
    assert "in-pack: 1\n" in own, "the commit is new and nothing else is"


def test_a_file_over_the_limit_is_named_and_left_out(store: Store, workspace: Path, capturing: Capturing) -> None:
    (workspace / "large.bin").write_bytes(bytes(2_000))
    (workspace / "fits.bin").write_bytes(bytes(1_000))
    checkpoint = capturing(store, workspace, CaptureSettings(limit_bytes=1_000)).capture(MOMENT)
    assert [(one.path, one.why, one.size_bytes) for one in checkpoint.skipped] == [("large.bin", Why.TOO_LARGE, 2_000)]
    assert "fits.bin" in paths(store, checkpoint)
    assert "large.bin" not in paths(store, checkpoint)


def test_two_gigabytes_that_nobody_committed_are_named_and_neither_read_nor_removed(
    store: Store, workspace: Path, capturer: Capturer
) -> None:
    before, size = capturer.capture(MOMENT), 2 * 1024**3
    for name in ("data.bin", "set/more.bin"):
        (workspace / name).parent.mkdir(exist_ok=True)
        with (workspace / name).open("wb") as file:
            file.truncate(size)
    checkpoint = capturer.capture(MOMENT)
    assert [(one.path, one.size_bytes) for one in checkpoint.skipped] == [("data.bin", size), ("set/more.bin", size)]
    assert store.size_bytes < 10_000_000
    restorer = Restorer(capturer)
    restorer.restore(restorer.plan(before, MOMENT), confirmed=True)
    assert (workspace / "set/more.bin").stat().st_size == size


def test_a_file_that_git_would_filter_is_captured_as_it_lies(store: Store, workspace: Path, capturer: Capturer) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0000\nsize 12345\n"
    (workspace / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n*.txt text eol=crlf\n")
    (workspace / "pointer.bin").write_bytes(pointer)
    (workspace / "fetched.bin").write_bytes(b"\0content itself")
    (workspace / "lines.txt").write_bytes(b"one\ntwo\r\n")
    checkpoint = capturer.capture(MOMENT)
    assert content(store, checkpoint, "pointer.bin") == pointer
    assert content(store, checkpoint, "fetched.bin") == b"\0content itself"
    assert content(store, checkpoint, "lines.txt") == b"one\ntwo\r\n"


def test_a_captured_file_that_grows_over_the_limit_is_named_and_one_that_shrinks_is_back(
    store: Store, workspace: Path, capturing: Capturing
) -> None:
    capturer = capturing(store, workspace, CaptureSettings(limit_bytes=1_000))
    capturer.capture(MOMENT)
    (workspace / "README").write_bytes(bytes(1_001))
    assert [one.path for one in capturer.capture(MOMENT).skipped] == ["README"]
    (workspace / "README").write_bytes(bytes(999))
    back = capturer.capture(MOMENT)
    assert back.skipped == ()
    assert "README" in paths(store, back)


def test_more_new_data_than_one_capture_takes_is_named_and_taken_bit_by_bit(
    store: Store, workspace: Path, capturing: Capturing
) -> None:
    capturer = capturing(store, workspace, CaptureSettings(limit_new_bytes=1_000))
    capturer.capture(MOMENT)
    (workspace / "data").mkdir()
    for number in range(5):
        (workspace / f"data/{number}").write_bytes(bytes(400))
    waiting = []
    for _ in range(3):
        checkpoint = capturer.capture(MOMENT)
        waiting.append([(one.path, one.why) for one in checkpoint.skipped])
    assert waiting == [
        [(f"data/{number}", Why.TOO_MUCH) for number in (2, 3, 4)],
        [("data/4", Why.TOO_MUCH)],
        [],
    ]
    assert len([path for path in paths(store, checkpoint) if path.startswith("data/")]) == 5


def test_a_listed_path_is_captured_although_it_is_ignored(store: Store, workspace: Path, capturing: Capturing) -> None:
    (workspace / "build/keep").mkdir(parents=True)
    (workspace / "build/keep/state.log").write_text("1")
    (workspace / "build/other").write_text("2")
    (workspace / "secret.log").write_text("3")
    capturer = capturing(store, workspace, CaptureSettings(also=("build/keep", "secret.log")))
    assert {"build/keep/state.log", "secret.log"} <= paths(store, capturer.capture(MOMENT))
    (workspace / "build/keep/state.log").write_text("4")
    (workspace / "build/more").write_text("5")
    later = capturer.capture(MOMENT)
    assert content(store, later, "build/keep/state.log") == b"4"
    assert not {"build/other", "build/more"} & paths(store, later)


def test_a_committed_file_is_captured_although_it_is_ignored(
    tmp_path: Path, workspace: Path, capturing: Capturing, opening: Opening
) -> None:
    (workspace / "build").mkdir()
    (workspace / "build/kept").write_text("1")
    (workspace / "build/other").write_text("2")
    git(workspace, "add", "-f", "build/kept")
    git(workspace, "commit", "-q", "-m", "forced")
    store = opening(tmp_path / "state", workspace)
    capturer = capturing(store, workspace)
    first = capturer.capture(MOMENT)
    assert {path for path in paths(store, first) if path.startswith("build")} == {"build/kept"}
    (workspace / "build/kept").write_text("3")
    assert content(store, capturer.capture(MOMENT), "build/kept") == b"3"


def test_rules_that_change_take_files_in_and_never_drop_what_was_captured(
    store: Store, workspace: Path, capturer: Capturer
) -> None:
    (workspace / "a.log").write_text("was ignored")
    (workspace / "b.txt").write_text("was captured")
    assert "a.log" not in paths(store, capturer.capture(MOMENT))
    (workspace / ".gitignore").write_text("*.txt\n")
    later = paths(store, capturer.capture(MOMENT))
    assert {"a.log", "b.txt"} <= later
    (workspace / "c.txt").write_text("is ignored")
    assert "c.txt" not in paths(store, capturer.capture(MOMENT))


def test_rules_of_the_repository_and_of_the_user_hold_too(
    store: Store, workspace: Path, capturer: Capturer, tmp_path: Path
) -> None:
    for name in ("one.tmp", "two.bak", "three.old"):
        (workspace / name).write_text("x")
    assert {"one.tmp", "two.bak", "three.old"} <= paths(store, capturer.capture(MOMENT))
    (tmp_path / "home/rules").write_text("*.old2\n")
    (workspace / ".git/info/exclude").write_text("*.tmp2\n")
    git(workspace, "config", "core.excludesFile", "~/rules")
    for name in ("one.tmp2", "two.bak2", "three.old2"):
        (workspace / name).write_text("x")
    found = paths(store, capturer.capture(MOMENT))
    assert "two.bak2" in found
    assert not {"one.tmp2", "three.old2"} & found


def test_names_that_are_no_text_are_captured(store: Store, workspace: Path, capturer: Capturer) -> None:
    strange = [b"bad\xff.txt", b"line\nbreak", b"tab\tand \\ slash", "ünïcode".encode(), b"Case", b"case"]
    for name in strange:
        (workspace / os.fsdecode(name)).write_bytes(name)
    checkpoint = capturer.capture(MOMENT)
    found = dict(files_in(store, bytes.fromhex(checkpoint.tree)))
    assert {store.read(found[name].id)[1] for name in strange} == set(strange)
    (workspace / os.fsdecode(strange[0])).write_bytes(b"changed")
    later = dict(files_in(store, bytes.fromhex(capturer.capture(MOMENT).tree)))
    assert store.read(later[strange[0]].id)[1] == b"changed"


def test_names_that_differ_in_case_alone_are_two_files(store: Store, workspace: Path, capturer: Capturer) -> None:
    (workspace / "readme").write_text("the other")
    checkpoint = capturer.capture(MOMENT)
    assert content(store, checkpoint, "readme") == b"the other"
    assert content(store, checkpoint, "README") == b"read me\n"


@pytest.mark.parametrize(("writes", "unsettled"), [(1, ()), (99, ("README",))])
def test_a_file_that_is_written_while_it_is_read_is_read_again_and_one_that_never_rests_is_named(
    store: Store,
    workspace: Path,
    capturer: Capturer,
    monkeypatch: pytest.MonkeyPatch,
    writes: int,
    unsettled: tuple[str, ...],
) -> None:
    capturer.capture(MOMENT)
    read, left = os.pread, [writes]

    def read_as_it_is_written(fd: int, size: int, at: int) -> bytes:
        data = read(fd, size, at)
        if left[0] and Path(f"/proc/self/fd/{fd}").readlink() == workspace / "README":
            left[0] -= 1
            with (workspace / "README").open("a") as file:
                file.write("more\n")
        return data

    (workspace / "README").write_text("begun\n")
    monkeypatch.setattr(os, "pread", read_as_it_is_written)
    checkpoint = capturer.capture(MOMENT)
    monkeypatch.undo()
    assert checkpoint.unsettled == unsettled
    if not unsettled:
        assert content(store, checkpoint, "README") == (workspace / "README").read_bytes()
    capturer.watcher.take()  # without a note too: what never rested is looked at again
    after = capturer.capture(MOMENT)
    assert after.unsettled == ()
    assert content(store, after, "README") == (workspace / "README").read_bytes()


def test_special_files_are_named_and_never_waited_for(store: Store, workspace: Path, capturer: Capturer) -> None:
    capturer.capture(MOMENT)
    os.mkfifo(workspace / "pipe")
    checkpoint = capturer.capture(MOMENT)
    assert [(one.path, one.why) for one in checkpoint.skipped] == [("pipe", Why.SPECIAL)]
    assert capturer.capture(MOMENT, scrub=True).skipped == checkpoint.skipped


def test_links_are_captured_as_links_and_never_followed(
    store: Store, workspace: Path, capturer: Capturer, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("secret")
    (workspace / "out").symlink_to(tmp_path / "outside")
    (workspace / "nowhere").symlink_to("missing")
    found = paths(store, capturer.capture(MOMENT))
    assert {"out", "nowhere"} <= found
    assert "out/secret" not in found


def test_an_empty_folder_is_captured(store: Store, workspace: Path, capturer: Capturer) -> None:
    (workspace / "empty/inner").mkdir(parents=True)
    assert "empty/inner" in paths(store, capturer.capture(MOMENT))
    (workspace / "empty/inner").rmdir()
    assert "empty" in paths(store, capturer.capture(MOMENT))


@pytest.mark.parametrize("commits", [True, False])
def test_files_of_a_repository_inside_are_captured_as_files(
    store: Store, workspace: Path, capturer: Capturer, commits: bool
) -> None:
    inner = workspace / "vendor/inner"
    inner.mkdir(parents=True)
    git(inner, "init", "-q")
    (inner / "lib.c").write_text("int x;")
    (inner / "a.log").write_text("the outer rules end at its door")
    if commits:
        git(inner, "add", "-A")
        git(inner, "commit", "-q", "-m", "inner")
    head = git(inner, "rev-parse", "HEAD").strip() if commits else ""
    checkpoint = capturer.capture(MOMENT)
    assert checkpoint.nested == (Nested("vendor/inner", head),)
    found = {path for path in paths(store, checkpoint) if path.startswith("vendor")}
    assert found == {"vendor/inner/lib.c", "vendor/inner/a.log"}


def test_files_of_a_submodule_are_captured_as_files(
    tmp_path: Path, workspace: Path, capturing: Capturing, opening: Opening
) -> None:
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "-q")
    (library / "lib.c").write_text("int x;")
    git(library, "add", "-A")
    git(library, "commit", "-q", "-m", "library")
    git(workspace, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib")
    git(workspace, "commit", "-q", "-m", "submodule")
    store = opening(tmp_path / "state", workspace)
    checkpoint = capturing(store, workspace).capture(MOMENT)
    assert [one.path for one in checkpoint.nested] == ["lib"]
    assert content(store, checkpoint, "lib/lib.c") == b"int x;"


def test_no_repository_is_needed(tmp_path: Path, capturing: Capturing, opening: Opening) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "a").write_text("a")
    (folder / ".gitignore").write_text("b\n")
    (folder / "b").write_text("b")
    store = opening(tmp_path / "state", folder)
    checkpoint = capturing(store, folder).capture(MOMENT)
    assert paths(store, checkpoint) == {"a", ".gitignore"}
    assert checkpoint.repository.head == ""


@pytest.mark.parametrize(
    ("commands", "branch", "operation"),
    [
        ([], "refs/heads/main", ""),
        ([["checkout", "-q", "--detach"]], "", ""),
        ([["checkout", "-q", "--orphan", "fresh"]], "refs/heads/fresh", ""),
        ([["sparse-checkout", "set", "src"]], "refs/heads/main", ""),
    ],
)
def test_every_state_of_head_is_captured(
    store: Store, workspace: Path, capturer: Capturer, commands: list[list[str]], branch: str, operation: str
) -> None:
    for words in commands:
        git(workspace, *words)
    checkpoint = capturer.capture(MOMENT)
    assert checkpoint.repository.branch == branch
    assert checkpoint.repository.operation == operation
    assert checkpoint.repository.head == ("" if "fresh" in branch else git(workspace, "rev-parse", "HEAD").strip())
    assert "src/main.py" in paths(store, checkpoint)


def test_a_repository_in_the_middle_of_a_rebase_is_captured_as_it_stands(
    store: Store, workspace: Path, capturer: Capturer
) -> None:
    git(workspace, "checkout", "-q", "-b", "side")
    (workspace / "README").write_text("side\n")
    git(workspace, "commit", "-qam", "side")
    git(workspace, "checkout", "-q", "main")
    (workspace / "README").write_text("main\n")
    git(workspace, "commit", "-qam", "main")
    with pytest.raises(subprocess.CalledProcessError):
        git(workspace, "rebase", "side")
    checkpoint = capturer.capture(MOMENT)
    assert checkpoint.repository.operation == "rebase"
    assert b"<<<<<<<" in content(store, checkpoint, "README")


def test_a_broken_repository_does_not_stop_a_capture(store: Store, workspace: Path, capturer: Capturer) -> None:
    capturer.capture(MOMENT)
    (workspace / ".git/config").write_bytes(b"\0\0[[[")
    (workspace / ".git/HEAD").write_bytes(b"\xff\xfe")
    (workspace / "new").write_text("new")
    assert "new" in paths(store, capturer.capture(MOMENT))


@pytest.mark.parametrize("place", ["", "within/"])
@pytest.mark.parametrize("name", ["a" * 5_000, "a/" * 3_000, "nul\0", "\xff"])
def test_a_git_file_that_names_what_none_can_be_does_not_stop_a_capture(
    store: Store, workspace: Path, capturer: Capturer, place: str, name: str
) -> None:
    capturer.capture(MOMENT)
    shutil.rmtree(workspace / ".git")
    (workspace / "within").mkdir()
    (workspace / f"{place}.git").write_bytes(b"gitdir: " + name.encode("latin-1"))
    (workspace / "new").write_text("new")
    assert "new" in paths(store, capturer.capture(MOMENT))


def test_a_workspace_that_is_gone_or_another_is_refused(store: Store, workspace: Path, capturer: Capturer) -> None:
    capturer.capture(MOMENT)
    workspace.rename(workspace.with_name("moved"))
    with pytest.raises(WorkspaceGoneError, match="cannot be opened"):
        capturer.capture(MOMENT)
    workspace.mkdir()
    with pytest.raises(WorkspaceGoneError, match="Another folder"):
        capturer.capture(MOMENT)


def test_a_folder_that_becomes_a_file_and_back_is_followed(store: Store, workspace: Path, capturer: Capturer) -> None:
    capturer.capture(MOMENT)
    (workspace / "src").rename(workspace / "moved")
    (workspace / "src").write_text("a file now")
    found = paths(store, capturer.capture(MOMENT))
    assert {"src", "moved/main.py", "moved/link"} <= found
    (workspace / "src").unlink()
    (workspace / "moved").rename(workspace / "src")
    (workspace / "src/main.py").write_text("after the move")
    back = capturer.capture(MOMENT)
    assert paths(store, back) == {".gitignore", "README", "src/main.py", "src/run.sh", "src/link"}
    assert content(store, back, "src/main.py") == b"after the move"


def test_thousands_of_files_at_once_are_captured(store: Store, workspace: Path, capturer: Capturer) -> None:
    capturer.capture(MOMENT)
    for number in range(100):
        folder = workspace / f"bulk/{number}"
        folder.mkdir(parents=True)
        for file in range(30):
            (folder / f"{file}").write_text(f"{number} {file}")
    found = paths(store, capturer.capture(MOMENT))
    assert sum(1 for path in found if path.startswith("bulk/")) == 3_000


def test_a_name_that_is_taken_or_cannot_be_one_is_refused_and_loses_nothing(
    store: Store, workspace: Path, capturer: Capturer
) -> None:
    capturer.capture(replace(MOMENT, name="good"))
    (workspace / "new").write_text("new")
    for name in ("good", "../up", "a b", "x.lock", "-x", "a..b"):
        with pytest.raises(UsageError):
            capturer.capture(replace(MOMENT, name=name))
    assert "new" in paths(store, capturer.capture(MOMENT))


def test_a_file_with_a_further_name_outside_is_read_with_each_capture(
    store: Store, workspace: Path, capturer: Capturer, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    os.link(workspace / "README", outside)
    capturer.capture(MOMENT)
    outside.write_text("written through the other name")
    assert content(store, capturer.capture(MOMENT), "README") == b"written through the other name"


def test_a_new_process_goes_on_where_the_old_one_ended(
    tmp_path: Path, store: Store, workspace: Path, capturing: Capturing, opening: Opening
) -> None:
    first = capturing(store, workspace).capture(MOMENT)
    (workspace / "README").write_text("changed while nobody watched")
    store.close()
    again = opening(tmp_path / "state", workspace)
    second = capturing(again, workspace).capture(MOMENT)
    assert again.find(first.name) == first
    assert content(again, second, "README") == b"changed while nobody watched"
    assert capturing(again, workspace).capture(MOMENT).commit == second.commit


def test_a_look_at_all_files_says_how_far_it_is_of_what_git_tracks(workspace: Path, capturer: Capturer) -> None:
    for number in range(200):
        (workspace / f"many-{number}").write_text(f"{number}\n")
    git(workspace, "add", "--all")
    told: list[tuple[int, int | None]] = []
    capturer.report = lambda done, total: told.append((done, total))
    capturer.capture(MOMENT)
    assert [done for done, _ in told] == [64, 128, 192]
    assert all(total is not None and total >= 200 for _, total in told)
