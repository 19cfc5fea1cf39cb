import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from checkpoints.git import git_command
from monitors.contract.errors import ChaperonError
from supervisor import __version__
from supervisor.protocol.words import VERSION_HEADER
from supervisor.runtime import doctor
from supervisor.runtime.doctor import CHECKS, DoctorContext, DoctorFinding, as_json, examine, healthy


def script(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def around(tmp_path: Path) -> DoctorContext:
    """A user with a home of their own and nothing else."""
    environ = {
        "HOME": str(tmp_path / "home"),
        "PATH": f"{tmp_path}/bin:/usr/bin:/bin",
        "XDG_RUNTIME_DIR": str(tmp_path / "run"),
    }
    (tmp_path / "run").mkdir(mode=0o700)
    return DoctorContext(environ, os.getuid(), "ada", lingering=tmp_path / "linger")


def test_here_everything_that_must_work_works(around: DoctorContext, tmp_path: Path) -> None:
    script(tmp_path / "bin/claude", 'echo "2.1.400 (Claude Code)"')
    findings = examine(around)
    assert [finding.name for finding in findings] == list(CHECKS)
    assert healthy(findings), findings


def test_nothing_is_made_by_looking(around: DoctorContext, tmp_path: Path) -> None:
    script(tmp_path / "bin/claude", 'echo "2.1.400 (Claude Code)"')
    before = sorted(tmp_path.rglob("*"))
    examine(around)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_wrong_configuration_is_told_and_the_other_checks_go_on(around: DoctorContext, tmp_path: Path) -> None:
    script(tmp_path / "bin/claude", 'echo "2.1.400 (Claude Code)"')
    file = tmp_path / "c.yaml"
    file.write_text("reviewr: {}")
    file.chmod(0o600)
    findings = {finding.name: finding for finding in examine(replace(around, config_file=file))}
    assert findings["configuration"].ok is False
    assert f"{file}:1:1: unknown key 'reviewr'; did you mean 'reviewer'?" in findings["configuration"].says
    assert findings["git"].ok


def test_the_files_that_make_up_the_configuration_are_named(around: DoctorContext, tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("{}")
    assert str(file) in doctor.configuration(replace(around, config_file=file)).says


def test_without_a_file_the_places_that_are_read_are_named(around: DoctorContext, tmp_path: Path) -> None:
    assert f"{tmp_path}/home/.config/chaperon/chaperon.yaml" in doctor.configuration(around).says


def test_a_file_that_only_looks_like_the_configuration_is_named(around: DoctorContext, tmp_path: Path) -> None:
    file = tmp_path / "home/.config/chaperon/config.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("approval: {mode: risky}\n")
    finding = doctor.configuration(around)
    assert finding.ok is None
    assert f"{file} is not read: the configuration in that folder is chaperon.yaml." in finding.says


def test_a_missing_cli_comes_with_the_way_out(around: DoctorContext, tmp_path: Path) -> None:
    script(tmp_path / "bin/claude", "exit 4")
    (finding,) = examine(around, {"claude": doctor.claude})
    assert finding.ok is False
    assert "ended with exit status 4" in finding.says
    assert "--version` by hand" in finding.mend


def test_an_older_cli_than_the_measured_one_is_said_to_be_so(around: DoctorContext, tmp_path: Path) -> None:
    script(tmp_path / "bin/claude", 'echo "2.1.20 (Claude Code)"')
    finding = doctor.claude(around)
    assert finding.ok
    assert "older than 2.1.329" in finding.says


@pytest.mark.parametrize(
    ("body", "ok"),
    [
        ("echo git version 2.31.1", True),
        ("echo git version 2.30.9", False),
        ("echo git version 3.0", True),
        ("exit 1", False),
    ],
)
def test_git_must_be_new_enough(around: DoctorContext, tmp_path: Path, body: str, *, ok: bool) -> None:
    script(tmp_path / "bin/git", body)
    finding = doctor.git(around)
    assert finding.ok is ok
    assert bool(finding.mend) is not ok


def test_no_git_at_all_is_told(around: DoctorContext) -> None:
    assert doctor.git(replace(around, environ={"PATH": "/nowhere"})).says == "no `git` on PATH"


def mounted(around: DoctorContext, tmp_path: Path, controllers: str) -> DoctorContext:
    """A /proc that says that a directory of the test is our group."""
    (tmp_path / "proc/self").mkdir(parents=True, exist_ok=True)
    (tmp_path / "proc/self/mountinfo").write_text(f"1 1 0:1 / {tmp_path}/cg rw - cgroup2 none rw\n")
    (tmp_path / "proc/self/cgroup").write_text("0::/\n")
    (tmp_path / "cg").mkdir(exist_ok=True)
    (tmp_path / "cg/cgroup.procs").touch()
    (tmp_path / "cg/cgroup.controllers").write_text(controllers)
    return replace(around, proc=tmp_path / "proc")


def test_a_delegated_group_with_all_controllers_is_fine_and_with_fewer_a_limitation(
    around: DoctorContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "is_delegated", lambda _: True)
    assert doctor.containment(mounted(around, tmp_path, "cpu io memory pids\n")).ok is True
    fewer = doctor.containment(mounted(around, tmp_path, "cpu\n"))
    assert fewer.ok is None
    assert "no memory, pids" in fewer.says


def test_without_a_group_of_ones_own_agents_are_held_by_walking(
    around: DoctorContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "is_delegated", lambda _: False)
    finding = doctor.containment(mounted(around, tmp_path, ""))
    assert finding.ok is None
    assert "Delegate=yes" in finding.mend
    (tmp_path / "proc/self/mountinfo").write_text("")
    assert "no cgroup v2 tree" in doctor.containment(replace(around, proc=tmp_path / "proc")).says


def test_a_state_directory_that_cannot_be_used_is_told(around: DoctorContext, tmp_path: Path) -> None:
    assert doctor.state_directory(around).ok
    (tmp_path / "state").write_text("a file")
    in_the_way = replace(around, environ={"STATE_DIRECTORY": str(tmp_path / "state")})
    (finding,) = examine(in_the_way, {"state": doctor.state_directory})
    assert finding.ok is False
    assert "is no directory" in finding.says


def test_a_full_disk_is_told(around: DoctorContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LEAST_FREE_BYTES", 2**80)
    assert doctor.state_directory(around).ok is False


def test_a_living_daemon_a_dead_one_and_none_are_told_apart(around: DoctorContext, tmp_path: Path) -> None:
    directory = tmp_path / "run/chaperon"
    assert "none runs" in doctor.daemon(around).says
    directory.mkdir(mode=0o700)
    with answering(directory / "chaperon.sock", __version__):
        assert doctor.daemon(around).ok is True
    assert "was left by one that died" in doctor.daemon(around).says


@contextmanager
def answering(path: Path, version: str) -> Iterator[None]:
    """A daemon of a version, so far as doctor looks at it."""
    header = f"{VERSION_HEADER}: {version}\r\n" if version else ""

    def answer() -> None:
        for _ in range(2):  # the look whether one listens, and the question
            connection, _ = listening.accept()
            with connection:
                if connection.recv(1024):
                    connection.sendall(f"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n{header}\r\n{{}}".encode())

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        thread = threading.Thread(target=answer)
        thread.start()
        yield
        thread.join(10)


@pytest.mark.parametrize(
    ("version", "says"), [("9.9.9", "of version 9.9.9, and this is"), ("", "does not say which it is")]
)
def test_a_daemon_of_another_version_is_told(around: DoctorContext, tmp_path: Path, version: str, says: str) -> None:
    directory = tmp_path / "run/chaperon"
    directory.mkdir(mode=0o700)
    with answering(directory / "chaperon.sock", version):
        finding = doctor.daemon(around)
    assert finding.ok is None
    assert says in finding.says
    assert finding.mend.startswith("Restart it")


def test_a_kernel_that_gives_no_watcher_is_told(around: DoctorContext) -> None:
    """In a process that may open no descriptor more, which the kernel answers in the same way."""
    code = (
        "import os, resource, sys\n"
        "from supervisor.runtime import doctor\n"
        "around = doctor.DoctorContext(os.environ, os.getuid(), 'ada')\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir('/proc/self/fd')) - 1,) * 2)\n"
        "print(doctor.watches(around))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=True)
    assert "ok=None" in done.stdout
    assert "The kernel refuses another watcher (fs.inotify.max_user_instances)" in done.stdout


def test_what_the_configuration_names_is_looked_at_and_what_will_not_work_is_told_in_lines(
    around: DoctorContext, tmp_path: Path
) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("plugins: {detectors: [nosuch.py]}\nhooks: {on-pause: nosuch.sh}\nagent: {launcher: [nosuch]}\n")
    file.chmod(0o600)
    finding = doctor.configuration(replace(around, config_file=file))
    assert finding.ok is False
    for part in ("nosuch.py could not be run", "hooks.on-pause", "no program 'nosuch'"):
        assert sum(part in line for line in finding.says.splitlines()) == 1


def test_a_runtime_directory_that_others_can_write_is_told(around: DoctorContext, tmp_path: Path) -> None:
    (tmp_path / "run/chaperon").mkdir()
    (tmp_path / "run/chaperon").chmod(0o777)
    (finding,) = examine(around, {"daemon": doctor.daemon})
    assert finding.ok is False
    assert "lets others write" in finding.says


@pytest.mark.parametrize(("allowed", "ok"), [("8192", None), ("1048576", True), ("many", None)])
def test_few_watches_are_a_limitation_with_a_remedy(
    around: DoctorContext, tmp_path: Path, allowed: str, *, ok: bool | None
) -> None:
    (tmp_path / "sys/fs/inotify").mkdir(parents=True)
    (tmp_path / "sys/fs/inotify/max_user_watches").write_text(allowed + "\n")
    assert doctor.watches(replace(around, proc=tmp_path)).ok is ok


def test_lingering_is_asked_for_where_a_user_manager_answers(around: DoctorContext, tmp_path: Path) -> None:
    script(tmp_path / "bin/systemctl", "echo degraded; exit 1")
    assert doctor.systemd(around).mend == "loginctl enable-linger ada"
    (tmp_path / "linger").mkdir()
    (tmp_path / "linger/ada").touch()
    assert doctor.systemd(around).ok is True


def test_without_a_user_manager_chaperon_still_works(around: DoctorContext, tmp_path: Path) -> None:
    script(tmp_path / "bin/systemctl", "echo 'Failed to connect to bus' >&2; exit 1")
    assert doctor.systemd(around).ok is None


@pytest.mark.slow
def test_a_program_that_hangs_is_not_waited_for(
    around: DoctorContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_command, "READ_SECONDS", 0.2)
    script(tmp_path / "bin/git", "exec sleep 300")
    assert "gave no version" in doctor.git(around).says


def test_a_check_that_fails_is_a_finding_and_the_next_one_runs(around: DoctorContext) -> None:
    def refuses(_: DoctorContext) -> DoctorFinding:
        raise ChaperonError("It is so.", way_out="Do this.")

    def cannot(_: DoctorContext) -> DoctorFinding:
        raise PermissionError(13, "Permission denied", "/x")

    findings = examine(around, {"a": refuses, "b": cannot, "python": doctor.python})
    assert findings[0] == DoctorFinding("a", False, "It is so.", "Do this.")
    assert findings[1].says == "cannot be looked at: [Errno 13] Permission denied: '/x'"
    assert findings[2].ok
    assert not healthy(findings)


def test_data_has_the_findings_as_they_are() -> None:
    said = orjson.loads(
        as_json([DoctorFinding("one", True, "fine"), DoctorFinding("three", False, "broken", "Mend it.")])
    )
    assert said["ok"] is False
    assert said["findings"][1] == {"name": "three", "ok": False, "says": "broken", "mend": "Mend it."}


def configured(around: DoctorContext, tmp_path: Path, text: str) -> DoctorContext:
    path = tmp_path / "sandbox.yaml"
    path.write_text(text)
    return replace(around, config_file=path)


def test_a_sandbox_that_cannot_be_had_is_a_fault_with_the_way_to_get_it(around: DoctorContext, tmp_path: Path) -> None:
    wanted = configured(around, tmp_path, "agent: {sandbox: bubblewrap}\n")
    without = replace(wanted, environ={**wanted.environ, "PATH": str(tmp_path)})
    (finding,) = doctor.examine(without, {"sandbox": doctor.sandbox})
    assert finding.ok is False
    assert (
        "agent.sandbox is `bubblewrap`, and this machine does not give it: there is no program `bwrap`" in finding.says
    )
    assert "apt install bubblewrap" in finding.mend


def test_without_a_sandbox_the_strongest_that_would_work_is_named(around: DoctorContext) -> None:
    found = doctor.sandbox(around)
    assert found.ok is None
    assert "agents are held by review alone" in found.says
    assert found.mend
