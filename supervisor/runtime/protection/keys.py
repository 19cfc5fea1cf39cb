"""The key of marks and seals: where it comes from, and how a lost one is told. Blocks.

The key itself seals nothing: each purpose has a key of its own, derived from it. Its fingerprint is kept beside the
data, so that a start with another key is refused before anything is written or removed.

Once records are encrypted, what seals them is a ring of drawn keys. The ring is kept in slots: sealed with the key that
the configuration names, with its successor, with a recovery key. Any one of them opens it. So the named key is changed
without anything being written anew, and a new data key seals what comes from then on, while older ones open what is
there.
"""

import contextlib
import fcntl
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from host.durable import REAL_DISK, Disk, replace_file
from monitors.contract.errors import ChaperonError
from supervisor.runtime.clock import Clock
from supervisor.runtime.gateway.credential import Credential, source_of
from supervisor.runtime.protection.sealing import Sealer

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
        self._own = self._secret = hashlib.blake2b(secret, digest_size=64).digest()
        self.data: tuple[bytes, ...] = ()
        """The keys that seal records, oldest first; none if none were ever sealed."""

    def of(self, purpose: str) -> bytes:
        """Return the key of a purpose. Example: `marks`."""
        return _derived(self._secret, purpose)

    @property
    def fingerprint(self) -> str:
        """Name of the key, which tells nothing of it."""
        return _derived(self._own, "fingerprint")[:8].hex()

    def lock(self, ring: "KeyRing") -> str:
        """Seal a ring with this key."""
        plain = orjson.dumps({"root": ring.root.hex(), "data": [each.hex() for each in ring.data]})
        return self._of_slots().seal(plain, b"ring").decode()

    def open(self, slot: str) -> "KeyRing":
        """Return the ring in a slot.

        Raises:
            ValueError: It is not what this key has sealed.
        """
        read = orjson.loads(self._of_slots().open(slot, b"ring"))
        return KeyRing(bytes.fromhex(read["root"]), tuple(bytes.fromhex(each) for each in read["data"]))

    def _of_slots(self) -> Sealer:
        return Sealer(_derived(self._own, "slot"))

    def with_ring(self, ring: "KeyRing") -> "ProtectionKey":
        """Return the key with the ring that it opened."""
        made = ProtectionKey(b"")
        made._own, made._secret, made.data = self._own, ring.root, ring.data
        return made

    def first_ring(self) -> "KeyRing":
        """Return a ring under which marks and seals of before stay what they are, with a first data key."""
        return KeyRing(self._secret, (secrets.token_bytes(KEY_BYTES),))


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The keys that slots keep."""

    root: bytes
    """From which the keys of marks, of kept values and of outputs are derived."""
    data: tuple[bytes, ...]
    """The keys of records, oldest first; the last one seals."""

    def grown(self) -> "KeyRing":
        """Return it with a new data key."""
        return replace(self, data=(*self.data, secrets.token_bytes(KEY_BYTES)))


@dataclass(frozen=True, slots=True)
class KeyNote:
    """Note of the state directory about its keys."""

    key: str = ""
    """Fingerprint of the key that was used last; empty before the first start."""
    slots: Mapping[str, str] = field(default_factory=dict)
    """The ring, sealed with each key, by the key's fingerprint; none while records are not encrypted."""
    recovery: str = ""
    """Fingerprint of the recovery key; empty if there is none."""


def load_key(
    state: Path,
    wanted: str,
    environ: Mapping[str, str],
    clock: Clock,
    disk: Disk = REAL_DISK,
    *,
    encrypts: bool = False,
) -> ProtectionKey:
    """Return the key of a state directory, made at the first start if the configuration names no place for it.

    Args:
        state: The state directory.
        wanted: `audit.key`.
        environ: The daemon's environment, which has the folder of systemd's credentials.
        clock: For a command that prints the key.
        disk: Another, in tests.
        encrypts: Whether records are encrypted: a ring is made if there is none.

    Raises:
        ProtectionKeyError: It is lost, or another than what is there was sealed with. Nothing was changed.
        CredentialError: It cannot be had from the place that the configuration names.
        OSError: It cannot be read or written.
    """
    with _alone(state):
        return _load(state, named_key(wanted, environ, clock) if wanted else None, disk, encrypts=encrypts)


def _load(state: Path, named: ProtectionKey | None, disk: Disk, *, encrypts: bool) -> ProtectionKey:
    note = read_note(state)
    if named is None and note.slots and _drawn(state) is None:
        raise ProtectionKeyError(
            f"Records in {state} are encrypted, and audit.key names no key for their slots ({', '.join(note.slots)}). The "
            "daemon was not started, and nothing was changed.",
            way_out=_OPENED,
        )
    key = named or _own(state, note.key, disk)
    if note.slots:
        ring = opened_ring(state, note, key)
        if note.key != key.fingerprint:
            _write(state, replace(note, key=key.fingerprint), disk)
    else:
        known, drawn = not note.key or note.key == key.fingerprint, _drawn(state)
        is_drawn = drawn is not None and drawn.fingerprint == note.key
        if not known and not (encrypts and is_drawn):
            raise ProtectionKeyError(
                f"The key of records is another (fingerprint {key.fingerprint}) than the one that {state} was sealed "
                f"with ({note.key}). The daemon was not started, and nothing was changed.",
                way_out=_NAMED_LATER if is_drawn else _WAY_OUT,
            )
        if not encrypts:
            if not note.key:
                _write(state, KeyNote(key.fingerprint), disk)
            return key
        ring = (drawn if drawn is not None and not known else key).first_ring()
        _write(state, KeyNote(key.fingerprint, {key.fingerprint: key.lock(ring)}), disk)
    if named is not None and (drawn := _drawn(state)) is not None and drawn.fingerprint not in read_note(state).slots:
        disk.unlink(state / KEY_NAME)  # from it the ring's root can be had
    return key.with_ring(ring)


def _drawn(state: Path) -> ProtectionKey | None:
    """Return the key that a start drew for the state directory; None if there is none."""
    try:
        return ProtectionKey((state / KEY_NAME).read_bytes().strip())
    except FileNotFoundError:
        return None


def opened_ring(state: Path, note: KeyNote, key: ProtectionKey) -> KeyRing:
    """Return the ring of a state directory.

    Raises:
        ProtectionKeyError: The key opens no slot. Nothing was changed.
    """
    slot = note.slots.get(key.fingerprint)
    if slot is None:
        raise ProtectionKeyError(
            f"The key of records (fingerprint {key.fingerprint}) opens nothing in {state}, whose slots are of "
            f"{', '.join(note.slots)}. Nothing was changed.",
            way_out=_OPENED,
        )
    try:
        return key.open(slot)
    except (ValueError, KeyError, TypeError) as error:
        raise ProtectionKeyError(
            f"The slot of key {key.fingerprint} in {state / FINGERPRINT_NAME} cannot be opened ({error}). Nothing was "
            "changed.",
            way_out="Put that file back from a copy, or use another key of it.",
        ) from None


_WAY_OUT = (
    f"Put the key back. If it is lost for good, move {FINGERPRINT_NAME} and the folder `sealed` away: agents that run "
    "then go on with what is masked, and marks of before compare with none of after."
)


_OPENED = (
    "Name in audit.key one that opens a slot: the one of before, or the recovery key. To change it: name the one of "
    "before, say `chaperon keys --add SOURCE` of the new one, and name that. Without any, what is encrypted cannot be "
    "read by anyone: move the state directory away, and start anew."
)


_NAMED_LATER = (
    "Set audit.encrypt with audit.key, and the named key takes the place of the one that lies beside the records; or "
    "leave audit.key out."
)


def read_note(state: Path) -> KeyNote:
    """Return what a state directory says of its keys. Blocks.

    Raises:
        ProtectionKeyError: That is damaged.
        OSError: It cannot be read.
    """
    try:
        read: dict[str, Any] = orjson.loads((state / FINGERPRINT_NAME).read_bytes())
        slots = {str(name): str(slot) for name, slot in read.get("slots", {}).items()}
        return KeyNote(str(read["key"]), slots, str(read.get("recovery", "")))
    except FileNotFoundError:
        return KeyNote()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ProtectionKeyError(
            f"{state / FINGERPRINT_NAME}, which says what key records were sealed with, is damaged ({error!r}). The "
            "daemon was not started, and nothing was changed.",
            way_out="Put it back from a copy: without it encrypted records cannot be read by anyone. If none are encrypted, "
            "move it away if you are sure that the key is the right one.",
        ) from None


def named_key(wanted: str, environ: Mapping[str, str], clock: Clock) -> ProtectionKey:
    """Return the key at a place. Blocks.

    Args:
        wanted: The place, as `audit.key` names it.
        environ: The environment, which has the folder of systemd's credentials.
        clock: For a command that prints the key.

    Raises:
        ProtectionKeyError: It is too short.
        CredentialError: It cannot be had from there.
    """
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


@contextlib.contextmanager
def _alone(state: Path) -> Iterator[None]:
    """Let no other change the slots meanwhile."""
    fd = os.open(state, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _write(state: Path, note: KeyNote, disk: Disk) -> None:
    said: dict[str, Any] = {"key": note.key}
    if note.slots:
        said |= {"slots": dict(note.slots), "recovery": note.recovery}
    replace_file(state / FINGERPRINT_NAME, orjson.dumps(said) + b"\n", disk=disk)


def _derived(secret: bytes, purpose: str) -> bytes:
    return hashlib.blake2b(purpose.encode(), key=secret, digest_size=KEY_BYTES).digest()


# ── what a person does with slots ─────────────────────────────────────────────────────────────────────────────────────


def add_slot(state: Path, key: ProtectionKey, other: ProtectionKey, *, recovery: bool = False) -> KeyNote:
    """Have another key open the ring too. Blocks.

    Args:
        state: The state directory.
        key: A key that opens it.
        other: The other key.
        recovery: Whether that is the recovery key; one of before opens no longer.

    Raises:
        ProtectionKeyError: The key opens nothing. Nothing was changed.
        OSError: It could not be written; what was there stands.
    """
    with _alone(state):
        note = read_note(state)
        ring = _ring_for(state, note, key)
        slots = {**note.slots, key.fingerprint: key.lock(ring), other.fingerprint: other.lock(ring)}
        if recovery:
            slots.pop(note.recovery, None)
        new = KeyNote(note.key or key.fingerprint, slots, other.fingerprint if recovery else note.recovery)
        _write(state, new, REAL_DISK)
        return new


def rotate_keys(state: Path, key: ProtectionKey) -> KeyNote:
    """Draw a new data key for what is written from the next start on; only the given key opens the ring from now on.

    Other slots go, since who has their keys may have read the ring that was there, and could open the new one. Blocks.

    Raises:
        ProtectionKeyError: The key opens nothing. Nothing was changed.
        OSError: It could not be written; what was there stands.
    """
    with _alone(state):
        ring = _ring_for(state, read_note(state), key).grown()
        new = KeyNote(key.fingerprint, {key.fingerprint: key.lock(ring)})
        _write(state, new, REAL_DISK)
        return new


def _ring_for(state: Path, note: KeyNote, key: ProtectionKey) -> KeyRing:
    if note.slots:
        return opened_ring(state, note, key)
    if note.key and note.key != key.fingerprint:
        raise ProtectionKeyError(
            f"The key of records (fingerprint {key.fingerprint}) is not the one of {state} ({note.key}). Nothing was "
            "changed.",
            way_out=_WAY_OUT,
        )
    return key.first_ring()
