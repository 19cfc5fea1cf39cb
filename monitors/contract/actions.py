"""One tool call, and the review of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from monitors.contract.subjects import subject_of
from monitors.contract.tasks import Task
from monitors.contract.words import Decision, Severity

CHANGING_TOOLS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
"""Tools of the CLI whose success changes a file."""

SHELL_TOOLS = frozenset({"Bash", "Monitor"})
"""Tools of the CLI that run a shell. `Monitor` runs its command as `Bash` does (seen with CLI 2.1.329)."""

AGENT_TOOLS = frozenset({"Task", "Agent", "Workflow"})
"""Tools of the CLI that start subagents; `Task` is what older versions call `Agent`."""

WEB_TOOLS = frozenset({"WebFetch", "WebSearch"})
"""Tools of the CLI that ask other hosts."""


@dataclass(frozen=True, slots=True)
class Action:
    """One tool call as the CLI asks for it, before anything runs."""

    tool: str
    """The CLI's name of the tool. Examples: `Bash`, `Write`, `mcp__github__create_issue`."""
    input: Mapping[str, Any]
    """The tool's input, exactly as the model wrote it; types are not to be trusted."""
    cwd: str = ""
    """The CLI's working directory for this call, absolute; empty where unknown."""
    workspace: str = ""
    """The agent's workspace, absolute; empty means nothing is inside one (the strict profile)."""
    tool_use_id: str = ""
    """The CLI's id of the call. Example: `toolu_01A…`."""
    subagent: str = ""
    """The id of the subagent that makes the call; empty for the agent itself."""

    @property
    def subject(self) -> str:
        """The main field of the input: its command, path, address or the like; empty if there is none."""
        return subject_of(self.input)


@dataclass(frozen=True, slots=True)
class SideEffect:
    """A change that an action would make."""

    type: str
    """One of `monitors.contract.effects`, or a word of a plugin's own. Example: `git_push`."""
    severity: Severity
    reversible: bool
    """A fact, not a hope: inside the workspace and captured, in git, or scratch."""
    details: str
    """The exact change, for a person. Example: `deletes /home/user/notes and all below`."""
    target: str = ""
    """The path, host or object that would change; empty if there is no single one."""
    mitigation: str = ""
    """A measure that would make it harmless or undo it; empty if there is none."""


@dataclass(frozen=True, slots=True)
class Touch:
    """A path that an action would reach."""

    path: str
    """Absolute and normalised; a glob stays a glob."""
    access: str
    """`read`, `write`, `delete` or `execute`."""


@dataclass(frozen=True, slots=True)
class Ground:
    """A file that a review rests on, as it was when the review looked."""

    path: str
    """Absolute, by the links that lead to it."""
    kind: Literal["script", "target"]
    """`script`: its text was read for what it would run. `target`: a tool of the CLI is to write it."""
    stamp: str
    """Of a script, a hash of its text; of a target, what changes whenever the file does, or `missing`."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The way by which something that later calls may use has come into being."""

    path: str
    """Absolute; with a slash at its end it stands for all below. Of a remote: the directory, `#` and its name."""
    how: Literal["downloaded", "decoded", "cloned", "written", "harmful", "secret", "remote", "pipe", "made", "own"]
    """`cloned`: git brought the whole folder.
    `written`: the agent wrote or changed a script that is longer than a review reads.
    `harmful`: the agent wrote code there that does what no review lets a command do; `by` says what.
    `secret`: the value of a variable that is named as a secret was written to it.
    `remote`: added or turned by git. `made`: a thing that is no file, under a name of its own: a container, a stash.
    `pipe`: made by mkfifo; what is read from it is written later.
    `own`: written, read or taken away by the agent, so that nothing counts any
    more."""
    by: str
    """The command that brought it, shortened; of what was made, empty if the call went on behind that command."""


@dataclass(frozen=True, slots=True)
class Factor:
    """One named part of a score."""

    name: str
    """Example: `outside workspace`."""
    weight: float
    """The amount that it added to the score, or took from it."""


@dataclass(frozen=True, slots=True)
class Review:
    """The reviewer's answer to an action."""

    decision: Decision
    risk: float
    """0 harmless to 1 certain, severe and irreversible harm."""
    rationality: float
    """0 makes no sense for the task to 1 plainly the next step; it may warn, never block by itself."""
    severity: Severity
    """The worst of the side effects."""
    reasoning: str
    """The verdict, its reason, and an alternative, in sentences that a person and a model can act on."""
    rule: str = ""
    """The name of the rule that decided. Example: `git.push-force`. Empty if none did."""
    side_effects: tuple[SideEffect, ...] = ()
    touches: tuple[Touch, ...] = ()
    grounds: tuple[Ground, ...] = ()
    """Files whose change between the review and the act would make the review worth nothing."""
    origins: tuple[Origin, ...] = ()
    """Files and remotes that the call leaves behind, for later calls to run or send to."""
    updated_input: Mapping[str, Any] | None = None
    """The input to run instead; exactly where the decision is modify."""
    risk_factors: tuple[Factor, ...] = ()
    stop: bool = False
    """Whether a critical rule asks that the agent be stopped now, beyond the block."""
    checkpoint_first: bool = False
    """Whether the workspace should be captured before the action runs."""
    allowance: str = ""
    """The id of the allowance by which a person let the action pass; empty if none did."""
    micros: int = 0
    """How long the review took, in microseconds; filled in by who called the reviewer."""


@dataclass(frozen=True, slots=True)
class PastCall:
    """One finished or refused tool call, as history for later reviews."""

    tool: str
    summary: str
    """The command, path or pattern, shortened."""
    failed: bool
    decision: Decision


@dataclass(frozen=True, slots=True)
class ReviewContext:
    """Facts for a review beside the action. All of them come from outside; the reviewer looks nothing up."""

    task: Task | None = None
    """None where actions are reviewed without a run, as `chaperon review` does."""
    history: tuple[PastCall, ...] = ()
    """The latest steps of the run, oldest first, bounded."""
    others: tuple[str, ...] = ()
    """Workspaces of other agents, absolute. They are told for a machine that is thrown away, where the other places
    outside of the workspace count as scratch."""
    home: str = ""
    """The agent's home directory, absolute; what `~` means."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that a shell of the agent would expand; no secrets."""
    protected: tuple[str, ...] = ()
    """Absolute paths of chaperon's own: state, socket, configuration. No agent touches what is at or below them."""
    origins: Mapping[str, Origin] = field(default_factory=dict)
    """Files and remotes that earlier calls of the run have brought, by path."""
    captured: bool = False
    """Whether the last checkpoint has the workspace as it is now."""
    active_issues: tuple[str, ...] = ()
    """Types of the issues open at this moment."""


class Reviewer(Protocol):
    """Anything that reviews actions. Pure: the same action and context give the same review.

    It answers in bounded work and may raise; its caller turns an exception into a block that names it.
    """

    def review(self, action: Action, context: ReviewContext) -> Review:
        """Say what the action would do and whether it may run."""
        ...
