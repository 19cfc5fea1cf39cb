"""A moment of a run, as the core knows it at a checkpoint."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunMoment:
    """The position in the conversation, and the health of the run."""

    seq: int = 0
    """Sequence number of the last event before it."""
    session_id: str = ""
    """The CLI's session; empty if none has said anything yet."""
    message_uuid: str = ""
    """The last message at which that session can be resumed; empty if there is none."""
    success_rate: float | None = None
    """Share of the last actions that succeeded, 0 to 1; None if there was none."""
    seconds_without_errors: float | None = None
    """Seconds since an action failed; None if none has."""
    state: str = ""
    """The agent's state. Example: `running`."""
