"""An agent whose CLI ends too early goes on, as often as is allowed and not where that would mend nothing."""

from typing import Any

import pytest

from interventions.choice.controller import Controller
from interventions.contract import NothingSurveyed, Surveyed
from interventions.decisions import EndCause
from interventions.recovery.after_end import AgentEnd, Follow, RecoveryPlan
from interventions.recovery.backoff import Backoff
from interventions.settings import InterventionSettings
from monitors.contract.errors import IllegalStepError
from supervisor.core.decisions.decide import AgentSurroundings, SessionSettings
from supervisor.core.decisions.restart import RetrySettings
from supervisor.core.session import Session
from supervisor.protocol import events
from supervisor.protocol.commands import CloseInput, Command, Launch, StartTimer
from supervisor.protocol.words import AgentState
from tests.stages.session import Play, Rules, lines, recorded


class Again(Play):
    """A session with retries of one's choice."""

    def __init__(
        self, retries: int = 3, plugins: tuple[Any, ...] = (), facts: Surveyed | None = None, **more: Any
    ) -> None:
        super().__init__(**more)
        self.settings = SessionSettings(retries=RetrySettings(retries, Backoff(retries=2)))
        self.around = AgentSurroundings(
            facts=facts or NothingSurveyed(), recoveries=plugins, session_id=lambda: "s-new"
        )

    def make(self, submitted: events.TaskSubmitted) -> Session:
        controller = Controller(InterventionSettings(), self.task)
        return Session(submitted, Rules({}), [], controller, self.settings, self.around)

    @property
    def state(self) -> AgentState:
        assert self.session is not None
        return self.session.state

    def launched_again(self, number: int) -> list[Command]:
        about = events.AgentLaunched(**self.stamp(), shim_pid=1, cli_pid=2, containment="subreaper", number=number)
        return self.feed(about)

    def again(self, number: int) -> None:
        """The next launch takes up what it is told."""
        for line in lines(self.launched_again(number)):
            if line["type"] == "user":
                self.taken(line["message"]["content"])
        self.init()

    def failed(self, words: str) -> list[Command]:
        """A turn that ends in an error, and the CLI with it."""
        self.result(is_error=True, result=words)
        return self.exited(1)

    def init(self) -> list[Command]:
        frame = {"type": "system", "subtype": "init", "session_id": "s-1", "cwd": "/repo"}
        return self.line({**frame, "claude_code_version": "2.1.329"})


def launch(commands: list[Command]) -> Launch:
    (found,) = [command for command in commands if isinstance(command, Launch)]
    return found


def wait(commands: list[Command]) -> float:
    (found,) = [command for command in commands if isinstance(command, StartTimer) and command.name == "retry"]
    return found.after_seconds


def test_a_crash_resumes_the_same_session_with_what_is_known() -> None:
    play = Again().running()
    play.call("make")
    commands = play.exited(None, 9)
    (chosen,) = recorded(commands, events.RecoveryChosen)
    assert (chosen.recovery.cause, chosen.session_id) == (EndCause.CRASHED, "s-1")
    again = launch(commands)
    assert (again.number, again.resume_session, again.resume_at) == (2, "s-1", "")
    assert play.state is AgentState.STARTING
    said = next(line["message"]["content"] for line in lines(play.launched_again(2)) if line["type"] == "user")
    assert "ended early (signal 9)" in said
    assert "Bash make" in said
    assert "- Ended during turn: 1" in said


def test_what_was_not_committed_and_how_the_tests_stood_is_said_to_one_that_crashed() -> None:
    class Workspace(NothingSurveyed):
        def changed_files(self) -> tuple[str, ...]:
            return ("a.py", "new/")

        def last_commit(self) -> str:
            return "abc1234 feat: add auth"

    play = Again(facts=Workspace()).running()
    play.call("pytest")
    result = {"type": "tool_result", "tool_use_id": "u-pytest", "content": "2 failed, 4 passed in 0.31s"}
    play.line({"type": "user", "message": {"role": "user", "content": [{**result, "is_error": True}]}})
    (chosen,) = recorded(play.exited(None, 9), events.RecoveryChosen)
    told = chosen.recovery.prompt
    for part in ("changes: a.py, new/.", "Tests: 4 pass, 2 fail (pytest)", "Last commit: abc1234 feat: add auth"):
        assert part in told


@pytest.mark.parametrize(("opening", "goes_on"), [("Both sides changed x.", True), ("", False)])
def test_a_session_of_another_agent_that_the_cli_refuses_is_begun_anew_and_a_persons_choice_is_theirs(
    opening: str, goes_on: bool
) -> None:
    play = Again(prompt="Mend the parser", resume_session="00000000-0000-0000-0000-000000000009")
    session = play.task.resume_session
    about: dict[str, Any] = {"task": play.task, "workspace": "/repo", "session_id": session, "opening": opening}
    play.feed(events.TaskSubmitted(**play.stamp(), **about))
    play.launched()
    commands = play.feed(
        events.AgentExited(
            **play.stamp(), code=1, signal=None, stderr_tail=f"No conversation found with session ID: {session}\n"
        )
    )
    assert bool(recorded(commands, events.RecoveryChosen)) is goes_on
    if not goes_on:
        return
    again = launch(commands)
    assert (again.number, again.session_id, again.resume_session) == (2, "s-new", "")
    (chosen,) = recorded(commands, events.RecoveryChosen)
    assert f"refused to resume its session (No conversation found with session ID: {session})" in chosen.recovery.why
    assert "What was asked: Mend the parser\n\nBoth sides changed x." in chosen.recovery.prompt


def test_one_that_went_on_with_anothers_work_is_told_it_again_in_a_new_session() -> None:
    play = Again(prompt="Mend the parser")
    play.feed(
        events.TaskSubmitted(
            **play.stamp(), task=play.task, workspace="/repo", session_id="s-1", opening="Both sides changed x."
        )
    )
    play.launched()
    play.init()
    play.exited(None, 9)
    play.again(2)
    (chosen,) = recorded(play.exited(None, 11), events.RecoveryChosen)
    assert chosen.recovery.fresh
    assert "What was asked: Mend the parser\n\nBoth sides changed x." in chosen.recovery.prompt


def test_a_second_crash_begins_a_new_session_and_after_the_last_retry_a_person_is_told() -> None:
    play = Again(retries=2).running()
    play.exited(None, 9)
    play.again(2)
    again = launch(play.exited(None, 11))
    assert (again.number, again.session_id, again.resume_session) == (3, "s-new", "")
    play.again(3)
    commands = play.exited(None, 9)
    assert play.state is AgentState.FAILED
    assert not recorded(commands, events.RecoveryChosen)
    (opened,) = recorded(commands, events.IncidentOpened)
    assert "It was started again 2 times" in opened.incident.summary


@pytest.mark.parametrize("signal", [9, 15, None])
def test_one_that_is_killed_again_and_again_or_loses_its_shim_goes_on_in_its_session(signal: int | None) -> None:
    """A new session would do its steps twice."""
    play = Again(retries=2).running()
    for number in (2, 3):
        if signal is None:
            commands = play.feed(events.AgentVanished(**play.stamp(), reason="its shim was killed"))
        else:
            commands = play.exited(None, signal)
        again = launch(commands)
        assert (again.number, again.resume_session) == (number, "s-1")
        play.again(number)


def begins_with(commands: list[Command]) -> str:
    """What a launch begins with."""
    (told,) = [line["message"]["content"] for line in lines(commands) if line["type"] == "user"]
    return str(told)


def test_after_a_killed_shim_the_agent_is_told_which_of_its_last_steps_may_have_run() -> None:
    play = Again().running()
    play.call("make build")
    play.line({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "u-make build"}]}})
    play.call("git push origin main")
    play.feed(events.AgentVanished(**play.stamp(), reason="its shim was killed"))
    told = begins_with(play.launched_again(2))
    assert "its last steps may have run although this conversation does not show them" in told
    assert "never answered, so that they may have run: Bash git push origin main" in told
    assert told.count("make build") == 1, "it came back: it is among the last actions alone"
    play.taken(told)
    play.init()
    play.exited(None, 9)
    told = begins_with(play.launched_again(3))
    assert "may have run" not in told, "the launch that asked for that push is over, and this one lost nothing"


def test_a_usage_limit_is_waited_out_and_a_restart_waits_only_for_what_is_left() -> None:
    play = Again().running()
    reset = 1_700_000_000 + play.now + 900
    commands = play.failed(f"Claude AI usage limit reached|{reset:.0f}")
    assert play.state is AgentState.WAITING
    assert wait(commands) == pytest.approx(960)
    play.now += 600
    made = play.make(play.journal[0][1])  # type: ignore[arg-type]
    for seq, event in play.journal:
        made.remember(seq, event)
    adopted = events.AgentAdopted(**play.stamp(), outcome="launched")
    assert wait(made.recover(len(play.journal) + 1, adopted, "launched")) == pytest.approx(360)
    again = launch(play.fired("retry"))
    assert again.resume_session == "s-1"


def test_an_overloaded_service_is_asked_again_a_bounded_number_of_times() -> None:
    play = Again().running()
    waits = []
    for number in (2, 3):
        waits.append(wait(play.failed("API Error: 529 Overloaded")))
        play.fired("retry")
        play.again(number)
    assert waits[0] < waits[1]
    play.failed("API Error: 529 Overloaded")
    assert play.state is AgentState.FAILED


def test_a_turn_that_succeeds_between_makes_the_service_count_as_there_again() -> None:
    play = Again().running()
    for number in range(2, 6):
        play.failed("API Error: 529 Overloaded")
        assert play.state is AgentState.WAITING
        play.fired("retry")
        play.again(number)
        play.say("and this")
        play.result()
        play.taken("and this")
        play.init()


def test_what_a_turn_ended_in_that_no_wait_mends_stays_an_end() -> None:
    play = Again().running()
    play.failed("API Error: 400 the request is malformed")
    assert play.state is AgentState.FAILED


def test_one_that_is_kept_open_is_ended_at_a_usage_limit_and_goes_on_in_its_session_after_it() -> None:
    play = Again(keep_open=True).running()
    ended = play.result(is_error=True, result="Claude AI usage limit reached")
    assert any(isinstance(command, CloseInput) for command in ended)
    assert play.session is not None
    assert "usage limit reached" in play.session.summary.why
    play.exited(1)
    assert play.session.state is AgentState.WAITING
    assert launch(play.fired("retry")).resume_session == "s-1"
    play.again(2)
    play.result()
    assert play.state is AgentState.IDLE


@pytest.mark.parametrize("why", ["not allowed", "tried enough", "not mended by waiting"])
def test_one_that_is_kept_open_and_not_started_again_stays_and_says_what_its_turn_ended_in(why: str) -> None:
    words = "API Error: 400 malformed" if why == "not mended by waiting" else "API Error: 529 Overloaded"
    play = Again(retries=0 if why == "not allowed" else 3, keep_open=True).running()
    for number in (2, 3) if why == "tried enough" else ():
        play.failed(words)
        play.fired("retry")
        play.again(number)
    play.result(is_error=True, result=words)
    assert play.session is not None
    assert play.state is AgentState.IDLE
    assert words in play.session.summary.why


@pytest.mark.parametrize("before", ["never began", "stopped", "paused", "idle", "not allowed", "ours"])
def test_nothing_begins_again_by_itself_that_a_person_ended_held_or_never_saw_begin(before: str) -> None:
    play = Again(retries=0 if before == "not allowed" else 3, keep_open=before == "idle")
    if before == "never began":
        play.submit()
        play.launched()
    else:
        play.running()
    match before:
        case "stopped":
            play.feed(events.StopRequested(**play.stamp(), by="ann"))
        case "paused":
            play.feed(events.PauseRequested(**play.stamp(), by="ann"))
        case "idle":
            play.result()
    if before == "ours":
        commands = play.feed(events.AgentVanished(**play.stamp(), reason="chaperon failed", ours=True))
    else:
        commands = play.exited(None, 9)
    assert not recorded(commands, events.RecoveryChosen)
    assert play.state.ended


def test_an_agent_whose_shim_was_killed_goes_on_in_its_session() -> None:
    play = Again().running()
    commands = play.feed(events.AgentVanished(**play.stamp(), reason="its shim was killed"))
    assert launch(commands).resume_session == "s-1"


def test_one_that_waits_can_be_stopped_or_told_to_go_on_at_once_and_hears_nothing() -> None:
    play = Again().running()
    play.failed("Claude AI usage limit reached")
    assert play.session is not None
    with pytest.raises(IllegalStepError):
        play.session.check(events.SayRequested(**play.stamp(), id="1", text="hello", by="ann"))
    assert launch(play.feed(events.ResumeRequested(**play.stamp(), by="ann"))).number == 2
    other = Again().running()
    other.failed("Claude AI usage limit reached")
    other.feed(events.StopRequested(**other.stamp(), by="ann"))
    assert other.state is AgentState.STOPPED


def test_what_a_person_said_and_no_turn_took_is_said_again() -> None:
    play = Again().running()
    play.say("mind the gap")
    play.exited(None, 9)
    told = [line["message"]["content"] for line in lines(play.launched_again(2)) if line["type"] == "user"]
    assert "mind the gap" in told


class Tunnel:
    name = "tunnel"

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def after_end(self, ended: AgentEnd) -> RecoveryPlan | None:
        del ended
        if isinstance(self._answer, Exception):
            raise self._answer
        answer: RecoveryPlan | None = self._answer
        return answer


def test_a_plugin_is_asked_first_and_may_leave_it_to_the_built_in_plan() -> None:
    own = RecoveryPlan(Follow.RESUME, "The tunnel is long.", wait_seconds=300, prompt="Go on.")
    play = Again(plugins=(Tunnel(None), Tunnel(own))).running()
    assert wait(play.exited(None, 9)) == 300
    assert play.state is AgentState.WAITING


@pytest.mark.parametrize(
    "answer",
    [
        ZeroDivisionError("oh"),
        "yes",
        RecoveryPlan(Follow.RESUME, "w", wait_seconds=-1, prompt="p"),
        RecoveryPlan(Follow.RESUME, "w", wait_seconds=float("nan"), prompt="p"),
        RecoveryPlan(Follow.RESUME, "w"),
    ],
)
def test_a_plugin_that_fails_is_named_and_the_built_in_plan_holds(answer: Any) -> None:
    play = Again(plugins=(Tunnel(answer),)).running()
    commands = play.exited(None, 9)
    assert launch(commands).number == 2
    (opened,) = recorded(commands, events.IncidentOpened)
    assert "recovery plugin tunnel failed" in opened.incident.summary


def test_a_plugin_cannot_start_an_agent_again_more_often_than_is_allowed() -> None:
    own = RecoveryPlan(Follow.RESUME, "Again.", prompt="Go on.")
    play = Again(retries=1, plugins=(Tunnel(own),)).running()
    play.exited(None, 9)
    play.again(2)
    play.exited(None, 9)
    assert play.state is AgentState.FAILED
