"""The seal of what a CLI prints: its file is read with the key alone.

Each block of a file is combined with as much of SHAKE256 (FIPS 202) over the key, the file's name and the block's
number. A place of a file is written once, so no part of that stream serves twice; each launch has a key of its own.

Standard library only: the shim runs this with no packages on its path. `_sha3` is what `hashlib` falls back to; that
itself would load OpenSSL, 3 MB per agent.
"""

try:
    from _sha3 import shake_256  # type: ignore[import-not-found]
except ImportError:  # a Python built without it
    from hashlib import shake_256

BLOCK_BYTES = 4096
"""A line is some hundred bytes to some thousand: a block costs 10 us, once a write."""


class Seal:
    """Seals and opens one file.

    Args:
        key: Of the launch; empty leaves all as it is.
        name: The file's.
    """

    def __init__(self, key: bytes, name: str) -> None:
        self._start = key + name.encode() + b"\0" if key else b""

    def __bool__(self) -> bool:
        return bool(self._start)

    def apply(self, data: bytes, offset: int) -> bytes:
        """Seal what stands in the clear, or open what is sealed, at this offset of the file."""
        if not self._start or not data:
            return data
        first, last = offset // BLOCK_BYTES, (offset + len(data) - 1) // BLOCK_BYTES
        stream = b"".join(self._block(number) for number in range(first, last + 1))
        at = offset - first * BLOCK_BYTES
        mask = int.from_bytes(stream[at : at + len(data)], "little")
        return (int.from_bytes(data, "little") ^ mask).to_bytes(len(data), "little")

    def _block(self, number: int) -> bytes:
        block: bytes = shake_256(self._start + number.to_bytes(8, "little")).digest(BLOCK_BYTES)
        return block
