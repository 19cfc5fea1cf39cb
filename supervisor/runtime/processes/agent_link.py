"""The conversation with an agent's processes, as its runner needs it: by a shim, or by the hooks of an attached CLI."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

from supervisor.protocol.identity import Identity
from supervisor.runtime.processes.shim_events import ShimEvent


class AgentLink(Protocol):
    """A conversation with the processes of one agent. None of these blocks, and what follows comes as an event."""

    pid: int
    """The process above the agent's."""
    cli_pid: int
    containment: str
    identity: Identity | None
    directory: Path

    def send_line(self, key: str, line: bytes) -> None:
        """Pass a line to the CLI; `Accepted` follows."""
        ...

    def close_input(self) -> None:
        """Have the CLI end after what it is doing."""
        ...

    def terminate(self) -> None:
        """Ask the CLI to end."""
        ...

    def freeze(self, id_: str) -> None:
        """Freeze the processes; `Frozen` follows, with this id."""
        ...

    def thaw(self) -> None:
        """Let them go on."""
        ...

    def end_tree(self) -> None:
        """End the processes; `TreeKilled` follows, then `Exited`."""
        ...

    def give_up(self) -> None:
        """Leave the agent so that no call of it passes, because we failed; `Exited` follows."""
        ...

    def events(self) -> AsyncIterator[ShimEvent]:
        """Yield what happens, in order; one reader at a time."""
        ...

    def close(self) -> None:
        """End the conversation; the agent goes on."""
        ...
