"""What is due in a session beside reviews and stops: answers to issues, what came of them, and people who are asked."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from interventions.approval import ApprovalSettings
from interventions.choice.controller import Controller
from interventions.decisions import InterventionOutcome
from interventions.settings import InterventionSettings
from monitors.contract.actions import SideEffect
from monitors.contract.errors import ChaperonError, NotFoundError, UsageError
from monitors.contract.issues import Issue
from monitors.contract.observations import Observation, ToolReturned
from monitors.contract.words import Decision, Severity
from supervisor.core.decisions.decide import AgentSurroundings, SessionSettings
from supervisor.core.session import Session
from supervisor.protocol import events
from supervisor.protocol.commands import ApplyLimits, RestoreCheckpoint, StartTimer
from supervisor.protocol.words import AgentState
from supervisor.testing.samples import Moments, issue
from tests.stages.session import Play, Rules, answers, lines, recorded, verdict

WRITES = (SideEffect("file_write", Severity.LOW, True, "writes x"),)


class Scripted:
    """A detector that raises what the script says at the tool result of that number."""

    name = "scripted"

    def __init__(self, script: Mapping[int, Sequence[Issue]]) -> None:
        self.script = script
        self.results = 0

    def see(self, observation: Observation) -> Sequence[Issue]:
        if not isinstance(observation, ToolReturned):
            return ()
        self.results += 1
        return self.script.get(self.results, ())


class Staged(Play):
    """A play with interventions and approvals set up as one likes."""

    def __init__(
        self,
        script: Mapping[int, Sequence[Issue]] | None = None,
        settings: InterventionSettings | None = None,
        approval: ApprovalSettings | None = None,
        **more: Any,
    ) -> None:
        super().__init__(**more)
        self.script, self.settings, self.approval = script or {}, settings, approval

    def running(self) -> "Staged":
        super().running()
        return self

    def make(self, submitted: events.TaskSubmitted) -> Session:
        controller = Controller(self.settings or InterventionSettings(), self.task)
        about = SessionSettings(approval=self.approval or ApprovalSettings())
        reviewer = Rules(self.rules)
        return Session(submitted, reviewer, [Scripted(self.script)], controller, about, AgentSurroundings(Moments()))

    def ran(self, name: str = "x", *, failed: bool = True) -> Any:
        """A tool call with its review and result."""
        self.call(name)
        result = {"type": "tool_result", "tool_use_id": f"u-{name}", "content": "Exit code 1", "is_error": failed}
        return self.line({"type": "user", "message": {"role": "user", "content": [result]}})

    def seen(self, kind: type[Any]) -> list[Any]:
        return [event for _, event in self.journal if isinstance(event, kind)]


def told(commands: Any) -> list[str]:
    return [line["message"]["content"] for line in lines(commands) if line["type"] == "user"]


def test_an_issue_is_answered_with_a_message_and_an_incident_that_gives_the_reason() -> None:
    play = Staged({1: [issue()]}).running()
    commands = play.ran()
    assert "There is repetitive_errors." in told(commands)[0]
    (opened,) = recorded(commands, events.IncidentOpened)
    assert (
        opened.incident.summary == "There is repetitive_errors. The model was told so: the mildest answer comes first."
    )


def test_what_is_left_alone_in_the_cooldown_is_answered_when_its_timer_fires() -> None:
    play = Staged({1: [issue()], 2: [issue("goal_drift")]}).running()
    play.ran("one")
    play.now += 10
    commands = play.ran("two")
    assert not told(commands)
    assert [command.after_seconds for command in commands if isinstance(command, StartTimer)] == [20.0]
    play.now += 20
    assert "There is goal_drift." in told(play.fired("intervene"))[0]


def test_every_intervention_is_judged_at_the_latest_when_the_agent_ends() -> None:
    play = Staged({1: [issue()]}).running()
    (message,) = told(play.ran())
    play.taken(message)
    play.result()
    play.exited(0)
    (judged,) = play.seen(events.InterventionJudged)
    assert judged.judgement.outcome is InterventionOutcome.SUCCESS
    assert play.session is not None
    assert play.session.summary.outcomes == {"success": 1}


def test_a_throttling_puts_limits_in_force() -> None:
    spiral = issue("resource_spiral", Severity.HIGH, details={"memory_growth": 3.0})
    commands = Staged({1: [spiral]}).running().ran()
    (applied,) = [command for command in commands if isinstance(command, ApplyLimits)]
    assert applied.limits.limits.max_memory_mb == 4096
    assert "MB of memory: at most 4096" in told(commands)[0]


def climbed(play: Staged) -> Any:
    for name in ("one", "two"):
        play.ran(name)
        play.now += 130
    return play.ran("three")


def test_a_rollback_is_asked_for_once_more_after_a_crash_and_its_guidance_is_not_told_to_the_old_conversation() -> None:
    again = {n: [issue(details={"count": n})] for n in (1, 2, 3)}
    play = Staged(again, InterventionSettings(auto_rollback=True)).running()
    commands = climbed(play)
    assert not told(commands)
    (restore,) = [command for command in play.frozen() if isinstance(command, RestoreCheckpoint)]
    assert restore.checkpoint == "cp-7"
    first = play.journal[0][1]
    assert isinstance(first, events.TaskSubmitted)
    rebuilt = play.make(first)
    for seq, event in play.journal:
        rebuilt.remember(seq, event)
    assert restore in rebuilt.recover(99, play.journal[-1][1])
    done = events.CheckpointRestored(
        **play.stamp(), intervention=restore.intervention, checkpoint="cp-7", session_id="s-2"
    )
    rebuilt.remember(99, done)
    assert restore not in rebuilt.recover(100, done)


def test_a_rollback_for_a_person_is_an_incident_with_its_command() -> None:
    again = {n: [issue(details={"count": n})] for n in (1, 2, 3)}
    play = Staged(again).running()
    climbed(play)
    proposed = [
        event.incident for event in play.seen(events.IncidentOpened) if event.incident.type == "rollback_proposed"
    ]
    assert [incident.way_out for incident in proposed] == ["chaperon rollback cp-7"]
    assert play.session is not None
    assert [one.checkpoint for one in play.session.summary.proposed] == ["cp-7"]


def test_an_agent_whose_interventions_are_used_up_is_held_at_its_next_call_until_a_person_resumes_it() -> None:
    play = Staged(
        {1: [issue()], 2: [issue(key="b")]}, InterventionSettings(max_interventions_per_execution=1)
    ).running()
    play.ran("one")
    play.now += 60
    play.ran("two")
    assert play.session is not None
    assert play.session.state is AgentState.PAUSED
    assert not answers(play.call("three"))
    resumed = play.feed(events.ResumeRequested(**play.stamp(), by="ann"))
    assert len(answers(resumed)) == 1


# ── approval ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def asking(**more: Any) -> Staged:
    rules = {"write": verdict(Decision.ALLOW, "fine", side_effects=WRITES), "rm": verdict(Decision.BLOCK, "no")}
    return Staged(rules=rules, approval=ApprovalSettings(mode="ask", deadline_seconds=300.0), **more)


def given(play: Staged, granted: bool, **more: Any) -> events.ApprovalGiven:
    (asked,) = play.session.approvals if play.session else ()
    return events.ApprovalGiven(**play.stamp(), request_id=asked.request_id, granted=granted, by="ann", **more)


def test_an_action_that_needs_a_person_waits_and_others_do_not() -> None:
    play = asking().running()
    commands = play.call("write it")
    assert not answers(commands)
    assert [command.after_seconds for command in commands if isinstance(command, StartTimer)] == [300.0]
    assert answers(play.call("ls"))[0]["permissionDecision"] == "allow"
    assert answers(play.call("rm x"))[0]["permissionDecision"] == "deny"


def test_a_person_lets_it_run_with_a_note() -> None:
    play = asking().running()
    play.call("write it")
    (answer,) = answers(play.feed(given(play, True, note="only once")))
    assert answer["permissionDecision"] == "allow"
    assert "ann let this run and says: only once" in answer["additionalContext"]
    assert play.session is not None
    assert play.session.approvals == ()


def test_a_person_turns_it_down() -> None:
    play = asking().running()
    play.call("write it")
    (answer,) = answers(play.feed(given(play, False)))
    assert answer["permissionDecision"] == "deny"


def test_the_deadline_denies() -> None:
    play = asking().running()
    play.call("write it")
    (asked,) = play.session.approvals if play.session else ()
    (answer,) = answers(play.fired(f"approval:{asked.request_id}"))
    assert answer["permissionDecision"] == "deny"
    assert "nobody answered within 300 s" in answer["permissionDecisionReason"]


def test_the_second_gate_is_not_asked_about_again() -> None:
    play = asking().running()
    play.call("write it")
    play.feed(given(play, True))
    commands = play.permission("write it")
    (answer,) = [line["response"]["response"] for line in lines(commands) if line["type"] == "control_response"]
    assert answer["behavior"] == "allow"


def test_a_request_that_the_cli_withdrew_waits_no_longer() -> None:
    play = asking().running()
    play.call("write it")
    (asked,) = play.session.approvals if play.session else ()
    play.line({"type": "control_cancel_request", "request_id": asked.request_id})
    assert play.session is not None
    assert play.session.approvals == ()


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        ({"from_agent": "a1"}, UsageError, "agents do not answer approvals"),
        ({"request_id": "r99"}, NotFoundError, "No action 'r99'"),
    ],
)
def test_an_answer_from_an_agent_or_to_nothing_is_refused(
    wrong: dict[str, str], error: type[ChaperonError], says: str
) -> None:
    play = asking().running()
    play.call("write it")
    (asked,) = play.session.approvals if play.session else ()
    answer = {"request_id": asked.request_id, "granted": True, "by": "ann", **wrong}
    assert play.session is not None
    with pytest.raises(error, match=says):
        play.session.check(events.ApprovalGiven(**play.stamp(), **answer))  # type: ignore[arg-type]


def test_after_a_restart_an_action_still_waits_for_what_is_left_of_its_time() -> None:
    play = asking().running()
    play.call("write it")
    play.now += 100
    first, last = play.journal[0][1], play.feed(events.AgentAdopted(**play.stamp(), outcome="reattached"))
    assert isinstance(first, events.TaskSubmitted)
    assert last == []
    rebuilt = play.make(first)
    for seq, event in play.journal:
        rebuilt.remember(seq, event)
    commands = rebuilt.recover(99, play.journal[-1][1])
    (timer,) = [command for command in commands if isinstance(command, StartTimer) and "approval" in command.name]
    assert timer.after_seconds == 200.0


# ── throttled limits at the gate ──────────────────────────────────────────────────────────────────────────────────────


def throttled() -> Staged:
    spiral = issue("resource_spiral", Severity.HIGH, details={"growth": {"calls": 9.0}})
    play = Staged({1: [spiral]}).running()
    play.ran("first")
    assert play.session is not None
    assert play.session.controller.limits.calls_per_minute == 15
    return play


def test_a_call_over_the_rate_waits_at_the_gate_and_runs_when_its_time_has_come() -> None:
    play = throttled()
    for n in range(14):
        assert answers(play.call(f"call {n}"))
    commands = play.call("one too many")
    assert not answers(commands)
    (timer,) = [command for command in commands if isinstance(command, StartTimer)]
    assert timer.after_seconds == 60.0
    play.now += 60
    assert len(answers(play.fired(timer.name))) == 1


def test_limits_that_no_throttling_lowered_hold_nothing_back() -> None:
    play = Staged().running()
    assert all(answers(play.call(f"call {n}")) for n in range(40))
