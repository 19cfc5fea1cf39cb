"""Events of workspaces: checkpoints, restores, and changes that were seen."""

from dataclasses import dataclass
from typing import Literal

from supervisor.protocol.kinds.stamp import Event
from supervisor.protocol.moments import RunMoment


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
    """Whether that is no fault: no file would have changed, or the agent is ended while its project goes back."""
    kind: Literal["restore_failed"] = "restore_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceClosed(Event):
    """The workspace that was made for an agent was removed at its end, or kept."""

    workspace: str
    removed: bool
    why: str
    kind: Literal["workspace_closed"] = "workspace_closed"


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
