"""The target of a merge: it moves whole, or nothing changes."""

import os
import shutil
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


def test_commits_that_are_kept_of_another_agent_of_the_name_stay(repo: Path) -> None:
    git(repo, "checkout", "-q", "main")
    kept = "refs/chaperon/merged/a1"
    git(repo, "update-ref", kept, "main")
    tip = git(repo, "rev-parse", "work")
    assert target.drop_branch(repo, "work", tip, keep_as=kept)
    assert [git(repo, "rev-parse", name) for name in (kept, f"{kept}-2")] == [git(repo, "rev-parse", "main"), tip]


@pytest.mark.parametrize("by", ["folder", "file", "link", "removed file"])
def test_what_git_does_not_know_in_the_place_of_a_new_file_stays(tmp_path: Path, by: str) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    old = commit(repo, "first", _gitignore=".env\nbuild\n", **{"d/tracked": "1\n"})
    git(repo, "checkout", "-qb", "work")
    git(repo, "rm", "-qr", "d")
    if by == "folder":
        (repo / "build").mkdir()
        (repo / "build/made").write_text("an agent's")
        git(repo, "add", "-f", "build")
    elif by == "link":
        (repo / "d").symlink_to(tmp_path)
    elif by == "file":
        (repo / "d").write_text("an agent's")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "work")
    git(repo, "checkout", "-q", "main")
    mine = repo / ("build" if by == "folder" else "d/.env")
    mine.write_text("a person's")
    if by == "removed file":
        assert moved(repo) == (repo,)
    else:
        with pytest.raises(TargetHeldError, match=f"{mine.relative_to(repo)} is in the way"):
            moved(repo)
        assert (git(repo, "rev-parse", "main"), git(repo, "status", "--porcelain")) == (old, "")
    assert mine.read_text() == "a person's"


@pytest.mark.parametrize("flag", ["--skip-worktree", "--assume-unchanged"])
@pytest.mark.parametrize("name", ["a.txt", "b.txt"])
def test_a_change_for_which_git_was_told_not_to_look_stays(repo: Path, flag: str, name: str) -> None:
    git(repo, "checkout", "-q", "main")
    git(repo, "update-index", flag, name)
    (repo / name).write_text("a person's own, for good")
    with pytest.raises(TargetHeldError):
        moved(repo)
    assert (repo / name).read_text() == "a person's own, for good"
    assert git(repo, "status", "--porcelain") == ""


def test_a_file_that_is_reached_by_a_link_out_of_the_worktree_stays(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/kept.py").touch()
    commit(repo, "data", **{"data/kept.py": ""})
    git(repo, "checkout", "-q", "main")
    (repo / ".git/info/exclude").write_text("data\n")
    (repo / "data").symlink_to(tmp_path / "data")
    with pytest.raises(TargetHeldError, match="data is in the way"):
        moved(repo)
    assert (tmp_path / "data/kept.py").exists()
    assert (repo / "data").is_symlink()


def test_another_repository_where_a_worktree_was_is_no_worktree(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", str(tmp_path / "other"), "main")
    shutil.rmtree(tmp_path / "other")
    git(tmp_path, "clone", "-q", "--shared", "-b", "main", str(repo), str(tmp_path / "other"))
    assert moved(repo) == ()
    assert git(tmp_path / "other", "status", "--porcelain") == ""
    assert list(target.worktrees(repo)) == [repo]
    assert list(target.worktrees(repo, {str(tmp_path / "other")})) == [repo, tmp_path / "other"]


@pytest.mark.parametrize("place", ["repo/.git/worktrees/other/gitdir", "other/.git"])
def test_a_path_that_none_can_be_in_place_of_a_worktrees_names_no_worktree(
    repo: Path, tmp_path: Path, place: str
) -> None:
    """An agent can write both, and no merge of others may wait for it."""
    git(repo, "worktree", "add", "-q", str(tmp_path / "other"), "main")
    (tmp_path / place).write_text(
        f"gitdir: /{'a' * 5_000}/.git\n".removeprefix("" if "other/.git" in place else "gitdir: ")
    )
    assert moved(repo) == ()
    assert list(target.worktrees(repo)) == [repo]


def test_of_two_checkouts_of_which_one_cannot_follow_neither_does(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", str(tmp_path / "other"), "main")
    git(repo, "checkout", "-q", "--ignore-other-worktrees", "main")
    (tmp_path / "other/c.txt").write_text("a person's")
    with pytest.raises(TargetHeldError, match="in the way"):
        moved(repo)
    assert [git(one, "status", "--porcelain") for one in (repo, tmp_path / "other")] == ["", "?? c.txt"]


def test_a_file_whose_name_is_no_text_follows_or_the_target_stays(repo: Path) -> None:
    odd = repo / os.fsdecode(b"od\xff")
    odd.write_text("an agent's")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "odd")
    git(repo, "checkout", "-q", "main")
    odd.write_text("a person's")
    with pytest.raises(TargetHeldError, match="in the way"):
        moved(repo)
    odd.unlink()
    assert moved(repo) == (repo,)
    assert (odd.read_text(), git(repo, "status", "--porcelain")) == ("an agent's", "")


def test_files_of_a_checkout_follow_whose_way_to_the_repository_is_relative(repo: Path, tmp_path: Path) -> None:
    """As git writes it under `worktree.useRelativePaths`."""
    other, administration = tmp_path / "other", repo / ".git/worktrees/other"
    git(repo, "worktree", "add", "-q", str(other), "main")
    (administration / "gitdir").write_text("../../../../other/.git\n")
    (other / ".git").write_text("gitdir: ../repo/.git/worktrees/other\n")
    assert moved(repo) == (other,)
    assert git(other, "status", "--porcelain") == ""
