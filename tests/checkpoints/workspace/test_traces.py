"""What was done to a real repository since a moment, read from its own notes."""

import os
import subprocess
from pathlib import Path

import pytest

from checkpoints.workspace import repository
from checkpoints.workspace.repository import GitFolders
from checkpoints.workspace.traces import Traces, traces
from tests.checkpoints.support import git
from tests.host.test_folders import deep

OLD, SINCE = 1_700_000_000, 1_700_000_100
"""When the repository was made, and from when on is looked."""


def dated(folder: Path, at: int, *words: str) -> None:
    """Run git at a moment that its notes carry."""
    environment = {**os.environ, "GIT_COMMITTER_DATE": f"@{at} +0000", "GIT_AUTHOR_DATE": f"@{at} +0000"}
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.invalid", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *identity, "-C", str(folder), *words], check=True, capture_output=True, env=environment)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a remote, a branch, a stash, a tag and a worktree, all of before."""
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "remote.git")], check=True)
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a").write_text("one")
    git(folder, "add", "-A")
    dated(folder, OLD, "commit", "-qm", "one")
    dated(folder, OLD, "branch", "old-branch")
    dated(folder, OLD, "tag", "old-tag")
    git(folder, "remote", "add", "origin", str(tmp_path / "remote.git"))
    dated(folder, OLD, "push", "-q", "origin", "main")
    (folder / "a").write_text("stashed before")
    dated(folder, OLD, "stash")
    dated(folder, OLD, "worktree", "add", "-q", str(tmp_path / "old-tree"), "old-branch")
    for path in (folder / ".git").rglob("*"):
        os.utime(path, (OLD, OLD), follow_symlinks=False)
    return folder


def found(project: Path) -> Traces:
    folders = repository.find(project)
    assert folders is not None
    return traces(folders, SINCE)


def test_what_was_there_before_is_not_told(project: Path) -> None:
    assert found(project) == Traces()


def test_branches_that_were_made_or_moved_are_told_with_where_they_stood(project: Path) -> None:
    first = git(project, "rev-parse", "HEAD").strip()
    dated(project, SINCE + 5, "checkout", "-qb", "topic/try-2")
    (project / "a").write_text("two")
    dated(project, SINCE + 6, "commit", "-qam", "two")
    dated(project, SINCE + 7, "branch", "-f", "main", "topic/try-2")
    moved, made = found(project).branches
    assert (made.name, made.is_new, made.entries[0].at) == ("topic/try-2", True, SINCE + 5)
    assert (moved.name, moved.is_new, moved.entries[0].old) == ("main", False, first)


def test_stashes_since_are_told_by_their_numbers(project: Path) -> None:
    for number in (1, 2):
        (project / "a").write_text(f"change {number}")
        dated(project, SINCE + number, "stash", "push", "-m", f"of the agent {number}")
    assert [entry.what for entry in found(project).stashes] == ["On main: of the agent 2", "On main: of the agent 1"]


def test_pushes_are_told_and_fetches_are_not(project: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "clone", "-q", str(tmp_path / "remote.git"), str(tmp_path / "other")], check=True)
    (tmp_path / "other" / "b").write_text("of somebody else")
    git(tmp_path / "other", "checkout", "-qb", "theirs")
    git(tmp_path / "other", "add", "-A")
    git(tmp_path / "other", "commit", "-qm", "theirs")
    git(tmp_path / "other", "push", "-q", "origin", "theirs")
    dated(project, SINCE + 1, "fetch", "-q")
    dated(project, SINCE + 2, "push", "-q", "origin", "main:try-2")
    (push,) = found(project).pushes
    assert (push.name, push.is_new) == ("origin/try-2", True)


def test_tags_and_worktrees_are_told(project: Path, tmp_path: Path) -> None:
    git(project, "tag", "v9")
    git(project, "worktree", "add", "-q", "-b", "beside", str(tmp_path / "beside"))
    seen = found(project)
    assert seen.tags == ("v9",)
    assert seen.worktrees == (str(tmp_path / "beside"),)


def test_a_repository_without_reflogs_says_so(project: Path) -> None:
    (project / ".git" / "logs").rename(project / ".git" / "no-logs")
    assert "keeps no reflogs" in found(project).problem


def test_damaged_notes_and_links_read_as_absent(tmp_path: Path) -> None:
    logs = tmp_path / "logs" / "refs" / "heads"
    logs.mkdir(parents=True)
    (logs / "noise").write_bytes(os.urandom(1_000))
    (logs / "half").write_text("0" * 40 + " " + "a" * 40 + " T <t> 99")
    (logs / "link").symlink_to("/etc/passwd")
    os.mkfifo(logs / "pipe")
    (logs / "good").write_text(f"{'0' * 40} {'a' * 40} T <t> {SINCE} +0000\tbranch: Created from HEAD\n")
    seen = traces(GitFolders(tmp_path, tmp_path), SINCE)
    assert [branch.name for branch in seen.branches] == ["good"]


def test_notes_as_deep_as_an_agent_can_make_them_hold_nothing_up(project: Path) -> None:
    with deep(project / ".git/refs/tags/deep", 1_200, "a"):
        dated(project, SINCE + 5, "tag", "later")
        assert found(project).tags == ("later",)
