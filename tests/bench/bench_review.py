"""How long reviews take: by kind of command, by size, and to start. Run: `python -m tests.bench.bench_review`."""

import subprocess
import sys
import time

from monitors.contract.actions import Action, ReviewContext
from monitors.review import ReviewSettings, make_reviewer
from monitors.review.reviewer import StepReviewer
from tests.bench.figures import Figure, percentile
from tests.eval.hostile import HOSTILE

COMMANDS = {
    "ls -la": "ls -la",
    "git status": "git status",
    "git reset --hard": "git reset --hard",
    "pipeline": "cat a | grep b | sort | uniq -c | head",
    "wrapped": "sudo env A=b timeout 5 bash -c 'rm -rf /etc'",
    "python -c": "python3 -c \"import os; os.system('rm -rf /')\"",
    "loop": 'for f in *.txt; do mv "$f" "${f%.txt}.md"; done',
    "decoded": "echo cm0gLXJmIC8= | base64 -d | sh",
}
ROUNDS = 2_000


def main() -> list[Figure]:
    """Measure, print and return the figures."""
    reviewer = make_reviewer(ReviewSettings(profile="strict"))
    figures: list[Figure] = []
    for name, command in COMMANDS.items():
        times = _times(reviewer, command, ROUNDS)
        figures.append(Figure(f"review of {name}, 50th percentile", percentile(times, 0.5), "ms"))
        figures.append(Figure(f"review of {name}, 99th percentile", percentile(times, 0.99), "ms", aim=2.0))
    spent, name = max((min(_times(reviewer, text, 3)), name) for name, text in HOSTILE.items())
    figures.append(Figure(f"slowest input made to hurt: {name}", spent, "ms", aim=50.0))
    figures.append(Figure("import and make a reviewer", _started(), "ms", aim=1_000.0))
    figures.append(Figure("resident memory of that process", _memory(), "MB", aim=80.0))
    return figures


def _times(reviewer: StepReviewer, command: str, rounds: int) -> list[float]:
    action, context = Action("Bash", {"command": command}), ReviewContext()
    reviewer.review(action, context)
    times = []
    for _ in range(rounds):
        began = time.thread_time_ns()
        reviewer.review(action, context)
        times.append((time.thread_time_ns() - began) / 1e6)
    return times


_START = "from monitors.review import make_reviewer; make_reviewer()"


def _started() -> float:
    def run(code: str) -> float:
        began = time.perf_counter_ns()
        subprocess.run([sys.executable, "-c", code], check=True)
        return (time.perf_counter_ns() - began) / 1e6

    return max(0.0, min(run(_START) for _ in range(3)) - min(run("pass") for _ in range(3)))


def _memory() -> float:
    code = f"{_START}; import psutil; print(psutil.Process().memory_info().rss)"
    return int(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout) / 1e6


if __name__ == "__main__":
    print(*main(), sep="\n")
