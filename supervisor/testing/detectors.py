"""The rules for any detector, ours or a plugin's: ten checks, each a function that raises AssertionError.

 1  it has a name that can stand in a configuration
 2  it returns issues, and nothing else
 3  the same observations give the same issues
 4  two of them share no memory
 5  evidence is ordered, at most 20, and names only events that it was shown
 6  severity, confidence and impact are within their bounds, and the sentence says something
 7  nothing is said twice: an open streak is raised again only with another severity, confidence or count
 8  only what is open is closed
 9  odd and empty observations do it no harm
10  its memory is bounded
"""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import orjson

from monitors.contract.actions import Review, Touch
from monitors.contract.error_lines import ErrorLevel
from monitors.contract.issues import Detector, Issue
from monitors.contract.observations import (
    AgentSpoke,
    ContextCompacted,
    ErrorLineSeen,
    Observation,
    ResourcesSampled,
    TaskReplaced,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    UsageSeen,
    UserSpoke,
)
from monitors.contract.tasks import Task
from monitors.contract.words import Decision, Severity
from supervisor.testing.memory import held_by

Make = Callable[[], Detector]

MAX_BYTES = 1024 * 1024
"""Bytes that one detector may hold after many events; all together must stay at 2 MB."""

_WORDS = "total cart parser login token invoice error failed tests pass the of a src lib index".split()  # noqa: SIM905


def check_detector(make: Make, events: int = 3_000) -> None:
    """Run every check on detectors that `make` gives."""
    assert make().name.isidentifier()
    for seed in range(4):
        run = list(random_run(seed, events))
        issues = [_seen(make(), run) for _ in range(2)]
        assert issues[0] == issues[1]
        _check_apart(make, run, issues[0])
        _check_issues(run, issues[0])
    _check_odd(make())
    _check_memory(make(), events)


def random_run(seed: int, events: int) -> Iterator[Observation]:
    """A run that has a little of everything, loops and failures among it."""
    rng = random.Random(seed)
    seq, mono = 0, 0.0
    while seq < events:
        mono += rng.random() * 20
        common: dict[str, Any] = {"seq": (seq := seq + 1), "mono": mono}
        kind = rng.randrange(12)
        text = " ".join(rng.choices(_WORDS, k=rng.randint(1, 12)))
        if kind < 8:
            yield from _step(rng, common, text)
            seq += 1
        elif kind == 8:
            yield AgentSpoke(**common, text=text * rng.choice((1, 1, 60)))
        elif kind == 9:
            yield TokensUsed(**common, input_tokens=rng.randint(1, 9_000), cached_tokens=50_000, output_tokens=200)
        elif kind == 10:
            memory = rng.choice((300, 900, 5_000))
            yield ResourcesSampled(
                **common,
                memory_mb=memory,
                cpu_seconds=mono / 9,
                processes=rng.randint(2, 90),
                open_files=60,
                io_bytes=9,
                disk_mb=5,
            )
        else:
            yield rng.choice(
                (
                    UserSpoke(**common, text=text, by=rng.choice(("person", "chaperon"))),
                    TaskReplaced(**common, task=Task("t-2", text, "/w")),
                    TurnEnded(**common, failed=False),
                    ContextCompacted(**common),
                    ErrorLineSeen(**common, level=rng.choice(list(ErrorLevel)), topic="", text=f"Error: {text}"),
                    UsageSeen(**common, tokens=rng.randint(1, 10**7), cost_usd=rng.choice((None, mono / 900))),
                )
            )


def _step(rng: random.Random, common: dict[str, Any], text: str) -> Iterator[Observation]:
    number = rng.choice((1, 1, 1, 2, 3, rng.randint(1, 900)))
    tool, call = rng.choice(
        (
            ("Bash", {"command": f"make {number}", "description": text}),
            ("Bash", {"command": "pytest -q"}),
            ("Read", {"file_path": f"/w/d{number % 40}/f{number}.py"}),
            ("Edit", {"file_path": f"/w/tests/test_{number}.py", "old_string": f"assert {number}", "new_string": text}),
            ("Write", {"file_path": f"/{rng.choice(('w', 'etc', 'tmp'))}/{number}.py", "content": text}),
        )
    )
    failed = rng.random() < 0.3
    output = f"{number} failed, 3 passed in 1.0s" if call.get("command") == "pytest -q" else f"{text} {number}"
    touched = (Touch(str(call["file_path"]), "read" if tool == "Read" else "write"),) if "file_path" in call else ()
    id_ = f"toolu_{common['seq']}"
    review = Review(Decision.ALLOW, 0, 1, Severity.LOW, "", touches=touched)
    subagent = rng.choice(("", "", "", f"s{rng.randrange(20)}"))
    yield ToolCalled(**common, id=id_, tool=tool, input=call, review=review, subagent=subagent)
    after = {"seq": common["seq"] + 1, "mono": common["mono"] + 1}
    yield ToolReturned(**after, id=id_, tool=tool, input=call, text=output, failed=failed, subagent=subagent)


def _seen(detector: Detector, run: Sequence[Observation]) -> list[Issue]:
    issues: list[Issue] = []
    for observation in run:
        found = detector.see(observation)
        assert all(isinstance(issue, Issue) for issue in found)
        issues += found
    return issues


def _check_apart(make: Make, run: Sequence[Observation], alone: list[Issue]) -> None:
    """One shown something else between must not change what another says."""
    one, other = make(), make()
    beside = list(random_run(99, 400))
    together: list[Issue] = []
    for number, observation in enumerate(run):
        together += one.see(observation)
        other.see(beside[number % len(beside)])
    assert together == alone


def _check_issues(run: Sequence[Observation], issues: list[Issue]) -> None:
    known = {observation.seq for observation in run}
    open_now: dict[tuple[str, str], Issue] = {}
    for issue in issues:
        assert isinstance(issue.severity, Severity)
        assert 0 <= issue.confidence <= 1
        assert 0 <= issue.impact_factor <= 1
        assert len(issue.sentence) > 10
        assert len(issue.evidence) <= 20
        assert list(issue.evidence) == sorted(issue.evidence)
        assert set(issue.evidence) | {issue.began} <= known
        orjson.dumps(dict(issue.details))
        before = open_now.get((issue.type, issue.key))
        if issue.closed:
            assert before is not None, f"closed, and was not open: {issue}"
            del open_now[issue.type, issue.key]
        else:
            assert before is None or (before.severity, before.confidence, before.details) != (
                issue.severity,
                issue.confidence,
                issue.details,
            )
            open_now[issue.type, issue.key] = issue


def _check_odd(detector: Detector) -> None:
    common: dict[str, Any] = {"seq": 1, "mono": 0.0}
    review = Review(
        Decision.BLOCK,
        1,
        0,
        Severity.CRITICAL,
        "",
        touches=(Touch("", "read"), Touch("~", "odd"), Touch("/" * 50, "write")),
    )
    for call in (
        {},
        {"command": None},
        {"command": 7, "file_path": ["x"]},
        {"file_path": ""},
        {"edits": [1, None], "content": {}},
        {"\ud800": "\ud800"},
    ):
        detector.see(ToolCalled(**common, id="", tool="", input=call, review=review))
        for text in ("", "\x00", "é" * 40_000, "\x1b[31m" * 3_000, "(" * 20_000, "1 failed in 1s\n" * 2_000):
            detector.see(ToolReturned(**common, id="", tool="Bash", input=call, text=text, failed=True))
            detector.see(AgentSpoke(**common, text=text))
            detector.see(UserSpoke(**common, text=text, by="?"))
    detector.see(TokensUsed(**common, input_tokens=0, cached_tokens=0, output_tokens=0))


def _check_memory(detector: Detector, events: int) -> None:
    for observation in random_run(7, 4 * events):
        detector.see(observation)
    held = held_by(detector)
    assert held < MAX_BYTES, f"{detector.name} holds {held} bytes"
