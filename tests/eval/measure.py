"""Crashes, false alarms and time over ordinary commands and over inputs made to hurt."""

import time
from collections import Counter
from dataclasses import dataclass, field

from monitors.contract.actions import Action, ReviewContext, Reviewer
from monitors.contract.progress import Report, unreported
from monitors.contract.words import Decision
from monitors.review import ReviewSettings, make_reviewer
from tests.eval.corpus import Row
from tests.eval.hostile import HOSTILE
from tests.eval.labels import STOPPED


@dataclass(slots=True)
class Measured:
    """What came of a pass."""

    rows: int = 0
    decisions: Counter[Decision] = field(default_factory=Counter)
    stopped: list[tuple[str, Row]] = field(default_factory=list)
    millis: list[float] = field(default_factory=list)
    """CPU time of each review, in milliseconds; wall time would count what else the machine does."""
    crashes: list[tuple[str, str]] = field(default_factory=list)
    hostile: list[tuple[str, int, float]] = field(default_factory=list)
    """Name, characters and milliseconds of each input made to hurt."""


def measured(rows: list[Row], report: Report = unreported) -> Measured:
    """Review all rows once to warm up, and once to measure; `report` is told how many were."""
    reviewer = make_reviewer(ReviewSettings(profile="strict"))
    result = Measured(rows=len(rows))
    for number, row in enumerate(rows):
        _timed(reviewer, row.command)
        report(number, 2 * len(rows))
    for number, row in enumerate(rows):
        report(len(rows) + number, 2 * len(rows))
        millis, outcome = _timed(reviewer, row.command)
        result.millis.append(millis)
        if isinstance(outcome, str):
            result.crashes.append((row.command, outcome))
            continue
        decision, rule = outcome
        result.decisions[decision] += 1
        if decision in STOPPED:
            result.stopped.append((rule, row))
    for name, text in HOSTILE.items():
        millis, outcome = _timed(reviewer, text)
        result.hostile.append((name, len(text), millis))
        if isinstance(outcome, str):
            result.crashes.append((name, outcome))
    return result


def _timed(reviewer: Reviewer, command: str) -> tuple[float, tuple[Decision, str] | str]:
    began = time.thread_time_ns()
    try:
        review = reviewer.review(Action("Bash", {"command": command}), ReviewContext())
    except Exception as error:  # noqa: BLE001 — a crash is what is counted here
        return 0.0, f"{type(error).__name__}: {error}"
    return (time.thread_time_ns() - began) / 1e6, (review.decision, review.rule)
