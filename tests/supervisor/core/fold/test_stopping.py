"""Why an agent is stopped, and when the next rung is due."""

from typing import Any

from supervisor.core.fold.stopping import AgentStop
from supervisor.core.timers import LADDER
from supervisor.protocol import events
from supervisor.protocol.words import Rung

STAMP: dict[str, Any] = {"agent": "a1", "at": 0.0, "mono": 0.0}


def on(rung: Rung) -> AgentStop:
    stopping = AgentStop()
    stopping.remember(events.RungReached(**STAMP, rung=rung))
    return stopping


def test_a_wish_and_a_cli_that_lingers_are_reasons_and_a_rung_is_none() -> None:
    asked, lingers = AgentStop(), AgentStop()
    asked.remember(events.StopRequested(**STAMP, by="ann"))
    lingers.lingers = True
    assert (asked.due, lingers.due, on(Rung.INTERRUPT).due) == (True, True, False)


def test_a_rung_is_over_by_its_timer_or_by_what_it_is_to_bring_about() -> None:
    by_timer, interrupted, frozen = on(Rung.TERMINATE), on(Rung.INTERRUPT), on(Rung.FREEZE)
    by_timer.remember(events.TimerFired(**STAMP, name=LADDER))
    interrupted.turn_ended()
    frozen.remember(events.TreeFrozen(**STAMP, micros=300))
    assert by_timer.rung_over
    assert interrupted.rung_over
    assert frozen.rung_over


def test_another_turn_of_a_cli_whose_input_is_closed_ends_that_rung() -> None:
    closed, interrupted = on(Rung.END_OF_INPUT), on(Rung.INTERRUPT)
    closed.turn_began()
    interrupted.turn_began()
    assert (closed.rung_over, interrupted.rung_over) == (True, False)


def test_what_another_rung_brings_about_ends_none() -> None:
    terminated, asked_to_end = on(Rung.TERMINATE), on(Rung.END_OF_INPUT)
    terminated.turn_ended()
    asked_to_end.remember(events.TreeFrozen(**STAMP, micros=300))
    assert not terminated.rung_over
    assert not asked_to_end.rung_over
