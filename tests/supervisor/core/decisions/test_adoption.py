"""Each cell of the table: what a new daemon does for an agent in that state of which that was found."""

from collections.abc import Callable
from typing import get_args

import pytest

from supervisor.core.decisions.adoption import FIRST, TABLE, Found, draw
from supervisor.core.session import Session
from supervisor.protocol import events
from supervisor.protocol.commands import (
    CloseInput,
    Command,
    Freeze,
    Launch,
    ReportIncident,
    RestoreCheckpoint,
    SendLine,
    StartTimer,
    StopTimer,
    Terminate,
    Thaw,
    WriteEvent,
)
from supervisor.protocol.words import AgentState
from tests.stages.session import Play

Run = Callable[[Play], object]


def submitted(play: Play) -> None:
    play.submit()


def starting(play: Play) -> None:
    play.submit()
    play.launched()


def running(play: Play) -> None:
    play.running()


def owed_a_turn(play: Play) -> None:
    play.running()
    play.say("one more thing")
    play.result()


def ended_turn(play: Play) -> None:
    """Where the agent is kept open it is idle now, else finishing."""
    play.running()
    play.result()


def paused(play: Play) -> None:
    play.running()
    play.feed(events.PauseRequested(**play.stamp(), by="ann"))


def frozen(play: Play) -> None:
    play.running()
    play.feed(events.StopRequested(**play.stamp(), by="ann", force=True))


def stopped_unborn(play: Play) -> None:
    play.submit()
    play.feed(events.StopRequested(**play.stamp(), by="ann"))


def going_back(play: Play) -> None:
    play.running()
    play.feed(events.RollbackRequested(**play.stamp(), id="r1", checkpoint="c1", by="ann"))
    play.frozen()


def dead_going_back(play: Play) -> None:
    going_back(play)
    play.exited(None, 9)


def killed(play: Play) -> None:
    frozen(play)
    play.exited(None, 9)


def waiting(play: Play) -> None:
    play.submit()
    play.launched()
    play.taken(play.task.prompt)
    version = {"claude_code_version": "2.1.329", "session_id": "s-1", "cwd": "/repo"}
    play.line({"type": "system", "subtype": "init", **version})
    play.result(is_error=True, result="Claude AI usage limit reached")
    play.exited(1)


def failed(play: Play) -> None:
    play.running()
    play.exited(3)


CELLS: list[tuple[Run, AgentState, Found, list[type[Command]]]] = [
    (starting, AgentState.STARTING, "reattached", [StartTimer, StopTimer, Thaw]),
    (submitted, AgentState.STARTING, "launched", [Launch]),
    (running, AgentState.RUNNING, "reattached", [StopTimer, Thaw]),
    (owed_a_turn, AgentState.RUNNING, "reattached", [StartTimer, StopTimer, Thaw]),
    (going_back, AgentState.RUNNING, "reattached", [Freeze, StartTimer]),
    (dead_going_back, AgentState.RUNNING, "terminal", [StopTimer, RestoreCheckpoint]),
    (paused, AgentState.PAUSED, "reattached", [StopTimer, Thaw]),
    (ended_turn, AgentState.FINISHING, "reattached", [CloseInput, StartTimer, StopTimer, Thaw]),
    (frozen, AgentState.STOPPING, "reattached", [Freeze, StartTimer]),
    (waiting, AgentState.WAITING, "launched", [StartTimer]),
]


def asked(commands: list[Command]) -> list[type[Command]]:
    """What is asked of the runtime beside lines and records."""
    return [type(command) for command in commands if not isinstance(command, WriteEvent | SendLine | ReportIncident)]


def taken_over(play: Play, run: Run, found: Found, cut: int | None = None) -> tuple[Session, list[Command]]:
    """The session that a new daemon rebuilds from the journal, or from the beginning of it, and what it asks for first."""
    run(play)
    kept = play.journal[:cut]
    first = kept[0][1]
    assert isinstance(first, events.TaskSubmitted)
    session = play.make(first)
    adopted = events.AgentAdopted(**play.stamp(), outcome=found)
    for seq, event in [*kept, (len(kept) + 1, adopted)]:
        session.remember(seq, event)
    return session, session.recover(len(kept) + 1, adopted, found)


@pytest.mark.parametrize(("run", "state", "found", "due"), CELLS)
def test_a_cell(run: Run, state: AgentState, found: Found, due: list[type[Command]]) -> None:
    session, commands = taken_over(Play(), run, found)
    assert session.state is state
    assert asked(commands) == due


@pytest.mark.parametrize("found", ["exited", "lost"])
@pytest.mark.parametrize("run", [starting, running, paused, ended_turn, frozen, stopped_unborn, failed])
def test_what_follows_from_an_end_that_was_read_is_not_done_twice(run: Run, found: Found) -> None:
    _, commands = taken_over(Play(), run, found)
    assert asked(commands) == []


@pytest.mark.parametrize("run", [failed, killed])
def test_an_ended_agent_needs_nothing(run: Run) -> None:
    session, commands = taken_over(Play(), run, "terminal")
    assert session.state.ended
    assert asked(commands) == []


def test_an_agent_that_is_kept_open_goes_on_waiting() -> None:
    session, commands = taken_over(Play(keep_open=True), ended_turn, "reattached")
    assert session.state is AgentState.IDLE
    assert asked(commands) == [StopTimer, Thaw]


def test_lines_that_may_be_lost_are_sent_again() -> None:
    _, commands = taken_over(Play(), starting, "reattached")
    assert [command.key for command in commands if isinstance(command, SendLine)] == ["init", "prompt"]


def test_an_agent_that_was_stopped_before_it_was_started_has_ended() -> None:
    session, commands = taken_over(Play(), stopped_unborn, "launched")
    assert session.state is AgentState.STOPPED
    assert Launch not in asked(commands)


def test_a_stop_of_which_only_the_request_was_written_starts_nothing() -> None:
    session, commands = taken_over(Play(), stopped_unborn, "launched", cut=2)
    assert session.state is AgentState.STOPPED
    assert Launch not in asked(commands)


def test_an_end_that_led_to_no_state_yet_leads_to_it_now() -> None:
    play = Play()
    running(play)
    cut = len(play.journal) + 1
    play.exited(3)
    session, commands = taken_over(play, lambda _: None, "terminal", cut)
    assert session.state is AgentState.FAILED
    assert any(isinstance(command, ReportIncident) for command in commands)


def test_a_stop_on_its_way_down_its_steps_takes_the_same_step_again() -> None:
    def at_terminate(play: Play) -> None:
        play.running()
        play.feed(events.StopRequested(**play.stamp(), by="ann"))
        play.fired("ladder")
        play.fired("ladder")

    _, commands = taken_over(Play(), at_terminate, "reattached")
    assert asked(commands) == [Terminate, StartTimer]


def test_every_state_says_what_is_done_for_everything_that_can_be_found() -> None:
    assert set(TABLE) == set(AgentState)
    assert set(FIRST) == set(get_args(Found)) - {"silent"}
    missing = {(state, found) for state, cells in TABLE.items() for found in FIRST if found not in cells}
    begun = (AgentState.RUNNING, AgentState.IDLE, AgentState.PAUSED, AgentState.FINISHING)
    ended = [state for state in AgentState if state.ended or state is AgentState.WAITING]
    assert missing == {(state, "launched") for state in begun} | {(state, "reattached") for state in ended}


def test_the_table_is_drawn_with_a_row_for_each_state() -> None:
    drawn = draw().splitlines()
    assert len(drawn) == 3 + len(AgentState)
    assert "it is launched" in drawn[3]
