"""How fast the core is: lines a second through wire, session, reviewer and detectors on one core, and a line of 16 MB.

usage: python -m tests.bench --only core
"""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import orjson

from interventions.choice.controller import Controller
from monitors.contract.actions import Action, ReviewContext
from monitors.contract.tasks import Task
from monitors.review import make_reviewer
from supervisor.config.model import Config
from supervisor.config.paths import StatePaths
from supervisor.core.session import Session
from supervisor.protocol import events
from supervisor.protocol.claude.messages import decode
from supervisor.protocol.commands import Capture, SendLine, WriteEvent
from supervisor.protocol.lines import Line, LineSplitter
from supervisor.runtime.assembly.detectors import MakeDetectors
from supervisor.runtime.assembly.review_settings import review_settings
from supervisor.runtime.assembly.settings import controller_settings, session_settings
from tests.bench.bench_wire import CONTENT, READ_BYTES
from tests.bench.figures import Figure, middle
from tests.eval.sessions import CWD, PROMPT, healthy
from tests.support import recorded, recorded_cases

SECONDS = 0.25
"""Processor time of one round; the best of several is the figure, since others on the machine only ever slow it down."""

ROUNDS = 12

CONFIG = Config()
DETECTORS = MakeDetectors.of(CONFIG)
REVIEWER = make_reviewer(review_settings(CONFIG))
ABOUT = session_settings(CONFIG, StatePaths(state=Path("/state"), runtime=Path("/run")), {"HOME": "/home/ada"})
TASK = Task("t-1", PROMPT, CWD, keep_open=True)
STAMP: dict[str, Any] = {"agent": "a1", "at": 1.0, "mono": 1.0}

RECORDED_IN = b"/rehearsal/workspace"
"""The workspace of the recordings."""
REWRITTEN = "modified"
"""The recording of a call that ran with another input than was asked, which nobody here allows."""

COMMANDS = (
    "ls -la src",
    "python3 -m pytest tests/test_sum.py -x 2>&1 | tail -20",
    "git add -A && git commit -m 'Mend the sum'",
    "cd src && grep -rn 'def main' . | head",
    "rm -rf /home/somebody/else",
)
"""What agents ask for, and one thing that they had better not."""


class Play:
    """One session, fed as the daemon feeds it; the shim takes each line, and the store each checkpoint, at once."""

    def __init__(self) -> None:
        submitted = events.TaskSubmitted(**STAMP, task=TASK, workspace=CWD, session_id="s")
        detectors = DETECTORS(TASK)
        controller = Controller(controller_settings(CONFIG), TASK)
        self._session = Session(submitted, REVIEWER, detectors, controller, ABOUT)
        self._seq = 0
        self._splitter = LineSplitter()
        self._see(submitted)
        self._see(events.AgentLaunched(**STAMP, shim_pid=1, cli_pid=2, containment="subreaper"))

    @property
    def journalled(self) -> int:
        """How many the journal would have."""
        return self._seq

    def read(self, data: bytes) -> int:
        """Take in what one read of the pipe brings; how many lines that were."""
        count = 0
        for line in self._splitter.feed(data):
            assert isinstance(line, Line)
            self._see(events.LineReceived(**STAMP, end=line.end, frame=decode(line.data)))
            count += 1
        return count

    def _see(self, event: events.AnyEvent) -> None:
        self._seq += 1
        for command in self._session.see(self._seq, event):
            if isinstance(command, WriteEvent):
                self._seq += 1
            elif isinstance(command, SendLine):
                self._see(events.InputAccepted(**STAMP, key=command.key))
            elif isinstance(command, Capture):
                self._see(_captured(command))


def _captured(wanted: Capture) -> events.CheckpointMade:
    return events.CheckpointMade(
        **STAMP, key=wanted.key, name=wanted.key, reason=wanted.reason, tree="t", moment=wanted.moment
    )


def a_run(stream: bytes) -> int:
    """One whole run; how many lines it had."""
    play = Play()
    return sum(play.read(stream[at : at + READ_BYTES]) for at in range(0, len(stream), READ_BYTES))


def events_of_a_run(stream: bytes) -> int:
    """One whole run; how many events the journal would have."""
    play = Play()
    for at in range(0, len(stream), READ_BYTES):
        play.read(stream[at : at + READ_BYTES])
    return play.journalled


def supervised(transcript: list[bytes]) -> bytes:
    """What the CLI would have printed of a transcript's run under supervision: hooks before and after each call."""
    frames: list[dict[str, Any]] = []
    calls: dict[str, dict[str, Any]] = {}
    for line in transcript:
        frame = orjson.loads(line)
        blocks = frame["message"]["content"]
        if isinstance(blocks, str):
            continue
        for block in blocks:
            if block["type"] == "tool_result":
                frames.append(_hook("PostToolUse", calls[block["tool_use_id"]], len(frames)))
        frames.append({**frame, "session_id": "s", "tool_use_result": frame.get("toolUseResult")})
        for block in blocks:
            if block["type"] == "tool_use":
                calls[block["id"]] = block
                frames.append(_hook("PreToolUse", block, len(frames)))
    return b"".join(orjson.dumps(frame) + b"\n" for frame in frames)


def _hook(event: str, call: dict[str, Any], number: int) -> dict[str, Any]:
    about = {"tool_name": call["name"], "tool_input": call["input"], "tool_use_id": call["id"], "cwd": CWD}
    request = {"subtype": "hook_callback", "callback_id": event, "input": {"hook_event_name": event, **about}}
    return {"type": "control_request", "request_id": f"r{number}", "request": request}


def best_rate(work: Callable[[], int]) -> float:
    """The most that the work did in a second of processor time."""
    rates = []
    for _ in range(ROUNDS):
        began, done = process_time(), 0
        while (took := process_time() - began) < SECONDS:
            done += work()
        rates.append(done / took)
    return max(rates)


def review_micros() -> float:
    """What one review takes, over commands of different kinds."""

    def work() -> int:
        for command in COMMANDS:
            REVIEWER.review(Action("Bash", {"command": command}, CWD, CWD), ReviewContext(TASK, home="/home/ada"))
        return len(COMMANDS)

    return 1e6 / best_rate(work)


def new_review_micros() -> float:
    """What one review takes of commands that the reviewer has not met before: nothing of them is remembered."""
    numbers = count()

    def work() -> int:
        number = next(numbers)
        for command in COMMANDS:
            text = f"{command} # {number}".replace("src", f"src{number}").replace("else", f"else{number}")
            REVIEWER.review(Action("Bash", {"command": text}, CWD, CWD), ReviewContext(TASK, home="/home/ada"))
        return len(COMMANDS)

    return 1e6 / best_rate(work)


def large_line_milliseconds() -> float:
    """What one line of 16 MB takes, from its last chunk to the core having seen it."""
    block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x" * CONTENT}
    stream = orjson.dumps({"type": "user", "message": {"role": "user", "content": [block]}}) + b"\n"
    taken = []
    for _ in range(5):
        began = perf_counter()
        a_run(stream)
        taken.append((perf_counter() - began) * 1e3)
    return middle(taken)


def lines_a_second() -> float:
    """The lines of the recorded sessions that go through wire and core in a second, with reviewer and detectors."""
    # An agent whose blocked call ran all the same is stopped, and what is measured from there on is a stop.
    cases = (case for case in recorded_cases() if case != REWRITTEN)
    lines = (line.replace(RECORDED_IN, CWD.encode()) for case in cases for line in recorded(case))
    stream = b"".join(line + b"\n" for line in lines)
    return best_rate(lambda: a_run(stream))


def main() -> list[Figure]:
    """Measure."""
    long = supervised(healthy(1, 400))
    return [
        Figure("events of a run of 400 steps, all of it, one core", best_rate(lambda: events_of_a_run(long)), "events/s", 10_000, True),
        Figure("lines of the same", best_rate(lambda: a_run(long)), "lines/s"),
        Figure("wire and core with reviewer and detectors, one core", lines_a_second(), "lines/s", 20_000, True),
        Figure("one review of a shell command that agents give again", review_micros(), "µs", 140),
        Figure("one review of a shell command that was not met before", new_review_micros(), "µs"),
        Figure("a line of 16 MB through wire and core", large_line_milliseconds(), "ms"),
    ]  # fmt: skip


if __name__ == "__main__":
    print(*main(), sep="\n")
