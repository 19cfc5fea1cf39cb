"""Seals of bytes: encrypted and bound to what stands beside them (ChaCha20-Poly1305, RFC 8439), as text of base64.

`cryptography` is imported with the first seal: it takes 30 ms, which only those wait for who have something sealed.
"""

import base64
import binascii
import itertools
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

NONCE_BYTES = 12
"""Of each seal. The first of a process is drawn at random, and others are counted from there: that two are the same
among a million processes with four billion seals each has a chance of one in eight million."""


class _Nonces:
    """The numbers of seals, none of which comes twice. To draw each costs 0.3 us more, of 4."""

    def __init__(self) -> None:
        self.left: Iterator[int] = iter(())
        self.draw()
        os.register_at_fork(after_in_child=self.draw)

    def draw(self) -> None:
        """Begin anew. A process that forks would use those of its parent."""
        self.left = itertools.count(int.from_bytes(os.urandom(NONCE_BYTES)) >> 1)


_NONCES = _Nonces()


class Sealer:
    """Seals and opens with one key. Safe to use from several threads.

    Args:
        key: 32 bytes.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._made: ChaCha20Poly1305 | None = None

    def seal(self, plain: bytes, about: bytes) -> bytes:
        """Return bytes sealed, and bound to what they are about, which is not kept with them."""
        return binascii.b2a_base64(self.seal_bytes(plain, about), newline=False)

    def seal_bytes(self, plain: bytes, about: bytes) -> bytes:
        """Return them as `seal` does, but not as text."""
        nonce = next(_NONCES.left).to_bytes(NONCE_BYTES)
        cipher = self._made or self._cipher()
        return nonce + cipher.encrypt(nonce, plain, about)

    def open(self, text: bytes | str, about: bytes) -> bytes:
        """Return what was sealed.

        Raises:
            ValueError: It is not what this key has sealed about that.
        """
        return self.open_bytes(base64.b64decode(text, validate=True), about)

    def open_bytes(self, sealed: bytes, about: bytes) -> bytes:
        """Return what `seal_bytes` has sealed.

        Raises:
            ValueError: It is not what this key has sealed about that.
        """
        from cryptography.exceptions import InvalidTag

        try:
            return self._cipher().decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], about)
        except InvalidTag:
            raise ValueError("it is not what was sealed with this key") from None

    def _cipher(self) -> "ChaCha20Poly1305":
        if self._made is None:
            from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

            self._made = ChaCha20Poly1305(self._key)
        return self._made
