"""How many observations a second one core takes through all detectors, and what they hold after 100,000.

    python -m tests.bench.bench_detectors [DIRECTORY_OF_TRANSCRIPTS]

Without a directory made-up healthy sessions are used; with one, the recordings below it.
"""

import sys
import time
from pathlib import Path

from monitors.contract.observations import Observation
from monitors.contract.tasks import Task
from monitors.detectors import DetectorSettings, make_detectors
from monitors.guarded import Watchers
from supervisor.core.replay.transcript_replay import recorded_task, replay
from supervisor.testing.memory import held_by
from tests.eval.sessions import healthy, stored

EVENTS = 100_000
ROUNDS = 5


def main() -> None:
    """Print the figures."""
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    sessions = list(stored(directory)) if directory else [(str(n), healthy(n, 400)) for n in range(10)]
    runs = [_observed(lines) for _, lines in sessions]
    total = sum(len(run) for _, run in runs)
    best = max(_speed(runs) for _ in range(ROUNDS))
    print(
        f"detectors alone: {best:,.0f} observations a second on one core, best of {ROUNDS}; {total:,} observations of {len(runs)} sessions"
    )
    lines = sum(len(lines) for _, lines in sessions)
    started = time.process_time()
    for _, recording in sessions:
        replay(recording, None, make_detectors(DetectorSettings(), recorded_task(recording)))
    print(f"lines to issues, without reviewer: {lines / (time.process_time() - started):,.0f} lines a second")
    print(f"memory of one agent after {EVENTS:,} observations: {_memory(runs) / 1e6:.2f} MB")


def _observed(lines: list[bytes]) -> tuple[Task, list[Observation]]:
    observations: list[Observation] = []
    replay(lines, None, [], observations.append)
    return recorded_task(lines), observations


def _speed(runs: list[tuple[Task, list[Observation]]]) -> float:
    prepared = [(Watchers(make_detectors(DetectorSettings(), task)), run) for task, run in runs]
    started = time.process_time()
    for watchers, run in prepared:
        for observation in run:
            for detector in watchers.of(observation):
                detector.see(observation)
    return sum(len(run) for _, run in runs) / (time.process_time() - started)


def _memory(runs: list[tuple[Task, list[Observation]]]) -> int:
    detectors = make_detectors(DetectorSettings(), runs[0][0])
    seen = 0
    while seen < EVENTS:
        for _, run in runs:
            for observation in run:
                for detector in detectors:
                    detector.see(observation)
            seen += len(run)
    return held_by(*detectors)


if __name__ == "__main__":
    main()
