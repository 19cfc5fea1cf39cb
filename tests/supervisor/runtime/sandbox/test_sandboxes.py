"""The sandbox of a launch, from configuration and machine."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from supervisor.config.sections.sandbox import SandboxKind, SandboxProfile, SandboxSection
from supervisor.runtime.sandbox.entry import abi
from supervisor.runtime.sandbox.sandboxes import LaunchSite, SandboxError, Sandboxes, choose
from tests.stages.walled import needs

NOWHERE = {"PATH": "/nowhere"}


def sandboxes(base: Path, kind: SandboxKind, section: SandboxSection | None = None) -> Sandboxes:
    return Sandboxes(kind, section or SandboxSection(), base / "ada", (base / "ada/state",), os.environ)


def site(base: Path) -> LaunchSite:
    return LaunchSite("/usr/bin/true", base / "repo", base / "repo", base / "ada/state/own", {"PATH": "/usr/bin"})


def test_none_adds_no_word_and_changes_no_variable(tmp_path: Path) -> None:
    made = sandboxes(tmp_path, "none").wrap(site(tmp_path))
    assert (made.words, made.program, made.name) == ((), "/usr/bin/true", "")
    assert made.environment == {"PATH": "/usr/bin"}
    assert not (tmp_path / "ada").exists()


def test_a_sandbox_that_is_asked_for_and_not_there_is_refused_with_the_way_to_it() -> None:
    with pytest.raises(
        SandboxError, match=r"agent\.sandbox is `bubblewrap`, and this machine does not give it"
    ) as refused:
        choose("bubblewrap", SandboxSection(), NOWHERE)
    assert "apt install bubblewrap" in refused.value.way_out


@pytest.mark.skipif(abi() < 3, reason="no Landlock here")
def test_auto_takes_landlock_if_there_is_no_bubblewrap_but_not_where_the_network_must_be_closed() -> None:
    assert choose("auto", SandboxSection(), NOWHERE)[0] == "landlock"
    with pytest.raises(SandboxError, match="Landlock closes no network"):
        choose("auto", SandboxSection(profile="closed"), NOWHERE)


@needs("bubblewrap")
def test_auto_takes_bubblewrap_where_it_works() -> None:
    assert choose("auto", SandboxSection(), os.environ)[0] == "bubblewrap"


@needs("bubblewrap")
@pytest.mark.parametrize("opened", ["ada", "ada/state", "ada/state/agents", "link", "."])
def test_a_configuration_that_opens_the_home_directory_or_chaperons_own_is_refused(tmp_path: Path, opened: str) -> None:
    (tmp_path / "ada/state/agents").mkdir(parents=True)
    (tmp_path / "link").symlink_to("ada/state")
    section = SandboxSection(read=(str(tmp_path / opened),))
    with pytest.raises(SandboxError, match="by which agents would see"):
        sandboxes(tmp_path, "bubblewrap", section).wrap(site(tmp_path))


@needs("bubblewrap")
def test_a_home_directory_that_is_the_whole_machine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="The home directory is /"):
        Sandboxes("bubblewrap", SandboxSection(), Path("/"), (), os.environ).wrap(site(tmp_path))


@needs("bubblewrap")
def test_the_users_configuration_of_the_cli_is_replaced_by_a_folder_of_the_agents(tmp_path: Path) -> None:
    made = sandboxes(tmp_path, "bubblewrap").wrap(site(tmp_path))
    assert made.environment["CLAUDE_CONFIG_DIR"] == str(tmp_path / "ada/.claude")
    words = " ".join(made.words)
    assert f"--bind {tmp_path}/ada/state/own {tmp_path}/ada/.claude" in words
    assert (tmp_path / "ada/state/own").is_dir()
    assert "--unshare-net" not in words


@needs("bubblewrap")
def test_the_profile_closed_has_no_network(tmp_path: Path) -> None:
    made = sandboxes(tmp_path, "bubblewrap", SandboxSection(profile="closed")).wrap(site(tmp_path))
    assert "--unshare-net" in made.words


@needs("bubblewrap")
@pytest.mark.skipif(abi() < 6, reason=f"Landlock {abi()} has no scopes")
def test_commands_are_kept_apart_by_a_program_that_the_settings_name_unless_a_person_says_no(tmp_path: Path) -> None:
    made = sandboxes(tmp_path, "bubblewrap").wrap(site(tmp_path))
    assert made.settings == {"CLAUDE_CODE_SHELL_PREFIX": "/run/chaperon/shell"}
    shell = tmp_path / "ada/state/shell"
    assert f"--ro-bind {shell} /run/chaperon/shell" in " ".join(made.words)
    assert shell.stat().st_mode & 0o777 == 0o700
    section = SandboxSection(commands_apart=False)
    assert not sandboxes(tmp_path, "bubblewrap", section).wrap(site(tmp_path)).settings


@needs("bubblewrap")
@pytest.mark.parametrize(("profile", "seen"), [("container", ["own"]), ("open", ["own", "theirs"])])
def test_on_a_machine_that_is_thrown_away_an_agent_sees_no_workspace_of_another(
    tmp_path: Path, profile: SandboxProfile, seen: list[str]
) -> None:
    folder = tmp_path / "workspaces"
    for name in ("own", "theirs"):
        (folder / name).mkdir(parents=True)
    (tmp_path / "ada/state").mkdir(parents=True)
    section = SandboxSection(profile=profile)
    made = Sandboxes("bubblewrap", section, tmp_path / "ada", (tmp_path / "ada/state",), os.environ, folder)
    command = f"ls {folder}; touch {folder}/own/made {tmp_path}/ada/made"
    launch = made.wrap(replace(site(tmp_path), cli="/bin/sh", workspace=folder / "own", checkout=folder / "own"))
    done = subprocess.run(
        [*launch.words, launch.program, "-c", command],
        env=launch.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == seen, done.stderr
    assert (folder / "own/made").exists()
    assert (tmp_path / "ada/made").exists(), "the rest of the machine is written"


@needs("bubblewrap")
def test_the_bound_on_processes_is_given_to_a_sandbox_with_a_namespace_of_its_own_alone(tmp_path: Path) -> None:
    for kind in ("bubblewrap", "landlock"):
        if kind == "landlock" and abi() < 3:
            continue
        made = Sandboxes(kind, SandboxSection(), tmp_path / "ada", (), os.environ, max_processes=7).wrap(site(tmp_path))
        assert ('"processes":7' in " ".join(made.words)) is (kind == "bubblewrap")
