"""The seals of what CLIs print: a key for each launch, of the key of records and of a salt in the launch's folder.

The journal has every line, masked. The file of a launch is there for a daemon that comes back, sealed; it goes once the
end of its agent is on the disk.
"""

import hashlib
import secrets
from dataclasses import dataclass
from pathlib import Path

SEAL_NAME = "seal"
SALT_BYTES = 16
PRINTED = ("out.log", "err.log")


@dataclass(frozen=True, slots=True)
class OutputSeal:
    """The seal of one launch."""

    salt: str
    """Kept in its folder: without it the key cannot be made again."""
    key: bytes


def new_seal(key: bytes) -> OutputSeal:
    """Draw the seal of a launch, under the key for outputs."""
    salt = secrets.token_hex(SALT_BYTES)
    return OutputSeal(salt, _key(key, salt))


def seal_of(directory: Path, key: bytes) -> bytes:
    """Return the key of a launch's output; empty if that is in the clear. Blocks."""
    try:
        return _key(key, (directory / SEAL_NAME).read_text("ascii").strip())
    except FileNotFoundError:
        return b""


def remove_printed(directory: Path) -> bool:
    """Remove what a launch printed, if it was sealed; returns whether it was. Blocks.

    Raises:
        OSError: It could not be removed; its salt goes first, and without that it cannot be read.
    """
    if not (directory / SEAL_NAME).exists():
        return False
    for name in (SEAL_NAME, *PRINTED):
        (directory / name).unlink(missing_ok=True)
    return True


def _key(key: bytes, salt: str) -> bytes:
    return hashlib.blake2b(salt.encode(), key=key, digest_size=32).digest()
