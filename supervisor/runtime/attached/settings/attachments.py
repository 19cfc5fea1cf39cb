"""Settings files of the CLI that hooks were put into, with what stood there before, so that it can be put back.

A file is written whole beside the old one and then takes its place, so that a reader meets one or the other. What was
there is kept in the state directory until the hooks are taken out; if the person edited the file meanwhile, only the
hooks are taken out of it.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from difflib import unified_diff
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import orjson

from monitors.contract.errors import ChaperonError, UsageError
from supervisor.runtime.attached import relay_settings
from supervisor.runtime.attached.adapters.other_cli import adapter
from supervisor.runtime.attached.settings import settings_text

Scope = Literal["user", "project", "local"]
MAX_BYTES = 4 * 1024 * 1024
"""Longest settings file that is edited; those of people have some kilobytes."""


PRIVATE = 0o600
"""Permissions of a file that this user alone can read: a settings file that is new, or holds a token."""


_TOKEN = re.compile(r'(?<="Bearer )[^"$]+(?=")')
"""A token in hooks by HTTP; a variable's name begins with a dollar sign."""


class AttachError(ChaperonError):
    """A settings file cannot be changed; it is as it was."""


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """A change of a settings file, before it is made."""

    path: Path
    before: bytes | None
    """Its bytes; None if there is no file."""
    after: bytes | None
    """Its bytes to be; None: the file goes."""
    mode: int | None = None
    """Its permissions to be; None: as they are, and for a file that is new, this user's alone."""

    @property
    def difference(self) -> str:
        """The change as people read it, and others over their shoulder: without the tokens of hooks."""
        old, new = (
            [] if text is None else text.decode(errors="replace").splitlines(keepends=True)
            for text in (self.before, self.after)
        )
        name = str(self.path).replace("\n", "\\n")  # or a folder's name could pass for lines of the change
        lines = unified_diff(old, new, name, name)
        return _TOKEN.sub("***", "".join(line if line.endswith("\n") else f"{line}\n" for line in lines))


def place_of(scope: Scope, directory: Path, environ: Mapping[str, str]) -> Path:
    """Return the settings file of a scope.

    Args:
        scope: `user`, or, of the project around the directory, `project` (shared) or `local` (this person's own).
        directory: The top of the project.
        environ: The environment, which names the person's own folder.

    Raises:
        UsageError: There is no home directory.
    """
    if scope == "user":
        own, home = environ.get("CLAUDE_CONFIG_DIR"), environ.get("HOME")
        if not own and not home:
            raise UsageError("Neither HOME nor CLAUDE_CONFIG_DIR is set, so where your settings are is not known.")
        return (Path(own) if own else Path(str(home)) / ".claude") / "settings.json"
    return directory / ".claude" / ("settings.json" if scope == "project" else "settings.local.json")


def place_for(cli: str, scope: Scope | None, directory: Path, environ: Mapping[str, str]) -> Path:
    """Return the settings file of another CLI.

    Args:
        cli: The name of its adapter.
        scope: `user` or `project`: other CLIs have no settings of one person's in one project.
        directory: The top of the project.
        environ: The environment, which names the home directory.

    Raises:
        UsageError: There is no such file.
    """
    own = adapter(cli)
    if scope == "project":
        return directory / own.FOLDER / own.FILE
    if scope != "user":
        raise UsageError(
            f"{own.NAME} has no settings that are yours in one project; nothing was changed.",
            way_out=f"Take --user (~/{own.FOLDER}/{own.FILE}), or --project, if the others there use chaperon too.",
        )
    if not environ.get("HOME"):
        raise UsageError("HOME is not set, so where your settings are is not known.")
    return Path(environ["HOME"]) / own.FOLDER / own.FILE


class Attachments:
    """The settings files with hooks of ours, and what stood there before.

    Args:
        folder: Where that is kept.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def alone(self) -> AbstractContextManager[None]:
        """Keep others who attach and detach away meanwhile."""
        return relay_settings.alone(self._folder)

    def attaching(
        self, path: Path, entries: settings_text.Handlers, top: Mapping[str, Any] | None = None
    ) -> SettingsChange:
        """Return the change by which the hooks come into a file.

        Args:
            path: The file.
            entries: The hooks.
            top: Other members that it must have.

        Raises:
            ChaperonError: The file cannot be changed.
        """
        with _named(path):
            before = _read(path)
            after = settings_text.with_hooks(_text(before), entries, top).encode()
        return SettingsChange(path, before, after, PRIVATE if settings_text.holds_token(after.decode()) else None)

    def detaching(self, path: Path) -> SettingsChange:
        """Return the change by which the hooks go out of a file; as it was before, if it was not edited since.

        Raises:
            ChaperonError: The file cannot be changed, or holds no hook of ours.
        """
        with _named(path):
            before = _read(path)
            if before is None or not settings_text.hooks_in(_text(before)):
                raise UsageError("There is no hook of chaperon in it; nothing was changed.")
            kept = self._kept(path)
            if kept is not None and kept["after"] == _digest(before):
                original = kept["before"]
                return SettingsChange(path, before, None if original is None else original.encode(), kept.get("mode"))
            mode = kept.get("mode") if kept is not None else None
            return SettingsChange(path, before, settings_text.without_hooks(_text(before)).encode(), mode)

    def carry_out(self, change: SettingsChange) -> None:
        """Change the file. What stood there is kept first.

        Raises:
            AttachError: It was changed by another program meanwhile, or cannot be written; it is as it was.
        """
        attaches = change.after is not None and bool(settings_text.hooks_in(_text(change.after)))
        with _named(change.path):
            if _read(change.path) != change.before:
                raise AttachError(
                    "It was changed by another program meanwhile; nothing was written.", way_out="Ask again."
                )
            is_first = attaches and self._kept(change.path) is None
            if attaches:
                self._keep(change)
            try:
                _write(change)
            except OSError as error:
                if is_first:
                    self._forget(change.path)
                raise AttachError(f"It cannot be written ({error}); it is as it was.") from error
            if not attaches:
                self._forget(change.path, folders=change.after is None)

    def beside(self, path: Path, data: bytes) -> bytes:
        """Return what a settings file holds beside the hooks that were put there from this state directory.

        Hooks that only look like ours stay: strangers write such files too.
        """
        kept = self._kept(path)
        hooks = kept.get("hooks") if kept is not None else None
        if not isinstance(hooks, list):
            return data
        try:
            return settings_text.without_hooks(_text(data), hooks).encode()
        except (ChaperonError, ValueError):
            return data

    def files(self) -> list[Path]:
        """The settings files with hooks of ours, as far as they were put there from this state directory."""
        found = []
        for note in sorted(self._folder.glob("*.json")):
            try:
                path = Path(str(orjson.loads(note.read_bytes())["path"]))
            except (OSError, ValueError, KeyError, TypeError):
                continue
            found.append(path)
        return found

    def _keep(self, change: SettingsChange) -> None:
        """Keep what was in the file before hooks were first put there."""
        kept = self._kept(change.path)
        again = kept is not None and change.before is not None and kept["after"] == _digest(change.before)
        original = None if change.before is None else _text(change.before)
        if again and kept is not None:
            original = kept["before"]
        has_hooks = bool(settings_text.hooks_in(_text(change.before)))
        if (
            not again and has_hooks and change.before is not None
        ):  # edited since: what stood there is what is left without hooks
            original = settings_text.without_hooks(_text(change.before))
        mode = stat.S_IMODE(change.path.stat().st_mode) if change.before is not None else None
        if has_hooks and kept is not None:
            mode = kept.get("mode", mode)
        missing = [str(folder) for folder in change.path.parents if not folder.exists()]
        note = {
            "path": str(change.path),
            "before": original,
            "after": _digest(change.after or b""),
            "hooks": settings_text.digests(_text(change.after)),
            "mode": mode,
            "made": [*missing, *(folder for folder in map(str, self._made(change.path)) if folder not in missing)],
        }
        new = self._note(change.path).with_suffix(".new")
        try:
            with new.open("wb") as file:
                file.write(orjson.dumps(note))
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._note(change.path))
        except OSError as error:
            raise AttachError(
                f"What stands there cannot be kept in {self._folder} ({error}); it is as it was."
            ) from error

    def _kept(self, path: Path) -> dict[str, Any] | None:
        try:
            kept = orjson.loads(self._note(path).read_bytes())
        except (OSError, ValueError):
            return None
        whole = isinstance(kept, dict) and kept.get("path") == str(path) and {"before", "after"} <= kept.keys()
        return kept if whole else None

    def _made(self, path: Path) -> list[Path]:
        """Return the folders that were made for a file, from within outwards."""
        made = (self._kept(path) or {}).get("made")
        return [Path(folder) for folder in made if isinstance(folder, str)] if isinstance(made, list) else []

    def _forget(self, path: Path, *, folders: bool = True) -> None:
        """Forget what was kept of a file that has no hooks of ours; and folders that were made for it, if asked."""
        if folders:
            _remove_empty(self._made(path))
        self._note(path).unlink(missing_ok=True)

    def _note(self, path: Path) -> Path:
        return self._folder / f"{sha256(os.fsencode(path)).hexdigest()[:24]}.json"


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Name the file in every refusal."""
    try:
        yield
    except ChaperonError as error:
        raise type(error)(f"{path}: {error.what}", way_out=error.way_out) from None


def _read(path: Path) -> bytes | None:
    """Return what is in the file, None if it is not there.

    Raises:
        AttachError: It is no file that we may change.
    """
    for folder in (path.parent, *path.parent.parents):
        if folder.exists() and not folder.is_dir():
            raise AttachError(f"{folder} is no directory; nothing was changed.")
    if path.parent.is_symlink():
        raise AttachError("Its folder is a link, so whose file it is is not known; nothing was changed.")
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise AttachError(f"It cannot be looked at ({error.strerror}); nothing was changed.") from error
    if stat.S_ISLNK(status.st_mode):
        raise AttachError(
            f"It is a link to {os.readlink(path)}; nothing was changed.",  # noqa: PTH115 - what it says, not what it means
            way_out="Put the hooks into that file by hand (chaperon attach --print), or choose another scope.",
        )
    if not stat.S_ISREG(status.st_mode):
        raise AttachError("It is no regular file; nothing was changed.")
    if status.st_uid != os.geteuid():
        raise AttachError(f"It belongs to user {status.st_uid}; nothing was changed.")
    if not status.st_mode & 0o200:
        raise AttachError(
            "It is read-only; nothing was changed.", way_out=f"If that is not on purpose: chmod u+w {path}"
        )
    if status.st_size > MAX_BYTES:
        raise AttachError(f"It has {status.st_size} bytes, and {MAX_BYTES} are looked at; nothing was changed.")
    try:
        return path.read_bytes()
    except OSError as error:
        raise AttachError(f"It cannot be read ({error.strerror}); nothing was changed.") from error


def _text(data: bytes | None) -> str:
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"It is not UTF-8 ({error.reason} at byte {error.start}); nothing was changed.") from None


def _write(change: SettingsChange) -> None:
    path = change.path
    if change.after is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = stat.S_IMODE(path.stat().st_mode) if change.before is not None else PRIVATE
    mode = mode if change.mode is None else change.mode
    new = path.with_name(f".{path.name}.chaperon-{os.getpid()}")
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode), "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(change.after)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _remove_empty(folders: list[Path]) -> None:
    """Remove folders, from within outwards, up to the first that holds something or was removed."""
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            return


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()
