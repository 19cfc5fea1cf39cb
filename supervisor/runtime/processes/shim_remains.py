"""The files that a shim left behind: how its agent ended, and what it printed.

Programs of the agent may be able to write there.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from host.plain_files import NotPlainError, open_plain, read_plain, read_up_to
from supervisor.runtime.processes.shim_events import ExitRecord, exit_record
from supervisor.runtime.shim.pipes import STDERR_CAP_BYTES, TAIL_BYTES
from supervisor.runtime.shim.seal import Seal

MOST_RECORD_BYTES = 2**20
"""Most of an exit record that is read; it has the end of the error output and the names of what was ended with it."""

PIECE_BYTES = 262_144
"""How much of the output is read at once."""


def read_exit_record(directory: Path, key: bytes = b"") -> ExitRecord | None:
    """How the agent ended, or None if there is no record that can be read: it runs, or it was lost.

    Args:
        directory: The launch's.
        key: Of the seal of its output; without it the end of a sealed error output is left out.
    """
    try:
        record = exit_record(json.loads(read_plain(directory / "exit.json", MOST_RECORD_BYTES)))
    except (OSError, ValueError, RecursionError):
        return None
    if key and not record.stderr_tail:
        record = replace(record, stderr_tail=read_errors(directory, 0, key)[-TAIL_BYTES:].decode(errors="replace"))
    return record


def read_rest(directory: Path, offset: int, key: bytes = b"") -> Iterator[bytes]:
    """Yield the CLI's output from an offset on, in pieces; for agents whose shim has gone.

    Nothing if the CLI never ran.
    """
    try:
        with open_plain(directory / "out.log") as fd:
            os.lseek(fd, offset, os.SEEK_SET)
            seal = Seal(key, "out.log")
            while data := os.read(fd, PIECE_BYTES):
                yield seal.apply(data, offset)
                offset += len(data)
    except (FileNotFoundError, NotPlainError):
        return


def read_errors(directory: Path, offset: int, key: bytes = b"") -> bytes:
    """Return `err.log` from an offset on, for agents whose shim has gone; it has a cap.

    Empty if the CLI never ran.
    """
    try:
        with open_plain(directory / "err.log") as fd:
            os.lseek(fd, offset, os.SEEK_SET)
            return Seal(key, "err.log").apply(read_up_to(fd, STDERR_CAP_BYTES), offset)
    except (FileNotFoundError, NotPlainError):
        return b""
