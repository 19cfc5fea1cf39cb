"""Facts that an agent notes, told to those that run already and that they concern, with their next call.

What an agent is owed follows from the journal alone: the facts that were noted since its submission, without those that
it was told. So the daemon that starts after one that was killed tells what that one had noted and not yet told.
"""

from collections.abc import Callable

import anyio.abc

from supervisor.core.board import Board
from supervisor.core.discoveries import Discovery
from supervisor.core.registers.known_discoveries import concerns
from supervisor.protocol.events import AnyEvent, DiscoveryNoted, DiscoveryTold, EventStamp


class Telling:
    """Tells agents what others note while they run.

    Args:
        board: The agents, and the facts.
        happened: Journals an event.
        stamp: Makes the stamp of an agent's event.
        most: Returns how many facts an agent is told in its run, beside those of its start.
        tasks: The task group in which agents are told.
    """

    def __init__(
        self,
        board: Board,
        happened: Callable[[AnyEvent], int],
        stamp: Callable[[str], EventStamp],
        most: Callable[[], int],
        tasks: anyio.abc.TaskGroup,
    ) -> None:
        self._board, self._happened, self._stamp = board, happened, stamp
        self._most, self._tasks = most, tasks

    def saw(self, event: AnyEvent) -> None:
        """Have agents told of a fact that was noted, once this event is folded in."""
        if isinstance(event, DiscoveryNoted):
            self._tasks.start_soon(self._tell, event.agent, event.text, name=f"a discovery of {event.agent}")

    def tell_owed(self) -> None:
        """Tell those that run all that they are owed."""
        for noted in self._board.discoveries.all():
            self._tell_of(noted)

    async def _tell(self, by: str, text: str) -> None:
        known = self._board.discoveries.all()
        noted = next((one for one in reversed(known) if (one.agent, one.text) == (by, text)), None)
        if noted is not None:  # else a person took it back at once
            self._tell_of(noted)

    def _tell_of(self, noted: Discovery) -> None:
        for agent in self._listeners(noted):
            self._happened(DiscoveryTold(**self._stamp(agent), discovery=noted.id, by=noted.agent, text=noted.text))

    def _listeners(self, noted: Discovery) -> list[str]:
        """The agents that ran as it was noted and run now, know it not yet, and that it concerns."""
        return [
            session.summary.agent
            for session in self._board.live()
            if session.summary.first_event < noted.number
            and session.summary.agent != noted.agent
            and concerns(noted, session.summary.project, session.task.id)
            and session.may_hear(noted.text, self._most())
        ]
