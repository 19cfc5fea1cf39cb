"""How long a daemon takes until it is ready, what it weighs, and what a command costs.

usage: python -m tests.bench --only start
"""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import psutil

from tests.bench.figures import Figure, middle

ROUNDS = 5
CHAPERON = (sys.executable, "-m", "supervisor.cli")
ANSWER_SECONDS = 300.0


def environment(base: Path) -> dict[str, str]:
    """A daemon's whole environment: everything it has is below the base."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(base / "home"),
        "STATE_DIRECTORY": str(base / "state"),
        "RUNTIME_DIRECTORY": str(base / "run"),
    }


def answers(path: Path) -> bool:
    """Whether a daemon answers on the socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        try:
            peer.connect(str(path))
        except OSError:
            return False
        peer.sendall(b"GET /v1/health HTTP/1.1\r\nHost: chaperon\r\nConnection: close\r\n\r\n")
        return peer.recv(64).startswith(b"HTTP/1.1 200")


class Start(NamedTuple):
    """What a daemon's start took, in seconds."""

    ready: float
    """Until it told the service manager that it is ready: agents are adopted, and their calls are reviewed."""
    answered: float
    """Until the socket gave its first answer."""


@contextmanager
def serving(base: Path, **more: str) -> Iterator[tuple[subprocess.Popen[bytes], Start]]:
    """A daemon that answers, and what its start took; ended in order."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told, (base / "daemon.log").open("ab") as log:
        (base / "notify").unlink(missing_ok=True)
        told.bind(str(base / "notify"))
        told.settimeout(ANSWER_SECONDS)
        began = perf_counter()
        environ = {**environment(base), "NOTIFY_SOCKET": str(base / "notify"), **more}
        daemon = subprocess.Popen([*CHAPERON, "serve"], env=environ, stdout=log, stderr=log)
        try:
            while b"READY=1" not in told.recv(4096):
                pass
            ready = perf_counter() - began
            if not answers(base / "run" / "chaperon.sock"):
                raise RuntimeError(f"the daemon does not answer: {(base / 'daemon.log').read_text()}")
            yield daemon, Start(ready, perf_counter() - began)
        finally:
            daemon.terminate()
            daemon.wait()


def resident_megabytes(pid: int) -> float:
    """Resident memory of a process."""
    return psutil.Process(pid).memory_info().rss / 2**20


def command_seconds(base: Path, *arguments: str) -> float:
    """What a command takes, the interpreter's start included."""
    taken = []
    for _ in range(ROUNDS):
        began = perf_counter()
        subprocess.run([*CHAPERON, *arguments], env=environment(base), check=True, stdout=subprocess.DEVNULL)
        taken.append(perf_counter() - began)
    return middle(taken)


def main() -> list[Figure]:
    """Measure."""
    starts, weights = [], []
    with tempfile.TemporaryDirectory(prefix="chaperon-bench-") as place:
        base = Path(place)
        (base / "home").mkdir()
        for _ in range(ROUNDS):
            with serving(base) as (daemon, start):
                starts.append(start)
                weights.append(resident_megabytes(daemon.pid))
        with serving(base):
            ps = command_seconds(base, "ps")
        usage = command_seconds(base, "--help")
        bare = command_seconds_of_nothing()
    return [
        Figure("start to ready: agents are adopted, calls reviewed", middle([each.ready for each in starts]), "s", 1.0),
        Figure("start to the first answer on the socket", middle([each.answered for each in starts]), "s"),
        Figure("resident memory of the daemon", middle(weights), "MB", 80),
        Figure("`chaperon ps`", ps * 1e3, "ms"),
        Figure("`chaperon --help`", usage * 1e3, "ms"),
        Figure("an interpreter that does nothing, to compare", bare * 1e3, "ms"),
    ]


def command_seconds_of_nothing() -> float:
    """What the interpreter's own start takes."""
    taken = []
    for _ in range(ROUNDS):
        began = perf_counter()
        subprocess.run([sys.executable, "-c", ""], check=True)
        taken.append(perf_counter() - began)
    return middle(taken)


if __name__ == "__main__":
    print(*main(), sep="\n")
