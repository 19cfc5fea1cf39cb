"""When a session asks for checkpoints, what waits for them, and what a rollback makes of it."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from checkpoints.model import Reason
from interventions.approval import ApprovalSettings
from interventions.choice.controller import Controller
from interventions.contract import GoodMoment
from interventions.settings import InterventionSettings
from monitors.contract.actions import SideEffect
from monitors.contract.errors import IllegalStepError
from monitors.contract.issues import Issue
from monitors.contract.words import Decision, Severity
from supervisor.core.decisions.decide import NOT_CAPTURED, SessionSettings
from supervisor.core.fold.life.checkpoints import CaptureRules
from supervisor.core.session import Session
from supervisor.protocol import events
from supervisor.protocol.commands import (
    Capture,
    CloseInput,
    Command,
    EndTree,
    Freeze,
    Launch,
    ReportIncident,
    RestoreCheckpoint,
    SendLine,
    StartTimer,
    StopTimer,
    Thaw,
)
from supervisor.protocol.moments import RunMoment
from supervisor.protocol.words import AgentState
from tests.stages.session import Play, Rules, answers, lines, recorded, verdict

DELETES = SideEffect("file_delete", Severity.MEDIUM, True, "deletes")
RISKY = replace(verdict(Decision.ALLOW, "deletes"), side_effects=(DELETES,), checkpoint_first=True)
LITTLE = replace(RISKY, checkpoint_first=False)
DISCARDS = replace(LITTLE, side_effects=(replace(DELETES, type="git_discard"),))


class Kept(Play):
    """A session whose workspace is kept: captures are answered by hand, or at once."""

    def __init__(self, **more: Any) -> None:
        self.rules_of_captures = CaptureRules(enabled=True, spacing_seconds=more.pop("spacing_seconds", 0.0))
        self.approval = ApprovalSettings(mode=more.pop("approval", "off"), deadline_seconds=300.0)
        more.setdefault("keep_open", True)
        super().__init__({"rm": lambda: RISKY, "unlink": lambda: LITTLE, "git restore": lambda: DISCARDS}, **more)
        self.asked: list[Capture] = []
        self._numbers = itertools.count(1)

    def make(self, submitted: events.TaskSubmitted) -> Session:
        settings = SessionSettings(captures=self.rules_of_captures, approval=self.approval)
        return Session(submitted, Rules(self.rules), [], Controller(InterventionSettings(), self.task), settings)

    def feed(self, event: events.AnyEvent) -> list[Command]:
        commands = super().feed(event)
        self.asked += [command for command in commands if isinstance(command, Capture)]
        return commands

    def made(self, capture: Capture | None = None) -> list[Command]:
        """The oldest capture, or this one, is done."""
        done = capture or self.asked.pop(0)
        number = next(self._numbers)
        name = done.name or f"c{number}"
        about: dict[str, Any] = {
            "key": done.key,
            "reason": str(done.reason),
            "tree": f"t{number}",
            "moment": done.moment,
        }
        return self.feed(events.CheckpointMade(**self.stamp(), **about, name=name, number=number))

    def failed(self) -> list[Command]:
        done = self.asked.pop(0)
        return self.feed(events.CaptureFailed(**self.stamp(), key=done.key, reason=str(done.reason), error="disk full"))

    def replied(self, uuid: str, *calls: str) -> list[Command]:
        blocks: list[dict[str, Any]] = [
            {"type": "tool_use", "id": f"u-{call}", "name": "Bash", "input": {}} for call in calls
        ]
        blocks = blocks or [{"type": "text", "text": "ok"}]
        return self.line({"type": "assistant", "uuid": uuid, "message": {"id": uuid, "content": blocks}})

    def returned(self, call: str, uuid: str, text: str = "done", failed: bool = False) -> list[Command]:
        block = {"type": "tool_result", "tool_use_id": f"u-{call}", "content": text, "is_error": failed}
        return self.line({"type": "user", "uuid": uuid, "message": {"role": "user", "content": [block]}})

    def settled(self) -> "Kept":
        """In the first turn, with the start captured."""
        self.running()
        self.made()
        return self

    def back(self, checkpoint: str, **more: Any) -> list[Command]:
        facts = {"intervention": "r1", "checkpoint": checkpoint, "session_id": "s-2", "undo": "before-r1", **more}
        return self.feed(events.CheckpointRestored(**self.stamp(), **facts))

    def wants_back(self, checkpoint: str = "c1", **more: Any) -> list[Command]:
        return self.feed(events.RollbackRequested(**self.stamp(), id="r1", checkpoint=checkpoint, by="ann", **more))

    def ended(self) -> list[Command]:
        return self.exited(None, 9)


def captures(commands: list[Command]) -> list[Reason]:
    return [Reason(command.reason) for command in commands if isinstance(command, Capture)]


# ── when ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_start_is_captured_before_anything_was_said() -> None:
    play = Kept()
    play.submit()
    assert captures(play.launched()) == [Reason.START]
    assert play.asked[0].moment.message_uuid == ""


def test_the_end_of_a_turn_is_captured_at_the_last_reply() -> None:
    play = Kept().settled()
    play.replied("reply-1")
    assert captures(play.result()) == [Reason.TURN]
    assert (play.asked[0].moment.session_id, play.asked[0].moment.message_uuid) == ("s-1", "reply-1")


def stopped(play: Kept) -> list[Reason]:
    commands = play.feed(events.StopRequested(**play.stamp(), by="ann", force=True, reason=""))
    return captures([*commands, *play.ended()])


def test_what_an_agent_left_that_ended_in_the_middle_of_a_turn_is_captured_once() -> None:
    play = Kept().settled()
    play.replied("reply-1", "touch x")
    play.call("touch x")
    assert stopped(play) == [Reason.TURN]
    assert captures(play.made()) == []


@pytest.mark.parametrize("turn_ended", [False, True])
def test_the_end_of_an_agent_that_left_nothing_new_is_not_captured(turn_ended: bool) -> None:
    play = Kept().settled()
    if turn_ended:
        play.replied("reply-1", "touch x")
        play.call("touch x")
        play.returned("touch x", "result-1")
        assert captures(play.result()) == [Reason.TURN], "this one has it, though it is not made yet"
    assert stopped(play) == []


def test_passing_tests_are_captured_at_their_result_and_failing_ones_are_not() -> None:
    play = Kept().settled()
    play.replied("reply-1", "pytest")
    play.call("pytest")
    assert Reason.TESTS_PASSED not in captures(
        play.returned("pytest", "result-1", "1 failed, 2 passed in 0.1s", failed=True)
    )
    play.made()
    play.replied("reply-2", "pytest")
    play.call("pytest")
    assert Reason.TESTS_PASSED in captures(play.returned("pytest", "result-2", "==== 3 passed in 0.1s ===="))
    assert play.asked[0].moment.message_uuid == "result-2"
    assert play.asked[0].moment.success_rate == 0.5


def test_what_a_person_changed_is_captured_as_the_agent_is_let_go_on() -> None:
    play = Kept().settled()
    assert captures(play.say("by the way")) == []
    play.feed(events.PauseRequested(**play.stamp(), by="ann"))
    assert captures(play.feed(events.ResumeRequested(**play.stamp(), by="ann"))) == [Reason.UNATTENDED]
    play.made()
    play.replied("reply-1")
    assert captures(play.result()) == [Reason.TURN]
    play.made()
    assert captures(play.say("and now")) == [Reason.UNATTENDED]
    play.made()
    assert captures(play.say("and quickly")) == []


def test_a_person_is_given_a_checkpoint_by_name() -> None:
    play = Kept().settled()
    commands = play.feed(events.CheckpointRequested(**play.stamp(), id="p1", name="good", by="ann"))
    assert [(command.name, command.reason) for command in commands if isinstance(command, Capture)] == [
        ("good", "person")
    ]


def test_nothing_is_captured_where_checkpoints_are_off() -> None:
    play = Play({"rm": lambda: RISKY})
    play.running()
    assert answers(play.call("rm -rf src"))[0]["permissionDecision"] == "allow"


def test_a_conversation_is_never_resumed_with_a_call_still_open() -> None:
    play = Kept().settled()
    play.replied("reply-1", "a", "b")
    play.call("a")
    play.call("b")
    play.returned("a", "result-a")
    play.feed(events.CheckpointRequested(**play.stamp(), id="p1", name="good", by="ann"))
    assert play.asked[-1].moment.message_uuid == ""
    play.returned("b", "result-b")
    play.feed(events.CheckpointRequested(**play.stamp(), id="p2", name="better", by="ann"))
    assert play.asked[-1].moment.message_uuid == "result-b"


def test_what_a_subagent_says_is_no_place_to_resume() -> None:
    play = Kept().settled()
    play.replied("reply-1")
    inner = {"id": "m", "content": [{"type": "text", "text": "inner"}]}
    play.line({"type": "assistant", "uuid": "inner", "parent_tool_use_id": "u-x", "message": inner})
    play.result()
    assert play.asked[0].moment.message_uuid == "reply-1"


# ── what waits ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_while_the_start_is_captured_what_reads_is_answered_and_what_writes_waits() -> None:
    play = Kept()
    play.running()
    assert answers(play.call("ls"))
    assert not answers(play.call("make"))
    assert answers(play.made())[0]["permissionDecision"] == "allow"


def test_a_risky_action_waits_for_its_own_capture() -> None:
    play = Kept().settled()
    play.replied("reply-1", "make")
    play.call("make")
    play.returned("make", "result-1")
    play.failed()
    commands = play.call("rm -rf src")
    assert not answers(commands)
    assert recorded(commands, events.CheckpointAwaited)
    assert answers(play.made())[0]["permissionDecision"] == "allow"


def test_a_risky_action_is_not_held_where_the_last_checkpoint_has_everything() -> None:
    play = Kept().settled()
    assert answers(play.call("rm -rf src"))[0]["permissionDecision"] == "allow"
    play.returned("rm -rf src", "result-1")
    play.made()
    assert answers(play.call("rm -rf src"))


def test_a_risky_action_that_cannot_be_captured_is_blocked_and_others_go_on() -> None:
    play = Kept()
    play.running()
    play.failed()
    play.call("rm -rf src")
    answer = answers(play.failed())[0]
    assert answer["permissionDecision"] == "deny"
    assert "disk full" in answer["permissionDecisionReason"]
    assert play.session is not None
    assert play.session.summary.reviews["block"] == 1
    assert answers(play.call("make"))[0]["permissionDecision"] == "allow"


@pytest.mark.parametrize("command", ["unlink a.txt", "git restore a.txt"])
def test_what_deletes_a_little_is_captured_first_too_and_not_blocked_where_that_fails(command: str) -> None:
    play = Kept(spacing_seconds=10.0).settled()
    play.call("make")
    play.returned("make", "result-1")
    assert not answers(play.call(command))
    assert answers(play.failed())[0]["permissionDecision"] == "allow"


def test_the_block_of_what_could_not_be_captured_names_its_rule() -> None:
    play = Kept()
    play.running()
    play.failed()
    play.call("rm -rf src")
    assert [event.review.rule for event in recorded(play.failed(), events.ReviewMade)] == [NOT_CAPTURED]


def test_after_work_in_the_background_nothing_counts_as_captured() -> None:
    play = Kept().settled()
    given = {"tool_input": {"command": "make &", "run_in_background": True}}
    play.call("make", **given)
    play.returned("make", "result-1")
    play.made()
    assert recorded(play.call("rm -rf src"), events.CheckpointAwaited)


def test_changes_that_nothing_waits_for_are_captured_now_and_then_and_the_last_of_them_in_time() -> None:
    play = Kept(spacing_seconds=10.0).settled()
    for number in range(5):
        play.call(f"make {number}")
        play.returned(f"make {number}", f"result-{number}")
    assert play.asked == []
    play.now += 10.0
    play.call("ls")
    commands = play.returned("ls", "result-ls")
    assert captures(commands) == [Reason.RISKY_ACTION]
    play.made()
    play.now += 10.0
    play.call("ls")
    assert captures(play.returned("ls", "result-last")) == []


def test_an_action_that_a_person_let_run_waits_for_its_capture_as_any_other() -> None:
    play = Kept(spacing_seconds=10.0, approval="ask").settled()
    play.call("make")
    play.returned("make", "result-1")
    play.call("rm -rf src")
    assert play.session is not None
    (asked,) = play.session.approvals
    commands = play.feed(events.ApprovalGiven(**play.stamp(), request_id=asked.request_id, granted=True, by="ann"))
    assert not answers(commands)
    assert captures(commands) == [Reason.RISKY_ACTION]
    assert answers(play.made())[0]["permissionDecision"] == "allow"


# ── going back ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_rollback_freezes_restores_ends_and_launches_one_after_another() -> None:
    play = Kept().settled()
    assert of_rollback(play.wants_back()) == [Freeze, StartTimer]
    frozen = play.frozen()
    assert of_rollback(frozen) == [StopTimer, RestoreCheckpoint]
    (restore,) = [command for command in frozen if isinstance(command, RestoreCheckpoint)]
    assert (restore.intervention, restore.checkpoint) == ("r1", "c1")
    assert of_rollback(play.back("c1", resume_session="s-1", resume_at="reply-1")) == [EndTree, StartTimer]
    commands = play.ended()
    assert of_rollback(commands) == [StopTimer, Launch, StopTimer]
    (launch,) = [command for command in commands if isinstance(command, Launch)]
    assert (launch.number, launch.session_id, launch.resume_session, launch.resume_at) == (2, "s-2", "s-1", "reply-1")
    assert play.session is not None
    assert (play.session.state, play.session.offset) == (AgentState.STARTING, 0)
    said = play.feed(events.AgentLaunched(**play.stamp(), shim_pid=3, cli_pid=4, containment="subreaper", number=2))
    (prompt,) = [command.line for command in said if isinstance(command, SendLine) and command.key == "prompt"]
    assert b"set back to the checkpoint c1 by ann" in prompt
    assert b"do it" not in prompt
    assert not captures(said)


def of_rollback(commands: list[Command]) -> list[type[Command]]:
    """What a rollback asks of the processes and the files, in order."""
    kinds = (Freeze, Thaw, EndTree, RestoreCheckpoint, Launch, StartTimer, StopTimer)
    return [type(command) for command in commands if isinstance(command, kinds)]


def test_files_alone_go_back_and_the_agent_goes_on() -> None:
    play = Kept().settled()
    play.wants_back(files_only=True)
    play.frozen()
    assert of_rollback(play.back("c1", files_only=True, session_id="")) == [StopTimer, Thaw]


def test_an_agent_that_does_not_stand_still_goes_on_and_a_person_is_told() -> None:
    play = Kept().settled()
    play.wants_back()
    commands = play.fired("standstill")
    assert of_rollback(commands) == [StopTimer, Thaw]
    (failed,) = recorded(commands, events.RestoreFailed)
    assert failed.intervention == "r1"
    assert "did not stand still within 10 s" in failed.error
    assert [event.incident.type for event in recorded(commands, events.IncidentOpened)] == ["rollback_failed"]
    assert not play.frozen(), "that it stands still after all is no news to a rollback that is over"


def test_an_agent_that_ended_by_itself_needs_not_to_stand_still() -> None:
    play = Kept().settled()
    play.wants_back()
    assert of_rollback(play.ended()) == [StopTimer, RestoreCheckpoint]
    assert Launch in of_rollback(play.back("c1"))


def test_processes_that_do_not_end_are_told_and_the_rollback_waits() -> None:
    play = Kept().settled()
    play.wants_back()
    play.frozen()
    play.back("c1")
    told = recorded(play.fired("standstill"), events.IncidentOpened)
    assert [event.incident.type for event in told] == ["rollback_held_up"]
    assert Launch in of_rollback(play.ended())


def test_the_last_words_of_a_conversation_that_was_turned_away_from_change_nothing() -> None:
    play = Kept().settled()
    play.wants_back()
    play.frozen()
    play.back("c1", resume_session="s-1", resume_at="reply-1")
    assert play.call("ls") == []
    play.ended()
    assert play.session is not None
    assert not play.session.answers_due


def test_a_forced_stop_goes_through_while_the_files_are_being_restored() -> None:
    play = Kept().settled()
    play.wants_back()
    play.frozen()
    assert Freeze() in play.feed(events.StopRequested(**play.stamp(), by="ann", force=True))
    assert EndTree() in play.frozen()
    play.ended()
    assert play.session is not None
    assert play.session.state is AgentState.STOPPED
    assert play.back("c1") == [], "what came of the restore is in the journal, and nobody is launched for it"


def test_a_stop_before_it_stands_still_ends_the_rollback_without_a_file_changed() -> None:
    play = Kept().settled()
    play.wants_back()
    commands = play.feed(events.StopRequested(**play.stamp(), by="ann"))
    (failed,) = recorded(commands, events.RestoreFailed)
    assert "no file was changed" in failed.error
    assert RestoreCheckpoint not in of_rollback(play.frozen())


def test_a_stop_while_the_processes_end_launches_nothing() -> None:
    play = Kept().settled()
    play.wants_back()
    play.frozen()
    play.back("c1")
    play.feed(events.StopRequested(**play.stamp(), by="ann", force=True))
    assert Launch not in of_rollback(play.ended())
    assert play.session is not None
    assert play.session.state is AgentState.STOPPED


def test_a_new_daemon_makes_sure_that_the_agent_stands_still_before_it_restores() -> None:
    play = Kept().settled()
    play.wants_back()
    play.frozen()
    play.feed(events.AgentAdopted(**play.stamp(), outcome="reattached"))
    first = play.journal[0][1]
    assert isinstance(first, events.TaskSubmitted)
    session = play.make(first)
    for seq, event in play.journal:
        session.remember(seq, event)
    assert of_rollback(session.recover(*play.journal[-1])) == [Freeze, StartTimer]


def test_without_a_position_the_task_is_given_again_with_the_guidance() -> None:
    play = Kept().settled()
    play.wants_back(text="mind the gap")
    play.frozen()
    play.back("c1")
    play.ended()
    said = play.feed(events.AgentLaunched(**play.stamp(), shim_pid=3, cli_pid=4, containment="subreaper", number=2))
    (prompt,) = [command.line for command in said if isinstance(command, SendLine) and command.key == "prompt"]
    assert b"do it" in prompt
    assert b"mind the gap" in prompt


def test_the_end_of_the_processes_is_the_agents_end_only_where_the_rollback_fails() -> None:
    play = Kept().settled()
    play.wants_back()
    play.ended()
    assert play.session is not None
    assert not play.session.state.ended
    play.feed(events.RestoreFailed(**play.stamp(), intervention="r1", checkpoint="c1", error="no"))
    assert play.session.state is AgentState.FAILED


def test_a_failed_rollback_lets_the_agent_go_on() -> None:
    play = Kept().settled()
    play.wants_back()
    assert not answers(play.call("ls"))
    assert answers(play.feed(events.RestoreFailed(**play.stamp(), intervention="r1", checkpoint="c1", error="no")))


def test_a_second_rollback_is_refused_while_one_is_under_way() -> None:
    play = Kept().settled()
    play.wants_back()
    assert play.session is not None
    with pytest.raises(IllegalStepError):
        play.session.check(events.RollbackRequested(**play.stamp(), id="r2", checkpoint="c1", by="ann"))


def test_what_a_person_said_and_no_turn_took_up_is_said_again() -> None:
    play = Kept().settled()
    play.say("mind the gap")
    play.wants_back()
    play.ended()
    play.back("c1")
    said = play.feed(events.AgentLaunched(**play.stamp(), shim_pid=3, cli_pid=4, containment="subreaper", number=2))
    assert any(b"mind the gap" in command.line for command in said if isinstance(command, SendLine))


def test_files_alone_go_back_and_the_agent_is_told() -> None:
    play = Kept().settled()
    play.wants_back(files_only=True)
    commands = play.back("c1", files_only=True, session_id="")
    assert not [command for command in commands if isinstance(command, Launch)]
    assert any(b"The files were set back" in command.line for command in commands if isinstance(command, SendLine))


def its_last_turn_ends_as_it_goes_back(**how: Any) -> Kept:
    play = Kept(keep_open=False).settled()
    play.replied("reply-1")
    play.wants_back(**how)
    assert CloseInput() not in play.result(), "a turn that is perhaps undone was not the last one"
    return play


def test_a_turn_that_ends_before_it_stands_still_is_undone_as_any_other() -> None:
    play = its_last_turn_ends_as_it_goes_back()
    assert of_rollback(play.frozen()) == [StopTimer, RestoreCheckpoint]
    play.back("c1", resume_session="s-1", resume_at="reply-0")
    commands = play.ended()
    assert Launch in of_rollback(commands)
    assert CloseInput() not in commands


def test_an_agent_whose_last_turn_ended_meanwhile_still_hears_that_its_files_went_back() -> None:
    play = its_last_turn_ends_as_it_goes_back(files_only=True)
    play.frozen()
    commands = play.back("c1", files_only=True, session_id="")
    assert CloseInput() not in commands
    (told,) = [line["message"]["content"] for line in lines(commands) if line["type"] == "user"]
    play.taken(str(told))
    play.init()
    play.replied("reply-2")
    assert CloseInput() in play.result()


def test_an_agent_whose_last_turn_ended_meanwhile_finishes_where_the_rollback_fails() -> None:
    play = its_last_turn_ends_as_it_goes_back()
    failed = events.RestoreFailed(**play.stamp(), intervention="r1", checkpoint="c1", error="no")
    assert CloseInput() in play.feed(failed)


# ── where to ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def issue(began: int) -> Issue:
    return Issue("no_progress", Severity.HIGH, 1.0, 1.0, began, "It stands still.", (began,))


def test_the_newest_checkpoint_from_before_the_issue_is_chosen() -> None:
    play = Kept().settled()
    play.replied("reply-1")
    play.result()
    play.made()
    began = len(play.journal) + 1
    play.say("more")
    play.taken("more")
    play.init()
    play.replied("reply-2")
    play.result()
    play.made()
    assert play.session is not None
    found = play.session._memory.captures.before(issue(began), 3)
    assert isinstance(found, GoodMoment)
    assert (found.name, found.depth) == ("c2", 2)
    assert "no checkpoint is safe" in str(play.session._memory.captures.before(issue(1), 3))


def test_a_moment_says_whether_any_file_has_changed_since() -> None:
    play = Kept().settled()
    assert play.session is not None
    captures = play.session._memory.captures

    def unchanged() -> bool:
        found = captures.before(issue(10_000), 3)
        assert isinstance(found, GoodMoment)
        return found.unchanged

    assert unchanged()
    play.call("ls")
    assert unchanged()
    play.call("touch a")
    assert not unchanged()
    play.line(
        {
            "type": "user",
            "uuid": "x",
            "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "u-touch a"}]},
        }
    )
    assert not unchanged()


def test_a_rollback_that_was_needless_lets_the_agent_go_on_and_is_no_incident() -> None:
    play = its_last_turn_ends_as_it_goes_back()
    failed = events.RestoreFailed(
        **play.stamp(), intervention="r1", checkpoint="c1", error="no file has changed since c1", needless=True
    )
    commands = play.feed(failed)
    assert CloseInput() in commands
    assert not [command for command in commands if isinstance(command, ReportIncident)]


def test_what_was_turned_away_from_is_never_chosen() -> None:
    play = Kept().settled()
    play.replied("reply-1")
    play.result()
    play.made()
    play.wants_back("c1")
    play.ended()
    play.back("c1")
    assert play.session is not None
    found = play.session._memory.captures.before(issue(10_000), 3)
    assert isinstance(found, GoodMoment)
    assert found.name == "c1"


def test_a_checkpoint_serves_for_its_time_only() -> None:
    play = Kept().settled()
    play.now += 1_801
    play.say("still there?")
    assert play.session is not None
    assert play.session._memory.captures.before(issue(10_000), 3) == "no checkpoint was taken"


def test_a_run_that_fails_is_no_place_to_go_back_to() -> None:
    play = Kept()
    play.running()
    play.asked.clear()
    moment = RunMoment(1, "s-1", "x", success_rate=0.5, seconds_without_errors=120.0)
    about: dict[str, Any] = {"key": "start", "name": "c1", "reason": "start", "tree": "t"}
    play.feed(events.CheckpointMade(**play.stamp(), **about, moment=moment))
    assert play.session is not None
    assert "50% of actions" in str(play.session._memory.captures.before(issue(10_000), 3))


# ── after a crash ─────────────────────────────────────────────────────────────────────────────────────────────────────


def whole_run(play: Kept) -> None:
    play.running()
    play.call("ls")
    play.call("make")
    play.made()
    play.replied("reply-1", "make")
    play.returned("make", "result-1")
    play.made()
    play.call("rm -rf src")
    play.returned("rm -rf src", "result-2")
    play.made()
    play.replied("reply-2")
    play.result()
    play.made()
    play.say("more")
    play.taken("more")
    play.init()
    play.wants_back("c1")
    play.result()
    play.frozen()
    play.back("c1", resume_session="s-1", resume_at="result-1")
    play.ended()
    play.offset = 0
    play.feed(events.AgentLaunched(**play.stamp(), shim_pid=3, cli_pid=4, containment="subreaper", number=2))


def asked(commands: list[Command]) -> set[object]:
    """What is asked of the runtime, so that two runs can be compared: lines by key and text, and the rest by what it is about."""
    found: set[object] = set()
    for command in commands:
        match command:
            case SendLine():
                found.add((command.key, command.line))
            case Capture():
                found.add(("capture", command.key))
            case Launch():
                found.add(("launch", command.number, command.session_id, command.resume_at))
            case RestoreCheckpoint():
                found.add(("restore", command.intervention, command.checkpoint))
            case _:
                pass
    return found


DECISIONS = (
    events.ReviewMade,
    events.CheckpointAwaited,
    events.StateChanged,
    events.IssueSeen,
    events.InterventionChosen,
)


def test_a_daemon_killed_after_any_record_asks_for_the_same_checkpoints_and_the_same_rollback() -> None:
    play = Kept()
    expected: set[object] = set()
    feed: Callable[[events.AnyEvent], list[Command]] = play.feed

    def noting(event: events.AnyEvent) -> list[Command]:
        commands = feed(event)
        expected.update(asked(commands))
        return commands

    play.feed = noting  # type: ignore[method-assign]
    whole_run(play)
    inputs = [(seq, event) for seq, event in play.journal if not isinstance(event, DECISIONS)]
    first = play.journal[0][1]
    assert isinstance(first, events.TaskSubmitted)
    assert play.session is not None
    for cut in range(1, len(play.journal)):
        session = play.make(first)
        for seq, event in play.journal[:cut]:
            session.remember(seq, event)
        told = asked(session.recover(*play.journal[cut - 1]))
        for seq, event in inputs:
            if seq > cut:
                told |= asked(session.see(seq, event))
        before: set[object] = set()
        replay = play.make(first)
        for seq, event in inputs:
            if seq <= cut:
                before |= asked(replay.see(seq, event))
        assert told | before >= expected, f"cut behind record {cut}: {expected - told - before}"
        assert session.state is play.session.state, f"cut behind record {cut}"
