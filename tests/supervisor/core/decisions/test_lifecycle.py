"""Which step and which stop step are due, for what is known."""

from typing import Any

import pytest

from supervisor.core.decisions import lifecycle
from supervisor.core.decisions.restart import RetrySettings
from supervisor.core.decisions.stop_sequence import StopSequence
from supervisor.core.fold.memory import Memory
from supervisor.core.states import Transition
from supervisor.protocol import events
from supervisor.protocol.words import AgentState, StopStep
from tests.stages.session import Play

STAMP: dict[str, Any] = {"agent": "a1", "at": 0.0, "mono": 0.0}


def known(state: AgentState, **facts: Any) -> Memory:
    session = Play().running().session
    assert session is not None
    memory = session._memory
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
    ("facts", "step"),
    [
        ({"asked": stop(), "step": None}, StopStep.INTERRUPT),
        ({"asked": stop(), "step": StopStep.INTERRUPT}, None),
        ({"asked": stop(), "step": StopStep.INTERRUPT, "step_over": True}, StopStep.END_OF_INPUT),
        ({"asked": stop(force=True), "step": None}, StopStep.FREEZE),
        ({"asked": stop(force=True), "step": StopStep.TERMINATE}, StopStep.FREEZE),
        ({"unfit": events.TimerFired(**STAMP, name="hello"), "step": StopStep.INTERRUPT}, StopStep.FREEZE),
        ({"asked": stop(force=True), "step": StopStep.FREEZE}, None),
        ({"asked": stop(force=True), "step": StopStep.FREEZE, "step_over": True}, StopStep.KILL),
        ({"asked": stop(force=True), "step": StopStep.KILL, "step_over": True}, None),
    ],
)
def test_the_stop_step_that_is_due(facts: dict[str, Any], step: StopStep | None) -> None:
    assert lifecycle.stop_step(known(AgentState.STOPPING, **facts), StopSequence()) is step


def test_where_a_stop_is_not_hard_only_a_person_ends_what_an_emergency_stop_froze() -> None:
    frozen: dict[str, Any] = {"emergency": object(), "step": StopStep.FREEZE, "step_over": True}
    gentle = StopSequence(hard_stop=False)
    assert lifecycle.stop_step(known(AgentState.STOPPING, **frozen), gentle) is None
    assert lifecycle.stop_step(known(AgentState.STOPPING, **frozen), StopSequence()) is StopStep.KILL
    assert lifecycle.stop_step(known(AgentState.STOPPING, **frozen, asked=stop()), gentle) is StopStep.KILL
    unfit = events.TimerFired(**STAMP, name="hello")
    assert lifecycle.stop_step(known(AgentState.STOPPING, **frozen, unfit=unfit), gentle) is StopStep.KILL


def test_no_stop_step_is_due_where_nothing_is_stopped() -> None:
    assert lifecycle.stop_step(known(AgentState.RUNNING, step=None), StopSequence()) is None


def test_a_person_who_is_needed_holds_the_agent() -> None:
    play = Play().running()
    assert play.session is not None
    need = events.PersonNeeded(**STAMP, need=None)  # type: ignore[arg-type]
    play.session._memory.requested = need
    assert lifecycle.step(play.session._memory, RetrySettings()) == (Transition.PAUSE, "paused by chaperon")
