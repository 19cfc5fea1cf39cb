"""What 10,000 stored tasks cost end to end: adding them, listing them, memory, and a start after kill -9.

usage: python -m tests.bench --only task_store

The daemon is drained, so that no agent is begun. The list is measured as a whole command, beside one of an empty store
that needs the same interpreter, and as the route alone.
"""

import http.client
import json
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from tests.bench.bench_start import CHAPERON, ROUNDS, command_seconds, environment, resident_megabytes, serving
from tests.bench.figures import Figure, middle, table

TASKS = 10_000
OPEN = 1_000
"""Open tasks at the start after kill -9."""


class _OverSocket(http.client.HTTPConnection):
    """A connection to the daemon's socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("chaperon")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(str(self._path))


def plan(base: Path, count: int) -> Path:
    """Write a plan of tasks, a tenth of which wait for another, for a repository of its own."""
    repo = base / "repo"
    if not repo.exists():
        who = ("-c", "user.name=eva", "-c", "user.email=eva@example.com")
        subprocess.run(["git", "init", "--quiet", str(repo)], check=True)
        subprocess.run(
            ["git", "-C", str(repo), *who, "commit", "--quiet", "--allow-empty", "--message=first"], check=True
        )
    lines = []
    for number in range(count):
        task = {"name": f"k{number}", "prompt": "Mend the parser of dates. " * 8, "repository": str(repo)}
        more = {"depends_on": [f"k{number - 1}"]} if number % 10 == 9 else {}
        lines.append(json.dumps(task | more))
    path = base / f"plan-{count}.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def command(base: Path, *words: str) -> float:
    """Run one command once; returns its seconds."""
    began = perf_counter()
    subprocess.run([*CHAPERON, *words], env=environment(base), check=True, stdout=subprocess.DEVNULL)
    return perf_counter() - began


def route_seconds(base: Path) -> float:
    """What the list takes by its route alone."""
    taken = []
    for _ in range(ROUNDS):
        peer = _OverSocket(base / "run" / "chaperon.sock")
        began = perf_counter()
        peer.request("GET", "/v1/tasks")
        body = peer.getresponse().read()
        taken.append(perf_counter() - began)
        assert len(json.loads(body)) == TASKS
        peer.close()
    return middle(taken)


def many() -> Sequence[Figure]:
    """Add and list 10,000."""
    with tempfile.TemporaryDirectory(prefix="chaperon-bench-") as place:
        base = Path(place)
        (base / "home").mkdir()
        with serving(base) as (daemon, _):
            command(base, "drain")
            empty = command_seconds(base, "task", "list")
            before = resident_megabytes(daemon.pid)
            adding = command(base, "submit", str(plan(base, TASKS)))
            listing = command_seconds(base, "task", "list")
            route = route_seconds(base)
            weight = resident_megabytes(daemon.pid) - before
    return [
        Figure("`chaperon submit` of 10,000 tasks", adding, "s"),
        Figure("`chaperon task list` of 10,000, whole: a page of 200", listing * 1e3, "ms", 200),
        Figure("`chaperon task list` of none, to compare", empty * 1e3, "ms"),
        Figure("the list of 10,000 by its route alone", route * 1e3, "ms", 200),
        Figure("memory that 10,000 tasks add to the daemon, once listed", weight, "MB"),
    ]


def after_kill() -> Sequence[Figure]:
    """Start with 1,000 open tasks after kill -9, beside a start with none."""
    ready = {}
    for count in (0, OPEN):
        with tempfile.TemporaryDirectory(prefix="chaperon-bench-") as place:
            base, taken = Path(place), []
            (base / "home").mkdir()
            with serving(base) as (daemon, _):
                command(base, "drain")
                if count:
                    command(base, "submit", str(plan(base, count)))
                daemon.kill()
                daemon.wait()
            for _ in range(ROUNDS):
                with serving(base) as (daemon, start):
                    taken.append(start.ready)
                    daemon.kill()
                    daemon.wait()
            ready[count] = middle(taken)
    return [
        Figure("start to ready after kill -9, 1,000 open tasks", ready[OPEN], "s", 1.0),
        Figure("the same without a task", ready[0], "s"),
        Figure("the start with 1,000 open tasks in terms of that without", ready[OPEN] / ready[0], "x"),
    ]


def main() -> Sequence[Figure]:
    """Do both."""
    return [*many(), *after_kill()]


if __name__ == "__main__":
    sys.stdout.write(table(main()))
