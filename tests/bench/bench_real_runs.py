"""How long reviews take of what agents of others did: each call of recorded sessions, met for the first time, in order.

usage: CODETRACER=CHECKOUT python -m tests.bench --only real_runs

The sessions are those of a checkout of NJU-LINK/CodeTracer (MIT): Claude CLI over tasks of Terminal-Bench, by five models.
One reviewer sees all of them, as a daemon's does, and remembers what it read. Times are of the processor.
"""

import gc
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from monitors.contract.actions import Action, ReviewContext
from monitors.review import make_reviewer
from tests.bench.figures import Figure, percentile
from tests.eval.codetracer import sessions

CHECKOUT = "CODETRACER"
"""The variable that names the checkout."""

CWD = "/app"
"""Where the tasks of these sessions lie."""


def calls(lines: list[bytes]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tool and the input of each call of a session, in order."""
    for line in lines:
        frame = orjson.loads(line)
        content = frame.get("message", {}).get("content") if frame.get("type") == "assistant" else None
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "tool_use" and isinstance(block.get("input"), dict):
                yield str(block.get("name")), block["input"]


def main() -> list[Figure]:
    """Measure; raises if no sessions are named."""
    named = os.environ.get(CHECKOUT)
    if named is None:
        raise SystemExit(
            f"{CHECKOUT} names no checkout of https://github.com/NJU-LINK/CodeTracer; clone it and name it."
        )
    reviewer, count = make_reviewer(), 0
    gc.collect()
    gc.freeze()  # as a daemon does once it is ready: else a collection of all objects falls into one of the reviews
    spent: dict[bool, list[float]] = {True: [], False: []}
    for session in sessions(Path(named)):
        count += 1
        for tool, given in calls(session.lines):
            action, context = Action(tool, given, CWD, CWD), ReviewContext(home="/root")
            began = time.thread_time_ns()
            reviewer.review(action, context)
            spent[tool == "Bash"].append((time.thread_time_ns() - began) / 1e6)
    figures = []
    for shell, what in ((True, "shell commands"), (False, "other calls")):
        of = f"review of {len(spent[shell]):,} {what} of {count} real runs"
        figures += [
            Figure(f"{of}, median", percentile(spent[shell], 0.5), "ms"),
            Figure(f"{of}, 99th percentile", percentile(spent[shell], 0.99), "ms", 3.0),
            Figure(f"{of}, slowest", max(spent[shell]), "ms", 50.0),
        ]
    return figures


if __name__ == "__main__":
    print(*main(), sep="\n")
