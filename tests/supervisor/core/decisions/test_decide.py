"""The order of decisions: the answer that the CLI waits for, then issues, then interventions, then steps of life."""

from collections.abc import Sequence
from typing import Any

from monitors.contract.issues import Issue
from monitors.contract.observations import Observation, ToolCalled
from monitors.contract.words import Decision, Severity
from supervisor.protocol import events
from supervisor.protocol.commands import WriteEvent
from supervisor.protocol.words import AgentState
from tests.stages.session import Play, answers, recorded, verdict


class Alarm:
    """Raises a critical issue at each call."""

    name = "alarm"

    def see(self, seen: Observation) -> Sequence[Issue]:
        return [_issue(seen.seq)] if isinstance(seen, ToolCalled) else []


def _issue(seq: int) -> Issue:
    return Issue(
        type="alarm", severity=Severity.CRITICAL, confidence=1.0, impact_factor=1.0, began=seq, sentence="Fire."
    )


def kinds(commands: Sequence[Any]) -> list[str]:
    return [command.event.kind for command in commands if isinstance(command, WriteEvent)]


def test_a_call_is_answered_before_anything_is_done_about_it() -> None:
    commands = Play(detectors=[Alarm()]).running().call("ls")
    found = kinds(commands)
    assert found[:2] == ["review_made", "issue_seen"]
    assert found.index("intervention_chosen") < found.index("state_changed") < found.index("rung_reached")


def test_calls_that_wait_together_are_answered_in_their_order() -> None:
    play = Play({"rm": verdict(Decision.BLOCK, "no")}).running()
    play.feed(events.PauseRequested(**play.stamp(), by="ann"))
    for command in ("ls", "rm x", "make"):
        play.call(command)
    given = answers(play.feed(events.ResumeRequested(**play.stamp(), by="ann")))
    assert [answer["permissionDecision"] for answer in given] == ["allow", "deny", "allow"]


def test_while_an_agent_is_being_stopped_nothing_more_is_allowed() -> None:
    play = Play().running()
    play.feed(events.StopRequested(**play.stamp(), by="ann"))
    assert answers(play.call("ls")) == []


def test_an_emergency_during_an_orderly_stop_hurries_it() -> None:
    play = Play().running()
    play.feed(events.StopRequested(**play.stamp(), by="ann"))
    hurried = play.feed(events.StopRequested(**play.stamp(), by="bob", force=True))
    assert [event.rung for event in recorded(hurried, events.RungReached)] == ["freeze"]


def test_an_end_decides_before_a_stop_that_is_no_longer_needed() -> None:
    play = Play().running()
    play.result()
    play.exited(0)
    assert play.session is not None
    assert play.session.state is AgentState.DONE


def test_deciding_comes_to_an_end() -> None:
    play = Play(detectors=[Alarm()]).running()
    play.call("ls")
    assert play.call("ls") == []
