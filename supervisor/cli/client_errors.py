"""The failures of conversations with the daemon.

They are apart from the client, so that a command which asks no daemon does not load what speaks HTTP: 15 ms.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from monitors.contract.errors import ChaperonError, UsageError


class NoDaemonError(ChaperonError):
    """Nobody listens on the socket."""

    def __init__(self, tried: tuple[Path, ...]) -> None:
        """Name the sockets that were tried."""
        super().__init__(
            f"No daemon listens on {' or '.join(map(str, tried))}.",
            way_out="Start one: chaperon serve, or systemctl --user start chaperon.",
        )


class StrangerError(ChaperonError):
    """Somebody listens on the socket whom this user may not trust; nothing was sent."""


class DaemonGoneError(ChaperonError):
    """The daemon went away in the middle of a conversation, or does not answer."""


class RefusedError(ChaperonError):
    """The daemon did not do what was asked; the sentence is its own."""


class MisusedError(RefusedError, UsageError):
    """The daemon was asked for what cannot be: the caller's mistake."""

    faults: Mapping[int, str] = MappingProxyType({})
    """Of a list that was refused: the fault of each of its things, by number from 1."""
