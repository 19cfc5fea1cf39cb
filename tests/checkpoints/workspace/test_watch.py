"""The watcher: what the kernel notes, told as paths."""

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkpoints.workspace.notes import MOST_QUEUES, NoteQueues
from checkpoints.workspace.watch import MAX_CHANGED, Watcher


@pytest.fixture
def watcher() -> Iterator[Watcher]:
    made = Watcher()
    yield made
    made.close()


def watch(watcher: Watcher, root: Path, *folders: str) -> None:
    for folder in ("", *folders):
        fd = os.open(root / folder, os.O_RDONLY)
        watcher.watch(folder.encode(), fd)
        os.close(fd)


def test_each_kind_of_change_is_told_and_told_once(watcher: Watcher, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/old").write_text("x")
    watch(watcher, tmp_path, "sub")
    (tmp_path / "new").write_text("x")
    (tmp_path / "sub/old").chmod(0o755)
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "folder").mkdir()
    assert watcher.take().paths == {b"new", b"sub/old", b"link", b"folder"}
    assert watcher.take() == (frozenset(), "")
    (tmp_path / "new").rename(tmp_path / "sub/moved")
    (tmp_path / "link").unlink()
    assert watcher.take().paths == {b"new", b"sub/moved", b"link"}


def test_a_change_is_told_as_soon_as_its_call_returned(watcher: Watcher, tmp_path: Path) -> None:
    """No cookie and no wait: two hundred times, the very next question has the answer."""
    watch(watcher, tmp_path)
    for number in range(200):
        (tmp_path / f"{number}").touch()
        assert watcher.take().paths == {b"%d" % number}


def test_names_that_are_no_text_are_told_as_bytes(watcher: Watcher, tmp_path: Path) -> None:
    watch(watcher, tmp_path)
    (tmp_path / os.fsdecode(b"bad\xff")).touch()
    assert watcher.take().paths == {b"bad\xff"}


def test_nothing_behind_a_link_is_watched(watcher: Watcher, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside/link").symlink_to(tmp_path / "outside")
    watch(watcher, tmp_path / "inside")
    (tmp_path / "outside/secret").touch()
    assert watcher.take().paths == frozenset()


def test_a_folder_that_moved_is_not_told_under_its_old_name(watcher: Watcher, tmp_path: Path) -> None:
    (tmp_path / "a/deep").mkdir(parents=True)
    watch(watcher, tmp_path, "a", "a/deep")
    (tmp_path / "a").rename(tmp_path / "b")
    assert watcher.take().paths == {b"a", b"b"}
    (tmp_path / "b/deep/new").touch()
    assert watcher.take().paths == frozenset(), "it is watched again once it was looked at under its new name"
    assert watcher.folders == 1


def test_what_was_put_back_is_told_again(watcher: Watcher, tmp_path: Path) -> None:
    watch(watcher, tmp_path)
    (tmp_path / "one").touch()
    changes = watcher.take()
    (tmp_path / "two").touch()
    watcher.put_back(changes)
    assert watcher.take().paths == {b"one", b"two"}


def test_losing_count_is_said(watcher: Watcher, tmp_path: Path) -> None:
    watch(watcher, tmp_path)
    with watcher._mutex:
        for number in range(6_000):
            (tmp_path / f"a{number % 2}").touch()
            (tmp_path / f"a{number % 2}").unlink()
    assert "ran over" in watcher.take().lost
    watcher.add(b"%d" % number for number in range(MAX_CHANGED + 1))
    (tmp_path / "more").touch()
    assert "More than 100,000 paths" in watcher.take().lost


def test_a_root_that_is_moved_is_said(watcher: Watcher, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    watch(watcher, tmp_path / "root")
    (tmp_path / "root").rename(tmp_path / "elsewhere")
    assert "moved or deleted" in watcher.take().lost


def test_after_the_end_everything_counts_as_changed(tmp_path: Path) -> None:
    made = Watcher()
    watch(made, tmp_path)
    made.close()
    made.close()
    assert made.take().lost == "The watch was closed."


def test_writes_moves_and_deletions_of_files_are_counted(watcher: Watcher, tmp_path: Path) -> None:
    watch(watcher, tmp_path)
    for number in range(3):
        (tmp_path / f"{number}").write_text("x")
    (tmp_path / "0").rename(tmp_path / "moved")
    (tmp_path / "1").unlink()
    (tmp_path / "2").chmod(0o755)
    (tmp_path / "folder").mkdir()
    watcher.take()
    assert watcher.operations == 5


def test_what_was_there_before_it_was_passed_over_is_not_new(watcher: Watcher, tmp_path: Path) -> None:
    """Also if so much waits in the queue that it is not read for it."""
    watch(watcher, tmp_path)
    with watcher._mutex:
        for number in range(2_000):
            (tmp_path / f"a{number % 9}").touch()
            (tmp_path / f"a{number % 9}").unlink()
        (tmp_path / "before").touch()
        watcher.pass_over()
        (tmp_path / "after").touch()
    assert watcher.look() == {b"after"}
    assert b"before" in watcher.take().paths


def test_three_hundred_workspaces_are_watched_by_few_instances_and_each_is_told_of_its_own(tmp_path: Path) -> None:
    queues = NoteQueues()
    watchers = [Watcher(queues) for _ in range(300)]
    try:
        for number, each in enumerate(watchers):
            (tmp_path / f"{number}").mkdir()
            watch(each, tmp_path / f"{number}")
        assert {each.problem for each in watchers} == {""}
        assert len(queues) == MOST_QUEUES
        for number in range(0, 300, 7):
            (tmp_path / f"{number}/file{number}").touch()
        for number, each in enumerate(watchers):
            assert each.take() == (frozenset() if number % 7 else {b"file%d" % number}, ""), number
    finally:
        for each in watchers:
            each.close()
    assert len(queues) == 0, "an instance that nobody uses is given back"


def test_a_workspace_within_another_is_told_to_both_until_one_is_closed(tmp_path: Path) -> None:
    queues = NoteQueues(most=1)
    outer, inner = Watcher(queues), Watcher(queues)
    (tmp_path / "inner").mkdir()
    watch(outer, tmp_path, "inner")
    watch(inner, tmp_path / "inner")
    (tmp_path / "inner/one").touch()
    assert outer.take().paths == {b"inner/one"}
    assert inner.take().paths == {b"one"}
    inner.close()
    (tmp_path / "inner/two").touch()
    assert outer.take().paths == {b"inner/two"}
    outer.close()


def test_a_queue_that_runs_over_is_said_to_all_that_share_it_and_to_nobody_else(tmp_path: Path) -> None:
    queues = NoteQueues(most=2)
    noisy, apart, beside = Watcher(queues), Watcher(queues), Watcher(queues)
    for name, each in (("noisy", noisy), ("apart", apart), ("beside", beside)):
        (tmp_path / name).mkdir()
        watch(each, tmp_path / name)
    with noisy._mutex:
        for number in range(6_000):
            (tmp_path / f"noisy/a{number % 2}").touch()
            (tmp_path / f"noisy/a{number % 2}").unlink()
    assert [bool(each.take().lost) for each in (noisy, apart, beside)] == [True, False, True]
    for each in (noisy, apart, beside):
        each.close()


def test_without_a_further_instance_the_one_there_is_shared(tmp_path: Path) -> None:
    queues = NoteQueues()
    first = Watcher(queues)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))  # the kernel gives no instance for the same reason and code
    try:
        second, alone = Watcher(queues), Watcher(NoteQueues())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    watch(second, tmp_path)
    (tmp_path / "file").touch()
    assert second.problem == ""
    assert second.take().paths == {b"file"}
    assert len(queues) == 1
    assert "max_user_instances" in alone.problem
    second.close()
    first.close()
