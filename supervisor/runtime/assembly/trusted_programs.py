"""Programs and code that the daemon runs, kept as they were when a person last confirmed them.

The first start with a state directory trusts what its configuration names. From then on a change of such a key, or of
a file that one names, counts once a person confirms it (`chaperon trust --programs --accept`). Until then a daemon
that runs keeps its whole policy, and one that starts uses the keys as they were and copies of the files. So an agent's
program that writes into the configuration, or into a plugin's file, is run by no daemon, also after a restart.

The list and the copies are below the state directory. Who may write there may also replace them: they hold against
agents in a sandbox and against other users, and make the rest visible.
"""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from host.durable import replace_file, write_program
from host.identity import may
from host.plain_files import open_plain
from monitors.contract.errors import ChaperonError
from monitors.secret_patterns import masked
from supervisor.config.model import Config
from supervisor.config.programs import (
    commands_of,
    is_no_program,
    program_files,
    program_values,
    with_files,
    with_values,
)

LIST_NAME = "programs.json"

VERSION = 1
"""Of the list's make."""

MOST_COPIED = 4 * 2**20
"""Bytes of a file up to which a copy is kept: scripts and plugins are some KiB. Of a longer one the digest counts."""

GONE = "gone"
"""Stands for the digest of a file that is not there or cannot be read."""

FIXED = "fixed"
"""Stands for the digest of a file that neither the daemon's user nor its agents can replace, since all folders above it
are root's. The distribution renews it."""

LONGEST_SHOWN = 120
"""Characters of a value in the list for people."""


class ProgramChangedError(ChaperonError):
    """A program is not what a person trusted, and there is no copy of that."""


@dataclass(frozen=True, slots=True)
class TrustedProgram:
    """A key that names programs or code, or a file that is one."""

    key: str
    """The key, or the path of the file."""
    now: str
    """The value in words; of a file the beginning of its digest."""
    trusted: str | None
    """The same as it was confirmed; None if it is the same."""


_USUAL = program_values(Config())
"""The defaults, which are not listed."""


@dataclass(frozen=True, slots=True)
class _Kept:
    values: Mapping[str, Any]
    files: Mapping[str, str]

    @property
    def digest(self) -> str:
        return sha256(orjson.dumps([self.values, self.files], option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


class TrustedPrograms:
    """The list of one state directory. Its methods block.

    Args:
        folder: Where list and copies are.
        copies: Where the copies are, if elsewhere.
    """

    def __init__(self, folder: Path, copies: Path | None = None) -> None:
        self._folder = folder
        self._copies = copies or folder
        self._kept: _Kept | None = None

    def settle(self, config: Config) -> tuple[Config, tuple[TrustedProgram, ...]]:
        """Return the configuration that a start may use, and what of the given one a person has not confirmed.

        Without a list, which is the first start, all of it is trusted.

        Raises:
            OSError: The list cannot be read or written.
            ProgramChangedError: The list is damaged.
        """
        self._kept = self._read()
        if self._kept is None:
            self.accept(config)
            return config, ()
        changed = self.changed(config)
        return (with_values(config, self._kept.values) if changed else config), changed

    def listed(self, config: Config) -> tuple[TrustedProgram, ...]:
        """Return all that a configuration names, in the order of the keys, and what it was when it was confirmed."""
        now, then = _looked_at(config), self._kept or self._read() or _looked_at(config)
        values = [
            TrustedProgram(
                key, _words(value), None if then.values.get(key, value) == value else _words(then.values[key])
            )
            for key, value in now.values.items()
            if (value != _USUAL[key] or then.values.get(key, value) != _USUAL[key]) and not is_no_program(key, value)
        ]
        files = [
            TrustedProgram(path, is_[:12], None if was == is_ else (was or "not named")[:12])
            for path, is_ in now.files.items()
            for was in [then.files.get(path, "")]
        ]
        return (*values, *files)

    def changed(self, config: Config) -> tuple[TrustedProgram, ...]:
        """Return what a configuration names otherwise than it was confirmed."""
        return tuple(one for one in self.listed(config) if one.trusted is not None)

    def refuse_changed_plugins(self, config: Config) -> None:
        """Refuse to load plugins that are not as they were confirmed; any may be before the first start.

        Raises:
            ProgramChangedError: One is not.
        """
        files = config.plugins.files()
        changed = [one.key for one in self.changed(config) if one.key in files or one.key.startswith("plugins.")]
        if changed:
            raise ProgramChangedError(
                f"Plugins are not those that a person trusted ({', '.join(changed)}); nothing of them was loaded.",
                way_out="To look, and to let them run: chaperon trust --programs, and the same with --accept.",
            )

    def digest(self, config: Config) -> str:
        """Return the digest of all that a configuration names, by which a person confirms what was shown."""
        return _looked_at(config).digest

    @property
    def trusted_digest(self) -> str:
        """The digest of what was confirmed; empty before the first start."""
        kept = self._kept or self._read()
        return "" if kept is None else kept.digest

    def accept(self, config: Config) -> None:
        """Trust what a configuration names as it is now.

        Raises:
            OSError: It could not be written; what was trusted before is.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        kept = _looked_at(config)
        for path in kept.files:
            self._copy(Path(path))
        data = {"version": VERSION, "values": kept.values, "files": kept.files}
        replace_file(self._folder / LIST_NAME, orjson.dumps(data, option=orjson.OPT_SORT_KEYS) + b"\n")
        self._kept = kept

    def running(self, config: Config) -> Config:
        """Return a configuration that has been settled, with copies instead of files that changed since.

        Raises:
            ProgramChangedError: A file changed, and there is no copy of it.
        """
        copies = {path: self.program(path) for path in program_files(config)}
        for asked in commands_of(config):
            if may(copy := self._copy_of(asked), os.X_OK):
                copies[asked] = str(copy)  # it is asked again while the daemon runs, without a look at it
        return with_files(config, {path: copy for path, copy in copies.items() if copy != path})

    def program(self, path: str) -> str:
        """Return the path to run a trusted program by: its own, or its copy's if it is not what it was.

        Raises:
            ProgramChangedError: It is not what it was, and there is no copy.
        """
        was = (self._kept.files if self._kept is not None else {}).get(path)
        if was is None or _digest_of(path) == was:
            return path
        copy = self._copy_of(path)
        if _digest_of(str(copy)) != was:
            raise ProgramChangedError(
                f"{path} is not what it was when a person trusted it, and no copy of that was kept; it was not used.",
                way_out="Look at it, and let it run: chaperon trust --programs --accept.",
            )
        return str(copy)

    def _copy_of(self, path: str) -> Path:
        was = (self._kept.files if self._kept is not None else {}).get(path, GONE)
        return self._copies / was / Path(path).name

    def _copy(self, path: Path) -> None:
        content = _content(path)
        if content is None or len(content) > MOST_COPIED:
            return
        folder = self._copies / sha256(content).hexdigest()
        copy = folder / path.name
        if _digest_of(str(copy)) != folder.name:
            write_program(copy, content, sync=True)

    def _read(self) -> _Kept | None:
        path = self._folder / LIST_NAME
        try:
            found = orjson.loads(path.read_bytes())
            return _Kept(dict(found["values"]), dict(found["files"]))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise ProgramChangedError(
                f"The list of trusted programs {path} is damaged ({error}); nothing was started.",
                way_out=f"Look at what the configuration has run, and remove {path}: the next start trusts what is there.",
            ) from error


def _looked_at(config: Config) -> _Kept:
    return _Kept(program_values(config), {path: _digest_of(path) for path in program_files(config)})


def _digest_of(path: str) -> str:
    if _is_fixed(path):
        return FIXED
    content = _content(Path(path))
    return GONE if content is None else sha256(content).hexdigest()


def _content(path: Path) -> bytes | None:
    """Return the content of a plain file; None if there is none."""
    try:
        with open_plain(path) as fd, os.fdopen(fd, "rb", closefd=False) as file:
            return file.read()
    except OSError:
        return None


def _is_fixed(path: str) -> bool:
    """Whether only root can replace a file: it, its target and all folders above are root's, and no others write."""
    if os.geteuid() == 0:
        return False
    try:
        for one in {path, os.path.realpath(path)}:
            for there in (Path(one), *Path(one).parents):
                status = there.lstat()
                others_write = status.st_mode & 0o022 and not stat.S_ISLNK(status.st_mode)
                if status.st_uid != 0 or (others_write and not status.st_mode & stat.S_ISVTX):
                    return False
    except OSError:
        return False
    return True


def _words(value: Any) -> str:
    """Return a value for people, short, and without what looks like a secret."""
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    text = masked(text) if value else "none"
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"
