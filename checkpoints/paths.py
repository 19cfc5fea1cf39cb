"""Names of files as text: printable, safe in JSON, and without loss, for names that are bytes and nothing more."""

import re
from collections.abc import Iterator

_ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|\\)")


def text_of(path: bytes) -> str:
    r"""Return the path as text; bytes that are no UTF-8, control characters and backslashes become `\xNN` and `\\`."""
    if path.isascii() and b"\\" not in path and path.decode("ascii").isprintable():
        return path.decode("ascii")
    shown = []
    for character in path.decode("utf-8", "surrogateescape"):
        if character == "\\":
            shown.append("\\\\")
        elif "\udc80" <= character <= "\udcff" or not character.isprintable():
            shown.append("".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape")))
        else:
            shown.append(character)
    return "".join(shown)


def bytes_of(text: str) -> bytes:
    """Return the bytes that `text_of` showed; a person's plain path passes through unchanged."""
    parts = []
    end = 0
    for found in _ESCAPE.finditer(text):
        parts.append(text[end : found.start()].encode())
        parts.append(b"\\" if found[1] == "\\" else bytes([int(found[1][1:], 16)]))
        end = found.end()
    return b"".join([*parts, text[end:].encode()])


def parent_of(path: bytes) -> bytes:
    """Return the folder of a path relative to the workspace; the workspace itself is the empty path."""
    return path.rpartition(b"/")[0]


def join(folder: bytes, name: bytes) -> bytes:
    """Return the path of a name in a folder that is relative to the workspace."""
    return folder + b"/" + name if folder else name


def is_within(path: bytes, folder: bytes) -> bool:
    """Whether the path is the folder, or lies in it."""
    return not folder or path == folder or path.startswith(folder + b"/")


def self_and_above(path: bytes) -> Iterator[bytes]:
    """Return the path, then the folders it lies in, nearest first; the workspace itself is not among them."""
    while path:
        yield path
        path = parent_of(path)
