"""Incidents of one agent that are not reported yet. A fold over events."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from interventions.contract import PluginFailure
from interventions.words import InterventionKind
from monitors.guarded import DetectorFailure
from supervisor.core.bypass import TYPE as GATE_BYPASSED
from supervisor.core.bypass import Bypass
from supervisor.protocol.claude.messages import ControlResponse
from supervisor.protocol.claude.retrying import Retrying
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
    ReviewMade,
    StopRequested,
    TimerFired,
    TreeEnded,
)

MAX_CHANGED = 16
"""Most changed files that are reported. There are four of settings and a few scripts; their names come from outside."""


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """Settings of the CLI changed while it ran, and were kept from counting."""

    source: str
    """Their source, in the CLI's words. Example: `project_settings`."""
    path: str


@dataclass(frozen=True, slots=True)
class ScriptChanged:
    """A script is not as it was reviewed, once a call has run it."""

    tool: str
    tool_use_id: str
    path: str


IncidentCause = (
    InterventionChosen
    | PersonNeeded
    | RecoveryChosen
    | PluginFailure
    | RestoreFailed
    | ReviewMade
    | StopRequested
    | AgentExited
    | AgentVanished
    | LaunchFailed
    | TimerFired
    | TreeEnded
    | FrameRejected
    | Bypass
    | SettingsChanged
    | ScriptChanged
    | DetectorFailure
    | ControlResponse
    | Retrying
)


class PendingIncidents:
    """Causes of incidents, oldest first: those that are one by themselves, and those that others add."""

    def __init__(self) -> None:
        self._causes: deque[IncidentCause] = deque()
        self._rejected = False
        """Whether a line of this turn could not be read: the first is reported."""
        self._expired = False
        """Whether an action of this turn was denied for lack of a reply: the first is reported."""
        self._bypasses: set[str] = set()
        """Ways in which calls ran past the gate: each will recur, and is reported once."""

        self._changed: set[str] = set()
        """Files of settings, and scripts, that changed: each is reported once."""

    def __bool__(self) -> bool:
        return bool(self._causes)

    @property
    def first(self) -> IncidentCause:
        """The next cause to report."""
        return self._causes[0]

    def add(self, cause: IncidentCause) -> None:
        """Add a cause to report."""
        self._causes.append(cause)

    def bypassed(self, bypass: Bypass) -> None:
        """A call ran past the gate."""
        if bypass.how not in self._bypasses:
            self._bypasses.add(bypass.how)
            self.add(bypass)

    def changed(self, changed: SettingsChanged | ScriptChanged) -> None:
        """A file changed that should not have; a run of a day may have many, in a handful of files."""
        if changed.path not in self._changed and len(self._changed) < MAX_CHANGED:
            self._changed.add(changed.path)
            self.add(changed)

    def expired(self, made: ReviewMade) -> None:
        """Note that an action got no reply in time: the first in each turn is reported."""
        if not self._expired:
            self._expired = True
            self.add(made)

    def turn_began(self) -> None:
        """Report lines that cannot be read, and actions without a reply, again from now on."""
        self._rejected = self._expired = False

    def remember(self, event: AnyEvent) -> None:
        """Take in an event; those that are no incident by themselves change nothing."""
        match event:
            case IncidentOpened():
                self._causes.popleft()
            case InterventionChosen():
                self._stopped_for_it(event)
                self.add(event)
                failures: Mapping[str, str] = event.intervention.details.get("plugins_failed", {})
                self._causes += (PluginFailure(plugin, what) for plugin, what in failures.items())
            case PersonNeeded() | RecoveryChosen():
                self.add(event)
            case StopRequested() if event.limit:
                self.add(event)
            case TreeEnded() if event.left:
                self.add(event)
            case FrameRejected() if not self._rejected:
                self._rejected = True
                self.add(event)
            case _:
                pass

    def _stopped_for_it(self, chosen: InterventionChosen) -> None:
        """Drop the incident of the call that a stop is for: the stop's own incident reports it."""
        made = chosen.intervention
        if made.kind is InterventionKind.EMERGENCY_STOP and made.issue.type == GATE_BYPASSED:
            how = made.issue.details.get("how")
            self._causes = deque(one for one in self._causes if not (isinstance(one, Bypass) and one.how == how))
