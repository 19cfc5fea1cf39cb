"""Causes of incidents wait until an incident was opened for each."""

from typing import Any

from interventions.decisions import Incident
from monitors.contract.actions import Action
from monitors.contract.words import Decision, Severity
from supervisor.core.fold.pending_incidents import PendingIncidents
from supervisor.protocol import events
from tests.stages.session import verdict

STAMP: dict[str, Any] = {"agent": "a1", "at": 0.0, "mono": 0.0}
OPENED = events.IncidentOpened(**STAMP, incident=Incident("a1-1-x", 0.0, "a1", "x", Severity.LOW, "It was.", ""))


def test_each_waits_for_an_incident_of_its_own_oldest_first() -> None:
    pending, left = PendingIncidents(), events.TreeEnded(**STAMP, micros=1, left=2)
    rejected = events.FrameRejected(**STAMP, problem="no frame")
    pending.remember(left)
    pending.remember(rejected)
    told = []
    while pending:
        told.append(pending.first)
        pending.remember(OPENED)
    assert told == [left, rejected]


def test_a_tree_that_is_gone_whole_is_nothing_to_tell_of() -> None:
    pending = PendingIncidents()
    pending.remember(events.TreeEnded(**STAMP, micros=1, left=0))
    assert not pending


def test_lines_that_cannot_be_read_are_told_of_once_a_turn() -> None:
    pending, rejected = PendingIncidents(), events.FrameRejected(**STAMP, problem="no frame")
    pending.remember(rejected)
    pending.remember(rejected)
    pending.remember(OPENED)
    assert not pending
    pending.turn_began()
    pending.remember(rejected)
    assert pending


def test_actions_that_nobody_answered_are_told_of_once_a_turn() -> None:
    blocked = verdict(Decision.BLOCK)
    pending, late = (
        PendingIncidents(),
        events.ReviewMade(**STAMP, request_id="r1", action=Action("Write", {}), review=blocked),
    )
    pending.expired(late)
    pending.expired(late)
    pending.remember(OPENED)
    assert not pending
    pending.turn_began()
    pending.expired(late)
    assert pending
