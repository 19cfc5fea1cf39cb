"""The use of the model by one agent, kept in a file of a fixed size: a gateway that was killed goes on counting by it.

The file is not synced: a power cut ends the agent too, and its daemon counts by the journal.
"""

import os
import struct
from contextlib import suppress
from pathlib import Path

from supervisor.runtime.gateway.messages import ModelUse

SUFFIX = ".counts"
"""The end of the files' names; the digest of the agent's folder is before it."""

_NUMBERS = struct.Struct("<4Q")
_MOST = 2**64 - 1


class Counts:
    """The file of one agent. Each operation is one system call of some microseconds.

    Args:
        path: The file; made if it is not there.

    Raises:
        OSError: It cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)

    def known(self) -> ModelUse:
        """Return what was counted before; nothing, if the file has none or is damaged."""
        data = os.pread(self._fd, _NUMBERS.size + 1, 0)
        return ModelUse(*_NUMBERS.unpack(data)) if len(data) == _NUMBERS.size else ModelUse()

    def keep(self, use: ModelUse) -> None:
        """Note what is counted by now; a full disk loses it, and no call."""
        numbers = use.calls, use.input_tokens, use.output_tokens, use.refused
        with suppress(OSError):
            os.pwrite(self._fd, _NUMBERS.pack(*(min(each, _MOST) for each in numbers)), 0)

    def close(self) -> None:
        """Leave the file for the next gateway."""
        os.close(self._fd)

    def remove(self) -> None:
        """Remove the file, as the agent has ended."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)
        self.close()


def remove_others(folder: Path, kept: set[str]) -> None:
    """Remove the files of agents that ended while no gateway was there. Blocks.

    Args:
        folder: The folder of the gateway.
        kept: Digests of agents that live.
    """
    for path in folder.glob(f"*{SUFFIX}"):
        if path.name.removesuffix(SUFFIX) not in kept:
            with suppress(OSError):
                path.unlink()
