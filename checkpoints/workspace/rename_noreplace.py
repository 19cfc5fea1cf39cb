"""Renames in a workspace that never replace a file which was not examined."""

import ctypes
import errno
import os

_libc = ctypes.CDLL(None, use_errno=True)
_NOREPLACE = 1
_UNKNOWN = frozenset({errno.ENOSYS, errno.EINVAL})
"""Errors of kernels and file systems that lack a rename without replacement."""


def move(name: bytes, folder: int, new_name: bytes, new_folder: int) -> None:
    """Move a file, link or folder to a name that nothing has; one step, seen whole or not at all.

    Raises:
        FileExistsError: Something has that name; nothing was changed.
        FileNotFoundError: There is nothing to move.
    """
    if _libc.renameat2(folder, name, new_folder, new_name, _NOREPLACE) == 0:
        return
    code = ctypes.get_errno()
    if code not in _UNKNOWN:
        raise OSError(code, os.strerror(code), os.fsdecode(new_name))
    if exists(new_name, new_folder):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fsdecode(new_name))
    os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=new_folder)


def exists(name: bytes, folder: int) -> bool:
    """Whether something has this name, a link that leads nowhere included."""
    try:
        os.lstat(name, dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
