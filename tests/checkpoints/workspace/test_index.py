"""What git's index names is not ignored, whatever the rules say."""

import os
import random
import subprocess
from pathlib import Path

import pytest

from checkpoints.store.store import Store
from checkpoints.workspace.capture import Capturer
from checkpoints.workspace.index import GitIndex, GitIndexes, unlooked_at
from checkpoints.workspace.scan import Survey
from tests.checkpoints.support import MOMENT, git
from tests.checkpoints.workspace.test_capture import Capturing, content, paths

NAMES = (b"a", b"b", b"a.b", b"a-b", b"a0", b"bad\xff", b"new\nline", b"\xc3\xa9", b"sp ace", b"A")


def staged(folder: Path, *found: bytes) -> GitIndex:
    """The index of a repository to which these files were added."""
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    for path in found:
        place = folder / os.fsdecode(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(path)
    for path in found:
        subprocess.run([b"git", b"-C", bytes(folder), b"add", b"-f", b"--", b":(literal)" + path], check=True)
    return GitIndex(b"", folder / ".git" / "index")


@pytest.mark.parametrize("seed", range(3))
def test_files_and_folders_are_named_as_git_lists_them(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    wanted: set[bytes] = set()
    for _ in range(12):
        path = b"/".join(chance.choice(NAMES) for _ in range(chance.randrange(1, 4)))
        if not any((one + b"/").startswith(path + b"/") or (path + b"/").startswith(one + b"/") for one in wanted):
            wanted.add(path)
    index = staged(tmp_path, *sorted(wanted))
    folders = {path.rsplit(b"/", depth)[0] for path in wanted for depth in range(1, path.count(b"/") + 1)}
    for path in {*wanted, *folders, *NAMES, b"a/", b"", b"a/b/c/d", *(path[:-1] for path in wanted if len(path) > 1)}:
        assert index.names(path, is_folder=False) == (path in wanted), path
        if path and not path.endswith(b"/"):
            assert index.names(path, is_folder=True) == (path in folders), path


def test_a_submodules_folder_is_named_and_is_no_file(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    staged(inner, b"s.txt")
    git(inner, "commit", "-qm", "one")
    outer = tmp_path / "outer"
    subprocess.run(["git", "init", "--quiet", str(outer)], check=True)
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    index = GitIndex(b"", outer / ".git" / "index")
    assert index.names(b"sub", is_folder=True)
    assert not index.names(b"sub", is_folder=False)


@pytest.mark.parametrize("what", ["missing", "damaged", "folder", "pipe"])
def test_an_index_that_cannot_be_read_names_nothing(tmp_path: Path, what: str) -> None:
    path = tmp_path / "index"
    if what == "damaged":
        path.write_bytes(b"DIRC\0\0\0\2\xff\xff\xff\xff" + os.urandom(100))
    elif what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    index = GitIndex(b"", path)
    assert not index.names(b"a", is_folder=False)
    assert not index.names(b"a", is_folder=True)


def test_an_index_is_read_again_once_it_changed_and_not_before(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / "a").write_text("a")
    indexes = GitIndexes()
    index = indexes.of(b"", tmp_path / ".git")
    assert index is not None
    assert not index.names(b"a", is_folder=False)
    assert indexes.renewed() == []
    git(tmp_path, "add", "a")
    assert indexes.renewed() == [index]
    assert index.names(b"a", is_folder=False)
    assert indexes.renewed() == []


def test_a_file_that_is_tracked_although_it_is_ignored_is_captured(
    workspace: Path, store: Store, capturing: Capturing
) -> None:
    (workspace / "kept.log").write_text("one")
    git(workspace, "add", "-f", "kept.log")
    (workspace / "build").mkdir()
    (workspace / "build" / "tracked").write_text("one")
    (workspace / "build" / "other").write_text("one")
    git(workspace, "add", "-f", "build/tracked")
    found = paths(store, capturing(store, workspace).capture(MOMENT))
    assert {"kept.log", "build/tracked"} <= found
    assert "build/other" not in found


def test_what_is_added_to_the_index_later_is_captured_from_then_on_and_as_it_changes(
    workspace: Path, store: Store, capturer: Capturer
) -> None:
    (workspace / "kept.log").write_text("one")
    (workspace / "build" / "deep").mkdir(parents=True)
    (workspace / "build" / "deep" / "tracked").write_text("one")
    (workspace / "build" / "other").write_text("one")
    assert "kept.log" not in paths(store, capturer.capture(MOMENT))
    git(workspace, "add", "-f", "kept.log", "build/deep/tracked")
    found = paths(store, capturer.capture(MOMENT))
    assert {"kept.log", "build/deep/tracked"} <= found
    assert "build/other" not in found
    (workspace / "build" / "deep" / "tracked").write_text("two")
    assert content(store, capturer.capture(MOMENT), "build/deep/tracked") == b"two"
    git(workspace, "add", "-f", "build/other")
    assert "build/other" in paths(store, capturer.capture(MOMENT))


def test_a_repository_within_has_an_index_of_its_own(workspace: Path, store: Store, capturer: Capturer) -> None:
    inner = workspace / "inner"
    subprocess.run(["git", "init", "--quiet", str(inner)], check=True)
    (inner / ".gitignore").write_text("*.o\n")
    (inner / "a.o").write_text("made")
    (inner / "b.o").write_text("made")
    git(inner, "add", "-f", "a.o")
    found = paths(store, capturer.capture(MOMENT))
    assert "inner/a.o" in found
    assert "inner/b.o" not in found
    git(inner, "add", "-f", "b.o")
    assert "inner/b.o" in paths(store, capturer.capture(MOMENT))


def test_a_submodule_that_a_rule_matches_is_captured_by_its_own_rules(
    tmp_path: Path, workspace: Path, store: Store, capturer: Capturer
) -> None:
    staged(tmp_path / "inner", b"s.txt", b"s.log")
    git(tmp_path / "inner", "commit", "-qm", "one")
    git(workspace, "-c", "protocol.file.allow=always", "submodule", "add", "-f", "-q", str(tmp_path / "inner"), "build")
    found = paths(store, capturer.capture(MOMENT))
    assert {"build/s.txt", "build/s.log"} <= found


def test_with_more_ignored_files_than_are_remembered_a_changed_index_has_all_folders_listed(
    workspace: Path, store: Store, capturer: Capturer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("checkpoints.workspace.scan.MOST_IGNORED", 3)
    for number in range(9):
        (workspace / f"{number}.log").write_text("noise")
    capturer.capture(MOMENT)
    git(workspace, "add", "-f", "8.log", "2.log", "5.log")
    found = paths(store, capturer.capture(MOMENT))
    assert {"8.log", "2.log", "5.log"} <= found
    assert "7.log" not in found


def test_a_scrub_does_not_report_what_git_has_come_to_track(workspace: Path, capturer: Capturer) -> None:
    (workspace / "kept.log").write_text("one")
    capturer.capture(MOMENT)
    git(workspace, "add", "-f", "kept.log")
    assert capturer.scrub().missed == ()


def test_a_scrub_does_not_report_what_other_rules_take_in(workspace: Path, capturer: Capturer) -> None:
    (workspace / "kept.log").write_text("one")
    (workspace / "src" / "kept.tmp").write_text("one")
    (workspace / "src" / ".gitignore").write_text("*.tmp\n")
    capturer.capture(MOMENT)
    (workspace / "src" / ".gitignore").write_text("")
    assert capturer.scrub().missed == ()
    (workspace / ".gitignore").write_text("build/\n")
    assert capturer.scrub().missed == ()


def test_what_a_survey_forgets_of_a_folder_it_forgets_of_what_is_ignored() -> None:
    survey = Survey()
    for path in (b"a.log", b"folder/b.log", b"folder/deep/c.log"):
        survey.ignore(path)
    survey.forget(b"a.log")
    survey.forget_below(b"folder")
    assert survey.ignored == set()


@pytest.mark.parametrize("version", ["2", "4"])
def test_an_index_that_was_cut_or_is_none_is_said_to_be_none(tmp_path: Path, version: str) -> None:
    staged(tmp_path, b"a", b"folder/b", b"folder/c")
    git(tmp_path, "update-index", "--index-version", version, "--skip-worktree", "folder/b")
    index = tmp_path / ".git/index"
    whole = index.read_bytes()
    assert [name for name, _ in unlooked_at(index)] == ["folder/b"]
    for end in (0, 11, 12, 40, 73, 76, 100):
        index.write_bytes(whole[:end])
        with pytest.raises(ValueError, match="no index of a form that is known"):
            unlooked_at(index)
