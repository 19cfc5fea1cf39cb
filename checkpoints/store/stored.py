"""Facts of stores that are read without opening them: their list, their sizes, and their checkpoints.

A store belongs to one process, which may be writing. A reader beside it sees each line whole or not at all.
Entries that a power cut left in a write-ahead log alone are not seen until the store is opened, which puts them in
place.
"""

import contextlib
import json
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from checkpoints.git.sealed_pack import CLEAR, StoreSeals
from monitors.contract.errors import ChaperonError

LEDGER = "ledger.jsonl"
"""The file of a store that has a line for each checkpoint made or dropped."""


def folders(root: Path) -> list[Path]:
    """Return the folders of all stores below this one, in order."""
    return sorted(path.parent for path in root.glob("*/project.json") if not path.parent.suffix)


def project_named(folder: Path) -> Path:
    """Return the project whose store is in this folder.

    Raises:
        ValueError, KeyError, TypeError, OSError: It does not say so.
    """
    return Path(json.loads((folder / "project.json").read_bytes())["project"])


def size_of(folder: Path) -> int:
    """Return the bytes of all files of a store; files that come and go meanwhile may count or not."""
    total = 0
    for place in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            state = place.lstat()
            total += state.st_size if stat.S_ISREG(state.st_mode) else 0
    return total


def sizes(root: Path) -> dict[str, int]:
    """Return the bytes on the disk of each project's store. Blocks."""
    found = {}
    for folder in folders(root):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # an examination tells of those
            found[str(project_named(folder))] = size_of(folder)
    return found


def read_line(line: bytes, seals: StoreSeals = CLEAR) -> dict[str, Any]:
    """Return what a line of a ledger says: checksum, space, JSON.

    Raises:
        ValueError, TypeError: The line is damaged.
        ChaperonError: It is sealed, and whole, and these do not open it.
    """
    checksum, _, body = line.partition(b" ")
    if int(checksum, 16) != zlib.crc32(body):
        raise ValueError("its checksum does not match")
    record = json.loads(seals.read(body))
    if not isinstance(record, dict):
        raise TypeError("it is no object")
    return record


def recorded(folder: Path, seals: StoreSeals = CLEAR) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the checkpoints that a ledger has, oldest first, and what is wrong with it, in sentences. Blocks."""
    path = folder / LEDGER
    made: dict[str, dict[str, Any]] = {}
    problems = []
    try:
        for line in _whole_lines(path):
            try:
                record = read_line(line, seals)
                if "made" in record:
                    made[str(record["made"]["name"])] = record["made"]
                made.pop(record.get("dropped", ""), None)
            except (ChaperonError, ValueError, KeyError, TypeError) as error:
                problems.append(f"{path}: a line is no record: {line[:80]!r}: {error}")
    except OSError as error:
        problems.append(f"{folder}: {error}")
    return list(made.values()), problems


def _whole_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file; one that is being written is none yet."""
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield line[:-1]
