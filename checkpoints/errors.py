"""Errors of checkpoints, as types."""

import contextlib
import os
from collections.abc import Iterator

from host.disk_errors import NO_ROOM
from monitors.contract.errors import ChaperonError


class CheckpointError(ChaperonError):
    """A checkpoint could not be made, read, or gone back to."""


class StoreDamagedError(CheckpointError):
    """The store lacks an object, or holds one whose content is not what its name says."""

    def __init__(self, what: str, *, object_id: str = "") -> None:
        """Say what is damaged; `chaperon checkpoints doctor` lists which checkpoints that touches."""
        super().__init__(what, way_out="Other checkpoints stay usable; run `chaperon checkpoints doctor` to see which.")
        self.object_id = object_id


class StoreFullError(CheckpointError):
    """There was no room to write; nothing was announced, and what was captured before is untouched."""


class WorkspaceGoneError(CheckpointError):
    """The workspace was deleted, or another folder stands at its path."""


class RestoreRefusedError(CheckpointError):
    """Going back would lose something or was not confirmed; the workspace is as it was."""


class RestoreFailedError(CheckpointError):
    """Going back stopped half-way; the sentence says how the workspace was left."""


@contextlib.contextmanager
def room_needed(what: str) -> Iterator[None]:
    """Turn "no space left", "quota exceeded" and "file too large" into an error that says what was being written.

    Raises:
        StoreFullError: There was no room.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise StoreFullError(
            f"There was no room to write {what}: {os.strerror(error.errno)}. Nothing was announced; what was there before is untouched.",
            way_out="Free space on that disk, or lower the number of checkpoints to keep, and try again.",
        ) from error
