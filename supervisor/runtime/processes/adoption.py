"""Taking over the agents that a daemon before this one left: each is found alive, ended, lost, or never begun."""

from dataclasses import asdict, dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from monitors.contract.wording import counted
from supervisor.core.decisions.adoption import Found
from supervisor.core.session import Session
from supervisor.runtime.processes import shim_client, shim_remains
from supervisor.runtime.processes.agent_link import AgentLink
from supervisor.runtime.processes.identity import read_identity

WORDS = {
    "reattached": "run on",
    "exited": "had ended meanwhile",
    "lost": "are gone",
    "terminal": "had ended before",
    "launched": "are started now",
    "silent": "do not answer yet",
}
"""Fates of agents, by the name of the count."""

BIRTH_SECONDS = 5.0
"""How long a shim that was started as the daemon died may take until it can be found: it takes 40 ms."""


@dataclass(slots=True)
class Adopted:
    """Fates of the agents that were live when the daemon before this one ended."""

    found: int = 0
    """How many there were; the sum of the others."""
    reattached: int = 0
    """Alive, and watched over again."""
    exited: int = 0
    """Ended meanwhile, with a record."""
    lost: int = 0
    """Gone without a record."""
    terminal: int = 0
    """Known to have ended; only what follows from it was still due."""
    launched: int = 0
    """Submitted but never started; started now."""
    silent: int = 0
    """Alive, but its shim does not answer yet; it is tried again until it does, and its CLI waits meanwhile."""

    def count(self, outcome: Found) -> None:
        """Count one agent."""
        setattr(self, outcome, getattr(self, outcome) + 1)

    def counts(self) -> dict[str, int]:
        """All counts by name."""
        return asdict(self)

    def __str__(self) -> str:
        facts = self.counts()
        taken = f"took over {counted(facts.pop('found'), 'agent')} of the daemon before"
        became = [f"{number} {WORDS[name]}" for name, number in facts.items() if number]
        return f"{taken}: {', '.join(became)}" if became else taken


@dataclass(frozen=True, slots=True)
class AdoptionFinding:
    """The finding about one agent."""

    outcome: Found
    shim: AgentLink | None = None
    """A conversation with its shim, or with the CLI of an attached agent, where it lives."""
    replaced: str = ""
    """Why a shim that lives cannot be reached, so that its agent is to be ended; empty otherwise."""


async def find(session: Session, directory: Path) -> AdoptionFinding:
    """Look for what is left of an agent."""
    if session.processes_ended:
        return AdoptionFinding("terminal")
    deadline = anyio.current_time() + BIRTH_SECONDS
    while True:
        try:
            where = session.offset, session.errors_offset
            return AdoptionFinding(
                "reattached", await shim_client.ShimClient.attach(directory, *where, session.identity)
            )
        except shim_client.ShimSilentError:
            return AdoptionFinding("silent")
        except shim_client.ShimReplacedError as error:
            return AdoptionFinding("lost", replaced=str(error))
        except (shim_client.ShimGoneError, OSError):
            pass  # what it left says what became of it
        if await anyio.to_thread.run_sync(shim_remains.read_exit_record, directory) is not None:
            return AdoptionFinding("exited")
        if await anyio.to_thread.run_sync(read_identity, directory) is not None or session.launched:
            return AdoptionFinding("lost")
        if not await anyio.to_thread.run_sync((directory / "spec.json").exists) or anyio.current_time() > deadline:
            return AdoptionFinding("launched")
        await anyio.sleep(0.05)
