"""The refs of a store, by which any git finds checkpoints. They follow from the ledger and can be written anew."""

import re
from pathlib import Path

from checkpoints.errors import room_needed
from checkpoints.model import Checkpoint
from checkpoints.store.ledger import Ledger
from host.durable import is_temporary, replace_file
from host.plain_files import read_plain

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
"""Permitted names of checkpoints: fit for a ref and for a file, on any system."""


MOST_BYTES = 256
"""Most of a ref: a commit's id has 40 characters, or 64."""


class Refs:
    """One file a checkpoint, with its commit."""

    def __init__(self, folder: Path) -> None:
        """Keep them in this folder of the repository."""
        self._folder = folder

    def all(self) -> tuple[tuple[str, str], ...]:
        """Return name and commit of each, whether the ledger knows it or not."""
        places = sorted(self._folder.iterdir())
        return tuple((place.name, _commit_in(place)) for place in places if NAME.fullmatch(place.name))

    def mend(self, ledger: Ledger) -> None:
        """Make refs say what the ledger says; one that the ledger never heard of stays, for `doctor`."""
        for checkpoint in ledger.checkpoints:
            ref = self._folder / checkpoint.name
            if _commit_in(ref) != checkpoint.commit:
                self._write(checkpoint)
        for ref in self._folder.iterdir():
            if ledger.was_dropped(ref.name) or is_temporary(ref.name):
                ref.unlink(missing_ok=True)

    def _write(self, checkpoint: Checkpoint) -> None:
        """Write one, not synced: a power cut costs nothing that cannot be written again."""
        with room_needed("a ref"):
            replace_file(self._folder / checkpoint.name, f"{checkpoint.commit}\n".encode(), sync=False)


def _commit_in(ref: Path) -> str:
    """Return the commit that a ref names; empty if it is not there or names none: refs are not synced."""
    try:
        return read_plain(ref, MOST_BYTES).decode("ascii").strip()
    except (OSError, ValueError):
        return ""
