"""Packing a store: everything that checkpoints need in one pack of its own, and nothing else. Off-peak, and rarely.

After it nothing is borrowed from the project any more, what was dropped takes no room, and versions of a file are
stored as differences. Captures go on meanwhile: what they write is in packs that this does not touch.
"""

import contextlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from checkpoints.errors import StoreFullError
from checkpoints.git.git_command import run_git
from checkpoints.store.borrowed import check_borrowed
from checkpoints.store.store import Store

TIMEOUT_SECONDS = 3_600.0
NICENESS = 15
FREE_FACTOR = 2
"""Free space asked for, in sizes of the store: old and new pack lie side by side, and a disk filled by packing is a
public failure of a peer."""


@dataclass(frozen=True, slots=True)
class Packed:
    """The result of packing."""

    packs_before: int
    gave_back: bool
    """Whether objects were borrowed before and are not now."""


def pack(store: Store, *, timeout_seconds: float = TIMEOUT_SECONDS, stop: int | None = None) -> Packed:
    """Pack a store. Safe to call at any time, from any thread, and to be killed in.

    Args:
        store: The store.
        timeout_seconds: After this it is given up.
        stop: A descriptor that becomes readable if the caller gives it up.

    Raises:
        StoreFullError: There is not enough free space to be safe; nothing was changed.
        CheckpointError: Git is missing, failed or took too long, or the store lacks an object; nothing was changed.
    """
    _check_room(store, store.size_bytes)
    borrowed = store.borrows
    if borrowed:
        check_borrowed(store.objects / "objects")
    commits, old = store.begin_packing()
    try:
        new = _write_pack(store, commits, timeout_seconds, stop) if commits else None
    except BaseException:
        _remove_unfinished(store.packs)
        raise
    store.end_packing(new, old)
    return Packed(len(old), borrowed)


def _check_room(store: Store, size: int) -> None:
    free = shutil.disk_usage(store.folder).free
    if free < size * FREE_FACTOR:
        raise StoreFullError(
            f"Packing {store.folder} ({size:,} bytes) wants {size * FREE_FACTOR:,} bytes free, and {free:,} are; nothing was changed.",
            way_out="Free space on that disk, or drop checkpoints.",
        )


def _write_pack(store: Store, commits: frozenset[str], timeout_seconds: float, stop: int | None) -> str:
    """Write a pack with all that these commits hold, borrowed objects included, and return its name."""
    prefix = store.packs / "tmp_packing"
    digest = run_git(
        store.objects,
        ["pack-objects", "--quiet", "--revs", "--delta-base-offset", "--threads=1", str(prefix)],
        lines="".join(f"{commit}\n" for commit in sorted(commits)),
        timeout_seconds=timeout_seconds,
        niceness=NICENESS,
        stop=stop,
    ).strip()
    for suffix in (".pack", ".idx"):
        written = prefix.with_name(f"{prefix.name}-{digest}{suffix}")
        fd = os.open(written, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
        written.rename(store.packs / f"pack-{digest}{suffix}")
    return f"pack-{digest}"


def _remove_unfinished(packs: Path) -> None:
    for left in packs.glob("tmp_*pack*"):
        with contextlib.suppress(FileNotFoundError):
            left.unlink()
