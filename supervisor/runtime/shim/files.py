"""The small files of a shim, written from within its directory.

Standard library only: the shim runs this with no packages on its path.
"""

import json
import os
import time
from typing import Any


def log(text: str) -> None:
    """A line in `shim.log`."""
    os.write(2, f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {text}\n".encode(errors="replace"))


def write_whole(name: str, facts: dict[str, Any]) -> None:
    """Write a JSON file so that it is there whole or not at all, whatever fails; its existence is the commit point.

    Raises:
        OSError: It could not be written; an earlier one is unchanged.
    """
    fd = os.open(f"{name}.tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        text = json.dumps(facts, indent=1).encode()
        while text:
            text = text[os.write(fd, text) :]
        os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(f"{name}.tmp", name)  # noqa: PTH104 - as in trees
    directory = os.open(".", os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)
