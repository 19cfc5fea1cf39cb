"""The CLI's requests that wait at the gate, and what they wait for."""

from dataclasses import dataclass, field

from monitors.contract.actions import Review
from supervisor.core.gate import Request
from supervisor.core.observing.frames import Unread
from supervisor.core.timers import APPROVAL
from supervisor.protocol.events import AnyEvent, ApprovalAsked, ApprovalGiven, ReviewArrived, ReviewDeferred, TimerFired


@dataclass(slots=True)
class Requests:
    """The open requests of one agent, each by its id, oldest first."""

    waiting: dict[str, Request] = field(default_factory=dict)
    approvals: dict[str, ApprovalAsked] = field(default_factory=dict)
    """Questions to a person."""
    approved: dict[str, ApprovalGiven] = field(default_factory=dict)
    """Replies of a person, whether yes or no."""
    overdue: set[str] = field(default_factory=set)
    """Those that a person did not answer in time."""
    elsewhere: set[str] = field(default_factory=set)
    """Those whose review is made in another process."""
    arrived: dict[str, Review] = field(default_factory=dict)
    """Reviews that another process has made."""
    unread: Unread | None = None

    @property
    def turned_down(self) -> bool:
        """Whether a person turned an action down that waits, or did not answer in time."""
        return bool(self.overdue) or any(not given.granted for given in self.approved.values())

    def remember(self, event: AnyEvent) -> None:
        """Take in an event; those that do not bear on waiting requests change nothing."""
        match event:
            case ApprovalAsked():
                self.approvals[event.request_id] = event
            case ApprovalGiven():
                self.approved[event.request_id] = event
            case ReviewDeferred():
                self.elsewhere.add(event.request_id)
            case ReviewArrived() if event.request_id in self.elsewhere:
                self.arrived[event.request_id] = event.review
            case TimerFired(name=name) if name.startswith(APPROVAL):
                self._late(name.removeprefix(APPROVAL))
            case _:
                pass

    def over(self, request_id: str) -> Request | None:
        """It waits no longer: it was answered, or the CLI withdrew it."""
        self.approvals.pop(request_id, None)
        self.approved.pop(request_id, None)
        self.overdue.discard(request_id)
        self.elsewhere.discard(request_id)
        self.arrived.pop(request_id, None)
        return self.waiting.pop(request_id, None)

    def _late(self, request_id: str) -> None:
        """A person's time is over; nothing if no person is asked any more."""
        if request_id in self.approvals:
            self.overdue.add(request_id)

    def ask_again(self) -> None:
        """Have reviews made that another process was asked for: with the daemon before, it is gone."""
        self.elsewhere.intersection_update(self.arrived)

    def clear(self) -> None:
        """The processes that asked are gone."""
        for known in (self.waiting, self.approvals, self.approved, self.overdue, self.elsewhere, self.arrived):
            known.clear()
        self.unread = None
