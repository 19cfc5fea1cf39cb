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
from time import perf_counter, sleep

import psutil

from tests.bench.figures import Figure, middle

ROUNDS = 5
CHAPERON = (sys.executable, "-m", "supervisor.cli")
ANSWER_SECONDS = 30.0


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


@contextmanager
def serving(base: Path, **more: str) -> Iterator[tuple[subprocess.Popen[bytes], float]]:
    """A daemon that answers, and the seconds it took to; ended in order."""
    began = perf_counter()
    with (base / "daemon.log").open("ab") as log:
        daemon = subprocess.Popen([*CHAPERON, "serve"], env={**environment(base), **more}, stdout=log, stderr=log)
    try:
        while not answers(base / "run" / "chaperon.sock"):
            if daemon.poll() is not None or perf_counter() - began > ANSWER_SECONDS:
                raise RuntimeError(f"the daemon did not start: {(base / 'daemon.log').read_text()}")
            sleep(0.005)
        yield daemon, perf_counter() - began
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
    ready, weights = [], []
    with tempfile.TemporaryDirectory(prefix="chaperon-bench-") as place:
        base = Path(place)
        (base / "home").mkdir()
        for _ in range(ROUNDS):
            with serving(base) as (daemon, seconds):
                ready.append(seconds)
                weights.append(resident_megabytes(daemon.pid))
        with serving(base):
            ps = command_seconds(base, "ps")
        usage = command_seconds(base, "--help")
        bare = command_seconds_of_nothing()
    return [
        Figure("start to ready", middle(ready), "s", 1.0),
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
