"""When the workspace is looked at, and what a look leads to."""

from dataclasses import replace
from typing import Any

import pytest

from monitors.contract.actions import Action, Ground, Review, SideEffect, Touch
from monitors.contract.words import Decision, Severity
from supervisor.core.fold.predicted_changes import PredictedChanges
from supervisor.protocol import events
from supervisor.protocol.commands import Command, LookAtChanges, LookAtGrounds, ReportIncident
from supervisor.protocol.words import StopStep
from tests.stages.session import ALLOW, Play, recorded

WRITES = replace(
    ALLOW,
    side_effects=(SideEffect("file_write", Severity.LOW, True, "writes a", target="/w/a"),),
    touches=(Touch("/w/a", "write"),),
)
BUILDS = replace(ALLOW, side_effects=(SideEffect("build", Severity.LOW, True, "builds"),))


def made(id_: str, review: Any = WRITES) -> events.ReviewMade:
    action = Action("Bash", {"command": "touch a"}, "/w", "/w", id_)
    return events.ReviewMade(agent="a1", at=0, mono=0, request_id="r", action=action, review=review)


def seen(*paths: str) -> events.ChangesSeen:
    return events.ChangesSeen(agent="a1", at=0, mono=0, tool_use_id="u1", paths=paths)


def own() -> PredictedChanges:
    return PredictedChanges("/w", own=True)


def test_a_workspace_of_its_own_is_looked_at_before_and_after_a_call_that_only_writes_files() -> None:
    predicted = own()
    predicted.reviewed(made("u1"), beside=False)
    assert predicted.take() == [LookAtChanges("/w")]
    predicted.returned("u1", failed=False)
    assert predicted.take() == [LookAtChanges("/w", "u1", WRITES)]
    assert predicted.take() == []


def test_where_people_and_other_agents_may_work_too_nobody_is_accused() -> None:
    predicted = PredictedChanges("/w", own=False)
    predicted.reviewed(made("u1"), beside=False)
    predicted.returned("u1", failed=False)
    assert predicted.take() == []


PATTERN = replace(WRITES, touches=(Touch("/w/d1/f$(seq", "write"),))
UNNAMED = replace(WRITES, side_effects=(SideEffect("file_write", Severity.LOW, True, "unpacks"),), touches=())


@pytest.mark.parametrize("review", [BUILDS, ALLOW, replace(WRITES, decision=Decision.BLOCK), PATTERN, UNNAMED])
def test_what_may_change_anything_or_does_not_run_is_not_looked_after(review: Review) -> None:
    predicted = own()
    predicted.reviewed(made("u1", review), beside=False)
    predicted.returned("u1", failed=False)
    assert predicted.take() == []


def test_of_two_calls_at_once_neither_is_looked_after() -> None:
    predicted = own()
    predicted.reviewed(made("u1"), beside=False)
    predicted.reviewed(made("u2", BUILDS), beside=False)
    predicted.take()
    predicted.returned("u2", failed=False)
    predicted.returned("u1", failed=False)
    assert predicted.take() == []
    predicted.turn_ended()
    predicted.reviewed(made("u3"), beside=False)
    assert len(predicted.take()) == 1


def test_a_call_beside_commands_in_the_background_is_not_looked_after() -> None:
    predicted = own()
    predicted.reviewed(made("u1"), beside=True)
    predicted.returned("u1", failed=False)
    assert predicted.take() == []


def test_a_change_that_was_not_predicted_is_an_issue_once_for_each_path() -> None:
    predicted = own()
    assert predicted.seen(seen("/w/a"), made("u1"), 5) == []
    (issue,) = predicted.seen(seen("/w/a", "/w/b"), made("u1"), 5)
    assert (issue.type, issue.details["paths"]) == ("unpredicted_change", ["/w/b"])
    assert predicted.seen(seen("/w/b"), made("u1"), 6) == []


SCRIPT = Ground("/w/build.sh", "script", "5fae")


@pytest.mark.parametrize("failed", [True, False])
def test_what_a_review_rests_on_is_looked_at_again_once_the_call_has_run_wherever_that_was(failed: bool) -> None:
    predicted, review = PredictedChanges("/w", own=False), replace(BUILDS, grounds=(SCRIPT,))
    predicted.reviewed(made("u1", review), beside=True)
    assert predicted.take() == []
    predicted.returned("u1", failed=failed)
    assert predicted.take() == [LookAtGrounds("u1", review, {"command": "touch a"}, not failed)]


class InAWorktree(Play):
    """A session whose agent has a worktree of its own."""

    def submit(self) -> list[Command]:
        where: dict[str, Any] = {"workspace": "/repo", "session_id": "s-1", "branch": "chaperon/a1"}
        return self.feed(events.TaskSubmitted(**self.stamp(), task=self.task, **where))


def test_in_a_session_the_look_comes_before_the_answer_and_an_issue_from_what_it_found() -> None:
    play = InAWorktree({"touch": WRITES}).running()
    commands = play.call("touch a")
    kinds = [type(command).__name__ for command in commands]
    assert kinds.index("LookAtChanges") < kinds.index("SendLine")
    stamp = play.stamp()
    play.feed(events.ChangesSeen(**stamp, tool_use_id="u-touch a", paths=("/repo/other",)))
    issues = [event.issue.type for _, event in play.journal if isinstance(event, events.IssueSeen)]
    assert issues == ["unpredicted_change"]


def test_after_a_restart_nothing_is_looked_at_for_calls_of_before() -> None:
    play = InAWorktree({"touch": WRITES}).running()
    play.call("touch a")
    first = play.journal[0][1]
    assert isinstance(first, events.TaskSubmitted)
    rebuilt = play.make(first)
    for seq, event in play.journal:
        rebuilt.remember(seq, event)
    adopted = events.AgentAdopted(**play.stamp(), outcome="reattached")
    assert not [command for command in rebuilt.recover(99, adopted) if isinstance(command, LookAtChanges)]


def shaken(play: Play, **what: Any) -> tuple[list[tuple[str, str]], list[str]]:
    """The incidents that come of it, and what is done."""
    commands = play.feed(events.GroundsShaken(**play.stamp(), tool_use_id="u-sh build.sh", **what))
    incidents = [command.incident for command in commands if isinstance(command, ReportIncident)]
    return [(one.type, one.summary) for one in incidents], [
        event.rung for event in recorded(commands, events.RungReached)
    ]


def test_a_script_that_is_not_as_it_was_reviewed_is_told_of_once_and_stops_nobody() -> None:
    play = Play().running()
    play.call("sh build.sh")
    ((type_, summary),), rungs = shaken(play, scripts=("/w/build.sh",))
    assert (type_, rungs) == ("script_changed", [])
    assert "/w/build.sh is not as it was when the Bash call u-sh build.sh" in summary
    assert shaken(play, scripts=("/w/build.sh",)) == ([], [])


def test_a_file_that_was_written_elsewhere_ends_the_run() -> None:
    play = Play().running()
    play.call("sh build.sh")
    ((type_, summary),), rungs = shaken(play, elsewhere=("/w/d/planted",))
    assert (type_, rungs) == ("emergency_stop", [StopStep.FREEZE])
    assert "reviewed as writing /w/d/planted" in summary
