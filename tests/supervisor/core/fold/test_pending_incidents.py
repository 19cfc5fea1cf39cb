"""Causes of incidents wait until an incident was opened for each."""

from typing import Any

from interventions.decisions import Incident
from monitors.contract.actions import Action
from monitors.contract.words import Decision, Severity
from supervisor.core.fold.pending_incidents import PendingIncidents
from supervisor.protocol import events
from tests.play import verdict

STAMP: dict[str, Any] = {"agent": "a1", "at": 0.0, "mono": 0.0}
OPENED = events.IncidentOpened(**STAMP, incident=Incident("a1-1-x", 0.0, "a1", "x", Severity.LOW, "It was.", ""))


def test_each_waits_for_an_incident_of_its_own_oldest_first() -> None:
    untold, left = PendingIncidents(), events.TreeEnded(**STAMP, micros=1, left=2)
    rejected = events.FrameRejected(**STAMP, problem="no frame")
    untold.remember(left)
    untold.remember(rejected)
    told = []
    while untold:
        told.append(untold.first)
        untold.remember(OPENED)
    assert told == [left, rejected]


def test_a_tree_that_is_gone_whole_is_nothing_to_tell_of() -> None:
    untold = PendingIncidents()
    untold.remember(events.TreeEnded(**STAMP, micros=1, left=0))
    assert not untold


def test_lines_that_cannot_be_read_are_told_of_once_a_turn() -> None:
    untold, rejected = PendingIncidents(), events.FrameRejected(**STAMP, problem="no frame")
    untold.remember(rejected)
    untold.remember(rejected)
    untold.remember(OPENED)
    assert not untold
    untold.turn_began()
    untold.remember(rejected)
    assert untold


def test_actions_that_nobody_answered_are_told_of_once_a_turn() -> None:
    blocked = verdict(Decision.BLOCK)
    untold, late = (
        PendingIncidents(),
        events.ReviewMade(**STAMP, request_id="r1", action=Action("Write", {}), review=blocked),
    )
    untold.expired(late)
    untold.expired(late)
    untold.remember(OPENED)
    assert not untold
    untold.turn_began()
    untold.expired(late)
    assert untold
