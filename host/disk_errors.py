"""The errors of a disk that is full, fails or may not be written, in the four widths that callers need."""

import errno

NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Errors of a write without room: on the disk, or in the user's quota. Room may come back."""


NO_ROOM = NO_SPACE | {errno.EFBIG}
"""The same, or the file would be larger than a file may be."""

UNWRITABLE = NO_ROOM | {errno.EIO}
"""The same, or the device failed: it takes no more of what is written."""

REFUSED = UNWRITABLE | {errno.EROFS, errno.EACCES, errno.EPERM}
"""The same, or the file system is mounted read-only, or the file is not this user's to write."""
