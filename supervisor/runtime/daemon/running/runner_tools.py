"""The parts that the runners of all agents share."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from supervisor.protocol import events
from supervisor.protocol.commands import (
    Capture,
    Launch,
    LookAtChanges,
    LookAtGrounds,
    RestoreCheckpoint,
    ReviewElsewhere,
)
from supervisor.runtime.clock import Clock
from supervisor.runtime.incidents.feed import IncidentFeed
from supervisor.runtime.journal.journal import Journal
from supervisor.runtime.processes import shim_client
from supervisor.runtime.processes.bounds.cgroups import Ceiling
from supervisor.runtime.processes.launcher import Brings


class Launcher(Protocol):
    """Starts the processes of an agent."""

    def brings(self, agent: str, workspace: str) -> Brings:
        """Look what the settings of the repository bring, and say how a CLI is started for that. Blocks."""
        ...

    async def launch(
        self, agent: str, command: Launch, brings: Brings | None = None, had: Sequence[str] = ()
    ) -> shim_client.ShimClient:
        """Start shim and CLI; what agents `had` of the session in which it goes on is handed to it.

        Raises:
            LaunchError: They could not be started; nothing of them runs.
        """
        ...

    def seal_of(self, directory: Path) -> bytes:
        """Return the key of what a launch printed; empty if that is in the clear. Blocks."""
        ...

    def limit(self, containment: str, ceiling: Ceiling) -> tuple[str, ...]:
        """Set a ceiling on an agent's control group.

        Returns the names of files that could not be set, all if there is no group.
        """
        ...

    def clear(self, containment: str) -> None:
        """Give back what an agent that has ended held of the machine: its control group. Blocks."""
        ...


@dataclass(frozen=True, slots=True)
class Tools:
    """Shared parts of runners."""

    journal: Journal
    incidents: IncidentFeed
    launcher: Launcher
    clock: Clock
    happened: Callable[[events.AnyEvent], object]
    """Journals an event, lets its session decide, and hands the commands to the agent's runner."""
    capture: Callable[[str, Capture], object]
    """Has a checkpoint made, and its outcome reported; returns at once."""
    look: Callable[[str, LookAtChanges], object]
    """Looks which files changed; the result of a look after a call is reported later."""
    look_again: Callable[[str, LookAtGrounds], object]
    """Checks whether the grounds of a review still hold; the result is reported later."""
    review: Callable[[str, ReviewElsewhere], object]
    """Has a review made in another process, and the outcome reported; returns at once."""
    restore: Callable[[str, RestoreCheckpoint], object]
    """Has a checkpoint's files restored, and the outcome reported; returns at once."""
    fault: Callable[..., object]
    """Notes an incident that is no decision: the agent, the incident's type, a sentence and, if it is not high, its
    severity."""
    answers_due: Callable[[str], bool]
    """Whether the CLI of the agent waits for something from us."""
    reattached: Callable[[str], object]
    """Has the agent's session ask again for all that is due, for what was sent to its shim may be lost."""
    account: Callable[[], str] = str
    """Names the account that pays for the calls of agents that are launched."""
    had_session: Callable[[str], Sequence[str]] = lambda _: ()
    """Names the agents that were in a session of the CLI, the last one first."""
    before_relaunch: Callable[[str], Awaitable[None]] | None = None
    """Runs what comes before each further launch of an agent; raises ChaperonError if the agent may not be launched."""
    in_turn: Callable[[str, Callable[[], object]], object] = lambda _, go_on: go_on()
    """Has an agent whose wait is over go on once its turn has come, by the function that is given."""
