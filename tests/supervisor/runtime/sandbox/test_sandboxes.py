"""The sandbox of a launch, from configuration and machine."""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest

from supervisor.config.sections.sandbox import SandboxInForce, SandboxKind, SandboxProfile, SandboxSection
from supervisor.runtime.sandbox import machine
from supervisor.runtime.sandbox.entry import PROXY_PORT, abi
from supervisor.runtime.sandbox.landlock import LEAST_ABI
from supervisor.runtime.sandbox.sandboxes import (
    ENTRY,
    SHELL_PREFIX,
    TRIALS,
    LaunchSite,
    SandboxError,
    Sandboxes,
    choose,
)
from tests.sources import ROOT
from tests.stages.walled import needs

NOWHERE = {"PATH": "/nowhere"}


NOT_THERE = Path("/srv/chaperon-test")
"""Where a home directory may be that nobody looks into: Landlock cannot hide one below /tmp, where tests lie."""


def sandboxes(base: Path, kind: SandboxKind, section: SandboxSection | None = None) -> Sandboxes:
    if kind == "landlock":
        return Sandboxes(kind, section or SandboxSection(), NOT_THERE, (), os.environ)
    return Sandboxes(kind, section or SandboxSection(), base / "ada", (base / "ada/state",), os.environ)


def site(base: Path) -> LaunchSite:
    return LaunchSite("/usr/bin/true", base / "repo", base / "repo", base / "ada/state/own", {"PATH": "/usr/bin"})


def test_none_adds_no_word_and_changes_no_variable(tmp_path: Path) -> None:
    made = sandboxes(tmp_path, "none").wrap(site(tmp_path))
    assert (made.words, made.program, made.name) == ((), "/usr/bin/true", "")
    assert made.environment == {"PATH": "/usr/bin"}
    assert not (tmp_path / "ada").exists()


def test_each_kind_that_can_be_asked_for_has_a_trial() -> None:
    assert {*TRIALS, "none"} == {*get_args(SandboxInForce)}


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
    compiled = machine.compiled_entry(ENTRY)
    shell = compiled or tmp_path / "ada/state/shell"
    assert f"--ro-bind {shell} /run/chaperon/shell" in " ".join(made.words)
    assert (tmp_path / "ada/state/shell").exists() is (compiled is None)
    section = SandboxSection(commands_apart=False)
    assert not sandboxes(tmp_path, "bubblewrap", section).wrap(site(tmp_path)).settings


@pytest.mark.skipif(abi() < 6, reason=f"Landlock {abi()} has no scopes")
@pytest.mark.parametrize("kind", ["landlock", pytest.param("bubblewrap", marks=needs("bubblewrap"))])
def test_without_a_compiled_program_the_one_of_python_holds_agents_and_keeps_commands_apart(
    tmp_path: Path, kind: SandboxKind
) -> None:
    (tmp_path / "repo").mkdir()
    alone = shutil.copy(ENTRY, tmp_path)
    section = SandboxSection()
    home = NOT_THERE if kind == "landlock" else tmp_path / "ada"
    made = Sandboxes(kind, section, home, (), os.environ, entry_program=Path(alone))
    about = replace(site(tmp_path), cli="/bin/sh")
    launch = made.wrap(about)
    assert "-I" in launch.words
    assert (tmp_path / "ada/state/shell").stat().st_mode & 0o777 == 0o700
    prefix = launch.settings[SHELL_PREFIX]
    done = run(made, about, f"{prefix} 'kill -0 '$$' || echo apart'; grep NoNewPrivs /proc/self/status")
    assert done.stdout.split() == ["apart", "NoNewPrivs:", "1"], done.stderr


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
def test_on_a_machine_that_is_thrown_away_workspaces_that_are_made_later_are_not_seen_either(tmp_path: Path) -> None:
    folder = tmp_path / "ada/workspaces"
    for name in ("ada/state", "repo"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    section = SandboxSection(profile="container")
    made = Sandboxes("bubblewrap", section, tmp_path / "ada", (tmp_path / "ada/state",), os.environ, folder)
    launch = made.wrap(replace(site(tmp_path), cli="/bin/sh"))
    command = f"echo ready; read line; ls {folder}; echo end"
    with subprocess.Popen(
        [*launch.words, launch.program, "-c", command],
        env=launch.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "ready\n"
        (folder / "theirs").mkdir(parents=True)
        told, _ = started.communicate("go\n")
    assert told == "end\n"


@needs("bubblewrap")
def test_the_bound_on_processes_is_given_to_a_sandbox_with_a_namespace_of_its_own_alone(tmp_path: Path) -> None:
    for kind in ("bubblewrap", "landlock"):
        if kind == "landlock" and abi() < 3:
            continue
        made = Sandboxes(kind, SandboxSection(), NOT_THERE, (), os.environ, max_processes=7).wrap(site(tmp_path))
        assert ("--processes 7" in " ".join(made.words)) is (kind == "bubblewrap")


@pytest.mark.skipif(abi() < 3, reason="no Landlock here")
def test_landlock_opens_no_folder_of_the_system_that_holds_chaperons_own_or_the_home_directory(tmp_path: Path) -> None:
    """As with `chaperon@`, whose state is below /var/lib."""
    made = Sandboxes("landlock", SandboxSection(), Path("/usr/ada"), (Path("/etc/ssl/chaperon"),), os.environ)
    words = made.wrap(replace(site(tmp_path), own=tmp_path / "own")).words
    named = {word for option, word in pairwise(words) if option in ("--read", "--write")}
    assert not {"/", "/var", "/etc", "/run", "/dev"} & named
    shown = [Path(each) for each in named]
    for hidden in ("/var/lib/chaperon/ada", "/etc/shadow", "/run/user/1000/bus", "/dev/sda", "/dev/kvm"):
        assert not [each for each in shown if Path(hidden).is_relative_to(each)]
    assert "/dev/null" in named


@pytest.mark.skipif(abi() < LEAST_ABI, reason="no Landlock here")
@pytest.mark.parametrize(
    ("workspace", "home", "state"),
    [
        ("repo", "/srv/ada", "/tmp/ada/state"),
        ("repo", "/tmp/ada", "/srv/state"),
        ("/srv/ada", "/srv/ada", "/srv/ada/.local/state"),
    ],
)
def test_landlock_starts_nothing_if_chaperons_own_or_the_home_directory_lies_in_what_agents_write(
    tmp_path: Path, workspace: str, home: str, state: str
) -> None:
    about = replace(site(tmp_path), workspace=tmp_path / workspace)
    with pytest.raises(SandboxError, match=r"which (it|agents) must not see.*(?i:nothing was started)"):
        Sandboxes("landlock", SandboxSection(), Path(home), (Path(state),), os.environ).wrap(about)
    whole = SandboxSection(profile="open")  # which promises less
    assert Sandboxes("landlock", whole, Path(home), (Path(state),), os.environ).wrap(about).words


@pytest.mark.skipif(abi() < LEAST_ABI, reason="no Landlock here")
def test_landlock_is_not_said_to_work_where_it_would_show_what_agents_must_not_see() -> None:
    kept = [Path("/srv/ada"), Path("/tmp/ada/state")]
    with pytest.raises(SandboxError, match="Landlock opens /tmp whole, in which '/tmp/ada/state' lies"):
        choose("auto", SandboxSection(), NOWHERE, kept)
    assert choose("auto", SandboxSection(), NOWHERE, kept[:1])[0] == "landlock"
    assert choose("auto", SandboxSection(profile="container"), NOWHERE, kept)[0] == "landlock"


@pytest.mark.skipif(abi() < LEAST_ABI, reason="no Landlock here")
@pytest.mark.parametrize("workspace", ["repo", "/srv/ada"])
def test_landlock_starts_agents_in_a_home_directory_and_beside_sockets_in_tmp(tmp_path: Path, workspace: str) -> None:
    about, sockets = replace(site(tmp_path), workspace=tmp_path / workspace), Path("/tmp/chaperon-1000")
    made = Sandboxes(
        "landlock", SandboxSection(), Path("/srv/ada"), (Path("/srv/state"), sockets), os.environ, in_tmp=sockets
    )
    assert made.wrap(about).words


@needs("bubblewrap")
def test_a_state_directory_within_the_workspace_is_not_seen_in_it(tmp_path: Path) -> None:
    state = tmp_path / "repo/state"
    state.mkdir(parents=True)
    (state / "key").write_text("private")
    (tmp_path / "ada").mkdir()
    made = Sandboxes("bubblewrap", SandboxSection(), tmp_path / "ada", (state,), os.environ)
    done = run(made, replace(site(tmp_path), own=state / "own"), "ls state; touch made state/made")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert (tmp_path / "repo/made").exists()
    assert not (state / "made").exists()


def run(made: Sandboxes, about: LaunchSite, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of a shell as an agent's CLI is started."""
    launch = made.wrap(replace(about, cli="/bin/sh"))
    words = [*launch.words, launch.program, "-c", command]
    return subprocess.run(
        words, env=launch.environment, cwd=about.workspace, capture_output=True, text=True, check=False
    )


EACH_KIND = pytest.mark.parametrize(
    "kind", [pytest.param("landlock", marks=needs("landlock")), pytest.param("bubblewrap", marks=needs("bubblewrap"))]
)

DEVICE = Path("/dev/fuse")
"""A device that all users may open, and no program needs."""


@pytest.mark.skipif(not DEVICE.is_char_device(), reason=f"there is no {DEVICE}")
@EACH_KIND
def test_a_device_is_opened_if_a_person_names_it(tmp_path: Path, kind: SandboxKind) -> None:
    for name in ("ada/state/own", "repo"):
        (tmp_path / name).mkdir(parents=True)
    about = replace(site(tmp_path), cli="/bin/sh")
    opens = f"test -c {DEVICE} && exec 3<>{DEVICE} && echo opened"
    assert run(sandboxes(tmp_path, kind), about, opens).stdout == ""
    named = SandboxSection(write=(str(DEVICE),))
    assert run(sandboxes(tmp_path, kind, named), about, opens).stdout == "opened\n"


@EACH_KIND
@pytest.mark.skipif(not shutil.which("dpkg"), reason="no system of Debian")
def test_the_systems_packages_can_be_listed(tmp_path: Path, kind: SandboxKind) -> None:
    (tmp_path / "repo").mkdir()
    done = run(sandboxes(tmp_path, kind), site(tmp_path), "dpkg --print-architecture && dpkg --status dpkg")
    assert done.returncode == 0, done.stderr


@needs("bubblewrap")
@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no second file system that this user may write")
def test_a_workspace_on_another_mount_is_written_and_links_out_of_it_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada/notes").write_text("private")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        workspace = Path(folder)
        assert workspace.stat().st_dev != tmp_path.stat().st_dev
        (workspace / "out").symlink_to(tmp_path / "ada/notes")
        (workspace / "up").symlink_to(tmp_path / "ada")
        (workspace / ".envrc").symlink_to(tmp_path / "ada/notes")
        (workspace / ".git").symlink_to(tmp_path / "ada")
        about = replace(site(tmp_path), workspace=workspace, checkout=workspace)
        done = run(
            sandboxes(tmp_path, "bubblewrap"), about, "echo x > made; cat out up/notes .envrc .git/notes; echo y > out"
        )
        assert (workspace / "made").read_text() == "x\n", done.stderr
        assert "private" not in done.stdout
    assert (tmp_path / "ada/notes").read_text() == "private"


@needs("bubblewrap")
def test_an_environment_of_a_megabyte_comes_through(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    many = {f"V{number}": "x" * 1_000 for number in range(1_000)}
    path = ":".join(["/usr/bin", "/bin", *(f"/nowhere/{number}" for number in range(5_000))])
    about = replace(site(tmp_path), environment={**many, "PATH": path})
    done = run(sandboxes(tmp_path, "bubblewrap"), about, "env | wc -c")
    assert int(done.stdout) > 1_000_000, done.stderr


@needs("bubblewrap")
def test_a_proxy_of_the_person_gives_way_in_closed_and_stays_elsewhere(tmp_path: Path) -> None:
    own = {f"{name}_PROXY": "http://proxy.example:8080" for name in ("HTTP", "HTTPS", "ALL")}
    own |= {name.lower(): value for name, value in own.items()}
    about = replace(site(tmp_path), environment={"PATH": "/usr/bin", **own}, gateway=tmp_path / "gateway")
    (tmp_path / "gateway").mkdir()
    for profile, reached in (("closed", f"http://127.0.0.1:{PROXY_PORT}"), ("project", "http://proxy.example:8080")):
        made = sandboxes(tmp_path, "bubblewrap", SandboxSection.model_validate({"profile": profile})).wrap(about)
        assert {made.environment[name] for name in own} == {reached}


@needs("bubblewrap")
def test_a_daemon_within_a_sandbox_finds_what_is_left_and_says_why_it_gives_no_more(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "ask.py").write_text(
        "import os\nfrom supervisor.config.sections.sandbox import SandboxSection\n"
        "from supervisor.runtime.sandbox.sandboxes import choose\n"
        "for kind in ('auto', 'bubblewrap'):\n    try:\n        print(choose(kind, SandboxSection(), os.environ)[0])\n"
        "    except Exception as error:\n        print(error)\n"
    )
    section = SandboxSection(read=(str(ROOT), str(tmp_path / "ask.py"), sys.prefix))
    done = run(
        sandboxes(tmp_path, "bubblewrap", section),
        site(tmp_path),
        f"PYTHONPATH={ROOT} {sys.executable} {tmp_path}/ask.py",
    )
    first, second = done.stdout.splitlines()
    assert first == "landlock" if abi() >= LEAST_ABI else "this machine does not give it" in first
    assert "does not work here" in second, done.stderr
