from collections.abc import Sequence
from typing import Any

from monitors.contract.actions import Action, Review, ReviewContext
from monitors.contract.issues import Detector
from monitors.contract.words import Decision, Severity
from monitors.patterns.repetition import Repetition
from supervisor.core.replay.journal_replay import Rerun, rerun
from supervisor.protocol import events
from tests.stages.session import Play


class Blocks:
    """Blocks everything."""

    def review(self, action: Action, context: ReviewContext) -> Review:  # noqa: ARG002 - the protocol's
        return Review(Decision.BLOCK, 1.0, 0.0, Severity.HIGH, "no")


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
