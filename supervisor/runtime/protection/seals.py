"""Records sealed at rest: what an event says is encrypted; whose it is, when, and its kind stay in the clear.

    {"n":17,"agent":"a3","at":1763712900.5,"mono":81.2,"sealed":"1.mD3f…","kind":"line_received","m":…,"p":…,"c":…}

Number, chain, signature and checksum are over the line as it stands, so a file is checked, indexed, cut and mended
without a key. What is sealed is bound to the agent, the times and the kind beside it, and cannot be moved to another
line or changed (ChaCha20-Poly1305, RFC 8439). The number before the dot tells which data key sealed it.
"""

import re
import struct
import zlib
from collections.abc import Sequence

from monitors.contract.errors import ChaperonError
from supervisor.runtime.protection.sealing import Sealer

_BODY = re.compile(rb'\{("agent":"(?:[^"\\]|\\.)*","at":[0-9.eE+-]+,"mono":[0-9.eE+-]+),')
"""The beginning of an event's part of a line: the three fields of `Event`, in their order."""
_KIND = b',"kind":"'
_BODY_KIND = re.compile(rb',("kind":"[a-z_]{1,60}")\}\Z')
_KIND_BYTES = 80
"""Longer than what that matches: an event may have megabytes."""

_LINE = re.compile(
    rb'(\{"n":[0-9]{1,20},)("agent":"(?:[^"\\]|\\.)*","at":[0-9.eE+-]+,"mono":[0-9.eE+-]+),'
    rb'"sealed":"([0-9]{1,9})\.([A-Za-z0-9+/=]+)",("kind":"[a-z_]{1,60}")'
)
_SEAL_BYTES = len(b',"c":"00000000"}')
"""The checksum, as `records` closes a line with it."""

_NUMBER = struct.Struct(">I")
"""Stands before bytes that are sealed: which data key sealed them."""

_OBJECT = re.compile(rb'\{"sealed":"([0-9]{1,9})\.([A-Za-z0-9+/=]+)"\}')
SEALED = b',"sealed":"'
"""Stands in each line that is sealed."""
_SOON = 400
"""Part of a line in which the seal begins: an agent's name has at most 32 characters, a number 20."""


class SealedRecordError(ChaperonError, ValueError):
    """Something sealed cannot be opened: its key is not there, or it is not what was sealed."""


class RecordSeals:
    """Seals and opens records. Safe to use from several threads.

    Args:
        keys: The data keys, oldest first; none if nothing was ever sealed.
        seals: Whether new records are sealed, with the last key.
    """

    def __init__(self, keys: Sequence[bytes] = (), *, seals: bool = False) -> None:
        self.keys = tuple(keys)
        self.seals = seals and bool(keys)
        self._sealers = [Sealer(key) for key in self.keys]

    def event(self, body: bytes) -> bytes:
        """Seal what an event's part of a line says; one that says nothing beside its kind stays as it is."""
        if not self.seals:
            return body
        at = body.rfind(_KIND, -_KIND_BYTES)
        kind = _BODY_KIND.match(body, at) if at >= 0 else None
        head = _BODY.match(body)
        if kind is None or head is None or (begin := head.end()) > at:
            return body
        stays, named = head[1], kind[1]
        sealed = self._sealers[-1].seal(body[begin:at], stays + named)
        return b'{%b,"sealed":"%d.%b",%b}' % (stays, len(self.keys), sealed, named)

    def opened(self, line: bytes) -> bytes:
        """Return a line of the journal as it would stand there in the clear; its checksum fits, its signature does not.

        Raises:
            SealedRecordError: It cannot be opened.
        """
        if line.find(SEALED, 0, _SOON) < 0 or (found := _LINE.match(line)) is None:
            return line
        plain = self._opened(found[3], found[4], found[2] + found[5])
        end = len(line) - line.endswith(b"\n")
        unsealed = b"%b%b,%b,%b" % (found[1], found[2], plain, line[found.start(5) : end - _SEAL_BYTES])
        return b'%b,"c":"%08x"}%b' % (unsealed, zlib.crc32(unsealed), line[end:])

    def stored(self, data: bytes) -> bytes:
        """Seal a JSON object as a whole; it stays a JSON object, in one line."""
        return b'{"sealed":"%b"}' % self._sealed(data, b"object") if self.seals else data

    def read(self, data: bytes) -> bytes:
        """Return what `stored` was given, whether it was sealed or not.

        Raises:
            SealedRecordError: It cannot be opened.
        """
        found = _OBJECT.fullmatch(data) if data.startswith(b"{" + SEALED[1:]) else None
        return self._opened(found[1], found[2], b"object") if found is not None else data

    def seal(self, plain: bytes, about: bytes) -> bytes:
        """Seal bytes, as those of a checkpoint; they are bound to what they are about."""
        return _NUMBER.pack(len(self.keys)) + self._sealers[-1].seal_bytes(plain, about)

    def open(self, sealed: bytes, about: bytes) -> bytes:
        """Return what `seal` was given.

        Raises:
            ValueError: It cannot be opened.
        """
        which = int.from_bytes(sealed[: _NUMBER.size])
        if not 0 < which <= len(self.keys):
            raise ValueError(f"it is sealed with data key {which}, and {len(self.keys)} are known here")
        return self._sealers[which - 1].open_bytes(sealed[_NUMBER.size :], about)

    def _sealed(self, plain: bytes, about: bytes) -> bytes:
        return b"%d.%b" % (len(self.keys), self._sealers[-1].seal(plain, about))

    def _opened(self, number: bytes, text: bytes, about: bytes) -> bytes:
        which = int(number)
        if not 0 < which <= len(self.keys):
            raise SealedRecordError(
                f"A record is sealed with data key {which}, and {len(self.keys)} are known here. Nothing was changed.",
                way_out="Name the key of records (audit.key), or put back protection.json with its slots.",
            )
        try:
            return self._sealers[which - 1].open(text, about)
        except ValueError:
            raise SealedRecordError(
                f"A record that is sealed with data key {which} is not what was sealed. Nothing was changed.",
                way_out="Put its file, or protection.json with the slots of its key, back from a copy.",
            ) from None


UNSEALED = RecordSeals()
"""Leaves records as they are."""
