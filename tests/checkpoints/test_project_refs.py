"""Branches of a repository at a moment: held against git's own clearing away, and set back."""

import subprocess
from pathlib import Path

from checkpoints.project_refs import branches_of, commits_between, held_names, hold, let_go, set_branches, set_head
from tests.stages.branches import git


def make(folder: Path) -> Path:
    folder.mkdir()
    git(folder, "init", "--quiet", "-b", "main")
    commit(folder, "one")
    return folder


def commit(folder: Path, name: str) -> str:
    (folder / name).write_text(name)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", name)
    return git(folder, "rev-parse", "HEAD")


def test_a_commit_that_is_held_outlives_the_branch_and_gc_and_goes_once_it_is_let_go(tmp_path: Path) -> None:
    repo = make(tmp_path / "repo")
    git(repo, "checkout", "-qb", "work/a")
    tip = commit(repo, "two")
    git(repo, "checkout", "-q", "main")
    hold(repo, "before", {"heads/work/a": tip})
    git(repo, "branch", "-D", "work/a")
    git(repo, "reflog", "expire", "--expire=now", "--all")
    git(repo, "gc", "--quiet", "--prune=now")
    assert git(repo, "cat-file", "-t", tip) == "commit"
    assert held_names(repo) == {"before"}
    let_go(repo, "before")
    git(repo, "gc", "--quiet", "--prune=now")
    gone = subprocess.run(["git", "-C", str(repo), "cat-file", "-t", tip], check=False, capture_output=True)
    assert gone.returncode != 0
    assert held_names(repo) == frozenset()


def test_branches_go_back_come_back_and_go_and_one_that_is_checked_out_stays(tmp_path: Path) -> None:
    repo = make(tmp_path / "repo")
    git(repo, "branch", "gone")
    then = branches_of(repo)
    assert set(then) == {"refs/heads/main", "refs/heads/gone"}
    git(repo, "branch", "-D", "gone")
    git(repo, "branch", "new")
    git(repo, "checkout", "-qb", "here")
    later = commit(repo, "two")
    git(repo, "branch", "-f", "main", later)
    assert commits_between(repo, then.values(), later) == 1
    done = set_branches(repo, then, frozenset({"refs/heads/new", "refs/heads/here"}), "back")
    assert branches_of(repo) == {**then, "refs/heads/here": later}
    assert [sentence.split()[0] for sentence in done] == ["gone", "main", "here", "new"]
    assert set_branches(repo, then, frozenset({"refs/heads/new"}), "back") == ()


def test_head_and_index_go_back_with_a_branch_and_files_and_what_was_staged_stay(tmp_path: Path) -> None:
    repo = make(tmp_path / "repo")
    then = branches_of(repo)
    first = then["refs/heads/main"]
    commit(repo, "two")
    (repo / "staged").write_text("only in the index")
    git(repo, "add", "staged")
    (repo / "staged").unlink()
    git(repo, "checkout", "--quiet", "--detach")
    set_branches(repo, then, frozenset(), "back")
    for _ in range(2):
        set_head(repo, "refs/heads/main", first, hold_index_as="refs/chaperon/checkpoints/undo/indexes/main")
    assert git(repo, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert git(repo, "diff", "--cached", "--name-only") == ""
    assert git(repo, "status", "--porcelain") == "?? two"
    kept = "refs/chaperon/checkpoints/undo/indexes/main"
    assert git(repo, "show", f"{kept}:staged") == "only in the index"
    set_head(repo, "", first, hold_index_as=kept)
    assert git(repo, "rev-parse", "--abbrev-ref", "HEAD") == "HEAD"


def test_a_folder_without_a_repository_has_no_branches_and_holds_nothing(tmp_path: Path) -> None:
    assert branches_of(tmp_path) == {}
    hold(tmp_path, "x", {"heads/main": "0" * 40})
    let_go(tmp_path, "x")
    assert held_names(tmp_path) == frozenset()
    assert set_branches(tmp_path, {"refs/heads/main": "0" * 40}, frozenset(), "back") == ()
