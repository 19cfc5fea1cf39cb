"""Hosts that the gateway refused an agent and a person can open to it, until one answers.

The agent does not wait: it was refused, and asks again if the host is opened.
"""

from supervisor.protocol.events import AllowanceGiven, AnyEvent, HostDenied, HostRefused

KEPT_SECONDS = 3_600.0
"""How long a host is shown after the agent last asked for it; one that is opened is open as long."""

AGAIN_SECONDS = 600.0
"""After which a host that is asked for again is noted again: a program that tries it each second would fill the
journal."""

MOST = 20
"""Hosts of one agent; an agent can ask for as many names as it likes, and a person reads them."""


class AskedHosts:
    """The hosts that one agent asked for."""

    def __init__(self) -> None:
        self._asked: dict[str, HostRefused] = {}
        self._denied: set[str] = set()

    def remember(self, event: AnyEvent) -> None:
        """Take in an event; those that are not about hosts change nothing."""
        match event:
            case HostRefused():
                self._asked = {one.host: one for one in self.waiting(event.at)} | {event.host: event}
            case HostDenied():
                self._asked.pop(event.host, None)
                self._denied.add(event.host)
            case AllowanceGiven():
                self._asked.pop(event.text, None)
            case _:
                pass

    def waiting(self, at: float) -> list[HostRefused]:
        """Return those that wait for a person at a Unix time in seconds, oldest first."""
        return [one for one in self._asked.values() if at - one.at < KEPT_SECONDS]

    def find(self, id_: str, at: float) -> HostRefused | None:
        """Return the one of an id; None if none waits."""
        return next((one for one in self.waiting(at) if one.id == id_), None)

    def id_for(self, host: str, at: float, fresh: str) -> str:
        """Return the id to note a refusal of now under, its own or a fresh one; empty if it is not noted."""
        known = self._asked.get(host)
        if host in self._denied or (known is not None and at - known.at < AGAIN_SECONDS):
            return ""
        if known is not None:
            return known.id
        return fresh if len(self.waiting(at)) < MOST else ""
