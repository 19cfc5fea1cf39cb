"""A session of the CLI on its way from one agent's own configuration folder into that of the agent that goes on in it.

The CLI looks for a session in the configuration folder that it is started with. What lies in the other one was written
by an agent, or by whatever ran for it: links are not followed, and what is no plain file is not read.
"""

import errno
import os
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path

from checkpoints.workspace.safe_open import names_in, open_folder
from host.plain_files import open_plain

MOST_BYTES = 256 * 2**20
"""The longest record of a session that is handed on: 64 times the text of a context of a million tokens of 4 bytes."""

MOST_FOLDERS = 1_000
"""How many folders are looked into. The CLI has one for each directory that it was started in; an agent is started in
one."""

PIECE = 2**20
"""How much is copied at once, in bytes."""


def hand_over(session: str, source: Path, target: Path) -> bool:
    """Copy the record of a session from one configuration folder into another. Blocks.

    Args:
        session: The session's id, which is a UUID.
        source: The folder of the agent that had the session.
        target: The folder of the agent that goes on in it. It is made if it is not there.

    Returns:
        Whether the source had it.

    Raises:
        OSError: It is there and could not be copied whole, or is too long; the target has none of it then.
    """
    name = f"{session}.jsonl".encode()
    try:
        above = os.open(source, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        projects = open_folder(b"projects", above)
        if projects is None:
            return False
        try:
            return any(
                _handed_over(name, folder, projects, target) for folder, _ in islice(names_in(projects), MOST_FOLDERS)
            )
        finally:
            os.close(projects)
    finally:
        os.close(above)


def _handed_over(name: bytes, folder: bytes, projects: int, target: Path) -> bool:
    """Whether one of the folders had the record, which the target has then."""
    with ExitStack() as opened:
        below = open_folder(folder, projects)
        if below is None:
            return False
        opened.callback(os.close, below)
        try:
            fd = opened.enter_context(open_plain(name, links=False, below=below))
        except OSError:
            return False
        state = os.fstat(fd)
        if state.st_nlink > 1:
            return False
        if state.st_size > MOST_BYTES:
            length, most = (f"{size / 2**20:,.0f}" for size in (state.st_size, MOST_BYTES))
            raise OSError(errno.EFBIG, f"its record has {length} MiB, and {most} are the most")
        place = target
        for part in ("", "projects", os.fsdecode(folder)):
            place /= part
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        _copy(fd, state.st_size, place / os.fsdecode(name))
        return True


def _copy(fd: int, size: int, to: Path) -> None:
    """Write as much of an open file as it had when it was looked at, under a name that nothing has yet."""
    new = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        left = size
        while left and (piece := os.read(fd, min(left, PIECE))):
            view = memoryview(piece)
            while view:
                view = view[os.write(new, view) :]
            left -= len(piece)
    except BaseException:
        with suppress(OSError):
            to.unlink()
        raise
    finally:
        os.close(new)
