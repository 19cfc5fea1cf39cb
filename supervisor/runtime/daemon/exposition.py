"""The metrics as text, with values from files: written in a process on which nothing waits."""

import os
import pickle
from dataclasses import dataclass
from pathlib import Path

from checkpoints.store import stored
from supervisor.runtime.daemon.metrics import Metrics, Sample


@dataclass(frozen=True, slots=True)
class Counted:
    """The state of the daemon at one moment."""

    metrics: Metrics
    now: tuple[Sample, ...]
    """Values of gauges."""
    pid: int
    """The daemon's."""


def exposition(counted: bytes, journal: Path, checkpoints: Path) -> str:
    """The text that is served. Blocks.

    Args:
        counted: What `supervisor.runtime.api.gathering` gave, in this process or in the one that started it.
        journal: The journal's directory.
        checkpoints: The folder that has the stores of checkpoints.
    """
    known: Counted = pickle.loads(counted)  # noqa: S301 - our own
    stores = [
        ("chaperon_checkpoint_store_bytes", (project,), size) for project, size in stored.sizes(checkpoints).items()
    ]
    written = sum(path.stat().st_size for path in journal.glob("*.jsonl"))
    memory = int(Path(f"/proc/{known.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    on_disk = (("chaperon_daemon_memory_bytes", (), memory), ("chaperon_journal_bytes", (), written), *stores)
    return known.metrics.text((*known.now, *on_disk))
