"""What is launched next, as a session knows it, and the rollback that may lead there: asked for, under way, done.

asked for ──► files restored, processes ended ──► launched again in a fork of the session
          └─► failed, or only files went back: the agent goes on
"""

from dataclasses import dataclass, field

from interventions.texts import OPENING
from supervisor.protocol.events import (
    AgentExited,
    AgentVanished,
    CheckpointRestored,
    InterventionChosen,
    RecoveryChosen,
    RollbackRequested,
)
from supervisor.protocol.tasks import Task

Cause = InterventionChosen | RollbackRequested


@dataclass(slots=True)
class GoingBack:
    """The rollbacks of one agent."""

    session_id: str
    """The session that the CLI is told to use at the next launch."""
    resume_session: str = ""
    resume_at: str = ""
    cause: Cause | None = None
    """What asked for the rollback that is under way."""
    asked_seq: int = 0
    """Sequence number of that event."""
    ended: AgentExited | AgentVanished | None = None
    """How the processes ended while it was under way: the end of the agent only where the rollback fails."""
    launches: int = 0
    """How often the CLI was launched."""
    reborn: bool = False
    """Whether the agent has gone back and is to be launched again."""
    opening: str = ""
    """What the CLI is told first after the next launch; empty: the task."""
    carried: list[str] = field(default_factory=list)
    """What people said and no turn had taken when the processes were ended: said again."""

    def begin(self, seq: int, cause: Cause) -> None:
        """A rollback was asked for."""
        self.cause, self.asked_seq = cause, seq

    @property
    def checkpoint(self) -> str:
        """Where the rollback under way goes to."""
        match self.cause:
            case InterventionChosen(intervention=chosen):
                return str(chosen.details["checkpoint"])
            case RollbackRequested(checkpoint=name):
                return name
            case None:
                return ""

    def restored(self, event: CheckpointRestored, task: Task, carried: list[str]) -> None:
        """The files are back and nothing of the agent runs any more."""
        guidance = self.guidance(event)
        self.session_id, self.resume_at = event.session_id, event.resume_at
        self.resume_session = event.resume_session if event.resume_at else ""
        self.opening = guidance if event.resume_at else f"{task.prompt}\n\n{guidance}"
        self.carried = carried
        self.reborn = True
        self.cause = self.ended = None

    def recovers(self, event: RecoveryChosen, carried: list[str]) -> None:
        """The CLI ended too early, and is to be launched again without anything being set back."""
        self.session_id, self.resume_at = event.session_id, ""
        self.resume_session = "" if event.recovery.fresh else event.session_id
        self.opening, self.carried = event.recovery.prompt, carried

    def failed(self) -> AgentExited | AgentVanished | None:
        """It is not under way any more; returns how the processes ended meanwhile, if they did."""
        ended, self.cause, self.ended = self.ended, None, None
        return ended

    def guidance(self, event: CheckpointRestored) -> str:
        """What the agent is told of it."""
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
