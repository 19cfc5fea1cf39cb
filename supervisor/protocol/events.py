"""Facts, as the journal keeps them.

An input is something that happened to chaperon: a line, an exit, a person's request, a timer. A decision is the core's
response. State is a fold over both in the order of the journal, so a decision stays made, even if a newer version would
decide otherwise.

Each kind is one frozen dataclass; `kind` is its name in the journal and never changes its meaning.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from interventions.aftermath import Aftermath
from interventions.decisions import Incident, Intervention, Judgement, LimitsInForce, PersonNeed, Recovery
from monitors.contract.actions import Action, Review
from monitors.contract.issues import Issue
from monitors.contract.learning import Adjustment, IssueOutcome
from monitors.contract.tasks import Task
from supervisor.protocol.identity import Identity
from supervisor.protocol.merges import CheckMade, MergeChanged
from supervisor.protocol.moments import RunMoment
from supervisor.protocol.order_events import AgentRemoved as AgentRemoved
from supervisor.protocol.order_events import DrainChanged as DrainChanged
from supervisor.protocol.order_events import OrderCarriedOut as OrderCarriedOut
from supervisor.protocol.order_events import OrderGiven as OrderGiven
from supervisor.protocol.rollbacks import RollbackOptions
from supervisor.protocol.settings import RepositorySetting
from supervisor.protocol.stamp import Event as Event
from supervisor.protocol.task_events import TaskClaimed, TaskEdited, TaskMoved, TaskReordered, TasksAdded
from supervisor.protocol.words import AgentState, DiscoveryScope, StopStep

# ── inputs: the daemon ────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonStarted(Event):
    """A daemon took this state directory."""

    version: str
    pid: int
    boot_id: str
    """The machine's boot; `mono` compares only within one."""
    home: str = ""
    """The home directory of its agents, which reviews lean on."""
    protected: tuple[str, ...] = ()
    """Paths that no agent touches while it runs; reviews lean on them too."""
    policy: str = ""
    """The digest of the policy that counted from then on; empty in journals of before."""
    kind: Literal["daemon_started"] = "daemon_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChanged(Event):
    """The configuration changed while the daemon ran; the new policy counts from the next review of each agent on."""

    digest: str
    """Names the policy: its keys, its texts, and the code of its plugins."""
    before: str
    """The digest of the policy that it replaces."""
    changed: tuple[str, ...] = ()
    """The keys that changed; none if a text or a plugin did."""
    kind: Literal["policy_changed"] = "policy_changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonStopped(Event):
    """The daemon ended in order; its agents live on."""

    reason: str
    kind: Literal["daemon_stopped"] = "daemon_stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultSeen(Event):
    """Something failed that a person should know of, outside what agents do."""

    incident: Incident
    kind: Literal["fault_seen"] = "fault_seen"


# ── inputs: an agent's life ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSubmitted(Event):
    """Somebody wants something done; an agent of this name is to do it."""

    task: Task
    workspace: str
    session_id: str
    """The session id that the CLI is started with."""
    branch: str = ""
    """The branch of a workspace that was made for the agent; empty if it works in place."""
    project: str = ""
    """The folder that stands for all worktrees of the repository, its main one as a rule; empty in older journals."""
    base: str = ""
    """The commit that its branch was made at."""
    target: str = ""
    """The branch that the work is meant for; empty if none was checked out."""
    factors: Mapping[str, float] = field(default_factory=dict)
    """Factors from learning on the thresholds of patterns in this run, by pattern; those that are not 1."""
    origin: str = ""
    """Origin of a CLI that others started, upon which `AgentAttached` follows: `terminal`, `sdk`, `editor` or `ci`.
    Empty if chaperon starts it."""
    briefing: str = ""
    """Words of chaperon that follow the prompt in the first message; empty for none."""
    run_id: str = ""
    """The run by which the agent has a stored task, whose id is that of the task; empty if it has none."""
    opening: str = ""
    """The first message to the agent in place of the prompt; empty for the prompt itself."""
    kind: Literal["task_submitted"] = "task_submitted"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFound(Event):
    """A CLI is about to be started in a repository whose settings bring something, which counts or does not."""

    repository: str
    """The top of its main checkout."""
    digest: str
    """Of all that the settings bring."""
    trusted: bool
    """Whether a person said that it may count."""
    brings: tuple[RepositorySetting, ...]
    off: tuple[RepositorySetting, ...] = ()
    """Settings of the repository that are ignored for this CLI."""
    left_out: str = ""
    """Reason why the project's settings are left out as a whole, with its CLAUDE.md, skills and subagents; empty if
    they are not."""
    kind: Literal["settings_found"] = "settings_found"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsSwapped(Event):
    """The repository's settings changed while a CLI was starting, so it is not known which of them the CLI read."""

    digest: str
    """Of what they bring now."""
    kind: Literal["settings_swapped"] = "settings_swapped"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLaunched(Event):
    """The agent's shim and CLI run."""

    shim_pid: int
    cli_pid: int
    containment: str
    """How its tree is held: `cgroup:PATH` or `subreaper`."""
    number: int = 1
    """Number of the agent's launch; each rollback leads to another. Its shim's directory is named by it."""
    identity: Identity | None = None
    """Identity of its processes; None if an older chaperon launched them."""
    kind: Literal["agent_launched"] = "agent_launched"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAttached(Event):
    """A CLI that chaperon did not start came by its hooks; it has no shim, and chaperon holds none of its pipes."""

    cli_pid: int
    cli_start_ticks: int
    """When it started, in clock ticks since boot: with the boot, the pid means this process alone."""
    boot_id: str
    """The machine's boot."""
    terminal: str = ""
    """The device of its terminal. Example: `pts/3`. Empty if it has none."""
    mark: int = 0
    """The hard limit that every process inherits which it starts from here on; 0 if it could not be marked."""
    kind: Literal["agent_attached"] = "agent_attached"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFailed(Event):
    """The CLI could not be started; nothing of it runs."""

    error: str
    kind: Literal["launch_failed"] = "launch_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class LineReceived(Event):
    """The CLI printed a line. In the journal exactly once, whatever was killed when."""

    end: int
    """Offset after the line in the agent's output file, at which reading resumes."""
    frame: Any = None
    """The line, decoded, whatever its kind; None if it was no JSON object."""
    text: str | None = None
    """The line as text, if it was no JSON object."""
    kind: Literal["line_received"] = "line_received"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinePassedOver(Event):
    """The CLI printed a line over the cap; the output file has it whole."""

    start: int
    end: int
    request_id: str | None = None
    """Id of the CLI's request in the line, if it has one. It is refused, since an unread request cannot be reviewed."""
    kind: Literal["line_passed_over"] = "line_passed_over"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorLineReceived(Event):
    """The CLI printed a line on its error output while it ran."""

    end: int
    """Offset after the line in `err.log`, at which reading resumes."""
    text: str
    """The line, at most 2,000 characters of it."""
    passed_over: int = 0
    """Lines before it that are in `err.log` alone, because too many came."""
    kind: Literal["error_line_received"] = "error_line_received"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputAccepted(Event):
    """The shim took a line for the CLI: it is written, once, whatever is killed from here on."""

    key: str
    """The key under which the core sent it. Example: `answer:5fadd9c6…`."""
    kind: Literal["input_accepted"] = "input_accepted"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentExited(Event):
    """The CLI ended, and with it its tree."""

    code: int | None
    """Exit code, or None if a signal ended it."""
    signal: int | None
    stderr_tail: str = ""
    """The last 4 KiB of its standard error."""
    rusage: dict[str, float] = field(default_factory=dict)
    """CPU seconds and peak memory of the CLI, from the kernel."""
    kind: Literal["agent_exited"] = "agent_exited"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentVanished(Event):
    """The agent ended without an exit record; the rest of its tree was ended, for the stated reason."""

    reason: str
    ours: bool = False
    """Whether chaperon ended it by itself, after a failure of its own or because its shim could not be reached any
    more. It is then not started again."""
    kind: Literal["agent_vanished"] = "agent_vanished"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAdopted(Event):
    """A new daemon found this agent and took it over."""

    outcome: Literal["reattached", "exited", "lost", "terminal", "launched", "silent"]
    boot_id: str = ""
    """The machine's boot; empty if it is not known, as in older journals."""
    kind: Literal["agent_adopted"] = "agent_adopted"


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeFrozen(Event):
    """All processes of the agent are frozen."""

    micros: int
    """From the command to the last frozen process, in microseconds."""
    kind: Literal["tree_frozen"] = "tree_frozen"


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEnded(Event):
    """The agent's tree was killed."""

    micros: int
    """From the command to the last process gone, in microseconds."""
    left: int
    """Processes that live, as its shim and the daemon each found when they looked; 0 unless the kernel holds one."""
    kind: Literal["tree_ended"] = "tree_ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcesSeen(Event):
    """A sample of the agent's process tree with new values; `supervisor.runtime.services.sampling` has the interval."""

    memory_mb: float
    """Resident memory of the tree, in MiB."""
    cpu_seconds: float
    """CPU time of the tree since its first sample, or, if its group counts it, since its start."""
    processes: int
    open_files: int
    io_bytes: int
    """Bytes read and written by those processes."""
    disk_mb: float = 0.0
    """Size of the workspace without git's own files, in MiB, at its last measurement; 0 before."""
    file_operations: int = 0
    """Files written, moved or deleted in the workspace since that is watched, by whatever did it."""
    kind: Literal["resources_seen"] = "resources_seen"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAnswered(Event):
    """A model judged whether the agent is stuck; see `supervisor.runtime.services.judging`."""

    step: int
    """How many steps the agent had made."""
    issue: Issue | None = None
    """The issue that is raised, or closed, because of it."""
    stuck: bool | None = None
    """The model's judgement; None if it gave none."""
    confidence: float = 0.0
    sentence: str = ""
    cost_usd: float = 0.0
    problem: str = ""
    """Why there is no answer; empty if there is one."""
    kind: Literal["judge_answered"] = "judge_answered"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerFired(Event):
    """A time that the core had asked for has come."""

    name: str
    kind: Literal["timer_fired"] = "timer_fired"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRestored(Event):
    """The files are restored.

    If the conversation goes back as well, the agent's processes are ended and started again.
    """

    intervention: str
    checkpoint: str
    session_id: str
    """The session in which the conversation goes on; empty if only files went back."""
    resume_session: str = ""
    """The session that it is a fork of; empty if the conversation begins anew."""
    resume_at: str = ""
    """The message of that session at which it goes on."""
    files_only: bool = False
    """Whether the conversation stayed as it was."""
    undo: str = ""
    """The checkpoint of what was there before: going back to it undoes this."""
    restored: int = 0
    """Paths that were written, removed or changed."""
    kept: tuple[str, ...] = ()
    """Paths that were left as they are although the checkpoint has them otherwise."""
    commits_kept_as: str = ""
    """The ref that holds the branch's former tip; empty if the branch was not moved."""
    kind: Literal["checkpoint_restored"] = "checkpoint_restored"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreFailed(Event):
    """A rollback could not be done, for the reason in the error; files and conversation are as they were.

    Reported by the restorer, or decided if the agent cannot be frozen in time.
    """

    intervention: str
    checkpoint: str
    error: str
    needless: bool = False
    """Whether it was not done because no file would have changed; that is no fault."""
    kind: Literal["restore_failed"] = "restore_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceClosed(Event):
    """The workspace that was made for an agent was removed at its end, or kept."""

    workspace: str
    removed: bool
    why: str
    kind: Literal["workspace_closed"] = "workspace_closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class AftermathSeen(Event):
    """The remains of an agent were looked up, after an emergency stop and the end of its processes."""

    incident_id: str
    """The incident of the stop, whose report has the same."""
    aftermath: Aftermath
    kind: Literal["aftermath_seen"] = "aftermath_seen"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointMade(Event):
    """The workspace was captured; the checkpoint is durable."""

    key: str
    """The key under which the core asked for it."""
    name: str
    reason: str
    """A word of `checkpoints.model.Reason`."""
    tree: str
    """The id of the files' tree; equal trees are equal files."""
    moment: RunMoment
    number: int = 0
    """Counts the checkpoints of the store; later ones have higher numbers."""
    micros: int = 0
    """How long the capture took, in microseconds."""
    kind: Literal["checkpoint_made"] = "checkpoint_made"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureFailed(Event):
    """The workspace could not be captured; nothing was announced."""

    key: str
    reason: str
    error: str
    kind: Literal["capture_failed"] = "capture_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesSeen(Event):
    """Files of the workspace changed during a call whose review did not predict it."""

    tool_use_id: str
    paths: tuple[str, ...]
    """Absolute; at most 200."""
    kind: Literal["changes_seen"] = "changes_seen"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundsShaken(Event):
    """The grounds of a review did not hold any more when its call had run."""

    tool_use_id: str
    scripts: tuple[str, ...] = ()
    """Scripts that are not as they were reviewed."""
    elsewhere: tuple[str, ...] = ()
    """Files that a tool wrote by the CLI's report, and that are unchanged: another file was written in their place."""
    kind: Literal["grounds_shaken"] = "grounds_shaken"


# ── inputs: people ────────────────────────────────────────────────────────────────────────────────────────────────────


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


# ── decisions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


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


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveryNoted(Event):
    """An agent noted a fact for others, by a line of a reply. What it says is hostile, like all that agents print."""

    scope: DiscoveryScope
    text: str
    """The fact: one line, bounded, with secrets hidden and what acts on a terminal spelled out."""
    kind: Literal["discovery_noted"] = "discovery_noted"


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


AnyEvent = (
    DaemonStarted
    | PolicyChanged
    | DaemonStopped
    | FaultSeen
    | TaskSubmitted
    | SettingsFound
    | SettingsSwapped
    | AgentLaunched
    | AgentAttached
    | LaunchFailed
    | LineReceived
    | LinePassedOver
    | ErrorLineReceived
    | InputAccepted
    | AgentExited
    | AgentVanished
    | AgentAdopted
    | TreeFrozen
    | TreeEnded
    | ResourcesSeen
    | JudgeAnswered
    | TimerFired
    | CheckpointRestored
    | RestoreFailed
    | AftermathSeen
    | CheckpointMade
    | CaptureFailed
    | ChangesSeen
    | GroundsShaken
    | WorkspaceClosed
    | SayRequested
    | RedirectRequested
    | PauseRequested
    | ResumeRequested
    | StopRequested
    | AgentRemoved
    | OrderGiven
    | OrderCarriedOut
    | DrainChanged
    | OutcomeGiven
    | CheckpointRequested
    | RollbackRequested
    | RecoveryTaken
    | ApprovalGiven
    | AllowanceGiven
    | AllowanceRevoked
    | TrustDecided
    | DiscoveryNoted
    | DiscoveryForgotten
    | ReviewMade
    | IssueSeen
    | InterventionChosen
    | InterventionJudged
    | PersonNeeded
    | RecoveryChosen
    | LimitsEased
    | ContextRestated
    | ApprovalAsked
    | CheckpointAwaited
    | StateChanged
    | RungReached
    | IncidentOpened
    | FrameRejected
    | PatternAdjusted
    | TasksAdded
    | TaskEdited
    | TaskReordered
    | TaskClaimed
    | TaskMoved
    | CheckMade
    | MergeChanged
)
"""Every event there is, for type checkers and for generated documentation."""

AgentRequest = (
    SayRequested
    | RedirectRequested
    | PauseRequested
    | ResumeRequested
    | StopRequested
    | OutcomeGiven
    | CheckpointRequested
    | RollbackRequested
    | ApprovalGiven
    | AllowanceGiven
    | AllowanceRevoked
)
"""Requests of a person about one agent."""

TaggedEvent = Annotated[AnyEvent, Field(discriminator="kind")]
"""The same, distinguished by `kind` when decoded."""
