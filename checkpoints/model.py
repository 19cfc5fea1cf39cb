"""Checkpoints, the differences of two, and plans and results of a restore. Data only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from monitors.contract.tasks import Limits


class Reason(StrEnum):
    """Why a checkpoint was made."""

    START = "start"
    """Before the agent's first turn."""
    TURN = "turn"
    """A turn ended."""
    RISKY_ACTION = "risky_action"
    """The reviewer asked, before an action that cannot be undone otherwise."""
    TESTS_PASSED = "tests_passed"
    """A test run passed."""
    PERIODIC = "periodic"
    """N tasks were finished."""
    UNATTENDED = "unattended"
    """A stretch without a person begins."""
    PERSON = "person"
    """Somebody gave it a name."""
    UNDO = "undo"
    """The present, before a rollback: going back to it undoes the rollback."""


@dataclass(frozen=True, slots=True)
class ConversationPosition:
    """A position in the conversation."""

    session_id: str = ""
    """The CLI's session; empty if there was none yet."""
    message_uuid: str = ""
    """The last message of that session that belongs to this moment; the CLI resumes behind it."""


@dataclass(frozen=True, slots=True)
class RunHealth:
    """How the run was doing."""

    success_rate: float | None = None
    """Share of actions that succeeded in the window before, 0 to 1; None if there was none."""
    seconds_without_errors: float | None = None
    """Seconds since the last error; None if there was never one."""


@dataclass(frozen=True, slots=True)
class ConversationContext:
    """The instructions that the agent had."""

    goals: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    limits: Limits | None = None


@dataclass(frozen=True, slots=True)
class CaptureContext:
    """The caller's facts about the moment that is captured. The files are read by the capture."""

    reason: Reason
    at: float
    """Unix time in seconds."""
    agent: str = ""
    name: str = ""
    """A name of one's own, or empty for one made of agent, reason and number."""
    position: ConversationPosition = ConversationPosition()
    context: ConversationContext = ConversationContext()
    task_states: Mapping[str, str] = field(default_factory=dict)
    agent_states: Mapping[str, str] = field(default_factory=dict)
    seq: int = 0
    """Sequence number of the last event before the capture."""
    health: RunHealth = RunHealth()
    frozen: bool = False
    """Whether nothing could write meanwhile. Otherwise files may stem from moments that lie milliseconds apart."""
    note: str = ""
    """A sentence for people."""
    key: str = ""
    """Name of the request among those of its agent. A request repeated after a crash finds its own checkpoint by it."""


class Why(StrEnum):
    """Why the content of a path is not in a checkpoint."""

    TOO_LARGE = "too_large"
    """Over the limit for one file."""
    TOO_MUCH = "too_much"
    """More new content came at once than one capture takes; the next captures take more of it."""
    SPECIAL = "special"
    """A pipe, socket or device."""
    UNREADABLE = "unreadable"
    """The daemon may not read it."""
    TOO_DEEP = "too_deep"
    """In more folders than the scan goes down."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A path whose content is not in the checkpoint. A restore never deletes it."""

    path: str
    """Relative to the workspace, in the notation of `checkpoints.paths`."""
    why: Why
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Nested:
    """A repository inside the workspace: its files are captured as files, its `.git` never is."""

    path: str
    head: str
    """The commit it stood on; empty if it had none."""


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """The position of the workspace's own repository. Chaperon reads it and changes none of it."""

    head: str = ""
    """Commit id; empty without a commit or without a repository."""
    branch: str = ""
    """Full name of the branch; empty where HEAD is detached."""
    operation: str = ""
    """The operation under way. Examples: `rebase`, `merge`; empty for none."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A moment one can go back to."""

    name: str
    number: int
    """Counts the checkpoints of a store; later ones have higher numbers, whatever the clock did."""
    workspace: str
    """Absolute path of the folder that was captured."""
    commit: str
    """The commit in the store that holds the files. Equal files share one."""
    tree: str
    facts: CaptureContext
    repository: RepositoryState = RepositoryState()
    skipped: tuple[Skipped, ...] = ()
    nested: tuple[Nested, ...] = ()
    unsettled: tuple[str, ...] = ()
    """Files that were being written each time they were read; looked at again with the next capture."""


class Change(StrEnum):
    """The difference of a path between two checkpoints."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    TYPE_CHANGED = "type_changed"
    """File, link and folder became one another."""
    MODE_CHANGED = "mode_changed"
    """Same content, other executable bit."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One path that is not the same in two checkpoints."""

    path: str
    change: Change


@dataclass(frozen=True, slots=True)
class Kept:
    """A path that a restore leaves as it is although the target has it otherwise, with the reason."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """The changes that a restore would make.

    Made before a person is asked to confirm; carried out only while it still holds.
    """

    target: Checkpoint
    undo: Checkpoint
    """The present, captured for this plan: going back to it undoes the restore."""
    changes: tuple[Difference, ...]
    """The change of each path, seen from the present: `deleted` paths will be gone."""
    lost: tuple[Difference, ...]
    """Changes made since the target, which the restore removes from the workspace; they stay in `undo`."""
    kept: tuple[Kept, ...]
    """Paths that cannot be brought back or must not be touched."""
    unusual: str = ""
    """Why this needs a second confirmation; empty if it is of usual size."""
    warnings: tuple[str, ...] = ()
    """Example: the repository is in the middle of a rebase."""


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """The outcome of a restore. The workspace was compared with the target byte for byte."""

    target: Checkpoint
    undo: str
    """Name of the checkpoint of what was there before."""
    restored: int
    """Paths that were written, removed or changed."""
    kept: tuple[Kept, ...]
    branch_kept_as: str = ""
    """Ref in the project's repository that holds the branch's former tip; empty if the branch was not moved."""


@dataclass(frozen=True, slots=True)
class StoreProblem:
    """Something wrong with a store, and which checkpoints it touches."""

    what: str
    checkpoints: tuple[str, ...] = ()
    repaired: bool = False
    way_out: str = ""
