"""The files and variables that a configuration may come from, and whether there are any.

It is apart from the model: that takes a quarter of a second to import, and most machines have the defaults.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from supervisor.config.paths import config_home

FILE_NAME = "chaperon.yaml"

SYSTEM_FILE = Path("/etc/chaperon") / FILE_NAME
"""The machine's file, read first."""

PREFIX = "CHAPERON_"
"""Prefix of each variable that sets a key. One without `__` is only taken if it names a key of the top level that is
no section: scripts get variables such as CHAPERON_AGENT, which are no configuration."""


def nothing_is_configured(environ: Mapping[str, str], explicit: Path | None, system: Path = SYSTEM_FILE) -> bool:
    """Whether there is no file and no variable, so that all is as by default. Blocks.

    Args:
        environ: The process's environment.
        explicit: The file named by `--config`.
        system: The machine's file.
    """
    named = any(name.startswith(PREFIX) for name in environ)
    return explicit is None and not named and all(map(_is_missing, possible_files(environ, explicit, system)))


def possible_files(environ: Mapping[str, str], explicit: Path | None, system: Path) -> tuple[Path, ...]:
    """Return the files that may be a part of a configuration, earliest first, whether they are there or not."""
    users = config_home(environ) / "chaperon" / FILE_NAME
    return (system, users) if explicit is None else (system, users, explicit.absolute())


def _is_missing(path: Path) -> bool:
    """Whether a file is certainly not there: one that cannot be looked at is for its reader to report."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
