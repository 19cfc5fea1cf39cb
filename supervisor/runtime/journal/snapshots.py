"""The snapshot: the state at one moment, so that a start need not fold the whole journal.

It is never the truth. One that is damaged, of another version, or ahead of the journal is reported and passed over, and
the journal alone gives the same state.
"""

import hmac
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson
import pydantic_core

from host.durable import REAL_DISK, Disk, replace_file
from monitors.contract import anyjson
from supervisor.protocol.records import line_hash
from supervisor.runtime.journal.signing import SigningKey

SNAPSHOT_NAME = "snapshot.json"
_STATE = b',"state":'
_SEAL = re.compile(rb',"c":"([0-9a-f]{8})"\}\n\Z')


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state, and how far in the journal it goes."""

    n: int
    """Number of the last event in it."""
    state: Any
    """The state, as JSON values."""
    hash: str
    """Of the state's bytes; equal states written by one version have equal hashes."""


@dataclass(frozen=True, slots=True)
class NoSnapshot:
    """There is none to use."""

    problem: str = ""
    """The fault of the present snapshot, in a sentence; empty if there is none."""


def write_snapshot(
    directory: Path,
    n: int,
    version: str,
    state: Any,
    protect: Callable[[bytes], bytes] = bytes,
    *,
    key: bytes = b"",
    disk: Disk = REAL_DISK,
    name: str = SNAPSHOT_NAME,
) -> str:
    """Write the snapshot so that after any crash it is the old one or this one; return the state's hash. Blocks.

    Args:
        directory: The state directory.
        n: Number of the last event in the state; it should be synced already.
        version: The version of chaperon, or of the state's make, that must read it.
        state: Anything that JSON can say.
        protect: Masks what is written.
        key: Signs it; empty leaves it unsigned.
        disk: Another, in tests.
        name: The file's name.

    Raises:
        OSError: It could not be written; the old one stands, and nothing depends on it.
    """
    body = protect(anyjson.dumps(state))
    digest = line_hash(body)
    mark = {"mark": _mark(key, n, version, digest)} if key else {}
    head = anyjson.dumps({"n": n, "version": version, "hash": digest, **mark})
    whole = b"%b%b%b" % (head[:-1], _STATE, body)
    replace_file(directory / name, b'%b,"c":"%08x"}\n' % (whole, zlib.crc32(whole)), disk=disk)
    return digest


def read_snapshot(
    directory: Path,
    version: str,
    restore: Callable[[bytes], bytes] = bytes,
    name: str = SNAPSHOT_NAME,
    key: SigningKey | None = None,
) -> Snapshot | NoSnapshot:
    """Read the snapshot, or say why it cannot be used. Blocks.

    Whether its `n` is in the journal is known only when that is open: see `unless_ahead`.

    Args:
        directory: The state directory.
        version: The version that must have written it.
        restore: Puts back what was masked and is still needed.
        name: The file's name.
        key: The key that one of later lines must be signed with; None takes any.
    """
    path = directory / name
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return NoSnapshot()
    except OSError as error:
        return _passed_over(path, f"cannot be read ({error.strerror})")
    try:
        return _read(path, data, version, restore, key)
    except (ValueError, KeyError, TypeError) as error:
        return _passed_over(path, f"is damaged ({error!r})")


def unless_ahead(snapshot: Snapshot | NoSnapshot, last_n: int) -> Snapshot | NoSnapshot:
    """Return the snapshot, or why not where it goes further than the journal, which then was cut or put back.

    Args:
        snapshot: What `read_snapshot` gave.
        last_n: The number of the journal's last record.
    """
    if isinstance(snapshot, Snapshot) and snapshot.n > last_n:
        return NoSnapshot(
            f"The snapshot goes to event {snapshot.n} and the journal only to {last_n}. It was passed over: "
            "the journal alone is used."
        )
    return snapshot


def discard_snapshot(directory: Path, disk: Disk = REAL_DISK) -> None:
    """Remove a snapshot of a journal that has gone; else its number would fit the new journal once that is as long.

    Blocks.

    Raises:
        OSError: It could not be removed.
    """
    disk.unlink(directory / SNAPSHOT_NAME)


def _read(
    path: Path, data: bytes, version: str, restore: Callable[[bytes], bytes], key: SigningKey | None
) -> Snapshot | NoSnapshot:
    seal = _SEAL.search(data)
    if seal is None:
        raise ValueError("cut short")
    whole = data[: seal.start()]
    if int(seal[1], 16) != zlib.crc32(whole):
        raise ValueError(f"its checksum is {zlib.crc32(whole):08x}, it says {seal[1].decode()}")
    head, _, body = whole.partition(_STATE)
    facts = orjson.loads(head + b"}")
    if facts["version"] != version:
        return _passed_over(path, f"is of version {facts['version']!r}, this is {version!r}")
    if key is not None and facts["n"] > key.since:
        wanted = _mark(key.key, facts["n"], version, line_hash(body))
        if not hmac.compare_digest(str(facts.get("mark", "")), wanted):
            return _passed_over(path, "is not signed with the key of the journal")
    return Snapshot(facts["n"], _state(restore(body)), facts["hash"])


def _mark(key: bytes, n: int, version: str, digest: str) -> str:
    return blake2b(f"{n} {version} {digest}".encode(), digest_size=16, key=key).hexdigest()


def _state(body: bytes) -> Any:
    if anyjson.has_escapes(body):
        return anyjson.loads(body)
    try:
        return pydantic_core.from_json(body)
    except ValueError:
        return anyjson.loads(body)


def _passed_over(path: Path, what: str) -> NoSnapshot:
    return NoSnapshot(f"The snapshot {path} {what}. It was passed over: the journal alone is used.")
