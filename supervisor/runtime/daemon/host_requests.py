"""Hosts that agents asked the gateway for and were refused: a person answers them beside the actions that wait.

The agent does not wait: it was refused, and asks again if the host is opened. So what is asked is kept in memory alone,
and the incident of each refusal is in the journal, as is what a person opens.
"""

import secrets
from dataclasses import dataclass
from hashlib import blake2b

from supervisor.core.board import Board
from supervisor.runtime.clock import Clock

BEGINNING = "host-"
"""The beginning of the ids; no request of a CLI has it."""

KEPT_SECONDS = 3_600.0
"""How long a request is shown after the agent last asked; one that is opened is open as long."""

MOST = 20
"""Requests of one agent; an agent can ask for as many names as it likes, and a person reads them."""


@dataclass(frozen=True, slots=True)
class HostRequest:
    """A host that an agent asked for."""

    id: str
    agent: str
    host: str
    """With its port."""
    why: str
    """Why it was refused."""
    at: float
    """Unix time of the last time, in seconds."""
    mono: float
    """The same by the clock that does not jump."""


class HostRequests:
    """The requests that were not answered.

    Args:
        board: The agents that live, and what they are allowed.
        clock: The time.
    """

    def __init__(self, board: Board, clock: Clock) -> None:
        self._board, self._clock = board, clock
        self._key = secrets.token_bytes(16)
        """Without it an agent could find two hosts of one id: a person would approve the one, and open the other."""
        self._asked: dict[str, dict[str, HostRequest]] = {}
        """By agent and id."""
        self._denied: set[tuple[str, str]] = set()

    def add(self, agent: str, host: str, why: str) -> None:
        """Take in a refusal; one that a person turned down is not asked again."""
        if (agent, host) in self._denied:
            return
        if agent not in self._asked:
            self._forget_ended()
        own = self._asked.setdefault(agent, {})
        id_ = BEGINNING + blake2b(f"{agent} {host}".encode(), digest_size=4, key=self._key).hexdigest()
        if id_ in own or len(own) < MOST:
            own[id_] = HostRequest(id_, agent, host, why, self._clock.wall(), self._clock.mono())

    def waiting(self) -> list[HostRequest]:
        """Return those of agents that live, which no allowance has answered."""
        now = self._clock.mono()
        self._forget_ended()
        for agent, own in self._asked.items():
            allowed = {one.text for one in self._board.session(agent).allowances(now)}
            for each in list(own.values()):
                if each.host in allowed or now > each.mono + KEPT_SECONDS:
                    del own[each.id]
        return [each for own in self._asked.values() for each in own.values()]

    def find(self, agent: str, id_: str) -> HostRequest | None:
        """Return one that waits; None if none does."""
        return next((each for each in self.waiting() if (each.agent, each.id) == (agent, id_)), None)

    def deny(self, request: HostRequest) -> None:
        """Turn one down for as long as the agent lives; a person can still open the host by an allowance."""
        if self._asked.get(request.agent, {}).pop(request.id, None) is not None:
            self._denied.add((request.agent, request.host))

    def _forget_ended(self) -> None:
        """Forget agents that have ended. It is done before another one is taken up, since a person may never look."""
        for agent in [agent for agent in self._asked if self._board.find(agent) is None]:
            del self._asked[agent]
        self._denied = {each for each in self._denied if self._board.find(each[0]) is not None}
