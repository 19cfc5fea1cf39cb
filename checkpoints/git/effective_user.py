"""Have libgit2 look at files as the effective user, where a daemon has a real user of its own (`host.identity`).

libgit2 asks access(2) whether a loose object is there, and that call goes by the real user, who may not look into a
person's home directory. The C library has the same call by the effective user, eaccess(3): libgit2's table of
functions gets that one in its place. Nothing else of libgit2 goes by the real user (1.9, `strings` and `readelf`).
"""

import ctypes
import os
import struct
from collections.abc import Iterator
from pathlib import Path

from checkpoints.errors import CheckpointError
from checkpoints.git.library import load_libgit2
from host.identity import is_apart

_HEADER, _SEGMENT, _DYNAMIC, _RELOCATION, _SYMBOL = map(
    struct.Struct, ("<16sHHIQQQIHHHHHH", "<IIQQQQQQ", "<QQ", "<QQq", "<IBBHQQ")
)
"""Structures of ELF with 64 bits (elf(5))."""

_LOAD, _DYNAMIC_SEGMENT = 1, 2
_STRINGS, _SYMBOLS, _TABLES = 5, 6, ((23, 2), (7, 8))
"""Kinds of segments, and of entries: where names and symbols are, and two tables of relocations with their sizes."""

_READ, _WRITE = 1, 2
_MAPS = Path("/proc/self/maps")


def ask_as_effective_user() -> None:
    """Replace access(2) in libgit2, which is loaded for it, in a process of a daemon apart.

    Raises:
        CheckpointError: Its table of functions was not found.
    """
    if not is_apart():
        return
    load_libgit2()
    pages = [line.split(maxsplit=5) for line in _MAPS.read_text().splitlines()]
    loaded = [(words[0], words[1], words[5]) for words in pages if len(words) > 5 and "libgit2" in Path(words[5]).name]
    libc = ctypes.CDLL(None, use_errno=True)
    instead = ctypes.cast(libc.eaccess, ctypes.c_void_p).value
    page, replaced = os.sysconf("SC_PAGE_SIZE"), 0
    for path in {path for _, _, path in loaded}:
        base = min(int(span.partition("-")[0], 16) for span, _, of in loaded if of == path)
        for slot in _slots(Path(path).read_bytes(), b"access"):
            start = ctypes.c_void_p((base + slot) // page * page)
            kept = next((mode for span, mode, _ in loaded if _has(span, base + slot)), "rw")
            if libc.mprotect(start, page, _READ | _WRITE):
                raise CheckpointError(
                    f"The table of functions of {path} cannot be written: {os.strerror(ctypes.get_errno())}."
                )
            ctypes.c_void_p.from_address(base + slot).value = instead
            if "w" not in kept:
                libc.mprotect(start, page, _READ)
            replaced += 1
    if not replaced:
        raise CheckpointError("libgit2 is built otherwise than is known: its call of access(2) was not found.")


def _has(span: str, address: int) -> bool:
    first, _, last = span.partition("-")
    return int(first, 16) <= address < int(last, 16)


def _slots(library: bytes, name: bytes) -> Iterator[int]:
    """Yield where a library has the addresses of a function of another one, from its beginning in memory."""
    header = _HEADER.unpack_from(library)
    if header[0][:6] != b"\x7fELF\x02\x01":
        return
    segments = [_SEGMENT.unpack_from(library, header[5] + number * header[9]) for number in range(header[10])]

    def place(address: int) -> int:
        """Return where in the file an address in memory is."""
        found = next(one for one in segments if one[0] == _LOAD and one[3] <= address < one[3] + one[5])
        return int(address - found[3] + found[2])

    _, _, at, _, _, size, _, _ = next(one for one in segments if one[0] == _DYNAMIC_SEGMENT)
    entries = dict(_DYNAMIC.iter_unpack(library[at : at + size]))
    for table, length in _TABLES:
        if table in entries:
            start = place(entries[table])
            for slot, info, _ in _RELOCATION.iter_unpack(library[start : start + entries[length]]):
                symbol = _SYMBOL.unpack_from(library, place(entries[_SYMBOLS]) + (info >> 32) * _SYMBOL.size)
                text = place(entries[_STRINGS]) + symbol[0]
                if library[text : library.index(b"\0", text)] == name:
                    yield slot
