"""The journal of a restore, by which a restore that a crash cut off is completed or undone."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from checkpoints.errors import CheckpointError, room_needed
from checkpoints.store.store import Store
from host.durable import is_temporary, replace_file, sync_path


@dataclass(frozen=True, slots=True)
class RestoreJournal:
    """The facts that a restore needs to continue after a crash."""

    workspace: str
    target: str
    undo: str
    blocks: dict[str, str]
    phase: str
    """`staging`: the workspace is untouched. `applying`: to be completed. `returning`: to be put back.
    `completed`, `returned`: that is done, and only what lies aside is to be removed."""


class JournalFile:
    """The journal of one workspace's restore; there while one is under way."""

    def __init__(self, store: Store, label: str) -> None:
        """Keep it in this store, under the workspace's label."""
        self._path = store.restores / f"{label}.json"

    def write(self, journal: RestoreJournal) -> None:
        """Write it durably.

        Raises:
            StoreFullError: There was no room; the journal is as it was.
        """
        with room_needed("the journal of a restore"):
            replace_file(self._path, json.dumps(asdict(journal)).encode())

    def read(self) -> RestoreJournal | None:
        """Return it, or None if no restore is under way; raises like `interrupted`."""
        return _read(self._path) if self._path.exists() else None

    def remove(self) -> None:
        """Say durably that the restore is over."""
        self._path.unlink(missing_ok=True)
        sync_path(self._path.parent)


def journals_in(store: Path) -> list[Path]:
    """Return the journals of interrupted restores in a store; journals that were never complete are left out."""
    return sorted(path for path in (store / "restores").glob("*.json") if not is_temporary(path.name))


def interrupted(store: Store) -> tuple[str, ...]:
    """Return the workspaces in which a restore was interrupted: each needs `Restorer.recover` before anything else.

    Raises:
        CheckpointError: A journal cannot be read; the sentence says which.
    """
    return tuple(_read(path).workspace for path in journals_in(store.folder))


def in_use(store: Store) -> frozenset[str]:
    """Return the names of checkpoints that an interrupted restore needs; raises like `interrupted`."""
    journals = [_read(path) for path in journals_in(store.folder)]
    return frozenset(name for journal in journals for name in (journal.target, journal.undo))


def _read(path: Path) -> RestoreJournal:
    try:
        return RestoreJournal(**json.loads(path.read_bytes()))
    except (ValueError, TypeError) as error:
        raise CheckpointError(
            f"{path}, which tells of a restore that was cut short, cannot be read: {error}. No file was changed.",
            way_out="Look at the workspace, where files may lie in .chaperon-restore-*, and then move the journal away.",
        ) from error
