"""Looks at a path that others name: a path of which the kernel can say nothing names nothing.

`pathlib` raises for a name that is too long and for a folder that may not be entered (Python 3.11 to 3.13). Whoever may
write a path, as an agent in a `.git` of its workspace, would so end what reads it.
"""

import os
from pathlib import Path


def is_there(path: Path) -> bool:
    """Whether anything stands there, links followed."""
    return os.path.exists(path)  # noqa: PTH110


def is_file(path: Path) -> bool:
    """Whether a regular file stands there, links followed."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: Path) -> bool:
    """Whether a folder stands there, links followed."""
    return os.path.isdir(path)  # noqa: PTH112
