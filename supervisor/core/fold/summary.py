"""The summary of an agent: the data of `chaperon ps` and `chaperon show`, and all that is kept after its end."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from interventions import sanitise
from interventions.approval import DEADLINE_PASSED
from interventions.decisions import EndCause, Recovery
from monitors.contract.actions import PastCall, Review
from monitors.contract.tasks import Task
from monitors.contract.todo import TodoItem
from monitors.patterns.model_judge import QuestionsAsked
from supervisor.core.fold.asked_hosts import KEPT_SECONDS
from supervisor.core.fold.conversation.history import CallUnderWay, subject_of
from supervisor.protocol.claude import messages
from supervisor.protocol.claude.prices import Spent
from supervisor.protocol.events import (
    AccountChanged,
    AftermathSeen,
    AgentAttached,
    AgentExited,
    AgentLaunched,
    AgentVanished,
    AnyEvent,
    ApprovalAsked,
    CheckpointRestored,
    HostRefused,
    IncidentOpened,
    InterventionChosen,
    InterventionJudged,
    IssueSeen,
    JudgeAnswered,
    PersonNeeded,
    RecoveryChosen,
    RecoveryTaken,
    RedirectRequested,
    ResourcesSeen,
    StateChanged,
    StopRequested,
    TaskSubmitted,
    WorkspaceClosed,
)
from supervisor.protocol.words import AgentState

MOST_PROPOSED = 20
"""Proposed rollbacks that wait for a person, the newest: a person reads no more than one screen of them."""

LONGEST_WORDS = 500
"""Characters of what the model wrote last that are kept: a paragraph."""

RECENT_SECONDS = 3_600.0
"""How long an ended agent stays in the usual list: who comes back from a break sees what ended meanwhile."""

NEEDS_LOOK_SECONDS = 7 * 86_400.0
"""The same for one that failed or was lost, until a way back was taken or it was removed: a week off."""

KEPT_TASKS = 20
"""Earlier tasks of an agent that are kept, the last ones."""

DAY = 86_400
"""Seconds of a day of Unix time."""


@dataclass(frozen=True, slots=True)
class WaitingAction:
    """An action that waits for a person, in short; `GET /v1/approvals` has all of it."""

    request_id: str
    tool: str
    summary: str
    """The command, path or address, shortened."""
    why: str
    """The reason why a person is needed."""
    asked_at: float
    """Unix time in seconds."""
    until: float
    """Time of its denial without a reply, in Unix seconds."""

    @classmethod
    def of(cls, asked: ApprovalAsked) -> "WaitingAction":
        """Return the same of the journal's event."""
        until = asked.at + asked.deadline_seconds
        return cls(asked.request_id, asked.action.tool, subject_of(asked.action), asked.why, asked.at, until)


@dataclass(frozen=True, slots=True)
class RefusedHost:
    """A host that the agent was refused and a person can open; it goes on without. `GET /v1/approvals` has it too."""

    request_id: str
    host: str
    """With its port."""
    why: str
    asked_at: float
    """When the agent last asked for it, as Unix time in seconds."""
    until: float
    """Until when it is shown, in Unix seconds."""

    @classmethod
    def of(cls, refused: HostRefused) -> "RefusedHost":
        """Return the same of the journal's event."""
        return cls(refused.id, refused.host, refused.why, refused.at, refused.at + KEPT_SECONDS)


@dataclass(frozen=True, slots=True)
class ProposedRollback:
    """A rollback that a person is to decide."""

    checkpoint: str
    """The checkpoint to go back to."""
    issue: str
    """The type of the issue that led to it."""
    key: str
    """Tells issues of one type apart."""
    sentence: str
    """The issue, and the proposal."""
    at: float
    """Unix time in seconds."""


@dataclass(frozen=True, slots=True)
class TakenRecovery:
    """A way back from an incident that a person took."""

    incident: str
    option: str
    by: str
    at: float
    """Unix time in seconds."""
    successor: str
    """The agent that goes on; empty if none does."""


@dataclass(frozen=True, slots=True)
class AskedPause:
    """A person's pause of an agent that was not lifted yet, whether the agent is held already or not."""

    by: str
    reason: str
    at_turn_end: bool
    request_id: str
    asked_at: float
    """Unix time in seconds."""

    @property
    def sentence(self) -> str:
        """The person who holds it, and the reason."""
        return f"paused by {self.by}" + (f": {self.reason}" if self.reason else "")


@dataclass(frozen=True, slots=True)
class PastTask:
    """A task that an agent had before a person gave it another."""

    id: str
    prompt: str
    """Shortened."""
    until: float
    """Unix time in seconds."""
    by: str
    """The person who gave it another."""
    run_id: str = ""
    """The run by which it had claimed that of the store."""
    request_id: str = ""
    """The request that gave it another."""


@dataclass(slots=True)
class Summary:
    """Counts and facts of one agent, kept up to date by its session."""

    agent: str
    state: AgentState
    task: Task
    workspace: str
    session_id: str
    started_at: float
    """Unix time of the submission, in seconds."""
    branch: str = ""
    """The branch of a workspace that was made for it; empty if it works in place."""
    project: str = ""
    """The folder that stands for all worktrees of its repository; empty if an older chaperon took the task."""
    base: str = ""
    """The commit that its branch was made at."""
    target: str = ""
    """The branch that the work is meant for; empty if that is not known."""
    pause: AskedPause | None = None
    """The pause that a person asked for, until it is lifted."""
    stored_task: str = ""
    """The stored task that it has or had; empty if its task was given to it alone."""
    run_id: str = ""
    """The run by which it claimed that."""
    past_tasks: tuple[PastTask, ...] = ()
    """The tasks that it had before others took their place, oldest first."""
    stopped_by: str = ""
    """The person who asked for its end, or `chaperon`; empty without such a request."""
    workspace_closed: str = ""
    """The fate of that workspace at the agent's end, in words; empty until then."""
    aftermath_due: str = ""
    """The incident of its stop, until what it left behind was looked for; empty else."""
    first_event: int = 0
    """Sequence number of the submission: the journal has nothing of the agent before it."""
    origin: str = ""
    """Origin of a CLI that others started: `terminal`, `sdk`, `editor` or `ci`; empty if chaperon did."""
    terminal: str = ""
    """The device of its terminal, if it was attached and has one. Example: `pts/3`."""
    ended_at: float | None = None
    removed_at: float | None = None
    """When a person had its remains removed, as Unix time; None until then. Lists leave it out from there on."""
    why: str = "submitted"
    """Why it is in its state."""
    api: str = ""
    """The API's failure, while the CLI tries it again; empty while it answers."""
    unwatched: bool = False
    """Whether its session could not be made: its calls wait and it is not watched. `why` has the reason."""
    launches: int = 0
    """How often its CLI was launched."""
    cli_version: str = ""
    model: str = ""
    shim_pid: int = 0
    cli_pid: int = 0
    containment: str = ""
    sandbox: str = ""
    """The sandbox that holds it, with its profile; empty for none."""
    turns: int = 0
    failed: bool = False
    """Whether its last turn ended in an error."""
    cost_usd: float | None = None
    """Cost over all its launches by the CLI's report, with an estimate of replies that are not counted yet; None if
    nothing is known."""
    cost_by_day: dict[int, float] = field(default_factory=dict)
    """The same by day: how many whole days of UTC passed since the beginning of 1970."""
    account: str = ""
    """The account that pays for the calls of its last launch; empty before the first."""
    account_costs: dict[str, dict[int, float]] = field(default_factory=dict)
    """Its cost by account, and by day as above."""
    account_tokens: dict[str, dict[int, int]] = field(default_factory=dict)
    """Its tokens of all kinds by account, and by day as above."""
    limit: str = ""
    """The CLI's last notice of the account's usage limit, in words; empty if none is near."""
    limit_resets_at: float | None = None
    """When the window of that limit ends, in Unix seconds; None if it is not stated."""
    limited_until: float | None = None
    """Until when it waits for the account's usage limit to end, in Unix seconds; None if it does not."""
    input_tokens: int = 0
    """Fresh ones and cache writes."""
    written_tokens: int = 0
    """Cache writes, which are among the input."""
    cached_tokens: int = 0
    """Read from the cache."""
    output_tokens: int = 0
    context_tokens: int = 0
    """Tokens of the agent's last reply with its input: the size of its context."""
    context_window: int | None = None
    """How many tokens its context holds; None until the CLI says so at the end of a turn."""
    memory_mb: float = 0.0
    """Resident memory of its process tree when last seen, in MiB."""
    peak_memory_mb: float = 0.0
    cpu_seconds: float = 0.0
    processes: int = 0
    open_files: int = 0
    io_bytes: int = 0
    disk_mb: float = 0.0
    """Size of its workspace without git's own files, in MiB; 0 until it was measured."""
    file_operations: int = 0
    """Files written, moved or deleted in its workspace since that is watched, by whatever did it."""
    reviews: dict[str, int] = field(default_factory=dict)
    """How many of each decision."""
    issues: dict[str, int] = field(default_factory=dict)
    """How many of each type were raised."""
    interventions: dict[str, int] = field(default_factory=dict)
    """How many of each kind."""
    outcomes: dict[str, int] = field(default_factory=dict)
    """How many interventions came to each outcome."""
    said: dict[str, str] = field(default_factory=dict)
    """The last outcome that people gave for each type of its issues."""
    factors: dict[str, float] = field(default_factory=dict)
    """Factors from learning on thresholds in this run, by pattern."""
    asked: QuestionsAsked = field(default_factory=QuestionsAsked)
    """Questions to a model about it, if the judge is on."""
    waiting: list[WaitingAction] = field(default_factory=list)
    """Its actions that wait for a person, oldest first."""
    hosts: list[RefusedHost] = field(default_factory=list)
    """Hosts that it was refused and a person can open to it, oldest first."""
    proposed: list[ProposedRollback] = field(default_factory=list)
    """Rollbacks that wait for a person, of issues that are open. Saying what became of the issue declines one."""
    expired: int = 0
    """Number of its actions that were denied for lack of a reply in time."""
    incidents: list[str] = field(default_factory=list)
    """Ids, oldest first."""
    recovered: list[TakenRecovery] = field(default_factory=list)
    """The ways back from its incidents that people took, oldest first."""
    recent: tuple[PastCall, ...] = ()
    """The last steps, oldest first."""
    todo: tuple[TodoItem, ...] = ()
    """Its own to-do list, as it says; empty if it keeps none."""
    calls: tuple[CallUnderWay, ...] = ()
    """The calls that run now, oldest first."""
    unanswered: tuple[CallUnderWay, ...] = ()
    """The calls that ran when its CLI last ended, oldest first: they may have run, whole or in part."""
    stderr_tail: str = ""
    """The end of the standard error of its CLI that ended last, with what may be a secret hidden."""
    words: str = ""
    """The model's last text, shortened."""
    explained: Mapping[str, Any] = field(default_factory=dict)
    """Reasons and outcomes of interventions; see `interventions.choice.controller.Controller.explain`."""
    result: str = ""
    """The model's last text of its turn, shortened."""
    tests: str = ""
    """The outcome of its last test run, in words; empty without one. Example: `pytest: 12 passed, 1 failed`."""

    @classmethod
    def of(cls, submitted: TaskSubmitted) -> "Summary":
        """The summary of an agent that has just been asked for."""
        return cls(
            submitted.agent,
            AgentState.STARTING,
            submitted.task,
            submitted.workspace,
            submitted.session_id,
            submitted.at,
            submitted.branch,
            submitted.project,
            submitted.base,
            submitted.target,
            factors=dict(submitted.factors),
            origin=submitted.origin,
            stored_task=submitted.task.id if submitted.run_id else "",
            run_id=submitted.run_id,
        )

    @property
    def root_pid(self) -> int:
        """The process above all of the agent's: its shim, or an attached CLI itself; 0 if there is none."""
        return self.cli_pid if self.origin else self.shim_pid

    def remember(self, event: AnyEvent) -> None:
        """Take in an event of the agent; those that leave no trace here change nothing."""
        match event:
            case StateChanged():
                self.changed(event)
            case AgentLaunched():
                self.shim_pid, self.cli_pid, self.containment = event.shim_pid, event.cli_pid, event.containment
                self.launches = event.number
                self.sandbox, self.account = event.identity.sandbox if event.identity else "", event.account
            case AccountChanged():
                self.account = event.account
            case AgentAttached():
                self.cli_pid, self.terminal, self.containment = event.cli_pid, event.terminal, "hooks"
                self.launches = 1
            case AgentExited() | AgentVanished():
                self.unanswered = self.calls
                self.stderr_tail = sanitise.text(event.stderr_tail) if isinstance(event, AgentExited) else ""
                self._gone()
            case RecoveryChosen(recovery=Recovery(cause=EndCause.USAGE_LIMIT) as recovery):
                self.limited_until = event.at + recovery.wait_seconds
            case StopRequested():
                self.stopped_by = event.by
            case IssueSeen(issue=issue) if not issue.closed:
                _count(self.issues, issue.type)
            case IssueSeen(issue=issue):
                self.proposed = [one for one in self.proposed if (one.issue, one.key) != (issue.type, issue.key)]
            case PersonNeeded(need=need) if need.checkpoint:
                proposal = ProposedRollback(need.checkpoint, need.issue.type, need.issue.key, need.sentence, event.at)
                self.proposed = [*self.proposed, proposal][-MOST_PROPOSED:]
            case CheckpointRestored():
                self.proposed = []
            case InterventionChosen():
                _count(self.interventions, event.intervention.kind)
            case InterventionJudged():
                _count(self.outcomes, event.judgement.outcome)
            case IncidentOpened():
                self.incidents.append(event.incident.id)
                if event.report is not None:
                    self.aftermath_due = event.incident.id
            case AftermathSeen():
                self.aftermath_due = ""
            case JudgeAnswered():
                self._judged(event)
            case ResourcesSeen():
                self._sampled(event)
            case _:
                pass

    def redirected(self, event: RedirectRequested, task: Task) -> None:
        """Note that it was given another task."""
        past = PastTask(self.task.id, self.task.prompt[:LONGEST_WORDS], event.at, event.by, self.run_id, event.id)
        self.past_tasks = (*self.past_tasks, past)[-KEPT_TASKS:]
        self.task = task
        self.run_id, self.stored_task = event.run_id, task.id if event.run_id else ""

    def changed(self, event: StateChanged) -> None:
        """Note a step of the state table."""
        self.state, self.why = event.after, event.why
        if event.before is AgentState.WAITING:
            self.limited_until = None
        if event.after.ended:
            self.ended_at, self.pause, self.proposed, self.hosts = event.at, None, [], []
            self._gone()

    def _gone(self) -> None:
        self.limited_until = None
        self.api, self.calls = "", ()
        self.memory_mb, self.processes, self.open_files = 0.0, 0, 0

    def _sampled(self, seen: ResourcesSeen) -> None:
        self.memory_mb, self.processes, self.open_files = seen.memory_mb, seen.processes, seen.open_files
        self.peak_memory_mb = max(self.peak_memory_mb, seen.memory_mb)
        self.cpu_seconds = max(self.cpu_seconds, seen.cpu_seconds)
        self.io_bytes = max(self.io_bytes, seen.io_bytes)
        self.disk_mb = seen.disk_mb or self.disk_mb
        self.file_operations = max(self.file_operations, seen.file_operations)

    def recovers(self, event: RecoveryTaken) -> None:
        """Note that a person took a way back from one of its incidents."""
        self.recovered.append(TakenRecovery(event.incident_id, event.option, event.by, event.at, event.successor))

    def told_outcome(self, pattern: str, outcome: str) -> None:
        """Note what a person said of the issues of one type; a rollback that they led to is proposed no more."""
        self.said[pattern] = outcome
        self.proposed = [one for one in self.proposed if one.issue != pattern]

    def closed(self, event: WorkspaceClosed) -> None:
        """Note what became of the workspace that was made for it."""
        self.workspace_closed = f"{'removed' if event.removed else 'kept'}: {event.why}"

    def _judged(self, answered: JudgeAnswered) -> None:
        before = self.asked
        self.asked = QuestionsAsked(before.questions + 1, answered.step, round(before.cost_usd + answered.cost_usd, 6))

    def count_review(self, review: Review) -> None:
        """Count a decision of the gate."""
        _count(self.reviews, review.decision)
        self.expired += review.rule == DEADLINE_PASSED

    def began(self, init: messages.Init) -> None:
        """Note who answers, and in which session."""
        self.session_id, self.cli_version, self.model = init.session_id, init.cli_version, init.model

    def count_turn(self, result: messages.Result) -> None:
        """Count a turn that ended."""
        self.turns += 1
        self.failed = result.is_error
        self.result = result.result[:2000]
        self.context_window = result.context_window(self.model) or self.context_window

    def replied(self, reply: messages.Assistant) -> None:
        """Note how full the agent's own context is, and what the model says."""
        if reply.parent_tool_use_id is None:
            self.context_tokens = reply.usage.context
            self.words = next((text.strip()[:LONGEST_WORDS] for text in reply.texts() if text.strip()), self.words)

    def spends(self, total: Spent, at: float) -> None:
        """Note what it has spent so far.

        Args:
            total: Over all its launches.
            at: When, as Unix time in seconds: the day to which what came since belongs.
        """
        day = int(at // DAY)
        if total.cost_usd is not None and total.cost_usd != self.cost_usd:
            costs, more = self.account_costs.setdefault(self.account, {}), total.cost_usd - (self.cost_usd or 0.0)
            costs[day] = round(costs.get(day, 0.0) + more, 9)
            self.cost_by_day[day] = round(self.cost_by_day.get(day, 0.0) + more, 9)
            self.cost_usd = total.cost_usd
        if more_tokens := total.input + total.cache_write + total.cache_read + total.output - self.tokens:
            tokens = self.account_tokens.setdefault(self.account, {})
            tokens[day] = tokens.get(day, 0) + more_tokens
        self.input_tokens, self.written_tokens = total.input + total.cache_write, total.cache_write
        self.cached_tokens, self.output_tokens = total.cache_read, total.output

    def listed(self, now: float) -> bool:
        """Whether a person sees it in a list without asking for all: it is live, ended lately, or needs a look.

        Args:
            now: Unix time in seconds.
        """
        if self.ended_at is None or self.removed_at is not None:
            return self.removed_at is None
        needs_look = self.state in (AgentState.FAILED, AgentState.LOST) and not self.recovered
        return now - self.ended_at < (NEEDS_LOOK_SECONDS if needs_look else RECENT_SECONDS)

    @property
    def tokens(self) -> int:
        """Its tokens of all kinds."""
        return self.input_tokens + self.cached_tokens + self.output_tokens

    @property
    def tokens_by_kind(self) -> dict[str, int]:
        """Its tokens, by what they cost differently."""
        return {
            "input": self.input_tokens - self.written_tokens,
            "cache_write": self.written_tokens,
            "cache_read": self.cached_tokens,
            "output": self.output_tokens,
        }


def _count(counts: dict[str, int], what: str) -> None:
    counts[what] = counts.get(what, 0) + 1
