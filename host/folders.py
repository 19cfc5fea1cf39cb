"""Folders as deep as others may have made them, walked and removed.

A name at a time one can make folders deeper than a path is long, and deeper than Python calls itself: `shutil.rmtree`,
`os.walk` and `Path.rglob` end in a `RecursionError` after some 1,000.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

LEVELS = 100
"""Folders within folders that are held open at once, of 1,024 descriptors that a process usually has; the deepest of
20,000 packages of npm is 30."""

_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def below(folder: Path, *, folders_alone: bool = False) -> Iterator[Path]:
    """Yield all that is below a folder, or the folders alone, links not followed, each folder before what is in it.

    What cannot be listed, and what is too deep for a path, is passed over.
    """
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as listed:
                entries = list(listed)
        except OSError:
            continue
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder or not folders_alone:
                yield Path(entry.path)
            if is_folder:
                waiting.append(Path(entry.path))


def remove_folder(folder: Path) -> None:
    """Remove a folder with all that is in it, folders too that may not be written. Blocks.

    Raises:
        OSError: Something could not be removed; what is left is removed by another call.
    """
    top = _opened(folder, None)
    try:
        while os.listdir(top):  # noqa: PTH208 - of what is open
            _empty(top, top, LEVELS)
    finally:
        os.close(top)
    folder.rmdir()


def _empty(folder: int, top: int, levels: int) -> None:
    """Remove what is in a folder; what lies deeper than so many levels is moved into the top one instead."""
    for name in os.listdir(folder):
        if not stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
            os.unlink(name, dir_fd=folder)
            continue
        inside = _opened(name, folder)  # one that may not be written cannot be moved either
        try:
            if levels:
                _empty(inside, top, levels - 1)
                os.rmdir(name, dir_fd=folder)
            else:
                os.rename(name, secrets.token_hex(8), src_dir_fd=folder, dst_dir_fd=top)
        finally:
            os.close(inside)


def _opened(name: str | Path, above: int | None) -> int:
    """Open a folder, as one that its owner may read and write."""
    found = os.open(name, os.O_PATH | _FOLDER, dir_fd=above)
    try:
        mode = stat.S_IMODE(os.fstat(found).st_mode)
        if mode & 0o700 != 0o700:
            os.chmod(f"/proc/self/fd/{found}", mode | 0o700)  # noqa: PTH101 - of what is open, whatever has its name by now
        return os.open(".", os.O_RDONLY | _FOLDER, dir_fd=found)
    finally:
        os.close(found)
