"""Requests of people about one agent."""

from dataclasses import dataclass
from typing import Literal

from monitors.contract.learning import IssueOutcome
from monitors.contract.tasks import Task
from supervisor.protocol.claude.settings import RepositorySetting
from supervisor.protocol.kinds.stamp import Event
from supervisor.protocol.rollbacks import RollbackOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class SayRequested(Event):
    """A person says something to the agent."""

    id: str
    text: str
    by: str
    """The person: the peer of the socket, by user name."""
    kind: Literal["say_requested"] = "say_requested"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedirectRequested(Event):
    """A person gives the agent another task: the turn is interrupted and a new one starts."""

    id: str
    text: str
    """The message to the agent."""
    by: str
    task: Task | None = None
    """The task that it has from here on; None in older journals, where its task stayed the one before."""
    run_id: str = ""
    """The run by which it claimed that of the store; empty if it is of none."""
    kind: Literal["redirect_requested"] = "redirect_requested"


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseRequested(Event):
    """A person wants the agent held at its next tool call, or when its turn ends."""

    by: str
    reason: str = ""
    at_turn_end: bool = False
    """Whether the turn that runs may end first."""
    request_id: str = ""
    """Id of the request; one that comes twice is carried out once. Of an order to many agents it is the order's."""
    kind: Literal["pause_requested"] = "pause_requested"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeRequested(Event):
    """A person lets a paused agent go on."""

    by: str
    request_id: str = ""
    """As for a pause."""
    kind: Literal["resume_requested"] = "resume_requested"


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRequested(Event):
    """A person wants the agent ended, or chaperon itself does.

    Chaperon ends it for users who leave, and before the task passes its spending limit.
    """

    by: str
    reason: str = ""
    force: bool = False
    """Whether to end the tree at once instead of step by step."""
    limit: str = ""
    """The limit of the task for which chaperon itself ends it; empty for any other reason."""
    request_id: str = ""
    """As for a pause."""
    kind: Literal["stop_requested"] = "stop_requested"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeGiven(Event):
    """A person says what became of an issue, whether the agent still runs or has ended."""

    pattern: str
    """The issue's type."""
    outcome: IssueOutcome
    by: str
    note: str = ""
    instead_of: IssueOutcome | None = None
    """The earlier outcome for the same pattern of the same agent, which this one replaces."""
    kind: Literal["outcome_given"] = "outcome_given"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRequested(Event):
    """A person wants the present captured under a name."""

    id: str
    name: str
    by: str
    note: str = ""
    kind: Literal["checkpoint_requested"] = "checkpoint_requested"


@dataclass(frozen=True, slots=True, kw_only=True)
class _RollbackOfCheckpoint(Event):
    """Fields ahead of the options in the journal's line, whose bytes stay as they are."""

    id: str
    checkpoint: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRequested(RollbackOptions, _RollbackOfCheckpoint):
    """A person wants files, and unless said otherwise the conversation, back as a checkpoint has them."""

    together: str = ""
    """The rollback of its project that it is part of: the files of all its agents go back together."""
    kind: Literal["rollback_requested"] = "rollback_requested"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryTaken(Event):
    """A person had a way back from an incident carried out."""

    incident_id: str
    option: str
    """Its name in the incident's report. Example: `resume_with_limits`."""
    by: str
    """The person: the peer of the socket, by user name."""
    successor: str = ""
    """The agent that goes on; empty if none does."""
    kind: Literal["recovery_taken"] = "recovery_taken"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalGiven(Event):
    """A person answered an action that waited for approval."""

    request_id: str
    granted: bool
    by: str
    """The person: the peer of the socket, by user name."""
    note: str = ""
    """Text for the model beside the reply."""
    from_agent: str = ""
    """The agent in whose process tree the answer was given; such an answer is refused and never journalled."""
    kind: Literal["approval_given"] = "approval_given"


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowanceGiven(Event):
    """A person lets something pass that the reviewer would block, once or for a while."""

    id: str
    by: str
    """The person: the peer of the socket, by user name."""
    rule: str = ""
    """The rule that is excused; empty for any."""
    tool: str = ""
    """The tool; empty for any."""
    text: str = ""
    """The command, path or address, exactly; empty for any that the rule blocks."""
    uses: int | None = 1
    """How often; None for as often as wanted."""
    seconds: float | None = None
    """For how long; None for as long as the agent lives, within one boot of the machine."""
    boot_id: str = ""
    """The boot in which it was given, beyond which it is worth nothing; empty in older journals."""
    from_agent: str = ""
    """The agent in whose process tree it was given; such an allowance is refused and never journalled."""
    kind: Literal["allowance_given"] = "allowance_given"


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowanceRevoked(Event):
    """A person takes an allowance back."""

    id: str
    by: str
    kind: Literal["allowance_revoked"] = "allowance_revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDenied(Event):
    """A person does not open a host that the gateway refused: no person is asked again while the agent lives."""

    host: str
    """With its port."""
    by: str
    kind: Literal["host_denied"] = "host_denied"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustDecided(Event):
    """A person said whether what a repository's settings bring may count for the CLIs of agents there."""

    repository: str
    """The top of its main checkout."""
    digest: str
    """Of what was shown. Empty, with `granted` false: nothing of the repository's is trusted any more."""
    granted: bool
    by: str
    brings: tuple[RepositorySetting, ...] = ()
    kind: Literal["trust_decided"] = "trust_decided"
