"""Connecting to a Unix socket whose queue may be full.

The kernel answers EAGAIN at once where the queue of a listener is full, however long a connection may take. A program
that connects again and again keeps it full; others must try until there is room.
"""

import socket
import time

AGAIN_SECONDS = 0.01
"""Between two tries: a daemon takes some hundred connections in that time."""


def connect(channel: socket.socket, path: str, seconds: float) -> None:
    """Connect within so many seconds. Blocks.

    Raises:
        TimeoutError: The queue was full all the time.
        OSError: As `socket.connect`.
    """
    channel.settimeout(seconds)
    for _ in range(max(1, int(seconds / AGAIN_SECONDS))):
        try:
            return channel.connect(path)
        except BlockingIOError:
            time.sleep(AGAIN_SECONDS)
    raise TimeoutError(f"the queue of {path} was full for {seconds:g} s")
