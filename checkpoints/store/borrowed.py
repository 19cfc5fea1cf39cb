"""The objects of others that a store borrows, looked through before git reads them.

Git opens what stands at the place of an object, a pack or a list of further folders. An agent can put a named pipe
there, for which git waits for ever.
"""

import os
from pathlib import Path

from checkpoints.errors import CheckpointError
from host.folders import below
from host.plain_files import read_plain

MOST_LIST_BYTES = 1_048_576
"""Most of a list of folders: one has a line."""

MOST_FOLDERS = 32
"""Folders that are looked through; git follows lists five deep."""


def check_borrowed(objects: Path) -> None:
    """Look whether all is a plain file that git may open in folders that this one borrows from. Blocks.

    Args:
        objects: A folder of objects of chaperon's own.

    Raises:
        CheckpointError: Something is none, or cannot be looked at.
    """
    seen: set[Path] = set()
    waiting = _listed(objects)
    while waiting:
        folder = waiting.pop().resolve()
        if folder in seen or not folder.is_dir():
            continue
        seen.add(folder)
        if len(seen) > MOST_FOLDERS:
            raise CheckpointError(f"{objects} borrows from more than {MOST_FOLDERS} folders; it was not packed.")
        try:
            waiting += _listed(folder)
            for path in below(folder):
                if path.is_symlink() or not path.is_dir():
                    _check(path)
        except OSError as error:
            raise CheckpointError(f"{folder} could not be looked at ({error}); it was not packed.") from error


def _listed(objects: Path) -> list[Path]:
    """Return the folders that a folder of objects borrows from."""
    try:
        lines = read_plain(objects / "info/alternates", MOST_LIST_BYTES).split(b"\n")
    except FileNotFoundError:
        return []
    return [objects / os.fsdecode(line) for line in lines if line and not line.startswith(b"#")]


def _check(path: Path) -> None:
    if not path.is_file() and path.exists():
        raise CheckpointError(
            f"{path} is no plain file, and git would wait for it or read without end; what relies on it was not packed.",
            way_out="Remove it: git keeps plain files alone there.",
        )
