"""The folder in which merged work is checked: the commit's files as they are, whatever filters a person has, and no more."""

import subprocess
from pathlib import Path

import pygit2

from supervisor.runtime.merging.scratch import make_scratch, remove_scratch
from tests.host.test_folders import deep
from tests.stages.branches import git
from tests.supervisor.runtime.merging.test_git_merge import commit

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "4d7a" * 16 + "\nsize 12345\n"


def repository(tmp_path: Path) -> Path:
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    return repo


def test_a_pointer_of_a_filter_that_is_missing_is_the_file_and_git_sees_no_change(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    tip = commit(repo, "big", **{".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "big.bin": POINTER})
    for key, value in (("smudge", "no-such-program %f"), ("clean", "no-such-program %f"), ("required", "true")):
        git(repo, "config", f"filter.lfs.{key}", value)
    scratch = make_scratch(tmp_path / "scratch", repo, tip)
    assert (scratch / "big.bin").read_text() == POINTER
    assert git(scratch, "status", "--porcelain") == ""


def test_what_a_check_left_is_gone_with_the_next_one(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    tip = commit(repo, "first", **{"file.txt": "one\n"})
    scratch = make_scratch(tmp_path / "scratch", repo, tip)
    (scratch / "left").mkdir()
    (scratch / "left/over").write_text("x")
    (scratch / "left").chmod(0o500)
    (scratch / "file.txt").write_text("changed")
    (scratch / ".git/hooks").mkdir(exist_ok=True)
    (scratch / ".git/hooks/post-checkout").write_text("#!/bin/sh\n")
    again = make_scratch(tmp_path / "scratch", repo, tip)
    assert sorted(path.name for path in again.iterdir()) == [".git", "file.txt"]
    assert (again / "file.txt").read_text() == "one\n"
    assert not (again / ".git/hooks/post-checkout").exists()
    remove_scratch(again)
    assert not again.exists()


def test_a_submodule_is_an_empty_folder_there_and_the_repository_is_untouched(tmp_path: Path) -> None:
    inner, repo = tmp_path / "inner", repository(tmp_path)
    inner.mkdir()
    git(inner, "init", "-q", "-b", "main")
    tip = commit(inner, "inner", **{"in.txt": "in\n"})
    commit(repo, "outer", **{"out.txt": "out\n"})
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{tip},sub")
    git(repo, "commit", "-qm", "with a submodule")
    head, refs = git(repo, "rev-parse", "HEAD"), git(repo, "for-each-ref")
    scratch = make_scratch(tmp_path / "scratch", repo, head)
    assert (scratch / "out.txt").read_text() == "out\n"
    assert list((scratch / "sub").iterdir()) == []
    assert (git(repo, "for-each-ref"), git(repo, "rev-parse", "HEAD")) == (refs, head)
    assert (
        subprocess.run(["git", "-C", str(repo), "worktree", "list"], check=True, capture_output=True).stdout.count(
            b"\n"
        )
        == 1
    )
    assert pygit2.Repository(str(scratch)).head_is_detached


def test_what_a_check_left_goes_however_deep_it_is(tmp_path: Path) -> None:
    with deep(tmp_path / "scratch"):
        remove_scratch(tmp_path / "scratch")
        assert not (tmp_path / "scratch").exists()
