"""The protocol between a shim and its daemon, over a Unix stream socket.

To the shim, one JSON object a line:

    {"op": "attach", "offset": N, "errors": M} send the output from that offset on, and the error output if M is given
    {"op": "line", "key": K, "line": BASE64}   pass the line to the CLI, once per key
    {"op": "freeze", "id": I}                  freeze the tree; the answer carries the id
    {"op": "close_input"} {"op": "terminate"} {"op": "thaw"} {"op": "end_tree"}

From the shim, frames: four bytes of payload length, one byte of kind, the payload. Output is binary, because it is most
of the data; the rest is JSON.

Both ends pass over keys, operations and frames that they do not know: the other end may be older or newer.

Standard library only: the shim runs this with no packages on its path.
"""

import json
import struct
from collections.abc import Iterator
from typing import Any

HEADER = struct.Struct(">IB")
OFFSET = struct.Struct(">Q")

HELLO = 1
"""`{shim_pid, cli_pid, out_size, containment, identity}`: always the first, unless the CLI could not be started. The
identity is the content of `agent.json` when it was written."""
OUTPUT = 2
"""Eight bytes of offset, then what the CLI printed there."""
ACCEPTED = 3
"""`{key}`: the line will be written, once, unless the agent ends first; also the answer to a key seen before."""
FROZEN = 4
"""`{micros, id}`: every process is frozen; the id is the command's, and left out if the command had none. If a
process is not, a fault of kind `NOT_FROZEN` comes instead."""
ENDED = 5
"""`{micros, left}`: the tree was killed."""
FAULT = 6
"""`{kind, text}`: a fault that the shim survives. Programs decide by the kind, which is one of those below and
missing from shims of older versions; the text is for people."""
EXITED = 7
"""The exit record; nothing follows."""

ERRORS = 8
"""Eight bytes of offset, then what the CLI printed on its error output there; to daemons that asked for it."""

NOT_FROZEN = "not_frozen"
"""The fault that answers a freeze, with its `id`, if processes go on moving."""
LINE_REFUSED = "line_refused"
"""The fault that answers a line, with its `key`, if the CLI's input is closed."""
OUTPUT_UNWRITABLE = "output_unwritable"
"""The fault that `out.log` cannot be written; the CLI waits."""
COMMAND_UNREADABLE = "command_unreadable"
"""The fault that a command could not be read or carried out; it was passed over."""

CHUNK_BYTES = 65536
"""Most output in one frame, and most read from a pipe at once: what a Linux pipe holds."""

MAX_COMMAND_BYTES = 96 * 1024 * 1024
"""Longest command line taken from a daemon. A 64 MiB line for the CLI fits with its base64; a longer run of bytes with
no newline is no daemon of ours."""


def frame(number: int, payload: bytes) -> bytes:
    """One frame."""
    return HEADER.pack(len(payload), number) + payload


def fact(number: int, /, **facts: Any) -> bytes:
    """A frame whose payload is JSON."""
    return frame(number, json.dumps(facts).encode())


class Frames:
    """Takes a stream of bytes, cut anywhere, apart into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """The kinds and payloads of the frames that these bytes complete."""
        self._buffer += data
        start = 0
        while len(self._buffer) - start >= HEADER.size:
            length, kind = HEADER.unpack_from(self._buffer, start)
            end = start + HEADER.size + length
            if len(self._buffer) < end:
                break
            yield kind, bytes(self._buffer[start + HEADER.size : end])
            start = end
        del self._buffer[:start]
