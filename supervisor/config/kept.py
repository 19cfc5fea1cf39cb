"""Parts of a configuration that was checked, kept for the commands that follow.

The model that checks it takes a fifth of a second to load. A command that needs a part of what it says reads that part
again, as long as nothing has changed that led to it: the files and variables, the home directory, and all code that was
loaded when it was made. What is kept is data, and holds no key that others should not read.
"""

import hashlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from host.durable import replace_file
from host.plain_files import open_plain, read_up_to
from monitors.contract import anyjson
from supervisor.config.paths import home
from supervisor.config.sources import SYSTEM_FILE, possible_files, read_text, variables

PLAIN_KEYS: Mapping[str, Any] = {
    "agent.command": None,
    "agent.sandbox": "none",
    "audit.export_format": "json",
    "audit.key": "",
    "audit.signing_key": "",
    "notify.panel": "",
}
"""Keys that commands need by themselves, with their defaults: they load no model where nothing is configured."""

MOST_BYTES = 4 * 1024 * 1024
"""Largest file that is read. One has 40 kB for the names of modules, and what the configuration says, which has 256 KiB
a file at most."""

OTHERS_MAY_WRITE = 0o022


class KeptPart:
    """A part of a checked configuration, in a file. Blocks.

    Args:
        path: The file; it is written only if its folder is there.
        environ: The process's environment.
        explicit: The file named by `--config`.
        system: The machine's file.
    """

    def __init__(
        self, path: Path, environ: Mapping[str, str], explicit: Path | None, system: Path = SYSTEM_FILE
    ) -> None:
        self._path, self._environ = path, environ
        self._files = possible_files(environ, explicit, system)

    def mark(self) -> str:
        """Return the mark of all that a configuration is read from; empty if a part of it cannot be read."""
        texts: list[tuple[str, str | None]] = []
        for path in self._files:
            try:
                texts.append((str(path), read_text(path)))
            except (FileNotFoundError, NotADirectoryError):
                texts.append((str(path), None))
            except (OSError, ValueError):
                return ""
        read = (sys.version, str(home(self._environ)), texts, variables(self._environ))
        return hashlib.sha256(repr(read).encode(errors="backslashreplace")).hexdigest()

    def read(self, mark: str) -> Mapping[str, Any] | None:
        """Return the part if it was kept under this mark, by the code that is installed now; None otherwise."""
        try:
            with open_plain(self._path, links=False) as fd:
                status = os.fstat(fd)
                if status.st_uid != os.geteuid() or status.st_mode & OTHERS_MAY_WRITE:
                    return None
                kept = anyjson.decode(read_up_to(fd, MOST_BYTES))
            if not mark or kept["mark"] != mark or not all(_stamp(name) == was for name, was in kept["code"].items()):
                return None
            part = kept["part"]
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None
        return part if isinstance(part, dict) else None

    def write(self, mark: str, part: Mapping[str, Any]) -> None:
        """Keep a part that was made since the mark was taken; nothing if it cannot be kept, or its sources changed."""
        if not mark or mark != self.mark():
            return
        files = {file for module in list(sys.modules.values()) if (file := getattr(module, "__file__", None))}
        try:
            code = {file: _stamp(file) for file in sorted(files)}
            data = anyjson.dumps({"mark": mark, "code": code, "part": part})
            replace_file(self._path, data, sync=False)
        except (OSError, ValueError, TypeError):
            return  # there is no state directory, it is another user's, or the disk is full: the next command checks anew


def _stamp(file: str) -> list[int]:
    status = Path(file).stat()
    return [status.st_mtime_ns, status.st_size]
