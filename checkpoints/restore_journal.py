"""What a restore that is under way writes down, so that after a crash it is completed or returned."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from checkpoints.durable import replace_file, room_needed, sync_folder
from checkpoints.store import Store


@dataclass(frozen=True, slots=True)
class Journal:
    """What a restore that is under way has to know of itself after a crash."""

    workspace: str
    target: str
    undo: str
    blocks: dict[str, str]
    phase: str
    """`staging`: the workspace is untouched. `applying`: to be completed. `returning`: to be put back.
    `completed`, `returned`: that is done, and only what lies aside is to be removed."""


class JournalFile:
    """The journal of one workspace's restore; there while one is under way."""

    def __init__(self, store: Path, label: str) -> None:
        """Keep it in this store's folder, under the workspace's label."""
        self._path = store / "restores" / f"{label}.json"

    def write(self, journal: Journal) -> None:
        """Write it durably.

        Raises:
            StoreFullError: There was no room; the journal is as it was.
        """
        with room_needed("the journal of a restore"):
            replace_file(self._path, json.dumps(asdict(journal)).encode())

    def read(self) -> Journal | None:
        """Return it, or None where no restore is under way."""
        return Journal(**json.loads(self._path.read_bytes())) if self._path.exists() else None

    def remove(self) -> None:
        """Say durably that the restore is over."""
        self._path.unlink(missing_ok=True)
        sync_folder(self._path.parent)


def interrupted(store: Store) -> tuple[str, ...]:
    """Return the workspaces in which a restore was interrupted: each needs `Restorer.recover` before anything else."""
    journals = sorted((store.folder / "restores").glob("*.json"))
    return tuple(str(json.loads(path.read_bytes())["workspace"]) for path in journals)


def in_use(store: Store) -> frozenset[str]:
    """Return the names of checkpoints that an interrupted restore needs."""
    journals = [json.loads(path.read_bytes()) for path in (store.folder / "restores").glob("*.json")]
    return frozenset(str(journal[key]) for journal in journals for key in ("target", "undo"))
