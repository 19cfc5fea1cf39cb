"""The facts of the machine that claims depend on."""

import os
from collections.abc import Iterable
from pathlib import Path

import psutil

from host.standing import is_there
from supervisor.core.tasks.queue import MachineFacts

MIB = 2**20


def machine_facts(folders: Iterable[Path], now: float) -> MachineFacts:
    """Return what is free now. Blocks.

    Args:
        folders: Folders whose disks must have room; one that is not there yet counts by the nearest above it.
        now: Unix time in seconds.
    """
    free, disk = min(
        ((psutil.disk_usage(str(_existing(folder))).free, str(folder)) for folder in folders), default=(0, "")
    )
    cores = os.cpu_count() or 1
    return MachineFacts(psutil.virtual_memory().available / MIB, free / MIB, os.getloadavg()[0] / cores, now, disk)


def _existing(folder: Path) -> Path:
    return next((one for one in (folder, *folder.parents) if is_there(one)), Path("/"))
