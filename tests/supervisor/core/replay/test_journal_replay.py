from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from monitors.contract.actions import Action, Review, ReviewContext
from monitors.contract.issues import Detector, Issue
from monitors.contract.words import Decision, Severity
from monitors.patterns.repetition import Repetition
from supervisor.core.replay.journal_replay import Rerun, rerun
from supervisor.protocol import events
from supervisor.runtime.assembly.detectors import MakeDetectors
from tests.blocking import _no_blocking_calls  # noqa: F401 - a fixture
from tests.daemons import Base, ended, served
from tests.play import Play

LIMITS = {"limit_reached", "limit_overrun"}


class Blocks:
    """Blocks everything."""

    def review(self, action: Action, context: ReviewContext) -> Review:  # noqa: ARG002 - the protocol's
        return Review(Decision.BLOCK, 1.0, 0.0, Severity.HIGH, "no")


@pytest.fixture
def base(tmp_path: Path) -> Base:
    return Base(tmp_path / "base")


def only_repetition(submitted: events.TaskSubmitted) -> Sequence[Detector]:
    return [Repetition()]


def played(commands: Sequence[str]) -> list[tuple[int, Any]]:
    """The journal of a run that asks for these commands, and gets the same answer each time."""
    play = Play().running()
    for number, command in enumerate(commands):
        play.call(command, tool_use_id=f"t{number}")
        block = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "as before", "is_error": False}
        play.line({"type": "user", "message": {"role": "user", "content": [block]}})
    return play.journal


async def test_a_live_runs_journal_gives_each_agents_issues_as_they_were(base: Base) -> None:
    base.plan(*["echo again"] * 4, "rm -rf /home/somebody", *["cat missing.txt"] * 4)
    async with served(base) as (daemon, _):
        for name in ("a1", "a2"):
            await daemon.submit(base.submission(name=name), by="test")
            await ended(daemon, name)
    make = MakeDetectors.of(base.setup().config)
    journal = [(record.n, record.event) for record in base.records()]
    found = list(rerun(journal, None, lambda one: make(one.task, one.workspace, one.factors)))  # type: ignore[arg-type]
    assert [run.agent for run in found] == ["a1", "a2"]
    for run in found:
        seen = [one.issue for _, one in journal if isinstance(one, events.IssueSeen) and one.agent == run.agent]
        live = [issue for issue in seen if issue.type not in LIMITS]
        assert _without_details([at.issue for at in run.result.issues]) == _without_details(live)
        assert "repetition" in {issue.type for issue in live}
        assert run.result.actions == 9


def _without_details(issues: list[Issue]) -> list[Any]:
    """All that says which event showed what; details came back from JSON, which knows no tuples."""
    return [(one.type, one.key, one.closed, one.severity, one.began, one.evidence, one.sentence) for one in issues]


def test_the_event_of_an_issue_is_the_one_that_was_shown_to_its_detector() -> None:
    journal = played(["ls"] * 3)
    (run,) = rerun(journal, None, only_repetition)
    (seen,) = run.result.issues
    assert dict(journal)[seen.at_event].kind == "line_received"
    assert seen.at_event == seen.issue.evidence[-1]


def test_calls_are_counted_by_what_todays_reviewer_says_and_seen_as_they_went() -> None:
    (run,) = rerun(played(["ls"] * 3), Blocks(), only_repetition)
    assert run.result.reviews == {"block": 3}
    assert len(run.result.issues) == 1


def test_an_agent_whose_beginning_is_lost_is_passed_over() -> None:
    journal = played(["ls"] * 3)
    found: list[Rerun] = list(rerun(journal[1:], None, only_repetition))
    assert found == []
