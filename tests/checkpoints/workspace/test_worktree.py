"""Which worktree a directory is in: the folder in which `.git` lies, whatever the repository says of it."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoints.workspace import repository
from checkpoints.workspace.worktree import worktree_of
from monitors.contract.errors import UsageError
from tests.checkpoints.support import git

ROOT = os.geteuid() == 0


def top_by_git(directory: Path) -> str:
    """What git itself says."""
    return git(directory, "rev-parse", "--show-toplevel").strip()


def made_linked(workspace: Path) -> Path:
    git(workspace, "worktree", "add", "-q", str(workspace.parent / "linked"))
    return workspace.parent / "linked"


def made_submodule(workspace: Path) -> Path:
    """Its repository has a `core.worktree`, as git writes it."""
    other = workspace.parent / "other"
    git(workspace, "clone", "-q", ".", str(other))
    git(workspace, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "sub")
    return workspace / "sub"


def made_separate(workspace: Path) -> Path:
    git(workspace, "init", "-q", "--separate-git-dir", str(workspace.parent / "git"))
    return workspace


def made_own_path(workspace: Path) -> Path:
    git(workspace, "config", "core.worktree", str(workspace))
    return workspace


def made_of_a_main_that_is_elsewhere(workspace: Path) -> Path:
    """Git does not obey the main worktree's setting in a linked one."""
    linked = made_linked(workspace)
    git(workspace, "config", "core.worktree", "/")
    return linked


@pytest.mark.parametrize(
    "make", [lambda path: path, made_linked, made_submodule, made_separate, made_own_path, made_of_a_main_that_is_elsewhere],
    ids=["main", "linked", "submodule", "separate", "own path", "main elsewhere"],
)  # fmt: skip
def test_a_directory_below_a_worktree_is_in_the_one_that_git_says(
    workspace: Path, make: Callable[[Path], Path]
) -> None:
    top = make(workspace)
    below = top / "some/where"
    below.mkdir(parents=True)
    assert str(worktree_of(below)) == str(worktree_of(top)) == top_by_git(top)


def test_a_link_leads_to_the_worktree_and_is_not_one(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(workspace)
    assert worktree_of(tmp_path / "link") == workspace


@pytest.mark.parametrize("elsewhere", ["/", "..", "../..", "{home}", "../home"])
@pytest.mark.parametrize("how", ["config", "config.worktree", "nested"])
def test_a_repository_that_says_that_its_worktree_is_elsewhere_is_refused(
    workspace: Path, tmp_path: Path, elsewhere: str, how: str
) -> None:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    if elsewhere == ".." and how != "nested":
        elsewhere = "../.."  # as seen from the git folder, `..` is the worktree itself
    value = elsewhere.format(home=home)
    top = workspace
    if how == "nested":
        top = workspace / "inner"
        subprocess.run(["git", "init", "-q", str(top)], check=True)
        value = "../.." if value == ".." else value
    file = top / ".git" / ("config.worktree" if how == "config.worktree" else "config")
    git(workspace, "config", "--file", str(file), "core.worktree", value)
    with pytest.raises(UsageError, match=r"says that its worktree is .* \(core.worktree in .*nothing was started"):
        worktree_of(top)


def test_the_setting_is_read_however_it_is_spelled(workspace: Path) -> None:
    config = workspace / ".git/config"
    config.write_text(config.read_text() + '[CORE] WorkTree = "/va\\\n"r # no\n')
    with pytest.raises(UsageError, match="its worktree is '/var'"):
        worktree_of(workspace)


def test_a_file_that_cannot_be_read_as_configuration_is_refused(workspace: Path) -> None:
    (workspace / ".git/config").write_text("[core\nworktree=/\n")
    with pytest.raises(UsageError, match="cannot be read, so nothing was started"):
        worktree_of(workspace)


def test_what_a_configuration_includes_is_not_followed_as_git_does_not(workspace: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    git(workspace, "config", "include.path", str(tmp_path / "fifo"))
    assert worktree_of(workspace) == workspace


@pytest.mark.parametrize("place", [".git", ".git/hooks", "bare", "bare/objects"])
def test_a_repositorys_own_folder_is_no_worktree(workspace: Path, place: str) -> None:
    subprocess.run(["git", "init", "-q", "--bare", str(workspace / "bare")], check=True)
    with pytest.raises(UsageError, match="own folder, which is no worktree"):
        worktree_of(workspace / place)


def test_a_bare_repository_is_refused_with_that(tmp_path: Path, workspace: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "bare")], check=True)
    with pytest.raises(UsageError, match="is a bare repository, and has no worktree"):
        worktree_of(tmp_path / "bare")
    git(workspace, "config", "core.bare", "true")
    with pytest.raises(UsageError, match=r"is bare \(core.bare in"):
        worktree_of(workspace)


@pytest.mark.parametrize("content", ["", "gitdir: /nowhere\n", f"gitdir: {'a' * 5_000}", "nonsense"])
def test_what_leads_to_no_repository_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / ".git").write_text(content)
    with pytest.raises(UsageError, match="leads to no git repository"):
        worktree_of(tmp_path)


@pytest.mark.skipif(not ROOT, reason="only root can give a file away")
@pytest.mark.parametrize("given", [".", ".git"])
def test_a_repository_of_another_user_is_refused_unless_it_is_trusted(
    workspace: Path, tmp_path: Path, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(workspace / given, 65534, -1)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(UsageError, match="belongs to user 65534") as caught:
        worktree_of(workspace)
    assert f"safe.directory {workspace}" in caught.value.way_out
    for trusted in (str(workspace), "*", f"{workspace.parent}/*"):
        (tmp_path / ".gitconfig").write_text(f'[safe]\n\tdirectory = "{trusted}"\n')
        assert worktree_of(workspace) == workspace
    (tmp_path / ".gitconfig").write_text('[safe]\n\tdirectory = "*"\n\tdirectory =\n\tdirectory = /other\n')
    with pytest.raises(UsageError, match="belongs to user 65534"):
        worktree_of(workspace)


def test_what_is_asked_of_git_about_an_agents_files_never_leads_out_of_its_worktree(
    workspace: Path, tmp_path: Path
) -> None:
    """An agent can set it at any time of its run."""
    (workspace / "new").touch()
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "home/private").touch()
    git(workspace, "config", "core.worktree", str(tmp_path / "home"))
    opened = repository.open_worktree(workspace)
    assert opened is not None
    assert Path(opened.workdir) == workspace
    assert set(opened.status()) == {"new"}
    assert repository.open_worktree(tmp_path) is None
