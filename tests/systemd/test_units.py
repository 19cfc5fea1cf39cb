import re
import shutil
import subprocess
from pathlib import Path

import pytest

from supervisor.cli import common
from supervisor.config.paths import APART_MODE, places

FOLDER = Path(__file__).parents[2] / "systemd"

ANALYZE = shutil.which("systemd-analyze")

CLOSED = ("chaperon-gateway@.service", "chaperon-panel@.service")
"""Units with no agents beneath."""

MOST_EXPOSED_OF_CLOSED = 2.5

SERVICES = ("chaperon.service", "chaperon@.service", "chaperon-apart@.service")

MOST_EXPOSED = 4.0
"""Of `chaperon@ada`; what it leaves open is what agents beneath it need."""

MOST_EXPOSED_APART = 4.2
"""Of `chaperon-apart@ada`: the two capabilities of its start are 0.3 of it; the daemon has given them up."""

WITH_OWN_FILES = {
    "PrivateTmp", "PrivateDevices", "ProtectHome", "ReadWritePaths", "ReadOnlyPaths", "TemporaryFileSystem", "BindPaths",
    "InaccessiblePaths", "DynamicUser", "PrivateUsers", "PrivateNetwork", "ProtectControlGroups",
}  # fmt: skip
"""Keys by which a daemon that was started again would have other files, users or networks than the agents it adopts."""

OVER_PROC = {"ProtectKernelTunables", "ProtectKernelLogs", "ProtectProc", "ProcSubset"}
"""Keys that cover parts of /proc: kernels may then refuse bubblewrap a /proc of its own. Linux 6.18 did not."""

NEWER_KEY = "'DelegateSubgroup' in section"
"""systemd before 254 passes that key over with a warning; the unit's comment says what happens without it."""


def verify(directory: Path, *names: str, user: bool) -> tuple[int, list[str]]:
    """Check units as systemd reads them; return the exit code and what it said of ours."""
    assert ANALYZE
    runtime = directory / "run"
    runtime.mkdir(exist_ok=True)
    done = subprocess.run(
        [ANALYZE, *(["--user"] if user else []), "--man=no", "verify", *(str(directory / name) for name in names)],
        env={"XDG_RUNTIME_DIR": str(runtime), "HOME": str(directory), "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, timeout=50, check=False,
    )  # fmt: skip
    said = [line for line in done.stderr.splitlines() if "chaperon" in line and NEWER_KEY not in line]
    return done.returncode, said


def unit_text(name: str) -> str:
    return (FOLDER / name).read_text()


def started_by(name: str, command: Path) -> str:
    """A unit that starts this command, which systemd looks for."""
    return re.sub(r"^ExecStart=.*$", f'ExecStart="{command}" serve', unit_text(name), flags=re.MULTILINE)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """All units, with a command that exists."""
    command = tmp_path / "bin dir" / "chaperon"
    command.parent.mkdir()
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    for path in FOLDER.iterdir():
        (tmp_path / path.name).write_text(started_by(path.name, command))
    return tmp_path


needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed")


@needs_systemd
def test_systemd_accepts_the_users_units(installed: Path) -> None:
    assert verify(installed, "chaperon.service", "chaperon.socket", user=True) == (0, [])


@needs_systemd
def test_systemd_accepts_the_systems_units(installed: Path) -> None:
    shutil.copy(installed / "chaperon@.service", installed / "chaperon@root.service")
    shutil.copy(installed / "chaperon@.socket", installed / "chaperon@root.socket")
    assert verify(installed, "chaperon@root.service", "chaperon@root.socket", user=False) == (0, [])


@needs_systemd
def test_systemd_accepts_the_units_as_they_are_shipped(tmp_path: Path) -> None:
    (tmp_path / "chaperon.service").write_text(unit_text("chaperon.service"))
    (tmp_path / "chaperon@root.service").write_text(unit_text("chaperon@.service"))
    assert verify(tmp_path, "chaperon.service", user=True) == (0, [])
    assert verify(tmp_path, "chaperon@root.service", user=False) == (0, [])


@needs_systemd
def test_a_unit_that_is_wrong_would_be_found(installed: Path) -> None:
    unit = installed / "chaperon.service"
    unit.write_text(unit.read_text().replace("KillMode=process", "KillMode=gently"))
    _, said = verify(installed, "chaperon.service", user=True)
    assert "Failed to parse kill mode specification" in said[0]
    unit.write_text(started_by("chaperon.service", Path("/nowhere/chaperon")))
    assert verify(installed, "chaperon.service", user=True)[0] != 0


def exposure(unit: Path) -> float:
    """The figure that systemd gives a unit for what it leaves open, from 0 to 10."""
    assert ANALYZE
    words = [ANALYZE, "security", "--offline=true", "--no-pager", str(unit)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=50, check=False)
    found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", done.stdout)
    if found is None:
        pytest.skip(f"systemd-analyze looks at no unit that is not installed: {done.stderr.strip()}")
    return float(found[1])


@needs_systemd
def test_what_the_systems_unit_leaves_open_is_what_agents_need(tmp_path: Path) -> None:
    """The threat model says why it is no less: agents run beneath, and go on over a restart."""
    unit = tmp_path / "chaperon@ada.service"
    unit.write_text(unit_text("chaperon@.service"))
    assert exposure(unit) <= MOST_EXPOSED
    unit.write_text(re.sub(r"^(SystemCallFilter|NoNewPrivileges)=.*\n", "", unit.read_text(), flags=re.MULTILINE))
    assert exposure(unit) > MOST_EXPOSED


@needs_systemd
def test_the_unit_with_a_user_of_its_own_leaves_open_what_the_other_does_and_its_start(tmp_path: Path) -> None:
    unit = tmp_path / "chaperon-apart@ada.service"
    unit.write_text(unit_text("chaperon-apart@.service"))
    assert exposure(unit) <= MOST_EXPOSED_APART
    unit.write_text(re.sub(r"^CapabilityBoundingSet=.*\n", "", unit.read_text(), flags=re.MULTILINE))
    assert exposure(unit) > MOST_EXPOSED_APART


def test_the_unit_with_a_user_of_its_own_is_the_other_one_but_for_that() -> None:
    apart, other = settings("chaperon-apart@.service"), settings("chaperon@.service")
    differs = {key for key in apart.keys() | other.keys() if apart.get(key) != other.get(key)}
    assert differs == {
        "Description", "Conflicts", "User", "Group", "ExecStart", "Environment", "StateDirectory", "StateDirectoryMode",
        "RuntimeDirectoryMode", "CapabilityBoundingSet", "AmbientCapabilities", "RemoveIPC",
        "KeyringMode",
    }  # fmt: skip
    assert (int(apart["StateDirectoryMode"], 8), int(apart["RuntimeDirectoryMode"], 8)) == (APART_MODE, APART_MODE)


@needs_systemd
@pytest.mark.parametrize("name", CLOSED)
def test_units_without_agents_beneath_are_closed_to_all_that_they_do_not_need(tmp_path: Path, name: str) -> None:
    unit = tmp_path / name.replace("@", "@root")
    unit.write_text(unit_text(name))
    assert exposure(unit) <= MOST_EXPOSED_OF_CLOSED
    unit.write_text(
        re.sub(
            r"^(ProtectSystem|SystemCallFilter|NoNewPrivileges|CapabilityBoundingSet)=.*\n",
            "",
            unit.read_text(),
            flags=re.MULTILINE,
        )
    )
    assert exposure(unit) > MOST_EXPOSED_OF_CLOSED


@needs_systemd
@pytest.mark.parametrize("name", CLOSED)
def test_systemd_accepts_the_units_without_agents_beneath(tmp_path: Path, name: str) -> None:
    unit = name.replace("@", "@root")
    (tmp_path / unit).write_text(unit_text(name))
    assert verify(tmp_path, unit, user=False) == (0, [])


def test_the_gateways_unit_has_the_folder_in_which_the_daemon_looks_for_it() -> None:
    unit = settings("chaperon-gateway@.service")
    state = "/var/lib/chaperon/ada"
    assert f"STATE_DIRECTORY={state} " in unit["ExecStart"].replace("%i", "ada")
    assert f"/var/lib/{unit['StateDirectory']}".replace("%i", "ada") == str(
        places({"STATE_DIRECTORY": state}, 7).gateway
    )
    assert unit["UMask"] == "0077"


def test_the_panel_looks_at_the_processes_of_browsers_and_so_lives_in_no_namespace_of_users() -> None:
    assert not {"PrivateUsers", "ProtectProc", "ProcSubset", "PrivateNetwork"} & settings(CLOSED[1]).keys()


def settings(name: str) -> dict[str, str]:
    return dict(re.findall(r"^([A-Za-z]+)=(.*)$", unit_text(name), re.MULTILINE))


@pytest.mark.parametrize("name", SERVICES)
def test_agents_outlive_the_daemon_and_the_watchdog_is_on(name: str) -> None:
    unit = settings(name)
    asked = {"Type": "notify", "NotifyAccess": "main", "KillMode": "process", "Delegate": "yes", "OOMPolicy": "continue",
             "Restart": "on-failure", "UMask": "0077", "DelegateSubgroup": "daemon", "WatchdogSec": "30"}  # fmt: skip
    assert {key: unit.get(key) for key in asked} == asked


@pytest.mark.parametrize("name", SERVICES)
def test_an_adopted_agent_has_the_same_files_and_network_as_the_daemon(name: str) -> None:
    assert not (WITH_OWN_FILES | OVER_PROC | {"MemoryDenyWriteExecute"}) & settings(name).keys()
    assert settings(name).get("ProtectSystem") in (None, "full")  # `strict` takes ReadWritePaths


def test_the_socket_lies_where_the_command_line_looks() -> None:
    assert settings("chaperon.socket")["ListenStream"] == "%t/chaperon/chaperon.sock"
    assert settings("chaperon@.socket")["ListenStream"] == "/run/chaperon/%i/chaperon.sock"
    assert settings("chaperon@.service")["RuntimeDirectory"] == "chaperon/%i"


@pytest.mark.skipif(shutil.which("systemd-tmpfiles") is None, reason="systemd-tmpfiles is not installed")
def test_systemd_accepts_the_tmpfiles(tmp_path: Path) -> None:
    file = tmp_path / "chaperon.conf"
    file.write_text(unit_text("chaperon.tmpfiles.conf"))
    done = subprocess.run(
        ["systemd-tmpfiles", "--create", f"--root={tmp_path}/root", str(file)],
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "root/run/chaperon").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_not_started_again_where_the_next_start_would_end_the_same_way(name: str) -> None:
    (line,) = [line for line in unit_text(name).splitlines() if line.startswith("RestartPreventExitStatus=")]
    assert line.partition("=")[2].split() == [str(common.WRONG_USAGE), str(common.TAKEN)]
