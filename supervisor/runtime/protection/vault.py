"""Values in full, sealed: what stands for the marks of a live agent, a stored task or a report, one file an owner.

A value is written, and is on the disk, before the record that has its mark. A file goes when its owner has ended. What
is sealed cannot be read, moved to another owner, or changed without the key (ChaCha20-Poly1305, RFC 8439).
"""

import hashlib
import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

import orjson

from host.durable import REAL_DISK, Disk, write_all
from supervisor.runtime.log import log
from supervisor.runtime.protection.sealing import Sealer

FOLDER = "sealed"
SUFFIX = ".sealed"


class Vault:
    """The sealed values of one state directory. Safe to use from several threads; blocks.

    Args:
        state: The state directory.
        key: Of the seals, 32 bytes.
        names: Key of the names of files, so that these do not tell whose they are.
        disk: Another, in tests.
    """

    def __init__(self, state: Path, key: bytes, names: bytes, disk: Disk = REAL_DISK) -> None:
        self.folder = state / FOLDER
        self._sealer, self._names, self._disk = Sealer(key), names, disk
        self._known: dict[str, dict[bytes, bytes]] = {}
        self._lock = threading.Lock()

    def load(self) -> None:
        """Read all that is there. A value that cannot be read is logged: its mark then stays what it is."""
        if not self.folder.is_dir():
            return
        with self._lock:
            for path in sorted(self.folder.glob(f"*{SUFFIX}")):
                owner, values = self._read(path)
                if owner:
                    self._known[owner] = values

    @property
    def owners(self) -> list[str]:
        """Those that have values."""
        with self._lock:
            return list(self._known)

    def values(self) -> dict[bytes, bytes]:
        """Return all values by their marks."""
        with self._lock:
            return {mark: value for values in self._known.values() for mark, value in values.items()}

    def of(self, owner: str) -> Mapping[bytes, bytes]:
        """Return the values of one owner by their marks."""
        with self._lock:
            return dict(self._known.get(owner, {}))

    def keep(self, owner: str, values: Mapping[bytes, bytes]) -> None:
        """Keep values for an owner; they are on the disk when this returns. Those that are kept already cost nothing.

        Raises:
            OSError: They could not be written; what was there stands.
        """
        with self._lock:
            known = self._known.get(owner, {})
            new = {mark: value for mark, value in values.items() if known.get(mark) != value}
            if not new:
                return
            self._write(owner, new)
            self._known.setdefault(owner, {}).update(new)

    def forget(self, owners: Iterable[str]) -> list[str]:
        """Remove what was kept for owners; returns those that had something.

        Raises:
            OSError: A file could not be removed; the values in it are kept.
        """
        gone = []
        with self._lock:
            for owner in owners:
                if owner in self._known:
                    self._disk.unlink(self.path_of(owner))
                    del self._known[owner]
                    gone.append(owner)
            if gone:
                self._disk.sync_directory(self.folder)
        return gone

    def path_of(self, owner: str) -> Path:
        """Return the file of an owner's values."""
        digest = hashlib.blake2b(owner.encode(), key=self._names, digest_size=16).hexdigest()
        return self.folder / f"{digest}{SUFFIX}"

    def _write(self, owner: str, values: Mapping[bytes, bytes]) -> None:
        self._disk.make_directory(self.folder)
        path = self.path_of(owner)
        new = not path.exists()
        fd = self._disk.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW)
        try:
            size = os.fstat(fd).st_size
            # Half a line that a crash left is ended first, and passed over as damaged when it is read.
            before = b"\n" if size and os.pread(fd, 1, size - 1) != b"\n" else b""
            try:
                write_all(fd, before + self._sealed(owner, values), disk=self._disk)
            except OSError:
                self._disk.truncate(fd, size)
                raise
            self._disk.sync(fd)
        finally:
            self._disk.close(fd)
        if new:
            self._disk.sync_directory(self.folder)

    def _sealed(self, owner: str, values: Mapping[bytes, bytes]) -> bytes:
        plain = orjson.dumps(
            {"owner": owner, "values": {mark.decode(): value.decode("latin-1") for mark, value in values.items()}}
        )
        return self._sealer.seal(plain, self.path_of(owner).name.encode()) + b"\n"

    def _read(self, path: Path) -> tuple[str, dict[bytes, bytes]]:
        owner, values = "", dict[bytes, bytes]()
        for line in path.read_bytes().splitlines():
            try:
                read = orjson.loads(self._sealer.open(line, path.name.encode()))
                owner = str(read["owner"])
                values.update({mark.encode(): value.encode("latin-1") for mark, value in read["values"].items()})
            except (ValueError, KeyError):
                log.warning("a line of %s is damaged and was passed over: what it keeps in full stays masked", path)
        return owner, values
