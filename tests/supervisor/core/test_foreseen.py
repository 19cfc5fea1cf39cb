"""When the workspace is looked at, and what a look leads to."""

from dataclasses import replace
from typing import Any

from supervisor.core.foreseen import Foreseen
from supervisor.protocol import events
from supervisor.protocol.actions import Action, SideEffect, Touch
from supervisor.protocol.commands import LookAtChanges
from supervisor.protocol.words import Decision, Severity
from tests.play import ALLOW, Play

WRITES = replace(
    ALLOW,
    side_effects=(SideEffect("file_write", Severity.LOW, True, "writes a"),),
    touches=(Touch("/w/a", "write"),),
)
BUILDS = replace(ALLOW, side_effects=(SideEffect("build", Severity.LOW, True, "builds"),))


def made(id_: str, review: Any = WRITES) -> events.ReviewMade:
    action = Action("Bash", {"command": "touch a"}, "/w", "/w", id_)
    return events.ReviewMade(agent="a1", at=0, mono=0, request_id="r", action=action, review=review)


def seen(*paths: str) -> events.ChangesSeen:
    return events.ChangesSeen(agent="a1", at=0, mono=0, tool_use_id="u1", paths=paths)


def test_the_workspace_is_looked_at_before_and_after_a_call_that_only_writes_files() -> None:
    foreseen = Foreseen("/w")
    foreseen.reviewed(made("u1"))
    assert foreseen.take() == [LookAtChanges("/w")]
    foreseen.returned("u1")
    assert foreseen.take() == [LookAtChanges("/w", "u1", WRITES)]
    assert foreseen.take() == []


def test_what_may_change_anything_or_does_not_run_is_not_looked_after() -> None:
    foreseen = Foreseen("/w")
    for review in (BUILDS, ALLOW, replace(WRITES, decision=Decision.BLOCK)):
        foreseen.reviewed(made("u1", review))
        foreseen.returned("u1")
    assert foreseen.take() == []


def test_of_two_calls_at_once_neither_is_looked_after() -> None:
    foreseen = Foreseen("/w")
    foreseen.reviewed(made("u1"))
    foreseen.reviewed(made("u2", BUILDS))
    foreseen.take()
    foreseen.returned("u2")
    foreseen.returned("u1")
    assert foreseen.take() == []
    foreseen.turn_ended()
    foreseen.reviewed(made("u3"))
    assert len(foreseen.take()) == 1


def test_a_change_that_was_not_foretold_is_an_issue_once_for_each_path() -> None:
    foreseen = Foreseen("/w")
    assert foreseen.seen(seen("/w/a"), made("u1"), 5) == []
    (issue,) = foreseen.seen(seen("/w/a", "/w/b"), made("u1"), 5)
    assert (issue.type, issue.details["paths"]) == ("unpredicted_change", ["/w/b"])
    assert foreseen.seen(seen("/w/b"), made("u1"), 6) == []


def test_in_a_session_the_look_comes_before_the_answer_and_an_issue_from_what_it_found() -> None:
    play = Play({"touch": WRITES}).running()
    commands = play.call("touch a")
    kinds = [type(command).__name__ for command in commands]
    assert kinds.index("LookAtChanges") < kinds.index("SendLine")
    stamp = play.stamp()
    play.feed(events.ChangesSeen(**stamp, tool_use_id="u-touch a", paths=("/repo/other",)))
    issues = [event.issue.type for _, event in play.journal if isinstance(event, events.IssueSeen)]
    assert issues == ["unpredicted_change"]


def test_after_a_restart_nothing_is_looked_at_for_calls_of_before() -> None:
    play = Play({"touch": WRITES}).running()
    play.call("touch a")
    first = play.journal[0][1]
    assert isinstance(first, events.TaskSubmitted)
    rebuilt = play.make(first)
    for seq, event in play.journal:
        rebuilt.remember(seq, event)
    adopted = events.AgentAdopted(**play.stamp(), outcome="reattached")
    assert not [command for command in rebuilt.recover(99, adopted) if isinstance(command, LookAtChanges)]
