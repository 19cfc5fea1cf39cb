"""The end of a store: all of it goes, and nothing else."""

import os
import shutil
from pathlib import Path

from checkpoints.errors import CheckpointError
from checkpoints.store.layout import take_ownership
from checkpoints.store.restore_journal import journals_in
from host.durable import sync_path


def delete_store(folder: Path) -> None:
    """Delete a project's store, all of it: checkpoints, objects, log. No link is followed out of it.

    What lay on the disk is unlinked, not overwritten: on a journalling file system or a flash disk overwriting promises
    nothing. The agent's workspaces are not touched.

    Raises:
        CheckpointError: The folder is no store, is in use, or has a restore under way; nothing was deleted.
    """
    if folder.is_symlink() or not (folder / "project.json").is_file():
        raise CheckpointError(f"{folder} is no store of checkpoints; nothing was deleted.")
    if journals_in(folder):
        raise CheckpointError(
            f"A restore from {folder} was interrupted, and files may lie in this store alone; nothing was deleted.",
            way_out="Start chaperon, which completes it, and delete the store then.",
        )
    lock = take_ownership(folder)
    try:
        going = folder.with_name(f"{folder.name}.deleting")
        folder.rename(going)
    finally:
        os.close(lock)
    shutil.rmtree(going)
    sync_path(folder.parent)
