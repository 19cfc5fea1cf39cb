"""Seals of bytes: encrypted and bound to what stands beside them (ChaCha20-Poly1305, RFC 8439), as text of base64.

`cryptography` is imported with the first seal: it takes 30 ms, which only those wait for who have something sealed.
"""

import base64
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

NONCE_BYTES = 12
"""Of each seal, drawn at random: two of four billion are the same with a chance of one in ten billion."""


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
        nonce = os.urandom(NONCE_BYTES)
        return base64.b64encode(nonce + self._cipher().encrypt(nonce, plain, about))

    def open(self, text: bytes | str, about: bytes) -> bytes:
        """Return what was sealed.

        Raises:
            ValueError: It is not what this key has sealed about that.
        """
        from cryptography.exceptions import InvalidTag

        sealed = base64.b64decode(text, validate=True)
        try:
            return self._cipher().decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], about)
        except InvalidTag:
            raise ValueError("it is not what was sealed with this key") from None

    def _cipher(self) -> "ChaCha20Poly1305":
        if self._made is None:
            from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

            self._made = ChaCha20Poly1305(self._key)
        return self._made
