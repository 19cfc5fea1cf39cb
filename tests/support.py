"""What tests of several folders use: the real CLI, the environment in which it runs, and servers."""

import contextlib
import os
import socket
import socketserver
import subprocess
import threading
import time
import unicodedata
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson
import psutil

PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ")
"""Variables of the test's own environment that a CLI gets."""


START_CHEAPLY = {"BUN_JSC_useDFGJIT": "0"}
"""Variables for the runtime of the CLI, under which it does the same with less work: a second compiler is for programs
that run for long, and a short session takes 0.42 s of a processor without it and 0.53 with it (2.1.329)."""


def real_claude_path() -> Path:
    """The real CLI that the SDK brings.

    Raises:
        FileNotFoundError: The SDK is installed without it.
    """
    found = find_spec("claude_agent_sdk")  # imported, it took most of a second of each process that tests start
    assert found is not None
    assert found.origin is not None
    path = Path(found.origin).parent / "_bundled" / "claude"
    if not path.is_file():
        raise FileNotFoundError(f"claude-agent-sdk brought no CLI: there is no file at {path}.")
    return path


def cli_environment(home: Path, model_url: str, **more: str) -> dict[str, str]:
    """An environment in which the CLI reaches the scripted model and nothing else, and keeps its files in `home`."""
    passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    as_root = {"IS_SANDBOX": "1"} if os.geteuid() == 0 else {}
    return {
        **passed_on,
        **as_root,
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": model_url,
        "ANTHROPIC_API_KEY": "rehearsal",
        **START_CHEAPLY,
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        **more,
    }


def kill_tree(pid: int, workspace: Path) -> None:
    """End a process, all below it, and whatever else runs in the test's own workspace; none of these outlives a test."""
    found = {process.pid: process for process in _below(pid)}
    found.update({process.pid: process for process in processes_in(workspace)})
    for process in found.values():
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    give_up = time.perf_counter() + KILLED_SECONDS
    while any(alive(one) for one in found if one != pid) and time.perf_counter() < give_up:
        time.sleep(0.005)


KILLED_SECONDS = 3.0
"""Longest time until a killed process runs no more; it takes milliseconds."""


def alive(pid: int) -> bool:
    """Whether a process runs: one that has ended, and that nobody has asked for its exit yet, does not.

    An orphan's exit is for init to ask for, which the machine's may do every two seconds.
    """
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def holds_open(path: Path) -> bool:
    """Whether this process has a descriptor of a file or folder."""
    return any(os.path.realpath(each) == os.path.realpath(path) for each in Path("/proc/self/fd").iterdir())


def processes_in(workspace: Path) -> list[psutil.Process]:
    """The processes whose working directory is at or below the workspace, this one left out."""
    found = []
    for pid in psutil.pids():
        with contextlib.suppress(psutil.NoSuchProcess, OSError):
            # Many tests look again and again: with an object for each process and each path it took three times as long.
            where = os.readlink(f"/proc/{pid}/cwd").removesuffix(" (deleted)")  # noqa: PTH115
            if f"{where}/".startswith(f"{workspace}/") and pid != os.getpid():
                found.append(psutil.Process(pid))
    return found


def names_in(workspace: Path) -> list[str]:
    """The names of the processes that work there; one that ends meanwhile has none."""
    found = []
    for process in processes_in(workspace):
        with contextlib.suppress(psutil.NoSuchProcess):
            found.append(process.name())
    return found


def _below(pid: int) -> list[psutil.Process]:
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


ACTING = {"Cc", "Cf", "Zl", "Zp"}
"""Unicode's categories of characters that act instead of being shown: control, format (direction too), line and paragraph."""


def acting(text: str) -> set[str]:
    """The characters of a text that a terminal acts upon instead of showing them."""
    return {character for character in text if unicodedata.category(character) in ACTING}


RECORDINGS = Path(__file__).parent / "recordings"


def recorded(case: str, direction: str = "out") -> list[bytes]:
    """The lines of a recording in one direction, without newlines: `out` is what the CLI said, `in` what it was told."""
    entries = (orjson.loads(line) for line in (RECORDINGS / f"{case}.jsonl").read_bytes().splitlines())
    return [orjson.dumps(entry["frame"]) for entry in entries if entry["direction"] == direction]


def recorded_cases() -> list[str]:
    """The names of all recordings."""
    return sorted(path.stem for path in RECORDINGS.glob("*.jsonl"))


@contextlib.contextmanager
def full_queue(path: Path) -> Iterator[socket.socket]:
    """A listener whose queue has no room."""
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(socket.socket(socket.AF_UNIX))
        listening.bind(str(path))
        listening.listen(0)
        while True:
            one = stack.enter_context(socket.socket(socket.AF_UNIX))
            one.setblocking(False)
            try:
                one.connect(str(path))
            except BlockingIOError:
                break
        yield listening


def on_any_machine(policy: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A configuration whose tasks begin however busy or full the machine of the tests is, unless it says otherwise."""
    bounds = {"max_load_per_core": 0, "min_free_memory_mb": 0, "min_free_disk_mb": 0}
    given = dict(policy or {})
    return {**given, "tasks": {**bounds, **given.get("tasks", {})}}


def paid(agent: Mapping[str, Any]) -> dict[str, Any]:
    """These settings with the CLI's own key, unless they say who pays: a gateway for each test takes its time to start."""
    return (
        {**agent} if agent.keys() & {"sandbox", "credential", "credentials"} else {"credential": "inherited", **agent}
    )


AS_OTHERS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if os.geteuid() == 0 else ()
"""What a program is started with to have no more rights over processes of its user than an ordinary user's has."""


def can_be_read(pid: int) -> bool:
    """Whether a program of the same user, which may not trace everybody, reads the environment of a process."""
    done = subprocess.run([*AS_OTHERS, "cat", f"/proc/{pid}/environ"], capture_output=True, check=False, timeout=20)
    return done.returncode == 0


@contextlib.contextmanager
def answering(server: socketserver.BaseServer) -> Iterator[None]:
    """Have a server answer in a thread of its own within the block."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
