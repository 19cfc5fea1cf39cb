"""Workspaces: made, found, kept, and removed only when nothing is lost."""

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from checkpoints import worktrees
from checkpoints.branches import own_commits, remove_branch
from checkpoints.errors import CheckpointError
from checkpoints.project_refs import branches_of
from checkpoints.restore.restore import Restorer
from checkpoints.store.store import Store
from checkpoints.workspace import repository
from checkpoints.workspace.capture import Capturer
from checkpoints.worktrees import ProjectWorktrees, WorkspaceState
from monitors.contract.errors import NotFoundError, UsageError
from tests.checkpoints.support import MOMENT, git, shape
from tests.host.test_folders import deep

Capturing = Callable[..., Capturer]


@pytest.fixture
def workspaces(workspace: Path, tmp_path: Path) -> ProjectWorktrees:
    return ProjectWorktrees(workspace, tmp_path / "agents")


def test_a_base_that_is_not_there_is_named_once(workspaces: ProjectWorktrees) -> None:
    with pytest.raises(UsageError) as refused:
        workspaces.create("a3", "nowhere")
    assert str(refused.value).count("nowhere") == 1


def test_a_workspace_is_a_worktree_on_a_branch_of_its_own(workspaces: ProjectWorktrees, workspace: Path) -> None:
    made = workspaces.create("a3")
    assert git(Path(made.path), "branch", "--show-current").strip() == "chaperon/a3"
    assert made.base == git(workspace, "rev-parse", "HEAD").strip()
    assert shape(Path(made.path)) == shape(workspace)
    assert git(Path(made.path), "status", "--porcelain") == ""


def test_it_starts_from_a_chosen_base(workspaces: ProjectWorktrees, workspace: Path) -> None:
    old = git(workspace, "rev-parse", "HEAD").strip()
    (workspace / "README").write_text("newer")
    git(workspace, "commit", "-qam", "newer")
    made = workspaces.create("a3", "HEAD~1")
    assert made.base == old
    assert (Path(made.path) / "README").read_text() == "read me\n"


def test_a_base_or_name_that_cannot_be_leaves_nothing(workspaces: ProjectWorktrees, workspace: Path) -> None:
    for name, base in (("a3", "nowhere"), ("../a3", "HEAD"), ("", "HEAD")):
        with pytest.raises(UsageError):
            workspaces.create(name, base)
    assert workspaces.all() == ()
    assert list(workspaces.folder.iterdir()) == []
    workspaces.create("a3")
    with pytest.raises(UsageError, match="already"):
        workspaces.create("a3")


def test_a_project_without_commits_or_repository_is_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    with pytest.raises(UsageError, match="git init"):
        ProjectWorktrees(tmp_path / "plain", tmp_path / "agents")
    git(tmp_path, "init", "-q", "unborn")
    with pytest.raises(UsageError, match="first commit"):
        ProjectWorktrees(tmp_path / "unborn", tmp_path / "agents").create("a3")


@pytest.mark.parametrize("name", ["config", "config.worktree", "packed-refs", "shallow"])
def test_a_pipe_for_which_git_would_wait_is_named_and_not_waited_for(
    workspaces: ProjectWorktrees, workspace: Path, name: str
) -> None:
    """A repository that is there is not said to be none, whatever an agent put into it."""
    pipe = workspace / ".git" / name
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    with pytest.raises(UsageError) as refused:
        ProjectWorktrees(workspace, workspaces.folder)
    assert f"{pipe}, which is a named pipe" in str(refused.value)
    assert "no git repository" not in str(refused.value)
    for look in (branches_of, partial(own_commits, branch="main"), partial(remove_branch, branch="chaperon/a3")):
        with pytest.raises(CheckpointError, match=f"cannot be opened: git would wait for ever at {pipe}"):
            look(workspace)


def test_a_pipe_in_a_bare_repository_is_named_as_well(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare")
    (tmp_path / "bare/config").unlink()
    os.mkfifo(tmp_path / "bare/config")
    with pytest.raises(CheckpointError, match="bare/config is a named pipe"):
        branches_of(tmp_path / "bare")


def test_they_are_found_again_by_another_process(workspaces: ProjectWorktrees, workspace: Path) -> None:
    made = workspaces.create("a3")
    again = ProjectWorktrees(workspace, workspaces.folder)
    assert again.all() == (made,)
    assert again.find("a3") == made
    with pytest.raises(NotFoundError):
        again.find("a4")


def test_making_one_runs_no_hook_and_no_filter(workspaces: ProjectWorktrees, workspace: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    hook = workspace / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    (workspace / ".gitattributes").write_text("* filter=evil\n")
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "attributes")
    git(workspace, "config", "filter.evil.smudge", f"touch {ran}; cat")
    workspaces.create("a3")
    assert not ran.exists()


def test_one_with_nothing_to_lose_is_removed_with_its_branch(workspaces: ProjectWorktrees, workspace: Path) -> None:
    made = workspaces.create("a3")
    workspaces.remove("a3")
    assert not Path(made.path).exists()
    assert workspaces.all() == ()
    assert git(workspace, "branch", "--list", "chaperon/*") == ""
    assert len(git(workspace, "worktree", "list").splitlines()) == 1


def test_commits_stay_on_their_branch_when_the_workspace_goes(workspaces: ProjectWorktrees, workspace: Path) -> None:
    made = workspaces.create("a3")
    (Path(made.path) / "new").write_text("new")
    git(Path(made.path), "add", "-A")
    git(Path(made.path), "commit", "-qm", "work")
    workspaces.remove("a3")
    assert git(workspace, "show", "chaperon/a3:new") == "new"
    assert workspaces.create("a3").branch == "chaperon/a3-2"


def test_what_is_on_no_branch_is_not_removed(workspaces: ProjectWorktrees) -> None:
    folder = Path(workspaces.create("a3").path)
    (folder / "new").write_text("new")
    with pytest.raises(CheckpointError, match="1 path is not committed"):
        workspaces.remove("a3")
    git(folder, "checkout", "-q", "--detach")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "on no branch")
    with pytest.raises(CheckpointError, match="is on no branch"):
        workspaces.remove("a3")
    git(folder, "branch", "kept")
    workspaces.remove("a3")
    assert not folder.exists()


def test_a_preserved_one_is_kept(workspaces: ProjectWorktrees) -> None:
    workspaces.create("a3")
    assert workspaces.preserve("a3", "the tests failed").state is WorkspaceState.PRESERVED
    with pytest.raises(CheckpointError, match="preserved: the tests failed"):
        workspaces.remove("a3")
    assert workspaces.find("a3").path


def test_one_that_was_moved_with_git_stays_where_it_is_now(
    workspaces: ProjectWorktrees, workspace: Path, tmp_path: Path
) -> None:
    made = workspaces.create("a3")
    git(workspace, "worktree", "move", made.path, str(tmp_path / "elsewhere"))
    workspaces.remove("a3")
    assert git(tmp_path / "elsewhere", "branch", "--show-current").strip() == made.branch
    assert workspaces.all() == ()


def test_a_removal_that_was_interrupted_is_finished_by_the_next(workspaces: ProjectWorktrees, workspace: Path) -> None:
    made = workspaces.create("a3")
    for place in sorted(Path(made.path).rglob("*"), reverse=True):
        place.rmdir() if place.is_dir() else place.unlink()
    Path(made.path).rmdir()
    again = ProjectWorktrees(workspace, workspaces.folder)
    again.remove("a3")
    assert again.all() == ()
    assert len(git(workspace, "worktree", "list").splitlines()) == 1


def test_a_record_that_is_damaged_is_told(workspaces: ProjectWorktrees) -> None:
    workspaces.create("a3")
    (workspaces.folder / "a3.json").write_text(json.dumps({"name": "a3"}))
    with pytest.raises(CheckpointError, match="does not describe a workspace"):
        workspaces.all()


def test_a_checkpoint_is_written_into_a_workspace_of_its_own(
    workspaces: ProjectWorktrees, workspace: Path, store: Store, capturer: Capturer, capturing: Capturing
) -> None:
    (workspace / "new").write_text("uncommitted")
    (workspace / "README").unlink()
    target = capturer.capture(MOMENT)
    made = workspaces.create("again", target.repository.head)
    restorer = Restorer(capturing(store, Path(made.path)))
    plan = restorer.plan(target, MOMENT, elsewhere=True)
    restorer.restore(plan, confirmed=True)
    assert shape(Path(made.path)) == shape(workspace)


def test_a_workspace_that_cannot_be_compared_in_time_is_kept(
    workspaces: ProjectWorktrees, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terabyte that takes no room: who wants to know whether it changed hashes it."""
    folder = Path(workspaces.create("a3").path)
    empty = git(folder, "hash-object", "-w", "/dev/null").strip()
    git(folder, "update-index", "--add", "--cacheinfo", f"100644,{empty},large")
    with (folder / "large").open("wb") as large:
        large.truncate(2**40 + 1)
    monkeypatch.setattr(worktrees, "LOOK_SECONDS", 1.0)
    with pytest.raises(
        CheckpointError, match=r"Its state cannot be read: .* took longer than 1 s .*given up\. A file of"
    ):
        workspaces.remove("a3")
    assert (folder / "large").exists()


def test_a_workspace_whose_head_names_nothing_is_kept(workspaces: ProjectWorktrees) -> None:
    made = workspaces.create("a3")
    named = Path((Path(made.path) / ".git").read_text().removeprefix("gitdir:").strip())
    (named / "HEAD").write_bytes(b"ref: \xff\n")
    assert any("cannot be read" in why for why in workspaces.would_be_lost("a3"))


def test_commits_that_only_a_submodule_of_it_has_keep_it(
    workspaces: ProjectWorktrees, workspace: Path, tmp_path: Path
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q", "-b", "main")
    git(inner, "commit", "-q", "--allow-empty", "-m", "first")
    local = ("-c", "protocol.file.allow=always", "submodule")
    git(workspace, *local, "add", "-q", str(inner), "sub")
    git(workspace, "commit", "-qm", "with a submodule")
    folder = Path(workspaces.create("a3").path)
    git(folder, *local, "update", "-q", "--init")
    assert workspaces.would_be_lost("a3") == ()
    git(folder / "sub", "commit", "-q", "--allow-empty", "-m", "an agent's")
    git(folder, "commit", "-qam", "its work")
    assert workspaces.would_be_lost("a3") == ("Commits of sub in it are nowhere else.",)
    git(folder / "sub", "push", "-q", "origin", "HEAD:refs/heads/work")
    workspaces.remove("a3")
    assert not folder.exists()


@pytest.mark.parametrize("version", ["2", "4"])
@pytest.mark.parametrize("mark", ["--skip-worktree", "--assume-unchanged"])
def test_a_change_that_git_was_told_to_pass_over_keeps_it(
    workspaces: ProjectWorktrees, workspace: Path, mark: str, version: str
) -> None:
    names = ("a", "folder/long-name", "folder/long-name-2", "local.cfg", "z")
    for name in names:
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text(name)
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "settings")
    folder = Path(workspaces.create("a3").path)
    git(folder, "update-index", "--index-version", version, mark, "folder/long-name-2", "local.cfg", "z")
    assert workspaces.would_be_lost("a3") == ()
    (folder / "local.cfg").write_text("an agent's")
    (folder / "folder/long-name-2").write_text("an agent's")
    assert workspaces.would_be_lost("a3") == ("2 paths are not committed.",)


def test_commits_of_a_repository_in_an_ignored_folder_keep_it(
    workspaces: ProjectWorktrees, workspace: Path, tmp_path: Path
) -> None:
    (workspace / ".gitignore").write_text("build/\n")
    git(workspace, "add", ".gitignore")
    git(workspace, "commit", "-qm", "rules")
    folder = Path(workspaces.create("a3").path)
    inner = folder / "build/deps/tool"
    inner.mkdir(parents=True)
    git(inner, "init", "-q", "-b", "main")
    assert workspaces.would_be_lost("a3") == ()
    git(inner, "commit", "-q", "--allow-empty", "-m", "an agent's")
    assert workspaces.would_be_lost("a3") == ("Commits of build/deps/tool in it are nowhere else.",)
    git(inner, "tag", "v1")
    assert workspaces.would_be_lost("a3") == ("Commits of build/deps/tool in it are nowhere else.",)
    git(inner, "checkout", "-q", "--detach")
    git(inner, "branch", "-qD", "main")
    assert workspaces.would_be_lost("a3"), "its tag has them, and came from nowhere"
    git(inner, "checkout", "-q", "-b", "main")
    bare = tmp_path / "elsewhere"
    git(tmp_path, "init", "-q", "--bare", str(bare))
    git(inner, "push", "-q", str(bare), "main")
    git(inner, "remote", "add", "origin", str(bare))
    git(inner, "fetch", "-q", "origin")
    assert workspaces.would_be_lost("a3") == ()
    git(inner, "commit", "-q", "--allow-empty", "-m", "another of the agent's")
    git(inner, "tag", "v2")
    assert workspaces.would_be_lost("a3"), "a tag of its own is on no remote"
    git(inner, "push", "-q", "origin", "v2", "main~:main")
    git(inner, "checkout", "-q", "v2")
    git(inner, "branch", "-qD", "main")
    workspaces.remove("a3")  # as a clone of a tag is, whose commit is on no branch
    assert not folder.exists()


def test_one_goes_however_deep_it_is(workspaces: ProjectWorktrees) -> None:
    folder = Path(workspaces.create("a3").path)
    exclude = repository.find(folder)
    assert exclude is not None
    (exclude.common / "info/exclude").write_text("deep\n")
    with deep(folder / "deep"):
        workspaces.remove("a3")
    assert (folder.exists(), workspaces.all()) == (False, ())


def test_one_that_git_cannot_read_for_its_depth_is_kept_and_says_why(workspaces: ProjectWorktrees) -> None:
    folder = Path(workspaces.create("a3").path)
    with deep(folder / "deep"):
        assert "cannot be read: GitError: " in " ".join(workspaces.would_be_lost("a3"))
        workspaces.discard("a3")
        assert not folder.exists()
