"""Which step and which rung are due, for what is known."""

from typing import Any

import pytest

from supervisor.core.decisions import lifecycle
from supervisor.core.decisions.restart import RetrySettings
from supervisor.core.decisions.stop_ladder import StopLadder
from supervisor.core.fold.memory import Memory
from supervisor.core.states import Transition
from supervisor.protocol import events
from supervisor.protocol.words import AgentState, Rung
from tests.play import Play

STAMP: dict[str, Any] = {"agent": "a1", "at": 0.0, "mono": 0.0}


def known(state: AgentState, **facts: Any) -> Memory:
    session = Play().running().session
    assert session is not None
    memory = session._known
    memory.state = state
    for name, value in facts.items():
        part = memory.processes if hasattr(memory.processes, name) else memory.stopping
        assert hasattr(part, name), name
        setattr(part, name, value)
    return memory


def exited(code: int | None = 0, signal: int | None = None) -> events.AgentExited:
    return events.AgentExited(**STAMP, code=code, signal=signal)


def stop(*, force: bool = False) -> events.StopRequested:
    return events.StopRequested(**STAMP, by="ann", force=force)


@pytest.mark.parametrize(
    ("state", "ending", "step"),
    [
        (AgentState.FINISHING, exited(0), Transition.SUCCEED),
        (AgentState.FINISHING, exited(1), Transition.FAIL),
        (AgentState.RUNNING, exited(0), Transition.FAIL),
        (AgentState.RUNNING, exited(None, 9), Transition.FAIL),
        (AgentState.STOPPING, exited(None, 9), Transition.END),
        (AgentState.STOPPING, events.LaunchFailed(**STAMP, error="no CLI"), Transition.END),
        (AgentState.STARTING, events.LaunchFailed(**STAMP, error="no CLI"), Transition.FAIL),
        (AgentState.RUNNING, events.AgentVanished(**STAMP, reason="its shim was killed"), Transition.VANISH),
        (AgentState.STOPPING, events.AgentVanished(**STAMP, reason="its shim was killed"), Transition.VANISH),
    ],
)
def test_what_the_end_of_the_processes_means(state: AgentState, ending: Any, step: Transition) -> None:
    due = lifecycle.step(known(state, ending=ending), RetrySettings())
    assert due is not None
    assert due[0] is step


def test_an_end_outweighs_a_stop_that_came_with_it() -> None:
    due = lifecycle.step(known(AgentState.RUNNING, ending=exited(1), asked=stop()), RetrySettings())
    assert due is not None
    assert due[0] is Transition.FAIL


@pytest.mark.parametrize(
    ("facts", "rung"),
    [
        ({"asked": stop(), "rung": None}, Rung.INTERRUPT),
        ({"asked": stop(), "rung": Rung.INTERRUPT}, None),
        ({"asked": stop(), "rung": Rung.INTERRUPT, "rung_over": True}, Rung.END_OF_INPUT),
        ({"asked": stop(force=True), "rung": None}, Rung.FREEZE),
        ({"asked": stop(force=True), "rung": Rung.TERMINATE}, Rung.FREEZE),
        ({"unfit": events.TimerFired(**STAMP, name="hello"), "rung": Rung.INTERRUPT}, Rung.FREEZE),
        ({"asked": stop(force=True), "rung": Rung.FREEZE}, None),
        ({"asked": stop(force=True), "rung": Rung.FREEZE, "rung_over": True}, Rung.KILL),
        ({"asked": stop(force=True), "rung": Rung.KILL, "rung_over": True}, None),
    ],
)
def test_the_rung_that_is_climbed(facts: dict[str, Any], rung: Rung | None) -> None:
    assert lifecycle.rung(known(AgentState.STOPPING, **facts), StopLadder()) is rung


def test_where_a_stop_is_not_hard_only_a_person_ends_what_an_emergency_stop_froze() -> None:
    frozen: dict[str, Any] = {"emergency": object(), "rung": Rung.FREEZE, "rung_over": True}
    gentle = StopLadder(hard_stop=False)
    assert lifecycle.rung(known(AgentState.STOPPING, **frozen), gentle) is None
    assert lifecycle.rung(known(AgentState.STOPPING, **frozen), StopLadder()) is Rung.KILL
    assert lifecycle.rung(known(AgentState.STOPPING, **frozen, asked=stop()), gentle) is Rung.KILL
    unfit = events.TimerFired(**STAMP, name="hello")
    assert lifecycle.rung(known(AgentState.STOPPING, **frozen, unfit=unfit), gentle) is Rung.KILL


def test_nothing_is_climbed_where_nothing_is_stopped() -> None:
    assert lifecycle.rung(known(AgentState.RUNNING, rung=None), StopLadder()) is None


def test_a_person_who_is_needed_holds_the_agent() -> None:
    play = Play().running()
    assert play.session is not None
    need = events.PersonNeeded(**STAMP, need=None)  # type: ignore[arg-type]
    play.session._known.wish = need
    assert lifecycle.step(play.session._known, RetrySettings()) == (Transition.PAUSE, "paused by chaperon")
