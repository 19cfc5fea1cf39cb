"""What of a machine an agent sees."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from supervisor.runtime.processes.settings_files import main_checkout
from supervisor.runtime.sandbox.bubblewrap import Mount
from supervisor.runtime.sandbox.layout import HostLayout, interpreter, program_of, without


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "ada").mkdir()
    return tmp_path / "ada"


def place(home: Path, environment: Mapping[str, str] | None = None) -> HostLayout:
    return HostLayout(
        home,
        home / "repo",
        main_checkout(home / "repo"),
        (home / ".local/state/chaperon",),
        environment or {"PATH": ""},
    )


def repository(path: Path) -> Path:
    subprocess.run(["git", "init", "--quiet", path], check=True)
    return path


def test_tools_of_the_home_directory_are_shown_and_credentials_beside_them_are_not(home: Path) -> None:
    for name in (".cargo/bin", ".nvm/versions", ".ssh"):
        (home / name).mkdir(parents=True)
    (home / ".cargo/credentials.toml").write_text("token")
    assert place(home).tools(()) == [home / ".cargo/bin", home / ".nvm"]


def test_a_folder_on_path_comes_with_its_libraries_and_the_home_directory_never_does(
    home: Path, tmp_path: Path
) -> None:
    for name in ("venv/bin", "venv/lib", "lone/bin", "ada/bin", "ada/lib", "ada/repo/bin"):
        (tmp_path / name).mkdir(parents=True)
    names = ("venv/bin", "lone/bin", "ada/bin", "ada/repo/bin", "gone/bin")
    path = ":".join(["relative", *(str(tmp_path / name) for name in names), "/usr/bin", "/bin", "/"])
    shown = place(home, {"PATH": path}).tools(())
    assert shown == [tmp_path / "venv", tmp_path / "lone/bin"]


def test_a_path_that_leads_to_chaperons_own_is_not_shown(home: Path, tmp_path: Path) -> None:
    state = home / ".local/state/chaperon"
    (state / "agents").mkdir(parents=True)
    (tmp_path / "link").symlink_to(state / "agents")
    where = place(home)
    assert not any(map(where.may_show, (state, state / "agents", home / ".local", tmp_path / "link", home, Path("/"))))
    assert not where.may_show(tmp_path), "it holds the home directory"
    assert where.may_show(home / "elsewhere")


def test_gits_configuration_and_hooks_can_be_read_and_its_folder_is_a_mount_of_its_own(home: Path) -> None:
    repo = repository(home / "repo")
    mounts = list(place(home).repository())
    assert mounts[0] == Mount("write", str(repo / ".git"))
    assert Mount("read", str(repo / ".git/config")) in mounts
    assert Mount("read", str(repo / ".git/hooks")) in mounts


def test_a_repository_without_hooks_gets_a_folder_for_them_that_goes_with_the_agent(home: Path) -> None:
    repo = repository(home / "repo")
    subprocess.run(["rm", "-r", repo / ".git/hooks"], check=True)
    assert list(place(home).repository())[-1] == Mount("memory", str(repo / ".git/hooks"))


def test_of_a_worktree_the_main_repository_can_be_written_and_the_way_to_it_cannot(home: Path, tmp_path: Path) -> None:
    main = repository(tmp_path / "main")
    git = ["git", "-C", str(main), "-c", "user.name=T", "-c", "user.email=t@localhost"]
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message=base"], check=True)
    subprocess.run([*git, "worktree", "add", "--quiet", home / "repo"], check=True)
    mounts = list(place(home).repository())
    assert mounts[0] == Mount("write", str(main / ".git"))
    assert Mount("read", str(home / "repo/.git")) in mounts
    assert Mount("read", str(main / ".git/config")) in mounts
    assert Mount("read", str(main / ".git/worktrees/repo/commondir")) in mounts


def test_configurations_of_submodules_are_looked_after(home: Path) -> None:
    repo = repository(home / "repo")
    (repo / ".git/modules/deep/er").mkdir(parents=True)
    (repo / ".git/modules/deep/er/config").write_text("")
    assert Mount("read", str(repo / ".git/modules/deep/er/config")) in list(place(home).repository())


def test_a_workspace_that_is_no_repository_has_no_mounts_of_one(home: Path) -> None:
    (home / "repo").mkdir()
    assert list(place(home).repository()) == []
    (home / "repo/.git").write_text("gitdir: /not/there\n")
    assert list(place(home).repository()) == []


def test_what_people_run_later_is_found_where_it_is(home: Path) -> None:
    (home / "repo/.claude").mkdir(parents=True)
    (home / "repo/.envrc").write_text("")
    (home / "repo/.vscode").symlink_to("/tmp")
    assert place(home).run_later() == [home / "repo/.claude", home / "repo/.envrc"]


def test_a_cli_that_is_a_script_comes_with_its_package(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "cli.js").write_text("")
    (tmp_path / "claude").symlink_to(package / "cli.js")
    assert program_of(str(tmp_path / "claude")) == (package / "cli.js", package / "cli.js")
    (package / "package.json").write_text("{}")
    assert program_of(str(tmp_path / "claude")) == (package / "cli.js", package)


def test_the_interpreter_lies_in_the_folder_that_it_needs() -> None:
    python, needed = interpreter()
    assert python.is_relative_to(needed)
    assert not python.is_symlink()


def test_a_folder_that_holds_what_is_hidden_is_taken_apart(tmp_path: Path) -> None:
    for name in ("lib/state/key", "lib/other", "log"):
        (tmp_path / "var" / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to("var/lib/state")
    hidden = [tmp_path / "var/lib/state", tmp_path / "elsewhere"]
    assert [*without(tmp_path / "var", hidden)] == [tmp_path / "var/lib/other", tmp_path / "var/log"]
    assert [*without(tmp_path / "var/log", hidden)] == [tmp_path / "var/log"]
    assert [*without(tmp_path / "var/lib/state", hidden)] == []
    assert [*without(tmp_path / "link/key", hidden)] == [], "by whatever name"
