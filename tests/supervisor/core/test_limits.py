"""What a task may use: the issue at a limit, the refusal at the gate, the stop far beyond it, and the pace of calls."""

from dataclasses import replace
from typing import Any

import pytest

from interventions.controller import Controller
from interventions.settings import InterventionSettings
from supervisor.core.decide import SessionSettings
from supervisor.core.limits import RULE, LimitSettings
from supervisor.core.session import Session
from supervisor.protocol import events
from supervisor.protocol.actions import SideEffect
from supervisor.protocol.commands import ApplyLimits, Command, Freeze, StartTimer
from supervisor.protocol.interventions import Intervention, LimitsInForce
from supervisor.protocol.issues import Issue
from supervisor.protocol.tasks import Limits
from supervisor.protocol.words import AgentState, Decision, InterventionKind, Severity
from tests.play import ALLOW, Play, Rules, answers, lines, recorded

WRITES = replace(ALLOW, side_effects=(SideEffect("file_write", Severity.LOW, True, "writes x"),))
ASKS = replace(ALLOW, side_effects=(SideEffect("network", Severity.LOW, True, "asks x"),))


class LimitedPlay(Play):
    """A session with limits, and with calls that write."""

    def __init__(self, limits: Limits, settings: LimitSettings | None = None) -> None:
        super().__init__({"echo": WRITES, "curl": ASKS}, limits=limits)
        self.settings = SessionSettings(limits=settings or LimitSettings())

    def make(self, submitted: events.TaskSubmitted) -> Session:
        controller = Controller(InterventionSettings(), self.task)
        return Session(submitted, Rules(self.rules), [], controller, self.settings)

    def sampled(self, memory_mb: float = 100.0) -> Any:
        facts: dict[str, Any] = {
            "memory_mb": memory_mb,
            "cpu_seconds": 1.0,
            "processes": 3,
            "open_files": 9,
            "io_bytes": 1,
        }
        return self.feed(events.ResourcesSeen(**self.stamp(), **facts))

    def replied(self, tokens: int, number: int) -> None:
        usage = {"input_tokens": tokens, "output_tokens": 0}
        message = {"id": f"m{number}", "content": [], "usage": usage}
        self.line({"type": "assistant", "message": message})

    def wrote(self, number: int) -> None:
        given = {"file_path": f"/repo/{number}"}
        use = {"type": "tool_use", "id": f"w{number}", "name": "Write", "input": given}
        self.line({"type": "assistant", "message": {"id": f"x{number}", "content": [use]}})
        self.hook("PreToolUse", cwd="/repo", tool_name="Write", tool_input=given, tool_use_id=f"w{number}")
        result = {"type": "tool_result", "tool_use_id": f"w{number}", "content": "written"}
        self.line({"type": "user", "message": {"role": "user", "content": [result]}})


def seen(play: Play) -> list[Issue]:
    return [event.issue for _, event in play.journal if isinstance(event, events.IssueSeen)]


def spend(play: LimitedPlay, what: str) -> None:
    """Use up a limit."""
    match what:
        case "time":
            play.now += 301
            play.sampled()
        case "memory":
            play.sampled(600)
        case "tokens":
            for number in range(3):
                play.replied(600, number)
        case "files":
            for number in range(3):
                play.wrote(number)
        case "cost":
            play.result(total_cost_usd=1.2)
            play.say("go on")
            play.taken("go on")
            play.init()


LIMITS = Limits(3, 512, 300, 1_000, 1.0)
NAMES = {
    "time": "max_execution_time_seconds",
    "memory": "max_memory_mb",
    "tokens": "max_token_usage",
    "files": "max_file_operations",
    "cost": "max_cost_usd",
}


@pytest.mark.parametrize("what", NAMES)
def test_at_a_limit_an_issue_is_raised_once_and_writing_calls_are_refused_with_the_reason(what: str) -> None:
    play = LimitedPlay(LIMITS).running()
    assert answers(play.call("echo before"))[0]["permissionDecision"] == "allow"
    spend(play, what)
    (issue,) = seen(play)
    assert (issue.type, issue.key, issue.severity) == ("limit_reached", NAMES[what], Severity.HIGH)
    commands = play.call("echo after")
    (answer,) = answers(commands)
    assert answer["permissionDecision"] == "deny"
    assert "limit" in answer["permissionDecisionReason"]
    assert recorded(commands, events.ReviewMade)[0].review.rule == RULE
    assert answers(play.call("ls"))[0]["permissionDecision"] == "allow"
    assert len(seen(play)) == 1


def test_the_controller_answers_a_limit_with_words_first() -> None:
    play = LimitedPlay(LIMITS).running()
    spend(play, "time")
    chosen = [event.intervention for _, event in play.journal if isinstance(event, events.InterventionChosen)]
    assert [each.kind for each in chosen] == [InterventionKind.SOFT_CORRECTION]
    assert "301 of 300 s" in chosen[0].message


def test_the_limit_of_file_operations_holds_back_files_alone() -> None:
    play = LimitedPlay(LIMITS).running()
    spend(play, "files")
    assert answers(play.call("curl x"))[0]["permissionDecision"] == "allow"


def test_memory_that_is_given_back_closes_the_issue_and_opens_the_gate() -> None:
    play = LimitedPlay(LIMITS).running()
    play.sampled(600)
    play.sampled(490)
    assert len(seen(play)) == 1, "a tenth below the limit is where it counts as kept again"
    play.sampled(400)
    assert [issue.closed for issue in seen(play)] == [False, True]
    assert answers(play.call("echo x"))[0]["permissionDecision"] == "allow"


@pytest.mark.parametrize(("stop_at", "state"), [(2.0, AgentState.STOPPING), (None, AgentState.RUNNING)])
def test_a_time_limit_used_twice_over_stops_the_run_unless_configured_not_to(
    stop_at: float | None, state: AgentState
) -> None:
    play = LimitedPlay(LIMITS, LimitSettings(stop_at=stop_at)).running()
    spend(play, "time")
    play.now += 300
    commands = play.sampled()
    assert play.session is not None
    assert play.session.state is state
    assert any(isinstance(command, Freeze) for command in commands) == (stop_at is not None)


def test_a_token_limit_used_twice_over_stops_nothing() -> None:
    play = LimitedPlay(Limits(max_token_usage=100)).running()
    spend(play, "tokens")
    assert play.session is not None
    assert play.session.state is AgentState.RUNNING


def test_a_call_can_be_held_for_a_person_instead() -> None:
    play = LimitedPlay(LIMITS, LimitSettings(at_limit="hold")).running()
    spend(play, "memory")
    commands = play.call("echo x")
    (asked,) = recorded(commands, events.ApprovalAsked)
    assert asked.why == "The memory limit is reached: 600 of 512 MiB are used."
    assert answers(commands) == []
    given = events.ApprovalGiven(**play.stamp(), request_id=asked.request_id, granted=True, by="ann")
    assert answers(play.feed(given))[0]["permissionDecision"] == "allow"


def test_a_call_can_be_let_through_with_the_issue_alone() -> None:
    play = LimitedPlay(LIMITS, LimitSettings(at_limit="tell")).running()
    spend(play, "memory")
    assert answers(play.call("echo x"))[0]["permissionDecision"] == "allow"
    assert len(seen(play)) == 1


# ── limits that a throttling puts in force ────────────────────────────────────────────────────────────────────────────


def throttle(play: Play, **changes: Any) -> Any:
    """A throttling, as the controller would choose it."""
    from interventions.resource_throttling import as_json

    limits = replace(LimitsInForce(play.task.limits), **changes)
    issue = Issue("resource_spiral", Severity.HIGH, 1.0, 0.3, 1, "It grows.", key="memory")
    chosen = Intervention(
        "i-1", InterventionKind.RESOURCE_THROTTLING, issue, 1.0, "why", "Slower.", {"limits": as_json(limits)}
    )
    return play.feed(events.InterventionChosen(**play.stamp(), intervention=chosen))


def test_over_the_pace_a_call_waits_until_a_minute_has_gone_by() -> None:
    play = Play().running()
    throttle(play, calls_per_minute=2)
    for number in range(2):
        play.now += 10
        assert len(answers(play.call(f"ls {number}"))) == 1
    play.now += 1
    commands = play.call("ls late")
    assert answers(commands) == []
    (timer,) = [command for command in commands if isinstance(command, StartTimer) and command.name == "intervene"]
    assert timer.after_seconds == pytest.approx(49)
    play.now += timer.after_seconds
    assert answers(play.fired("intervene"))[0]["permissionDecision"] == "allow"


def test_a_call_that_waits_for_the_pace_goes_on_when_the_limits_ease() -> None:
    play = Play().running()
    throttle(play, calls_per_minute=1)
    play.call("ls 1")
    assert answers(play.call("ls 2")) == []
    eased = events.LimitsEased(**play.stamp(), intervention="i-1", limits=LimitsInForce(play.task.limits))
    assert len(answers(play.feed(eased))) == 1


def test_a_restarted_daemon_keeps_the_pace_and_puts_the_limits_in_force_again() -> None:
    play = Play().running()
    throttle(play, calls_per_minute=1, cpu_share=0.5)
    play.call("ls 1")
    play.call("ls 2")
    again = play.make(play.journal[0][1])  # type: ignore[arg-type]
    for number, event in play.journal:
        again.remember(number, event)
    play.now += 5
    adopted = events.AgentAdopted(**play.stamp(), outcome="reattached")
    again.remember(len(play.journal) + 1, adopted)
    commands = again.recover(len(play.journal) + 1, adopted)
    assert [command.limits.cpu_share for command in commands if isinstance(command, ApplyLimits)] == [0.5]
    assert [command.after_seconds for command in commands if isinstance(command, StartTimer)] == [pytest.approx(55)]


def test_the_second_gate_is_not_paced() -> None:
    play = Play().running()
    throttle(play, calls_per_minute=1)
    play.call("ls")
    assert len(lines(play.permission("ls"))) == 1


def test_effort_goes_down_with_a_throttling_and_back_when_it_ends() -> None:
    play = Play().running()
    sent = lines(throttle(play, effort="low"))
    efforts = [line["request"]["settings"] for line in sent if line["type"] == "control_request"]
    assert efforts == [{"effortLevel": "low"}]
    eased = events.LimitsEased(**play.stamp(), intervention="i-1", limits=LimitsInForce(play.task.limits))
    sent = lines(play.feed(eased))
    assert [line["request"]["settings"] for line in sent if line["type"] == "control_request"] == [
        {"effortLevel": None}
    ]


def test_the_model_goes_down_with_a_throttling_and_back_to_the_tasks_own() -> None:
    play = Play(model="opus").running()

    def models(commands: list[Command]) -> list[str | None]:
        requests = [line["request"] for line in lines(commands) if line["type"] == "control_request"]
        return [request["model"] for request in requests if request["subtype"] == "set_model"]

    assert models(throttle(play, model="haiku")) == ["haiku"]
    eased = events.LimitsEased(**play.stamp(), intervention="i-1", limits=LimitsInForce(play.task.limits))
    assert models(play.feed(eased)) == ["opus"]


def test_a_decision_stays_what_it_was_where_the_limit_says_no_more() -> None:
    play = LimitedPlay(Limits(None, None, None, None, None)).running()
    play.now += 10_000_000
    play.sampled(1e9)
    commands = play.call("echo x")
    assert recorded(commands, events.ReviewMade)[0].review.decision is Decision.ALLOW
