"""The last incident each channel has delivered, on disk, so that delivery resumes after a crash."""

from collections.abc import Mapping
from pathlib import Path

import orjson

from host.durable import REAL_DISK, Disk, replace_file
from supervisor.runtime.log import log

NAME = "notified.json"
"""The file, in the state directory: an object from a channel's name to a sequence number of the journal."""


class DeliveryMarks:
    """The marks of all channels. All calls block.

    Args:
        directory: The state directory.
        disk: Another, in tests.
    """

    def __init__(self, directory: Path, disk: Disk = REAL_DISK) -> None:
        self._path = directory / NAME
        self._disk = disk
        self._marks = dict(_read(self._path))

    def upto(self, channel: str, otherwise: int) -> int:
        """Return the sequence number up to which the channel has delivered.

        Args:
            channel: Its name.
            otherwise: The journal's last number: the start of a new channel, and of one whose mark lies beyond, which
                was made in a journal that has gone. It is noted.
        """
        if self._marks.get(channel, otherwise + 1) > otherwise:
            self._marks.pop(channel, None)
            self.note(channel, otherwise)
        return self._marks[channel]

    def note(self, channel: str, seq: int) -> None:
        """Note the last delivered incident. If the disk does not take it, some are delivered twice at most."""
        self._marks[channel] = max(seq, self._marks.get(channel, 0))
        try:
            replace_file(self._path, orjson.dumps(self._marks), disk=self._disk)
        except OSError as error:
            log.warning("%s was not written (%s); after a restart channel %s may tell twice", NAME, error, channel)


def _read(path: Path) -> Mapping[str, int]:
    """The marks; none where the file is not there or is something else, which makes every channel a new one."""
    try:
        found = orjson.loads(path.read_bytes())
        return {str(channel): int(seq) for channel, seq in found.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}
