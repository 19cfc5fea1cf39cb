"""The files and variables that a configuration may come from, whether there are any, and what they hold.

It is apart from the model: that takes a quarter of a second to import, and most machines have the defaults.
"""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from host.plain_files import NotPlainError, open_plain, read_up_to
from supervisor.config.paths import config_home

FILE_NAME = "chaperon.yaml"

SYSTEM_FILE = Path("/etc/chaperon") / FILE_NAME
"""The machine's file, read first."""

PREFIX = "CHAPERON_"
"""Prefix of each variable that sets a key. One without `__` is only taken if it names a key of the top level that is
no section: scripts get variables such as CHAPERON_AGENT, which are no configuration."""

MAX_BYTES = 256 * 1024
"""Largest file accepted. The whole list of keys is 10 kB; the parser reads some 200 kB a second."""


def nothing_is_configured(environ: Mapping[str, str], explicit: Path | None, system: Path = SYSTEM_FILE) -> bool:
    """Whether there is no file and no variable, so that all is as by default. Blocks.

    Args:
        environ: The process's environment.
        explicit: The file named by `--config`.
        system: The machine's file.
    """
    return (
        explicit is None and not variables(environ) and all(map(_is_missing, possible_files(environ, explicit, system)))
    )


def possible_files(environ: Mapping[str, str], explicit: Path | None, system: Path) -> tuple[Path, ...]:
    """Return the files that may be a part of a configuration, earliest first, whether they are there or not."""
    users = config_home(environ) / "chaperon" / FILE_NAME
    return (system, users) if explicit is None else (system, users, explicit.absolute())


def variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that may set keys, by name."""
    return {name: environ[name] for name in sorted(environ) if name.startswith(PREFIX)}


def read_text(path: Path) -> str:
    """Read a configuration file.

    Raises:
        OSError: If it is missing or cannot be read.
        ValueError: If it is no file, too large, not UTF-8, or could be written by every user.
    """
    try:
        with open_plain(path) as fd:
            status = os.fstat(fd)
            if status.st_mode & stat.S_IWOTH:
                raise ValueError(f"anybody can write it, and it decides what runs; do: chmod o-w {path}")
            data = read_up_to(fd, MAX_BYTES + 1)
    except NotPlainError:
        raise ValueError("is no regular file; name a YAML file") from None
    if len(data) > MAX_BYTES:
        raise ValueError(f"is larger than {MAX_BYTES // 1024} KiB ({status.st_size} bytes); is it the right file?")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"is not UTF-8: byte 0x{data[error.start]:02x} in line {line}") from None


def _is_missing(path: Path) -> bool:
    """Whether a file is certainly not there: one that cannot be looked at is for its reader to report."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
