"""The content of what changed from one checkpoint to another, as a unified diff."""

from collections.abc import Iterator
from dataclasses import dataclass

import pygit2

from checkpoints.git.objects import EXECUTABLE, FILE, LINK, TreeEntry
from checkpoints.git.trees import Pair, differences
from checkpoints.model import Change, Checkpoint
from checkpoints.paths import text_of
from checkpoints.restore.plan import change_of
from checkpoints.store.store import Store

MOST_FILES = 2_000
"""Files that are named; of more, the rest is counted."""

MOST_FILE_BYTES = 4 * 1024 * 1024
"""Content of one file that is compared, in bytes: a text that a person reads has kilobytes."""

MOST_BYTES = 4 * 1024 * 1024
"""Patches of all files together, in bytes, so that an answer stays below ten megabytes of JSON."""


@dataclass(frozen=True, slots=True)
class FilePatch:
    """The change of one file."""

    path: str
    """In the notation of `checkpoints.paths`."""
    change: Change
    added: int = 0
    """Lines added."""
    removed: int = 0
    binary: bool = False
    patch: str = ""
    """Unified diff with its head. Bytes that are no UTF-8 are spelled out; nothing else is escaped."""
    left_out: str = ""
    """Why there is no content, if it is left out; empty else."""


def patches(store: Store, before: Checkpoint, after: Checkpoint, *, content: bool) -> tuple[list[FilePatch], int]:
    """Return the files that changed, and how many more did than are named. Blocks.

    Args:
        store: The store of both.
        before: The earlier one.
        after: The later one.
        content: Whether patches are wanted, and not only counts.
    """
    made: list[FilePatch] = []
    more, room = 0, MOST_BYTES
    for pair in differences(store, bytes.fromhex(before.tree), bytes.fromhex(after.tree)):
        change = change_of(pair)
        if change is None:
            continue
        if len(made) == MOST_FILES:
            more += 1
            continue
        patch = _patch(store, pair, change, content=content, room=room)
        room -= len(patch.patch)
        made.append(patch)
    return made, more


def _patch(store: Store, pair: Pair, change: Change, *, content: bool, room: int) -> FilePatch:
    path = text_of(pair.path)
    head = "\n".join(_head(path, pair))
    old, new = _content(store, pair.before), _content(store, pair.after)
    if max(len(old or b""), len(new or b"")) > MOST_FILE_BYTES:
        return FilePatch(path, change, left_out=f"it has more than {MOST_FILE_BYTES // 2**20} MiB")
    found = pygit2.Patch.create_from(old, new, old_as_path="x", new_as_path="x")
    if (old or b"") == (new or b""):
        return FilePatch(path, change, patch=f"{head}\n" if content else "")
    _, added, removed = found.line_stats
    if found.delta.is_binary:
        text = f"{head}\nBinary files {_side('a', path, old)} and {_side('b', path, new)} differ\n"
        return FilePatch(path, change, binary=True, patch=text if content else "")
    hunks = found.data[found.data.find(b"@@") :].decode(errors="backslashreplace")
    text = f"{head}\n--- {_side('a', path, old)}\n+++ {_side('b', path, new)}\n{hunks}" if content else ""
    if len(text) > room:
        return FilePatch(path, change, added, removed, left_out="there is more than is shown at once")
    return FilePatch(path, change, added, removed, patch=text)


def _head(path: str, pair: Pair) -> Iterator[str]:
    yield f"diff --git a/{path} b/{path}"
    before, after = _mode(pair.before), _mode(pair.after)
    if not before:
        yield f"new file mode {after}"
    elif not after:
        yield f"deleted file mode {before}"
    elif before != after:
        yield from (f"old mode {before}", f"new mode {after}")


def _mode(entry: TreeEntry | None) -> str:
    return "" if entry is None or entry.is_folder else f"{entry.mode:06o}"


def _side(side: str, path: str, content: bytes | None) -> str:
    return "/dev/null" if content is None else f"{side}/{path}"


def _content(store: Store, entry: TreeEntry | None) -> bytes | None:
    """Return what is compared: a file's bytes, where a link leads, the commit of another repository."""
    if entry is None or entry.is_folder:
        return None
    if entry.mode in (FILE, EXECUTABLE, LINK):
        return store.read(entry.id)[1]
    return f"Subproject commit {entry.id.hex()}\n".encode()
