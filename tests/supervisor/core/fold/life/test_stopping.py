"""Why an agent is stopped, and when the next step is due."""

from typing import Any

from supervisor.core.fold.life.stopping import AgentStop
from supervisor.core.timers import STOP_STEP
from supervisor.protocol import events
from supervisor.protocol.words import StopStep

STAMP: dict[str, Any] = {"agent": "a1", "at": 0.0, "mono": 0.0}


def on(step: StopStep) -> AgentStop:
    stopping = AgentStop()
    stopping.remember(events.RungReached(**STAMP, rung=step))
    return stopping


def test_a_request_and_a_cli_that_lingers_are_reasons_and_a_step_is_none() -> None:
    asked, lingers = AgentStop(), AgentStop()
    asked.remember(events.StopRequested(**STAMP, by="ann"))
    lingers.lingers = True
    assert (asked.due, lingers.due, on(StopStep.INTERRUPT).due) == (True, True, False)


def test_a_rung_is_over_by_its_timer_or_by_what_it_is_to_bring_about() -> None:
    by_timer, interrupted, frozen = on(StopStep.TERMINATE), on(StopStep.INTERRUPT), on(StopStep.FREEZE)
    by_timer.remember(events.TimerFired(**STAMP, name=STOP_STEP))
    interrupted.turn_ended()
    frozen.remember(events.TreeFrozen(**STAMP, micros=300))
    assert by_timer.step_over
    assert interrupted.step_over
    assert frozen.step_over


def test_another_turn_of_a_cli_whose_input_is_closed_ends_that_rung() -> None:
    closed, interrupted = on(StopStep.END_OF_INPUT), on(StopStep.INTERRUPT)
    closed.turn_began()
    interrupted.turn_began()
    assert (closed.step_over, interrupted.step_over) == (True, False)


def test_what_another_rung_brings_about_ends_none() -> None:
    terminated, asked_to_end = on(StopStep.TERMINATE), on(StopStep.END_OF_INPUT)
    terminated.turn_ended()
    asked_to_end.remember(events.TreeFrozen(**STAMP, micros=300))
    assert not terminated.step_over
    assert not asked_to_end.step_over
