"""The key that signs the journal's lines, and from which line on they are signed.

A line that is not signed with it is not believed at a start. That holds against those who cannot read the key: agents
in a sandbox, other users, and, if the key lies outside of the state directory, programs that write there alone. One of
the same user without a sandbox can read every key that the daemon can read. Against it, records that are sent
elsewhere (`audit.exporters`) tell what was written over.

The first start makes a key, in the state directory, unless the configuration names one. Lines that are there before
count as they are.
"""

import os
import secrets
import stat
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import orjson

from host.durable import replace_file
from monitors.contract.errors import UsageError

NOTE_NAME = "signing.json"

KEY_BYTES = 32
"""Length of a key that is made: 256 bits."""

MOST_KEY_BYTES = 64
"""Longest key that the keyed hash takes; a longer one is hashed first."""

LEAST_KEY_BYTES = 16
"""Shortest key that is taken: 128 bits, beyond all trying."""

ACCEPT = "chaperon trust --record --accept"
"""Believes the journal as it is, and signs with the present key from there on."""


class SigningKeyError(UsageError):
    """The journal cannot be checked with the key that is there."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key, and the lines that it vouches for."""

    key: bytes
    since: int = 0
    """The number of the last line that counts as it is."""

    @property
    def id(self) -> str:
        """A name of the key, which tells nothing of it."""
        return blake2b(b"id", digest_size=8, key=self.key).hexdigest()


class Signing:
    """The key of one state directory. Its methods block.

    Args:
        state: The state directory.
        source: `audit.signing_key`.
        credentials: The folder of systemd's credentials; empty if there is none.
    """

    def __init__(self, state: Path, source: str = "", credentials: str = "") -> None:
        self._note = state / NOTE_NAME
        self._source = source
        self._credentials = credentials

    def known(self) -> SigningKey | None:
        """Return the key with which the journal is signed; None before the first start with one.

        Raises:
            SigningKeyError: The key cannot be read, or is not the one with which the journal is signed.
        """
        try:
            note = orjson.loads(self._note.read_bytes())
            since, id_, mark = int(note["since"]), str(note["id"]), str(note["mark"])
            key = SigningKey(self._read() or bytes.fromhex(note["key"]), since)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SigningKeyError(
                f"The note on the key of the journal, {self._note}, cannot be read ({error}); nothing was started.",
                way_out=f"Put it back from a copy. To believe the journal as it is: {ACCEPT}.",
            ) from error
        if key.id != id_ or _mark(key) != mark:
            raise SigningKeyError(
                f"The journal is signed with the key {id_}, and the key that is there is {key.id}; nothing was started.",
                way_out=f"Put the key back. To believe the journal as it is, and sign with this one: {ACCEPT}.",
            )
        return key

    def begin(self, n: int, *, marked: bool) -> SigningKey:
        """Sign from here on, with the lines that are there taken as they are.

        Args:
            n: The number of the last line.
            marked: Whether lines say that they are signed.

        Raises:
            SigningKeyError: They are signed with a key that is gone, or should be, since the key is not new here.
        """
        if marked:
            raise SigningKeyError(
                f"The journal is signed, and {self._note} with the note on its key is gone; nothing was started.",
                way_out=f"Put it back from a copy. To believe the journal as it is, and sign anew: {ACCEPT}.",
            )
        if n and self._source:
            raise SigningKeyError(
                f"Nothing says that the {n} lines of the journal are signed with the key of audit.signing_key; "
                "nothing was started.",
                way_out=f"If the key is new here, believe the journal as it is: {ACCEPT}. If it is not, somebody has "
                f"written into {self._note.parent}: look at the journal before.",
            )
        return self.accept(n)

    def accept(self, n: int) -> SigningKey:
        """Believe the lines up to this number as they are, and sign those behind them."""
        own = self._read()
        key = SigningKey(own or secrets.token_bytes(KEY_BYTES), n)
        note = {"id": key.id, "since": n, "mark": _mark(key), **({} if own else {"key": key.key.hex()})}
        replace_file(self._note, orjson.dumps(note) + b"\n")
        return key

    def _read(self) -> bytes:
        """Return the key that the configuration names; empty if it names none."""
        kind, _, name = self._source.partition(":")
        if not kind:
            return b""
        if kind == "systemd" and not self._credentials:
            raise SigningKeyError(
                f"audit.signing_key is {self._source!r}, and the daemon was given no credentials by systemd; nothing was "
                "started.",
                way_out=f"Add LoadCredential={name}:PATH to the unit, and start the service again.",
            )
        path = Path(self._credentials, name) if kind == "systemd" else Path(name)
        try:
            status = path.stat()
            content = path.read_bytes().strip()
        except OSError as error:
            raise SigningKeyError(
                f"The key of the journal cannot be read from {path}: {error.strerror}; nothing was started.",
                way_out=f"Put it back, or mend audit.signing_key. To sign with another one: {ACCEPT}.",
            ) from error
        if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO) and status.st_uid == os.geteuid():
            raise SigningKeyError(
                f"The key of the journal in {path} can be read by others (mode {stat.S_IMODE(status.st_mode):04o}); nothing "
                "was started.",
                way_out=f"chmod 600 {path}, and make another one if others have used this machine.",
            )
        if len(content) < LEAST_KEY_BYTES:
            raise SigningKeyError(
                f"The key of the journal in {path} has {len(content)} bytes; at least {LEAST_KEY_BYTES} are needed.",
                way_out=f"Make one: head -c 32 /dev/urandom | base64 > {path}",
            )
        return content if len(content) <= MOST_KEY_BYTES else blake2b(content).digest()


def _mark(key: SigningKey) -> str:
    return blake2b(b"since %d" % key.since, digest_size=16, key=key.key).hexdigest()
