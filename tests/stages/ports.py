"""Ports of loopback for programs that must be told theirs before they listen."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_port(address: str = "127.0.0.1") -> Iterator[int]:
    """A port that nobody else gets: it is bound and not listened on, beside which SO_REUSEADDR lets one listen (Linux)."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind((address, 0))
        yield int(kept.getsockname()[1])
