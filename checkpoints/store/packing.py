"""Packing a store: everything that checkpoints need in one pack of its own, and nothing else. Off-peak, and rarely.

After it nothing is borrowed from the project any more, what was dropped takes no room, and versions of a file are
stored as differences. Captures go on meanwhile: what they write is in packs that this does not touch.

A store that is sealed is packed here and not by git, which would need all of it in the clear: objects stay whole, and
are sealed anew with the key of now.
"""

import contextlib
import os
import select
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from checkpoints.errors import CheckpointError, StoreFullError
from checkpoints.git.git_command import run_git
from checkpoints.git.objects import EMPTY_TREE, GITLINK
from checkpoints.store.borrowed import check_borrowed
from checkpoints.store.store import Store

TIMEOUT_SECONDS = 3_600.0
NICENESS = 15
LOOK_EVERY = 100
"""Objects between two looks whether the work is given up: some milliseconds."""

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
        write = _copy_objects if store.seals.seals or store.sealed else _write_pack
        new = write(store, commits, timeout_seconds, stop) if commits else None
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


def _copy_objects(store: Store, commits: frozenset[str], timeout_seconds: float, stop: int | None) -> str:
    """Write a pack with all that these commits hold, object by object, and return its name."""
    writer = store.writer("packing")
    until = time.monotonic() + timeout_seconds  # noqa: TID251 - the time that is left, which nobody is told
    given_up = select.poll()
    if stop is not None:
        given_up.register(stop, select.POLLIN)
    seen = {EMPTY_TREE}
    try:
        for number, oid in enumerate(_held_by(store, commits, seen)):
            writer.add_packed(oid, store.packed(oid))
            if number % LOOK_EVERY == 0 and (given_up.poll(0) or time.monotonic() > until):  # noqa: TID251 - as above
                break
        else:
            return writer.finish()
    except BaseException:
        writer.abandon()
        raise
    writer.abandon()
    raise CheckpointError(f"Packing {store.folder} took too long, or was given up, and was ended.")


def _held_by(store: Store, commits: frozenset[str], seen: set[bytes]) -> Iterator[bytes]:
    """Yield each object that commits hold, once."""
    for commit in sorted(commits):
        yield (oid := bytes.fromhex(commit))
        waiting = [store.tree_of(oid)]
        while waiting:
            tree = waiting.pop()
            if tree in seen:
                continue
            seen.add(tree)
            yield tree
            for entry in store.read_tree(tree).values():
                if entry.is_folder:
                    waiting.append(entry.id)
                elif entry.mode != GITLINK and entry.id not in seen:
                    seen.add(entry.id)
                    yield entry.id


def _remove_unfinished(packs: Path) -> None:
    for left in packs.glob("tmp_*pack*"):
        with contextlib.suppress(FileNotFoundError):
            left.unlink()
