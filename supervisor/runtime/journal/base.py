"""The base of a journal whose beginning was removed: the first record that is kept, and the hash of the line before.

base              the header of the first file that is kept, once more
base-state.json   the state at some record behind that, as a snapshot has it, with the summaries of ended agents
"""

from pathlib import Path
from typing import NamedTuple

from host.durable import REAL_DISK, Disk, replace_file
from monitors.contract.errors import ChaperonError
from supervisor.protocol import records
from supervisor.protocol.records import RecordError

BASE_NAME = "base"
BASE_STATE_NAME = "base-state.json"


class BaseDamagedError(ChaperonError):
    """The base of a journal is damaged; nothing was changed."""


class JournalBase(NamedTuple):
    """The record from which a journal goes on."""

    first: int
    """Its number: a file begins with it."""
    hash: str
    """The hash of the line before it."""


def read_base(directory: Path) -> JournalBase | None:
    """Read the base of a journal; None if it has its beginning.

    Raises:
        BaseDamagedError: It is damaged.
        OSError: It cannot be read.
    """
    path = directory / BASE_NAME
    try:
        return JournalBase(*records.check_header(path.read_bytes()))
    except FileNotFoundError:
        return None
    except RecordError as error:
        raise BaseDamagedError(
            f"{path} is damaged: {error.what} It says from which record the journal goes on. Nothing was changed.",
            way_out=f"Restore it from a copy, or put the first line of the oldest file in {directory} there.",
        ) from None


def write_base(directory: Path, base: JournalBase, disk: Disk = REAL_DISK) -> None:
    """Write the base; it is on the disk when this returns. Blocks.

    Raises:
        OSError: It could not be written; the one before stands.
    """
    replace_file(directory / BASE_NAME, records.encode_header(base.first, base.hash)[0], disk=disk)
