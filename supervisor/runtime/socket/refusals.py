"""Reports of peers that were refused on the socket: each is counted, and an incident reports it.

A program can be refused a thousand times a second, so there is one incident an agent, or a reason, and while.
"""

from collections.abc import Callable
from dataclasses import dataclass

from monitors.contract.words import Severity
from supervisor.runtime.socket.admission import Reason, RefusedPeer

AGAIN_SECONDS = 600.0
"""Time until an incident of the same agent or reason may follow: a reader of the first has looked by then."""

INCIDENT = "socket_refused"
"""The type of these incidents."""

Fault = Callable[[str, str, str, Severity, str], object]
"""Notes an incident: the agent, the type, a sentence, its severity, and the way out."""


@dataclass(slots=True)
class _Reported:
    """The last report about one agent, or for one reason."""

    mono: float
    unreported: int = 0


class RefusedPeers:
    """Reports refusals.

    Args:
        fault: Notes an incident.
        count: Counts a refusal, by its reason.
        mono: Gives the time, in seconds on a clock that is never set.
    """

    def __init__(self, fault: Fault, count: Callable[[Reason], object], mono: Callable[[], float]) -> None:
        self._fault = fault
        self._count = count
        self._mono = mono
        self._reported: dict[tuple[str, Reason], _Reported] = {}

    def saw(self, refusal: RefusedPeer) -> None:
        """Count a refusal, and report it if none of its kind was reported lately."""
        self._count(refusal.reason)
        if refusal.reason == "gone":  # a command that was ended as it began; nobody was there to be answered
            return
        now, key = self._mono(), (refusal.agent, refusal.reason)
        before = self._reported.get(key)
        if before is not None and now < before.mono + AGAIN_SECONDS:
            before.unreported += 1
            return
        self._reported = {known: last for known, last in self._reported.items() if now < last.mono + AGAIN_SECONDS}
        self._reported[key] = _Reported(now)
        more = (
            f" Since the last such incident it happened {before.unreported} more times."
            if before and before.unreported
            else ""
        )
        severity = Severity.MEDIUM if refusal.reason == "full" else Severity.HIGH
        self._fault(refusal.agent, INCIDENT, _sentence(refusal) + more, severity, _way_out(refusal))


def _sentence(refusal: RefusedPeer) -> str:
    name = f" ({refusal.name!r})" if refusal.name else ""
    who = f"Process {refusal.peer.pid}{name} of user {refusal.peer.uid}"
    whose = f", which belongs to agent {refusal.agent}," if refusal.agent else ""
    return f"{who}{whose} connected to the daemon's socket and was refused: {refusal.why}. It got nothing."


def _way_out(refusal: RefusedPeer) -> str:
    if refusal.agent:
        return (
            f"See what it ran: chaperon tail --agent {refusal.agent}. To end it: chaperon stop --force {refusal.agent}"
        )
    if refusal.reason == "full":
        return "See who holds them: ss -xp | grep chaperon.sock"
    return "See what runs: chaperon ps. An agent's program that hides whose it is does this."
