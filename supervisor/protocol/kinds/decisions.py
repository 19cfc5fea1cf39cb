"""Decisions of the core, and what it noted."""

from dataclasses import dataclass
from typing import Any, Literal

from interventions.decisions import Incident, Intervention, Judgement, LimitsInForce, PersonNeed, Recovery
from monitors.contract.actions import Action, Review
from monitors.contract.issues import Issue
from monitors.contract.learning import Adjustment
from supervisor.protocol.kinds.stamp import Event
from supervisor.protocol.words import AgentState, DiscoveryScope, StopStep


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveryNoted(Event):
    """An agent noted a fact for others, by a line of a reply. What it says is hostile, like all that agents print."""

    scope: DiscoveryScope
    text: str
    """The fact: one line, bounded, with secrets hidden and what acts on a terminal spelled out."""
    kind: Literal["discovery_noted"] = "discovery_noted"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveryTold(Event):
    """A fact that another agent noted is told to this one, beside the answer to its next call that runs."""

    discovery: str
    """Its id."""
    by: str
    """The agent that noted it."""
    text: str
    """As it was noted."""
    kind: Literal["discovery_told"] = "discovery_told"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveryForgotten(Event):
    """A person took a discovery back; agents that start later are not told it."""

    discovery: str
    """Its id."""
    by: str
    kind: Literal["discovery_forgotten"] = "discovery_forgotten"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewMade(Event):
    """The gate decided about an action; the answer to the CLI follows from this and from nothing else."""

    request_id: str
    action: Action
    review: Review
    kind: Literal["review_made"] = "review_made"


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueSeen(Event):
    """A detector raised, worsened or closed an issue."""

    issue: Issue
    kind: Literal["issue_seen"] = "issue_seen"


@dataclass(frozen=True, slots=True, kw_only=True)
class InterventionChosen(Event):
    """The controller chose an answer to an issue."""

    intervention: Intervention
    kind: Literal["intervention_chosen"] = "intervention_chosen"


@dataclass(frozen=True, slots=True, kw_only=True)
class InterventionJudged(Event):
    """The outcome of an intervention is known. Exactly one follows each `InterventionChosen`."""

    judgement: Judgement
    kind: Literal["intervention_judged"] = "intervention_judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonNeeded(Event):
    """The controller handed an issue over to a person; an incident reports it."""

    need: PersonNeed
    kind: Literal["person_needed"] = "person_needed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryChosen(Event):
    """The CLI ended before the task was done, and is to be started again."""

    recovery: Recovery
    session_id: str
    """The session in which the agent goes on."""
    kind: Literal["recovery_chosen"] = "recovery_chosen"


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsEased(Event):
    """Usage has calmed down, so a throttling ends."""

    intervention: str
    """The throttling that ends."""
    limits: LimitsInForce
    kind: Literal["limits_eased"] = "limits_eased"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRestated(Event):
    """The CLI shortened the conversation, and the agent is told again what its task is and what was decided."""

    number: int
    """Number of the compaction, from 1."""
    text: str
    """The message."""
    kind: Literal["context_restated"] = "context_restated"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalAsked(Event):
    """An action waits at the gate for a person, who must answer by the deadline; after it the action is denied."""

    request_id: str
    action: Action
    review: Review
    """The reviewer's verdict."""
    why: str
    """The reason why a person is needed."""
    deadline_seconds: float
    kind: Literal["approval_asked"] = "approval_asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewDeferred(Event):
    """The review of an action takes longer than the gate may be held; it goes on in another process."""

    request_id: str
    action: Action
    kind: Literal["review_deferred"] = "review_deferred"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewArrived(Event):
    """The other process has reviewed an action, or failed to; what is decided by it follows."""

    request_id: str
    review: Review
    kind: Literal["review_arrived"] = "review_arrived"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointAwaited(Event):
    """An action waits at the gate until the workspace has been captured, so that it can be undone."""

    request_id: str
    action: Action
    review: Review
    """The decision; it is answered once the checkpoint is made."""
    kind: Literal["checkpoint_awaited"] = "checkpoint_awaited"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChanged(Event):
    """The agent took a step of the state table."""

    before: AgentState
    after: AgentState
    why: str
    kind: Literal["state_changed"] = "state_changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RungReached(Event):
    """A stop took one of its steps."""

    rung: StopStep
    kind: Literal["rung_reached"] = "rung_reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentOpened(Event):
    """Something is worth a person's eye; the incident log has it."""

    incident: Incident
    report: dict[str, Any] | None = None
    """Contents of the incident's file, if it has one."""
    kind: Literal["incident_opened"] = "incident_opened"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameRejected(Event):
    """The CLI printed a line that cannot be read as what it is; the line before this event has it whole.

    If it is a request, it is refused: what is not read is not reviewed.
    """

    problem: str
    kind: Literal["frame_rejected"] = "frame_rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternAdjusted(Event):
    """Learning changed what a pattern's thresholds are multiplied with, for tasks submitted from here on."""

    adjustment: Adjustment
    by: str = "chaperon"
    kind: Literal["pattern_adjusted"] = "pattern_adjusted"
