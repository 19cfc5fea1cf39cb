"""The key of marks and seals: where it comes from, and how a lost one is told. Blocks.

The key itself seals nothing: each purpose has a key of its own, derived from it. Its fingerprint is kept beside the
data, so that a start with another key is refused before anything is written or removed.
"""

import contextlib
import hashlib
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

import orjson

from host.durable import REAL_DISK, Disk, replace_file
from monitors.contract.errors import ChaperonError
from supervisor.runtime.clock import Clock
from supervisor.runtime.gateway.credential import Credential, source_of

KEY_NAME = "protection.key"
"""The file of the key, in the state directory, if the configuration names no other place."""

FINGERPRINT_NAME = "protection.json"
"""The file that says which key seals what is there."""

KEY_BYTES = 32
"""Of the key of each purpose, as ChaCha20 takes it (RFC 8439)."""

LEAST_CHARACTERS = 16
"""Of a key that a person names: 64 bits, if it is hexadecimal."""


class ProtectionKeyError(ChaperonError):
    """The key is lost, or another; nothing was changed."""


class ProtectionKey:
    """A key, from which each purpose has its own.

    Args:
        secret: The key, as it was read.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = hashlib.blake2b(secret, digest_size=64).digest()

    def of(self, purpose: str) -> bytes:
        """Return the key of a purpose. Example: `marks`."""
        return hashlib.blake2b(purpose.encode(), key=self._secret, digest_size=KEY_BYTES).digest()

    @property
    def fingerprint(self) -> str:
        """Name of the key, which tells nothing of it."""
        return self.of("fingerprint")[:8].hex()


def load_key(
    state: Path, wanted: str, environ: Mapping[str, str], clock: Clock, disk: Disk = REAL_DISK
) -> ProtectionKey:
    """Return the key of a state directory, made at the first start if the configuration names no place for it.

    Args:
        state: The state directory.
        wanted: `audit.key`.
        environ: The daemon's environment, which has the folder of systemd's credentials.
        clock: For a command that prints the key.
        disk: Another, in tests.

    Raises:
        ProtectionKeyError: It is lost, or another than what is there was sealed with. Nothing was changed.
        CredentialError: It cannot be had from the place that the configuration names.
        OSError: It cannot be read or written.
    """
    known = _fingerprint(state)
    key = _named(wanted, environ, clock) if wanted else _own(state, known, disk)
    if known and known != key.fingerprint:
        raise ProtectionKeyError(
            f"The key of records is another (fingerprint {key.fingerprint}) than the one that {state} was sealed with "
            f"({known}). The daemon was not started, and nothing was changed.",
            way_out=_WAY_OUT,
        )
    if not known:
        replace_file(state / FINGERPRINT_NAME, orjson.dumps({"key": key.fingerprint}) + b"\n", disk=disk)
    return key


_WAY_OUT = (
    f"Put the key back. If it is lost for good, move {FINGERPRINT_NAME} and the folder `sealed` away: agents that run "
    "then go on with what is masked, and marks of before compare with none of after."
)


def _fingerprint(state: Path) -> str:
    try:
        return str(orjson.loads((state / FINGERPRINT_NAME).read_bytes())["key"])
    except FileNotFoundError:
        return ""
    except (ValueError, KeyError, TypeError) as error:
        raise ProtectionKeyError(
            f"{state / FINGERPRINT_NAME}, which says what key records were sealed with, is damaged ({error!r}). The "
            "daemon was not started, and nothing was changed.",
            way_out="Move that file away if you are sure that the key is the right one.",
        ) from None


def _named(wanted: str, environ: Mapping[str, str], clock: Clock) -> ProtectionKey:
    source = source_of(wanted, environ, environ.get("CREDENTIALS_DIRECTORY", ""))
    _, value = Credential(source, clock).header()
    if len(value) < LEAST_CHARACTERS:
        raise ProtectionKeyError(
            f"The key of records that audit.key names has {len(value)} characters; {LEAST_CHARACTERS} are the least.",
            way_out="Make one: openssl rand -hex 32",
        )
    return ProtectionKey(value.encode())


def _own(state: Path, known: str, disk: Disk) -> ProtectionKey:
    path = state / KEY_NAME
    with contextlib.suppress(FileNotFoundError):
        mode = path.stat().st_mode
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise ProtectionKeyError(
                f"The key of records in {path} can be read by others (mode {stat.S_IMODE(mode):04o}); it is not used.",
                way_out=f"chmod 600 {path}, and look who has read it.",
            )
        if secret := path.read_bytes().strip():
            return ProtectionKey(secret)
        raise ProtectionKeyError(f"The key of records in {path} is empty. Nothing was changed.", way_out=_WAY_OUT)
    if known:
        raise ProtectionKeyError(
            f"The key of records {path} is gone, and {state} has data that was sealed with it ({known}). The daemon was "
            "not started, and nothing was changed.",
            way_out=_WAY_OUT,
        )
    secret = secrets.token_hex(KEY_BYTES).encode()
    replace_file(path, secret + b"\n", disk=disk)
    os.chmod(path, 0o600)  # noqa: PTH101 - whatever the umask was
    return ProtectionKey(secret)
