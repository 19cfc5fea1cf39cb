"""What a task may use: the issue at a limit, the refusal at the gate, the stop far beyond it, and the pace of calls."""

from dataclasses import replace
from typing import Any, Literal

import pytest

from interventions.choice.controller import Controller
from interventions.decisions import Intervention, LimitsInForce
from interventions.settings import InterventionSettings
from interventions.words import InterventionKind
from monitors.contract.actions import SideEffect
from monitors.contract.issues import Issue
from monitors.contract.tasks import Limits
from monitors.contract.words import Decision, Severity
from supervisor.core.decisions.decide import SessionSettings
from supervisor.core.limits import RULE
from supervisor.core.session import Session
from supervisor.core.settings import LimitSettings
from supervisor.protocol import events
from supervisor.protocol.commands import ApplyLimits, Command, Freeze, StartTimer
from supervisor.protocol.words import AgentState
from tests.stages.session import ALLOW, Play, Rules, answers, lines, recorded

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


LIMITS = Limits(3, 512, 300, 1_000, 1.0)
NAMES = {
    "time": "max_execution_time_seconds",
    "memory": "max_memory_mb",
    "tokens": "max_token_usage",
    "files": "max_file_operations",
}


@pytest.mark.parametrize("what", ["time", "memory", "files"])
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


# ── what the model spends ─────────────────────────────────────────────────────────────────────────────────────────────

MODEL = "claude-sonnet-4-6"
"""Costs 3 and 15 dollars a million tokens, 0.3 from the cache."""

STEP = 0.0186
"""What `asks` costs: 2,000 fresh and 2,000 cached tokens in, 800 out."""


class SpendingPlay(LimitedPlay):
    """A session whose model asks for calls."""

    def asks(self, number: int, tokens: int = 2_000) -> list[Command]:
        """A reply of 800 tokens that asks for a call: first its frame, as the CLI tells it, and then the hook."""
        usage = {"input_tokens": tokens, "cache_read_input_tokens": 2_000, "output_tokens": 1}
        use = {"type": "tool_use", "id": f"u-ls {number}", "name": "Bash", "input": {"command": "x" * 3_200}}
        message = {"id": f"m{number}", "model": MODEL, "content": [use], "usage": usage}
        self.line({"type": "assistant", "message": message})
        return self.call(f"ls {number}")

    def init(self) -> list[Command]:
        frame = {"type": "system", "subtype": "init", "session_id": "s-1", "cwd": "/repo"}
        return self.line({**frame, "claude_code_version": "2.1.329"})

    def told(self, question: dict[str, Any], cost: float, **tokens: int) -> list[Command]:
        """The CLI's answer to the question what it has used."""
        figures = {"model_usage": {MODEL: {**tokens, "costUSD": cost}}, "total_cost_usd": cost}
        response = {"subtype": "success", "request_id": question["request_id"], "response": {"session": figures}}
        return self.line({"type": "control_response", "response": response})

    @property
    def state(self) -> AgentState:
        assert self.session is not None
        return self.session.state

    @property
    def cost(self) -> float | None:
        assert self.session is not None
        return self.session.summary.cost_usd


def questions(commands: list[Command]) -> list[dict[str, Any]]:
    return [line for line in lines(commands) if line.get("request", {}).get("subtype") == "get_usage"]


def stops(play: Play) -> list[events.StopRequested]:
    return [event for _, event in play.journal if isinstance(event, events.StopRequested)]


def test_the_run_ends_before_the_call_of_the_model_that_would_pass_the_cost_limit() -> None:
    play = SpendingPlay(Limits(max_cost_usd=3.5 * STEP)).running()
    for number in (1, 2):
        assert answers(play.asks(number))[0]["permissionDecision"] == "allow"
    commands = play.asks(3)
    assert play.cost == pytest.approx(3 * STEP)
    (stop,) = stops(play)
    assert (stop.by, stop.limit) == ("chaperon", "max_cost_usd")
    assert stop.reason == (
        "the cost limit would be passed by the next call of the model: $0.0558 of $0.0651 are used, and such a call takes about "
        "$0.01344"
    )
    assert play.state is AgentState.STOPPING
    assert not answers(commands), "a refusal would be followed by a call of the model as well"
    assert lines(commands)[0]["request"] == {"subtype": "interrupt"}
    (told,) = [event.incident for _, event in play.journal if isinstance(event, events.IncidentOpened)]
    assert (told.type, told.severity) == ("limit_reached", Severity.HIGH)


def test_the_run_ends_before_the_call_of_the_model_that_would_pass_the_token_limit() -> None:
    play = SpendingPlay(Limits(max_token_usage=15_000)).running()
    play.asks(1)
    assert not stops(play)
    play.asks(2)
    assert stops(play)[0].limit == "max_token_usage"
    assert "9,600 of 15,000 tokens are used, and such a call takes about 5,600 tokens" in stops(play)[0].reason


def test_a_run_whose_last_reply_passed_the_limit_ends_well() -> None:
    play = SpendingPlay(Limits(max_cost_usd=0.05)).running()
    play.asks(1)
    play.result(total_cost_usd=0.52, modelUsage={MODEL: {"outputTokens": 30_000, "costUSD": 0.52}})
    assert not stops(play)
    assert play.state is AgentState.FINISHING
    assert "critical_action" not in {issue.type for issue in seen(play)}


def test_a_limit_that_the_clis_own_figures_passed_ends_the_run_while_a_tool_runs() -> None:
    play = SpendingPlay(Limits(max_cost_usd=0.10)).running()
    play.asks(1)
    play.now += 20
    (question,) = questions(play.hook("PostToolUse", tool_use_id="u-ls 1"))
    play.told(question, 0.12, inputTokens=2_000, cacheReadInputTokens=2_000, outputTokens=7_560)
    assert play.cost == 0.12
    assert stops(play)[0].reason == "the cost limit is reached: $0.12 of $0.1 are used"


@pytest.mark.parametrize("at_limit", ["tell", "hold", "block"])
def test_only_where_the_limit_is_told_alone_the_run_goes_on(at_limit: Literal["block", "hold", "tell"]) -> None:
    play = SpendingPlay(Limits(max_cost_usd=STEP), LimitSettings(at_limit=at_limit)).running()
    assert bool(answers(play.asks(1))) is (at_limit == "tell")


@pytest.mark.parametrize("answer", ["granted", "denied", "nobody"])
def test_a_call_that_leads_past_the_limit_can_be_held_for_a_person_and_the_run_ends_unless_it_is_let_through(
    answer: str,
) -> None:
    play = SpendingPlay(Limits(max_cost_usd=1.5 * STEP), LimitSettings(at_limit="hold")).running()
    (asked,) = recorded(play.asks(1), events.ApprovalAsked)
    assert asked.why.startswith("The cost limit would be passed by the next call of the model: $0.0186 of $0.0279")
    if answer == "nobody":
        commands = play.fired(f"approval:{asked.request_id}")
    else:
        facts = {"request_id": asked.request_id, "granted": answer == "granted", "by": "ann"}
        commands = play.feed(events.ApprovalGiven(**play.stamp(), **facts))
    assert bool(answers(commands)) is (answer == "granted")
    assert [stop.limit for stop in stops(play)] == ([] if answer == "granted" else ["max_cost_usd"])


def test_what_was_spent_before_a_relaunch_counts_against_the_limit() -> None:
    play = SpendingPlay(Limits(max_cost_usd=3.5 * STEP)).running()
    play.asks(1)
    play.asks(2)
    play.exited(code=None, signal=9)
    commands = play.feed(events.AgentLaunched(**play.stamp(), shim_pid=3, cli_pid=4, containment="subreaper", number=2))
    (question,) = questions(commands)
    assert lines(commands).index(question) == 1, "behind the hooks, and before it is told anything"
    play.told(question, 0.0)
    play.init()
    assert play.cost == pytest.approx(2 * STEP)
    play.asks(3)
    assert play.cost == pytest.approx(3 * STEP)
    assert stops(play)[0].limit == "max_cost_usd"


def test_one_that_crashed_is_not_started_again_where_that_would_pass_the_limit() -> None:
    play = SpendingPlay(Limits(max_cost_usd=1.5 * STEP), LimitSettings(at_limit="hold")).running()
    play.asks(1)
    play.exited(code=None, signal=9)
    assert play.state is AgentState.FAILED


def test_the_cli_is_asked_now_and_then_and_near_a_limit_after_each_call() -> None:
    play = SpendingPlay(Limits(max_cost_usd=10 * STEP)).running()

    def asked(number: int) -> bool:
        play.asks(number)
        found = questions(play.hook("PostToolUse", tool_use_id=f"u-ls {number}"))
        for question in found:
            play.told(
                question,
                number * STEP,
                inputTokens=number * 2_000,
                cacheReadInputTokens=number * 2_000,
                outputTokens=800,
            )
        return bool(found)

    assert [asked(1), asked(2)] == [False, False]
    play.now += 11
    assert [asked(3), asked(4)] == [True, False]
    assert [asked(5), asked(6), asked(7)] == [True, True, True]


def test_a_cli_that_does_not_know_the_question_is_not_asked_again() -> None:
    play = SpendingPlay(Limits(max_cost_usd=3 * STEP)).running()
    play.asks(1)
    play.asks(2)
    (question,) = questions(play.hook("PostToolUse", tool_use_id="u-ls 2"))
    error = {"subtype": "error", "request_id": question["request_id"], "error": "Unsupported control request subtype"}
    play.line({"type": "control_response", "response": error})
    play.now += 100
    assert not questions(play.hook("PostToolUse", tool_use_id="u-ls 2"))
    assert play.cost == pytest.approx(2 * STEP)


# ── limits that a throttling puts in force ────────────────────────────────────────────────────────────────────────────


def throttle(play: Play, **changes: Any) -> Any:
    """A throttling, as the controller would choose it."""
    from interventions.kinds.resource_throttling import as_json

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


def test_at_the_limit_of_steps_reads_are_refused_too_and_a_runaway_is_stopped() -> None:
    play = LimitedPlay(Limits(max_steps=3)).running()
    for number in range(3):
        assert answers(play.call(f"cat {number}"))[0]["permissionDecision"] == "allow"
    (issue,) = seen(play)
    assert (issue.type, issue.key) == ("limit_reached", "max_steps")
    (answer,) = answers(play.call("cat more"))
    assert "limit of steps is reached: 3 of 3 calls" in answer["permissionDecisionReason"]
    told = [event.intervention.message for _, event in play.journal if isinstance(event, events.InterventionChosen)]
    assert "Steps left: 0." in told[0]
    play.call("cat on")
    assert Freeze() in play.call("cat on and on")
