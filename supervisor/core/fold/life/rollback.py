"""The next launch, and the rollback that may lead there: requested, under way, done.

requested ──► frozen ──► files restored ──► processes ended ──► launched again in a fork of the session
          └─► not frozen in time, not restored, or only files went back: the agent goes on
"""

from dataclasses import dataclass, field
from enum import StrEnum

from interventions.texts.fields import OPENING
from supervisor.protocol.events import CheckpointRestored, InterventionChosen, RecoveryChosen, RollbackRequested

Cause = InterventionChosen | RollbackRequested


class Phase(StrEnum):
    """The present phase of a rollback. A stop is independent of it."""

    FREEZING = "freezing"
    """All processes are being frozen."""
    RESTORING = "restoring"
    """The files."""
    ENDING = "ending"
    """All processes gone."""


@dataclass(slots=True)
class GoingBack:
    """The rollbacks of one agent."""

    session_id: str
    """The session that the CLI is started with at the next launch."""
    resume_session: str = ""
    resume_at: str = ""
    cause: Cause | None = None
    """The event that requested the rollback that is under way."""
    asked_seq: int = 0
    """Sequence number of that event."""
    still: bool = False
    """Whether no process of the agent can write meanwhile: it is frozen, or has ended."""
    overdue: bool = False
    """Whether it was not frozen in time."""
    restored: CheckpointRestored | None = None
    """The result of the restore, once the conversation is to follow the files."""
    launches: int = 0
    """How often the CLI was launched."""
    opening: str = ""
    """The first message to the CLI after the next launch; empty: the task."""
    carried: list[str] = field(default_factory=list)
    """Messages of people that no turn had taken when the processes were ended; they are sent again."""

    @property
    def phase(self) -> Phase | None:
        """Return the phase of the rollback that is under way; None if there is none."""
        if self.cause is None:
            return None
        if self.restored is not None:
            return Phase.ENDING
        return Phase.RESTORING if self.still else Phase.FREEZING

    def begin(self, seq: int, cause: Cause, *, still: bool) -> None:
        """Begin a rollback; `still` if no process of the agent runs."""
        self.cause, self.asked_seq = cause, seq
        self.still, self.overdue, self.restored = still, False, None

    def over(self) -> None:
        """It is not under way any more: the agent goes on as it is."""
        self.cause, self.overdue, self.restored = None, False, None

    @property
    def checkpoint(self) -> str:
        """Return the target of the rollback that is under way."""
        match self.cause:
            case InterventionChosen(intervention=chosen):
                return str(chosen.details["checkpoint"])
            case RollbackRequested(checkpoint=name):
                return name
            case None:
                return ""

    @property
    def together(self) -> str:
        """The rollback of its project that it is part of; empty if there is none."""
        return self.cause.together if isinstance(self.cause, RollbackRequested) else ""

    @property
    def id(self) -> str:
        """The id of the intervention or of the request that asked for it."""
        match self.cause:
            case InterventionChosen(intervention=chosen):
                return chosen.id
            case RollbackRequested(id=id_):
                return id_
            case None:
                return ""

    def came(self, event: CheckpointRestored, *, ending: bool) -> str:
        """Note that the files are restored.

        The conversation follows once the agent's processes ended, unless a stop is due.

        Returns:
            The message to the agent now, if only files went back; else empty.
        """
        if event.files_only:
            guidance = self.guidance(event)
            self.over()
            return guidance
        if ending:
            self.over()
        else:
            self.restored = event
        return ""

    def reborn(self, event: CheckpointRestored, asked: str, carried: list[str]) -> None:
        """The files are back and nothing of the agent runs any more: it begins again."""
        guidance = self.guidance(event)
        self.session_id, self.resume_at = event.session_id, event.resume_at
        self.resume_session = event.resume_session if event.resume_at else ""
        self.opening = guidance if event.resume_at else f"{asked}\n\n{guidance}"
        self.carried = carried
        self.over()

    def recovers(self, event: RecoveryChosen, carried: list[str]) -> None:
        """The CLI ended too early, and is to be launched again without anything being set back."""
        self.session_id, self.resume_at = event.session_id, ""
        self.resume_session = "" if event.recovery.fresh else event.session_id
        self.opening, self.carried = event.recovery.prompt, carried

    def guidance(self, event: CheckpointRestored) -> str:
        """Return the message to the agent about it."""
        if isinstance(self.cause, InterventionChosen):
            return self.cause.intervention.message
        by, text = (self.cause.by, self.cause.text) if self.cause is not None else ("A person", "")
        what = "The files were" if event.files_only else "The files and this conversation were"
        lines = [
            f"{OPENING}{what} set back to the checkpoint {event.checkpoint} by {by}; what was done since is undone.",
            *([text] if text else []),
            "Look at the files as they are now before you change them, and go on with the task.",
        ]
        return "\n".join(lines)


def told_its_person(event: CheckpointRestored) -> str:
    """Return what the person of an attached CLI is told of restored files: the conversation is theirs to set back.

    The CLI takes a place in a conversation, `--resume-session-at`, without a terminal alone (measured, 2.1.329).
    """
    undo = f" To undo it: chaperon rollback {event.undo} --agent {event.agent}." if event.undo else ""
    return (
        f"Chaperon set the files back to checkpoint {event.checkpoint} ({event.restored} changed).{undo} Only you can set "
        'this conversation back as well: type /rewind, choose the message before it went wrong, and "Restore conversation".'
    )
