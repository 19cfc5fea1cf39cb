from dataclasses import replace
from typing import Any

import pytest

from interventions.decisions import PersonNeed, PersonReason
from monitors.contract.issues import Issue
from monitors.contract.words import Decision, Severity
from supervisor.core.fold.conversation.history import CallUnderWay
from supervisor.core.fold.summary import LONGEST_WORDS, Summary
from supervisor.protocol import events
from supervisor.protocol.claude.messages import Assistant, Result, parse_frame
from supervisor.protocol.claude.prices import Spent
from supervisor.protocol.words import AgentState
from tests.stages.session import ALLOW, Play, verdict


def summary() -> Summary:
    play = Play()
    play.submit()
    assert play.session is not None
    return play.session.summary


def reply(id_: str, tokens: int) -> Assistant:
    usage = {"input_tokens": tokens, "cache_creation_input_tokens": 1, "cache_read_input_tokens": 2, "output_tokens": 3}
    message = parse_frame({"type": "assistant", "uuid": "u", "message": {"id": id_, "content": [], "usage": usage}})
    assert isinstance(message, Assistant)
    return message


def result(**more: object) -> Result:
    message = parse_frame({"type": "result", "subtype": "success", "is_error": False, "result": "Done.", **more})
    assert isinstance(message, Result)
    return message


def test_reviews_are_counted_by_decision() -> None:
    made = summary()
    for review in (ALLOW, ALLOW, verdict(Decision.BLOCK)):
        made.count_review(review)
    assert made.reviews == {"allow": 2, "block": 1}


def test_a_turn_is_counted_with_how_it_ended() -> None:
    made = summary()
    made.count_turn(result())
    made.count_turn(result(is_error=True, result="x" * 5000))
    assert (made.turns, made.failed, len(made.result)) == (2, True, 2000)


def test_what_was_spent_is_noted_with_the_day_of_utc_on_which_it_was() -> None:
    made, day = summary(), 20_779
    made.spends(Spent(input=10, cache_write=20, cache_read=300, output=4, cost_usd=0.25), day * 86_400 + 86_399.0)
    made.spends(Spent(input=11, cache_write=20, cache_read=600, output=8, cost_usd=0.75), (day + 1) * 86_400.0)
    made.spends(Spent(input=11, cache_write=20, cache_read=600, output=8, cost_usd=0.7), (day + 1) * 86_400.0)
    assert (made.input_tokens, made.cached_tokens, made.output_tokens, made.cost_usd) == (31, 600, 8, 0.7)
    assert made.cost_by_day == {day: 0.25, day + 1: 0.45}


def test_a_cost_once_known_stays_when_it_is_not_said_again() -> None:
    made = summary()
    made.spends(Spent(cost_usd=0.25), 0.0)
    made.spends(Spent(output=7), 0.0)
    assert (made.cost_usd, made.output_tokens) == (0.25, 7)


def test_the_time_of_the_end_is_noted_with_the_last_state() -> None:
    made, play = summary(), Play()
    change = {"before": AgentState.STARTING, "why": "because"}
    made.changed(events.StateChanged(**play.stamp(), after=AgentState.RUNNING, **change))  # type: ignore[arg-type]
    assert made.ended_at is None
    made.changed(events.StateChanged(**play.stamp(), after=AgentState.DONE, **change))  # type: ignore[arg-type]
    assert (made.state, made.why, made.ended_at) == (AgentState.DONE, "because", play.stamp()["at"])


def test_the_context_is_that_of_the_agents_own_last_reply_and_the_window_what_the_cli_says() -> None:
    made = summary()
    made.model = "opus"
    made.replied(reply("m1", 10))
    made.replied(reply("m2", 500))
    made.replied(replace(reply("m3", 9_000), parent_tool_use_id="toolu_1"))
    assert (made.context_tokens, made.context_window) == (506, None)
    made.count_turn(result(modelUsage={"haiku": {"contextWindow": 5}, "opus": {"contextWindow": 200_000}}))
    made.count_turn(result(modelUsage={"opus": "what"}))
    assert made.context_window == 200_000


EXITED = events.AgentExited(**Play().stamp(), code=None, signal=9)
VANISHED = events.AgentVanished(**Play().stamp(), reason="its shim was killed")


@pytest.mark.parametrize("gone", [EXITED, VANISHED])
def test_one_whose_processes_have_gone_holds_no_memory_though_it_waits_to_be_started_again(
    gone: events.AnyEvent,
) -> None:
    made, play = summary(), Play()
    figures = {"memory_mb": 300.0, "cpu_seconds": 1.0, "processes": 4, "open_files": 9, "io_bytes": 1}
    made.remember(events.ResourcesSeen(**play.stamp(), **figures))  # type: ignore[arg-type]
    made.remember(gone)
    assert (made.memory_mb, made.processes, made.open_files, made.peak_memory_mb) == (0.0, 0, 0, 300.0)


def test_file_operations_never_fall() -> None:
    made, play = summary(), Play()
    figures = {"memory_mb": 1.0, "cpu_seconds": 1.0, "processes": 1, "open_files": 1, "io_bytes": 1}
    for operations in (7, 0):
        made.remember(events.ResourcesSeen(**play.stamp(), **figures, file_operations=operations))  # type: ignore[arg-type]
    assert made.file_operations == 7


def test_what_the_model_wrote_last_is_kept_shortened_until_it_writes_again() -> None:
    made = summary()

    def wrote(text: str, parent: str | None = None) -> None:
        content = [{"type": "text", "text": text}]
        frame = {
            "type": "assistant",
            "uuid": "u",
            "parent_tool_use_id": parent,
            "message": {"id": text, "content": content},
        }
        message = parse_frame(frame)
        assert isinstance(message, Assistant)
        made.replied(message)

    wrote("First. " * 1_000)
    assert made.words == ("First. " * 1_000)[:LONGEST_WORDS]
    wrote(" \n")
    wrote("a subagent's", parent="toolu_1")
    assert made.words.startswith("First.")
    wrote("Second.")
    assert made.words == "Second."


def test_of_the_last_end_the_calls_under_way_and_the_standard_error_are_kept_without_secrets() -> None:
    made, call = summary(), CallUnderWay("Bash", "make", 1.0)
    made = replace(made, calls=(call,))
    made.remember(replace(EXITED, stderr_tail="token=hunter2hunter2 Error: out of memory"))
    assert list(made.calls) == []
    assert list(made.unanswered) == [call]
    assert made.stderr_tail == "token=[hidden] Error: out of memory"
    later = replace(made)
    later.remember(EXITED)
    assert (later.unanswered, later.stderr_tail) == ((), "")


ISSUE = Issue("repetitive_errors", Severity.HIGH, 0.9, 0.4, 3, "Again.", key="a")
STAMP: dict[str, Any] = {"agent": "a1", "at": 5.0, "mono": 5.0}


def proposed() -> Summary:
    made = summary()
    need = PersonNeed(
        PersonReason.ROLLBACK_PROPOSED, ISSUE, "So.", "chaperon rollback cp-7", hold=False, checkpoint="cp-7"
    )
    made.remember(events.PersonNeeded(**STAMP, need=need))
    assert [(one.checkpoint, one.issue, one.at) for one in made.proposed] == [("cp-7", "repetitive_errors", 5.0)]
    return made


def test_a_rollback_is_proposed_until_the_files_went_back() -> None:
    made = proposed()
    made.remember(events.CheckpointRestored(**STAMP, intervention="", checkpoint="other", session_id=""))
    assert made.proposed == []


def test_a_rollback_is_proposed_until_its_own_issue_is_over() -> None:
    made = proposed()
    made.remember(events.IssueSeen(**STAMP, issue=replace(ISSUE, closed=True, key="b")))
    made.remember(events.IssueSeen(**STAMP, issue=ISSUE))
    assert made.proposed != []
    made.remember(events.IssueSeen(**STAMP, issue=replace(ISSUE, closed=True)))
    assert made.proposed == []


def test_a_rollback_is_proposed_until_a_person_says_what_became_of_its_issue() -> None:
    made = proposed()
    made.told_outcome("scope_creep", "confirmed")
    assert made.proposed != []
    made.told_outcome("repetitive_errors", "false_alarm")
    assert made.proposed == []


def test_a_rollback_is_proposed_until_its_agent_has_ended() -> None:
    made = proposed()
    made.remember(events.StateChanged(**STAMP, before=AgentState.RUNNING, after=AgentState.DONE, why="so"))
    assert made.proposed == []


def test_what_is_handed_to_a_person_without_a_checkpoint_is_no_rollback_to_agree_to() -> None:
    made = summary()
    need = PersonNeed(PersonReason.ROLLBACK_PROPOSED, ISSUE, "So.", "chaperon show {agent}", hold=False)
    made.remember(events.PersonNeeded(**STAMP, need=need))
    assert made.proposed == []
