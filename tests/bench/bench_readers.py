"""How much those who read slow the decisions of agents that work: by what is read, beside the same agents without readers.

usage: python -m tests.bench --only readers

Sixty stand-ins make calls all the time under one real daemon, as in `fleet`. Phases with readers and phases without take turns, in
three rounds; a phase's decisions are those asked for while it lasted, and of the rounds' percentiles the middle one counts. The
readers are threads of a process of their own, each of which asks again as soon as it has its answer; it runs at a lower priority,
so that they load the daemon and not the agents that are timed.

A machine on which others work gives any ratio between 0.2 and 7: a percentile is the longest wait for a processor then. Started by
`chrt --rr 2`, all of this runs before what others do, and the readers after all of this.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import anyio
import psutil

from supervisor.cli.client import connect
from tests.bench.bench_fleet import decisions, over, prepare, start
from tests.bench.bench_start import serving
from tests.bench.figures import Figure, middle, percentile

AGENTS = 60
PAUSE_SECONDS = 2.0
QUIET_SECONDS, READ_SECONDS = 4.0, 6.0
"""How long a phase lasts: at 30 decisions a second, 180 of them with readers of a kind."""

ROUNDS = 3
"""How often each kind has its turn. A wait for the disk, of which a percentile tells nothing, spoils one."""

SETTLING_SECONDS = 1.0
"""After readers have come or gone, decisions do not count for as long."""

LONGEST_SECONDS = 400.0

NEVER_READ = "never read"

KINDS = {
    "four that read all events": (4, "GET /v1/events?since=0"),
    "four that read an agent's events": (4, "GET /v1/events?since=0&agent={agent}"),
    "four that read metrics": (4, "GET /metrics"),
    "four that list checkpoints": (4, "GET /v1/checkpoints"),
    "four that list agents": (4, "GET /v1/agents"),
    "four that ask for reviews": (4, "POST /v1/review"),
    "fifty followers that never read": (50, NEVER_READ),
}
"""How many there are of a kind, and what each asks."""

READ = """
import socket, sys, threading
path, count, asked, never = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
body = b'{"tool":"Bash","input":{"command":"cd src && make | tail -3"},"cwd":"/","workspace":"/"}' if asked[0] == "P" else b""
head = f"{asked} HTTP/1.1\\r\\nHost: chaperon\\r\\nConnection: close\\r\\nContent-Type: application/json\\r\\nContent-Length: {len(body)}\\r\\n\\r\\n"
def ask():
    while True:
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(path)
            peer.sendall(head.encode() + body)
            if never:
                threading.Event().wait()
            first = peer.recv(65536)
            assert first.split()[1] == b"200", first
            while peer.recv(65536):
                pass
            answers.append(1)
answers = []
for _ in range(count):
    threading.Thread(target=ask, daemon=True).start()
sys.stdin.read()
print(len(answers))
"""
"""Asks until its input ends, and then says how many answers it got."""


def yield_to_this_process(pid: int) -> None:
    """Have another process wait for this one's, whether or not this one runs in real time."""
    if os.sched_getscheduler(0) in (os.SCHED_RR, os.SCHED_FIFO):
        os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(1))
    else:
        psutil.Process(pid).nice(10)


class Readers:
    """Those of one kind, reading while this is entered."""

    def __init__(self, path: Path, kind: str, agent: str) -> None:
        self._count, self._asked = KINDS[kind]
        never = self._asked == NEVER_READ
        asked = "GET /v1/events?since=0&follow=true" if never else self._asked.format(agent=agent)
        arguments = [str(path), str(self._count), asked, "never" if never else ""]
        self._process = subprocess.Popen(
            [sys.executable, "-c", READ, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        yield_to_this_process(self._process.pid)

    def end(self) -> int:
        """Have them end; returns how many answers they got."""
        return int(self._process.communicate()[0])


async def play(
    socket: Path, repositories: list[Path], base: Path
) -> tuple[list[tuple[str, float, float]], dict[str, int]]:
    """Have the agents work and readers come and go. Returns each phase's kind, begin and end, and each kind's answers."""
    phases, answers = list[tuple[str, float, float]](), dict[str, int]()
    with anyio.fail_after(LONGEST_SECONDS):
        daemon = connect(socket)
        await start(daemon, repositories)
        agent = (await anyio.to_thread.run_sync(daemon.get, "/v1/agents"))[0]["agent"]
        (base / "gate").open("wb").close()
        for kind in [*KINDS] * ROUNDS:
            await anyio.sleep(SETTLING_SECONDS)
            began = perf_counter()
            await anyio.sleep(QUIET_SECONDS)
            phases.append(("", began, perf_counter()))
            readers = Readers(socket, kind, agent)
            await anyio.sleep(SETTLING_SECONDS)
            began = perf_counter()
            await anyio.sleep(READ_SECONDS)
            phases.append((kind, began, perf_counter()))
            answers[kind] = answers.get(kind, 0) + await anyio.to_thread.run_sync(readers.end)
        await over(daemon)
    return phases, answers


def main() -> list[Figure]:
    """Measure."""
    lasts = ROUNDS * len(KINDS) * (QUIET_SECONDS + READ_SECONDS + 2 * SETTLING_SECONDS)
    with tempfile.TemporaryDirectory(prefix="chaperon-bench-") as place:
        base = Path(place)
        repositories = prepare(base, AGENTS, round(lasts / PAUSE_SECONDS) + 5, PAUSE_SECONDS)
        with serving(base, CHAPERON_AGENT__COMMAND=str(base / "claude")):
            phases, answers = anyio.run(play, base / "run" / "chaperon.sock", repositories, base)
        taken = [decision for each in decisions(repositories) for decision in each]
    tails: dict[str, list[float]] = {}
    for kind, began, ended in phases:
        times = [seconds for asked, seconds in taken if began <= asked < ended]
        tails.setdefault(kind, []).append(percentile(times, 0.99))
    quiet = middle(tails[""])
    without = [
        seconds for kind, began, ended in phases if not kind for asked, seconds in taken if began <= asked < ended
    ]
    figures = [
        Figure(f"{AGENTS} agents, no readers: a decision, median", middle(without) * 1e3, "ms"),
        Figure(f"{AGENTS} agents, no readers: a decision, 99th percentile", quiet * 1e3, "ms"),
    ]
    for kind in KINDS:
        slow = middle(tails[kind])
        figures += [
            Figure(f"{kind}: a decision, 99th percentile", slow * 1e3, "ms"),
            Figure(f"{kind}: the same, times that without readers", slow / quiet, "", 2),
        ]
        if answers[kind]:
            rate = answers[kind] / ROUNDS / (READ_SECONDS + SETTLING_SECONDS)
            figures.append(Figure(f"{kind}: answers that they get", rate, "a second", more_is_better=True))
    return figures


if __name__ == "__main__":
    print(*main(), sep="\n")
