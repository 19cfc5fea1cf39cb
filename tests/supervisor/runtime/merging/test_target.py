"""The target of a merge: it moves whole, or nothing changes."""

from pathlib import Path

import pytest

from supervisor.runtime.merging import target
from supervisor.runtime.merging.target import TargetHeldError, TargetMovedError
from tests.stages.branches import git
from tests.supervisor.runtime.merging.test_git_merge import commit


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    made = tmp_path / "repo"
    made.mkdir()
    git(made, "init", "-q", "-b", "main")
    commit(made, "first", a_txt="a\n", b_txt="b\n")
    git(made, "checkout", "-qb", "work")
    commit(made, "work", a_txt="aa\n", c_txt="c\n", b_txt=None)
    return made


def moved(repo: Path, *, set_files: bool = True) -> tuple[Path, ...]:
    old, new = git(repo, "rev-parse", "main"), git(repo, "rev-parse", "work")
    return target.move(repo, "main", old, new, "a note", set_files=set_files)


def test_a_target_that_is_checked_out_nowhere_moves_and_its_log_says_why(repo: Path) -> None:
    assert moved(repo, set_files=False) == ()
    assert git(repo, "rev-parse", "main") == git(repo, "rev-parse", "work")
    assert git(repo, "reflog", "-1", "--format=%gs", "main") == "a note"


def test_files_of_a_clean_checkout_follow(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", str(tmp_path / "other"), "main")
    (tmp_path / "other" / "untracked").write_text("mine")
    assert moved(repo) == (tmp_path / "other",)
    assert git(tmp_path / "other", "status", "--porcelain") == "?? untracked"
    assert sorted(path.name for path in (tmp_path / "other").iterdir()) == [".git", "a.txt", "c.txt", "untracked"]


def test_a_target_that_moved_meanwhile_is_left(repo: Path) -> None:
    old, new = git(repo, "rev-parse", "main"), git(repo, "rev-parse", "work")
    git(repo, "update-ref", "refs/heads/main", commit(repo, "another"))
    with pytest.raises(TargetMovedError):
        target.move(repo, "main", old, new, "", set_files=True)
    assert git(repo, "log", "-1", "--format=%s", "main") == "another"


@pytest.mark.parametrize("what", ["changed", "staged", "in the way", "in a merge", "not wanted"])
def test_a_checkout_that_cannot_follow_keeps_the_target(repo: Path, what: str) -> None:
    git(repo, "checkout", "-q", "main")
    old = git(repo, "rev-parse", "main")
    if what in ("changed", "staged"):
        (repo / "b.txt").write_text("a person's")
    if what == "staged":
        git(repo, "add", "b.txt")
    if what == "in the way":
        (repo / "c.txt").write_text("a person's")
    if what == "in a merge":
        (repo / ".git/MERGE_HEAD").write_text(old)
    before = git(repo, "status", "--porcelain")
    with pytest.raises(TargetHeldError):
        moved(repo, set_files=what != "not wanted")
    assert (git(repo, "rev-parse", "main"), git(repo, "status", "--porcelain")) == (old, before)


@pytest.mark.parametrize("cut", ["at the end", "half way"])
def test_a_checkout_whose_files_were_set_before_a_kill_goes_on(repo: Path, cut: str) -> None:
    git(repo, "checkout", "-q", "main")
    old, new = git(repo, "rev-parse", "main"), git(repo, "rev-parse", "work")
    target._set_files(repo, old, new)
    if cut == "half way":
        git(repo, "reset", "-q", "--mixed")
        git(repo, "checkout", "-q", "a.txt")
    assert git(repo, "status", "--porcelain") != ""
    assert moved(repo) == (repo,)
    assert git(repo, "status", "--porcelain") == ""


def test_files_that_go_through_a_filter_are_left_to_git(repo: Path) -> None:
    git(repo, "checkout", "-q", "main")
    commit(repo, "lfs", _gitattributes="*.txt filter=lfs\n")
    old = git(repo, "rev-parse", "main")
    new = commit(repo, "more", c_txt="c")
    git(repo, "reset", "-q", "--hard", old)
    with pytest.raises(TargetHeldError, match="goes through a filter"):
        target.move(repo, "main", old, new, "", set_files=True)


def test_a_branch_goes_only_where_it_stood_and_its_commits_are_kept(repo: Path) -> None:
    tip = git(repo, "rev-parse", "work")
    assert not target.drop_branch(repo, "work", tip)  # it is checked out
    git(repo, "checkout", "-q", "main")
    assert not target.drop_branch(repo, "work", "0" * 40)
    assert target.drop_branch(repo, "work", tip, keep_as="refs/chaperon/merged/a1")
    assert git(repo, "for-each-ref", "--format=%(refname)").split() == ["refs/chaperon/merged/a1", "refs/heads/main"]
