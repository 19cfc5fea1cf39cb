"""Decisions about an issue: the intervention, its judgement, and the incident that reports it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from interventions.words import InterventionKind
from monitors.contract.issues import Issue
from monitors.contract.tasks import Limits
from monitors.contract.words import Severity


@dataclass(frozen=True, slots=True)
class Intervention:
    """One choice of the controller, with why."""

    id: str
    """Unique in a run. Example: `i-17`, after the event that led to it."""
    kind: InterventionKind
    issue: Issue
    score: float
    """Combined score that chose the kind: severity and escalation."""
    reason: str
    """Why this kind, in a clause for a person; `explain` has the sum. Example: `the mildest answer comes first`."""
    message: str = ""
    """The message to the agent, word for word; empty for none."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Data that the kind needs. Examples: new limits, the checkpoint's name."""
    explain: Mapping[str, Any] = field(default_factory=dict)
    """The parts of the choice, for `chaperon show`: the score's terms, the ladder, and the reason against each other
    kind."""


@dataclass(frozen=True, slots=True)
class LimitsInForce:
    """Limits of an agent after a throttling or its end."""

    limits: Limits
    cpu_share: float = 1.0
    """Part of one machine's processor time that its tree may take, over 0 to 1; 1 means no limit."""
    calls_per_minute: int | None = None
    """Tool calls that the gate lets through in a minute; None means no limit."""
    batch_size: int | None = None
    """Number of things that the agent is advised to handle at a time; not enforced."""
    effort: str | None = None
    """The CLI's effort level to go down to; None leaves it."""
    model: str | None = None
    """The model to go down to; None leaves the task's."""


class Fate(StrEnum):
    """The course of an issue after an intervention."""

    ENDED = "ended"
    """It closed, or the run ended well, and it did not come back within the window."""
    CAME_BACK = "came_back"
    """It was raised again within the window."""
    CHANGED = "changed"
    """An issue of another type was raised in its place."""
    UNKNOWN = "unknown"
    """The window ended with too little seen, or the run did."""


class InterventionOutcome(StrEnum):
    """Whether an intervention helped."""

    SUCCESS = "success"
    FAILURE = "failure"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The outcome of one intervention. Each intervention gets exactly one, at the latest when its agent has ended."""

    intervention: str
    """The intervention's id."""
    kind: InterventionKind
    issue_type: str
    fate: Fate
    outcome: InterventionOutcome
    steps: int
    """Tool results in its window."""
    seconds: float
    """Length of its window."""
    disruption: float
    """0 to 1: by how much the share of tool calls that succeed was lower after it than before; 0 if it was not."""
    sentence: str
    """The same for a person."""


class EndCause(StrEnum):
    """The cause of an early end of an agent's CLI that a restart mends."""

    USAGE_LIMIT = "usage_limit"
    """The account's usage limit was reached; the CLI says until when."""
    SERVICE_FAILED = "service_failed"
    """The service was overloaded, or did not answer in time."""
    CRASHED = "agent_crashed"
    """The CLI died, or was killed together with its shim."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """How an agent goes on whose CLI ended before its task was done."""

    cause: EndCause
    fresh: bool
    """Whether it goes on in a new session; otherwise in the same."""
    why: str
    """The event and the response, for a person; a whole sentence."""
    wait_seconds: float
    """How long it waits before its CLI is started again."""
    prompt: str
    """The first message to the CLI."""


class PersonReason(StrEnum):
    """Why the controller hands over to a person."""

    EXHAUSTED = "interventions_exhausted"
    """The most interventions of a run were used."""
    NOTHING_LEFT = "nothing_left_to_try"
    """Every kind that answers the issue was tried in vain."""
    NOTHING_ALLOWED = "no_intervention_allowed"
    """The configuration forbids every kind that answers the issue."""
    ROLLBACK_PROPOSED = "rollback_proposed"
    """A rollback is due and the configuration has a person decide it."""
    BLOCKED = "agent_waits_for_a_person"
    """The agent waits for something that only a person has."""


@dataclass(frozen=True, slots=True)
class PersonNeed:
    """The controller asks for a person. Said once for each reason and issue of a run."""

    reason: PersonReason
    issue: Issue
    sentence: str
    """The problem, for a person."""
    way_out: str
    """The remedy for the person, as a command."""
    hold: bool
    """Whether the agent waits at its next tool call until the person resumes it."""
    checkpoint: str = ""
    """The checkpoint to go back to, if a rollback is proposed and there is one."""


@dataclass(frozen=True, slots=True)
class Incident:
    """An intervention or a fault worth a person's eye: one line in the incident log."""

    id: str
    """Example: `20261121T081500Z-a3-i-17`: sorts by time, names the agent."""
    at: float
    """Unix time, in seconds."""
    agent: str
    """The agent, or empty if the fault is the daemon's."""
    type: str
    """The intervention's kind, or the fault's name. Examples: `emergency_stop`, `disk_full`, `torn_journal`."""
    severity: Severity
    summary: str
    """One sentence: what happened and what was done."""
    way_out: str = ""
    """The remedy for a person, as a command if there is one."""
    issue: str = ""
    """The issue's type, where one led here."""
    seq: int = 0
    """The journal's sequence number of the event behind it."""
    report: str = ""
    """Path of the full report relative to the state directory; empty if there is none."""
