"""What happened to one agent that a person is to be told of and was not yet. A fold over events."""

from collections import deque
from collections.abc import Mapping

from interventions.contract import PluginFailure
from monitors.guarded import DetectorFailure
from supervisor.core.history import RanOtherwise
from supervisor.protocol.events import (
    AgentExited,
    AgentVanished,
    AnyEvent,
    FrameRejected,
    IncidentOpened,
    InterventionChosen,
    LaunchFailed,
    PersonNeeded,
    RecoveryChosen,
    RestoreFailed,
    TimerFired,
    TreeEnded,
)
from supervisor.protocol.messages import ControlResponse
from supervisor.protocol.observations import ToolReturned

IncidentCause = (
    InterventionChosen
    | PersonNeeded
    | RecoveryChosen
    | PluginFailure
    | RestoreFailed
    | AgentExited
    | AgentVanished
    | LaunchFailed
    | TimerFired
    | TreeEnded
    | FrameRejected
    | ToolReturned
    | RanOtherwise
    | DetectorFailure
    | ControlResponse
)


class Untold:
    """Causes of incidents, oldest first: those that are one by themselves, and those that others add."""

    def __init__(self) -> None:
        self._causes: deque[IncidentCause] = deque()
        self._rejected = False
        """Whether a line of this turn could not be read: a person is told of the first."""
        self._otherwise = False
        """Whether a call ran otherwise than reviewed: the hook that does it will do so again, and a person is told once."""

    def __bool__(self) -> bool:
        return bool(self._causes)

    @property
    def first(self) -> IncidentCause:
        """The one to tell of next."""
        return self._causes[0]

    def add(self, cause: IncidentCause) -> None:
        """A person is to be told of it."""
        self._causes.append(cause)

    def ran_otherwise(self, how: RanOtherwise | None) -> None:
        """A call came back, and this is how it ran where that was not as reviewed."""
        if how is not None and not self._otherwise:
            self._otherwise = True
            self.add(how)

    def turn_began(self) -> None:
        """Lines that cannot be read are worth telling of again."""
        self._rejected = False

    def remember(self, event: AnyEvent) -> None:
        """Take in an event; those that are no incident by themselves change nothing."""
        match event:
            case IncidentOpened():
                self._causes.popleft()
            case InterventionChosen():
                self.add(event)
                failures: Mapping[str, str] = event.intervention.details.get("plugins_failed", {})
                self._causes += (PluginFailure(plugin, what) for plugin, what in failures.items())
            case PersonNeeded() | RecoveryChosen():
                self.add(event)
            case TreeEnded() if event.left:
                self.add(event)
            case FrameRejected() if not self._rejected:
                self._rejected = True
                self.add(event)
            case _:
                pass
