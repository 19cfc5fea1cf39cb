"""The last step into a sandbox, as a process of its own."""

import hashlib
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from hatch_build import compile_entry
from supervisor.runtime.sandbox import bubblewrap, entry, seccomp
from supervisor.runtime.sandbox.bubblewrap import Mount, Walls
from supervisor.runtime.sandbox.landlock import EntryPlan, words
from supervisor.runtime.sandbox.machine import counts_by_namespace
from tests.stages.ports import kept_port
from tests.stages.walled import needs

landlock = pytest.mark.skipif(entry.abi() < 6, reason=f"Landlock {entry.abi()} has no scopes")

SYSTEM = ["/usr", "/bin", "/lib", "/lib64", "/etc", "/proc", "/dev"]


class Entry:
    """The program in one of its forms."""

    def __init__(self, *command: str) -> None:
        self.command = command

    def enter(self, options: list[str], *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.command, *options, "--", *command], capture_output=True, text=True, check=False, timeout=60
        )


@pytest.fixture(scope="module", params=["of Python", "compiled"])
def last(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Entry:
    """The program for machines without a compiler, and the one for machines with one: they do the same."""
    if request.param == "of Python":
        return Entry(sys.executable, "-I", "-S", "-E", entry.__file__)
    folder = tmp_path_factory.mktemp("compiled")
    shutil.copy(Path(entry.__file__).with_suffix(".c"), folder)
    made = compile_entry(folder, "-Werror", quiet=False)
    if made is None and shutil.which("cc") is None:
        pytest.skip("no compiler of C here")
    assert made is not None
    return Entry(str(made))


@landlock
def test_only_what_is_named_can_be_read_and_written(last: Entry, tmp_path: Path) -> None:
    for name in ("read", "write", "neither"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "it").write_text(name)
    plan = EntryPlan(files=True, read=(*SYSTEM, str(tmp_path / "read"), "/not/there"), write=(str(tmp_path / "write"),))
    done = last.enter(
        [*plan.words()],
        "/bin/sh",
        "-c",
        f"cd {tmp_path}; cat read/it write/it neither/it; echo x > read/new; echo y > write/new",
    )
    assert done.stdout == "readwrite"
    assert done.stderr.count("ermission denied") == 2
    assert not (tmp_path / "read/new").exists()
    assert (tmp_path / "write/new").read_text() == "y\n"


@landlock
def test_with_scopes_a_process_outside_is_signalled_and_read_no_more(last: Entry) -> None:
    ours = os.getpid()
    tries = f"kill -0 {ours} && echo signalled; cat /proc/{ours}/environ > /dev/null && echo read; echo over"
    assert last.enter([], "/bin/sh", "-c", tries).stdout.startswith("signalled\n")
    assert last.enter(["--scoped"], "/bin/sh", "-c", tries).stdout == "over\n"


def test_root_keeps_no_capability_and_nobody_gains_one(last: Entry) -> None:
    done = last.enter([], "/bin/grep", "-E", "CapEff|CapBnd|NoNewPrivs", "/proc/self/status")
    fields = dict(line.split() for line in done.stdout.splitlines())
    assert int(fields["CapEff:"], 16) == 0
    assert fields["NoNewPrivs:"] == "1"
    if os.geteuid() == 0:
        assert int(fields["CapBnd:"], 16) == 0


def test_a_refused_system_call_is_refused(last: Entry) -> None:
    options = [*EntryPlan(seccomp.program(platform.machine())).words()]
    code = "import ctypes; print(ctypes.CDLL(None).unshare(0x10000000))"
    assert last.enter(options, "/usr/bin/python3", "-c", code).stdout == "-1\n"


def test_processes_have_a_hard_limit_that_a_lower_one_stays_below(last: Entry) -> None:
    assert last.enter(["--processes", "4000"], "/bin/bash", "-c", "ulimit -Su; ulimit -Hu").stdout == "4000\n4000\n"
    again = ["--processes", "3000", "--", *last.command, "--processes", "4000"]
    assert last.enter(again, "/bin/bash", "-c", "ulimit -Hu").stdout == "3000\n"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--filter", "0000000000000000"], "Invalid argument"),
        (["--filter", "not hexadecimal!"], "the filter is damaged"),
        (["--filter", "00"], "the filter is damaged"),
        (["--closed"], "an option is not known"),
        (["--read"], "an option is not known"),
    ],
)
def test_what_cannot_be_closed_runs_nothing_and_says_so(last: Entry, options: list[str], why: str) -> None:
    broken = last.enter(options, "/bin/echo", "ran")
    assert (broken.returncode, broken.stdout) == (126, "")
    assert f"chaperon: the sandbox could not be closed ({why}), so " in broken.stderr


def test_what_cannot_be_started_is_named(last: Entry) -> None:
    missing = last.enter([], "/not/there")
    assert missing.returncode == 126
    assert "/not/there was not started" in missing.stderr
    assert last.enter(["--scoped"]).returncode == 126


def test_signals_that_python_ignores_end_the_program_as_ever(last: Entry) -> None:
    ignored = int(last.enter([], "/bin/grep", "SigIgn", "/proc/self/status").stdout.split()[1], 16)
    assert not [each for each in (signal.SIGPIPE, signal.SIGXFSZ) if ignored >> (each - 1) & 1]


def test_no_descriptor_of_its_own_is_left_to_the_program(last: Entry) -> None:
    done = last.enter(["--scoped", "--files", "--read", "/", "--write", "/tmp"], "/bin/ls", "/proc/self/fd")
    assert done.stdout.split() == ["0", "1", "2", "3"], "the last is that of ls"


@landlock
@pytest.mark.parametrize("last", ["compiled"], indirect=True)
def test_a_command_alone_runs_in_a_shell_that_is_kept_apart_from_its_parent(last: Entry) -> None:
    command = f"echo $BASH_VERSION | head -c 2; kill -0 {os.getpid()} && echo signalled; exit 7"
    done = subprocess.run([*last.command, command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (7, "5."), done.stderr
    assert "not permitted" in done.stderr


@pytest.mark.parametrize("last", ["compiled"], indirect=True)
def test_the_compiled_program_says_of_which_source_it_is(last: Entry) -> None:
    source = Path(entry.__file__).with_suffix(".c").read_bytes()
    done = subprocess.run(last.command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{hashlib.sha256(source).hexdigest()}\n"


def test_without_a_compiler_nothing_is_compiled_and_an_older_program_is_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(Path(entry.__file__).with_suffix(".c"), tmp_path)
    older = tmp_path / f"entry-{platform.machine()}"
    older.touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert compile_entry(tmp_path) is None
    assert not older.exists()


def test_each_version_of_landlock_is_asked_for_what_it_knows() -> None:
    assert [entry.handled(version).bit_length() for version in (1, 2, 3, 4, 5, 7)] == [13, 14, 15, 15, 16, 16]


FORKS = """
import os, resource, signal, sys
made = []
try:
    while len(made) < 60:
        child = os.fork()
        if not child:
            signal.pause()
        made.append(child)
except OSError as error:
    print("refused", len(made) < 20, error.errno == 11)
for child in made:
    os.kill(child, 9)
try:
    resource.setrlimit(resource.RLIMIT_NPROC, (90, 90))
    print("raised")
except ValueError:
    print("stays")
"""
"""Starts processes until the kernel refuses."""


@pytest.mark.slow
@needs("bubblewrap")
@pytest.mark.skipif(not counts_by_namespace(platform.release()), reason="this kernel counts all processes of a user")
def test_without_control_groups_a_sandbox_has_a_bound_on_processes_of_its_own_that_stays() -> None:
    user: dict[str, Any] = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        program = shutil.copy(entry.__file__, folder)
        walls = Walls(
            (Mount("read", "/"), Mount("processes", "/proc"), Mount("devices", "/dev")),
            "/",
            own_network=False,
            memory_bytes=2**20,
        )
        inside = words(["/usr/bin/python3", program], EntryPlan(processes=20))
        bubblewrap_words = bubblewrap.words(str(shutil.which("bwrap")), walls)
        outside = [subprocess.Popen(["/bin/sleep", "100"], cwd="/", **user) for _ in range(30)]
        try:
            command = [*bubblewrap_words, *inside, "/usr/bin/python3", "-c", FORKS]
            done = subprocess.run(command, cwd="/", env={}, capture_output=True, text=True, **user)
        finally:
            for each in outside:
                each.kill()
                each.wait()
    assert done.stdout.splitlines() == ["refused True True", "stays"], done.stderr


PROXY = """
import resource, sys
sys.path.insert(0, sys.argv[1])
import entry
entry.PROXY_PORT = int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
entry.begin_proxy(sys.argv[2])
print("ready", flush=True)
sys.stdin.read()
"""


def test_a_proxy_that_had_no_descriptors_left_leads_later_connections_again(tmp_path: Path) -> None:
    with kept_port() as port, socket.socket(socket.AF_UNIX) as gateway:
        gateway.bind(str(tmp_path / "g"))
        gateway.listen(64)
        gateway.settimeout(30)
        words = [sys.executable, "-c", PROXY, str(Path(entry.__file__).parent), str(tmp_path / "g"), str(port)]
        started = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        assert started.stdout is not None
        assert started.stdout.readline() == b"ready\n"
        try:
            many = [socket.create_connection(("127.0.0.1", port)) for _ in range(30)]
            led = [gateway.accept()[0] for _ in range(3)]
            for each in (*many, *led):
                each.close()
            told = b""
            with socket.create_connection(("127.0.0.1", port), timeout=30) as last:
                last.sendall(b"last")
                while told != b"last":
                    with gateway.accept()[0] as other:
                        told = other.recv(10)
        finally:
            os.killpg(started.pid, signal.SIGKILL)
            started.communicate()
