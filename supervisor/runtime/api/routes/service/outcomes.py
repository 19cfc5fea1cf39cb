"""The routes of the socket's API that are about outcomes of issues, and the learned state."""

from collections.abc import Callable, Collection
from difflib import get_close_matches
from typing import Protocol

from fastapi import FastAPI
from pydantic import BaseModel

from monitors.contract.errors import UsageError
from monitors.contract.learning import Adjustment, IssueOutcome
from monitors.learning import OutcomeTally
from supervisor.core.fold.summary import Summary
from supervisor.protocol import events
from supervisor.runtime.daemon.submission import SubmissionRequest
from supervisor.runtime.daemon_parts import RecordParts, RequestParts
from supervisor.runtime.socket.peer import By


class OutcomeReport(SubmissionRequest):
    """A person's outcome for an issue."""

    pattern: str
    """The issue's type."""
    outcome: IssueOutcome
    note: str = ""


class Lesson(BaseModel):
    """The learned state of one pattern."""

    pattern: str
    factor: float
    """Factor of its thresholds in tasks that are submitted now, if learning is enabled."""
    confirmed: int
    false_alarms: int
    missed: int
    """Outcomes since the last adjustment."""
    last: Adjustment | None
    """The adjustment that can be undone."""


class OutcomeParts(RecordParts, RequestParts, Protocol):
    """The parts of the daemon that these routes need."""


def outcome_routes(api: FastAPI, daemon: OutcomeParts, patterns: Callable[[], Collection[str]]) -> None:
    """Add the routes.

    Args:
        api: Gets them.
        daemon: Takes outcomes in.
        patterns: Says the names of what may have been missed.
    """

    @api.get("/v1/outcomes")
    async def outcomes() -> list[Lesson]:
        """Return the learned state of each pattern with an outcome."""
        return [_lesson(name, tally) for name, tally in sorted(daemon.board.lessons.learned.patterns.items())]

    @api.post("/v1/agents/{agent}/outcomes")
    async def say(agent: str, became: OutcomeReport, by: By) -> Lesson:
        """Say what became of an issue of an agent, live or ended. What is said later replaces what was said before."""
        summary = daemon.board.summary(agent)
        _refuse_unseen(summary, became, patterns())
        said = _said_before(summary, became)
        await daemon.request(
            events.OutcomeGiven(
                **daemon.stamp(agent),
                pattern=became.pattern,
                outcome=became.outcome,
                by=by,
                note=became.note,
                instead_of=said,
            )
        )
        return _lesson(became.pattern, daemon.board.lessons.learned.tally(became.pattern))

    @api.post("/v1/outcomes/{pattern}/undo")
    async def undo(pattern: str, by: By) -> Lesson:
        """Take a pattern's last adjustment back."""
        adjustment = daemon.board.lessons.undoing(pattern)
        made = events.PatternAdjusted(**daemon.stamp(""), adjustment=adjustment, by=by)
        await daemon.journal.written(daemon.happened(made))
        return _lesson(pattern, daemon.board.lessons.learned.tally(pattern))


def _refuse_unseen(agent: Summary, became: OutcomeReport, patterns: Collection[str]) -> None:
    """Refuse an impossible outcome.

    Only raised issues can be confirmed, and only known patterns can be missed.
    """
    missed = became.outcome is IssueOutcome.MISSED
    known = patterns if missed else agent.issues
    if became.pattern in known:
        return
    near = get_close_matches(became.pattern, known, 1)
    what = "is no pattern" if missed else f"was not raised for agent {agent.agent}"
    raise UsageError(
        f"{became.pattern!r} {what}; nothing was noted.",
        way_out=f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(known) or 'none'}.",
    )


def _said_before(agent: Summary, became: OutcomeReport) -> IssueOutcome | None:
    """Return the earlier outcome of the same pattern; refuses to count the same twice."""
    earlier = agent.said.get(became.pattern)
    if earlier == became.outcome:
        raise UsageError(
            f"{became.pattern!r} of agent {agent.agent} was said to be {earlier} before; nothing was noted.",
            way_out="Say another outcome to replace that one.",
        )
    return IssueOutcome(earlier) if earlier else None


def _lesson(pattern: str, tally: OutcomeTally) -> Lesson:
    return Lesson(
        pattern=pattern,
        factor=tally.factor,
        confirmed=tally.confirmed,
        false_alarms=tally.false_alarms,
        missed=tally.missed,
        last=tally.last,
    )
