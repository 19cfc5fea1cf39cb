"""The files of a repository that bring settings into the CLI, read from the disk. Blocks.

They are written by strangers: they are read whole or not at all, a special file is not opened for long, and the walk
over folders is bounded.
"""

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from host.plain_files import read_plain
from monitors.review.scene.agent_definitions import WORDS
from supervisor.config.brought import Found, Role, SettingsFile, found, read_object

MAX_BYTES = 1_048_576
"""Most bytes of a file of settings. The CLI itself reads more, but a longer one cannot be examined by a person."""

MAX_HASHED = 16_777_216
"""Most bytes hashed of what commands of settings name; scripts have thousands."""

MAX_FILES = 2_000
"""Most files of a folder looked at."""

DEFINITIONS = ("agents", "commands", "skills")
"""Folders of `.claude` whose texts the CLI takes in."""

TEXTS = (*DEFINITIONS, "output-styles")
"""These, and one whose texts bring nothing but words."""


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """The settings at an agent's workspace."""

    root: str
    """The top of the repository, which is what a person trusts: of a worktree, that of its main checkout."""
    found: Found


Beside = Callable[[Path, bytes], bytes]
"""Returns what a settings file holds beside hooks that chaperon itself put there."""


def all_of(_path: Path, data: bytes) -> bytes:
    """Return what a settings file holds, as it is where chaperon puts no hooks."""
    return data


def look(workspace: Path, beside: Beside = all_of) -> LocalSettings:
    """Return the settings for a CLI that is started in a workspace.

    Args:
        workspace: Where it is started.
        beside: What counts of a settings file: hooks by which chaperon watches a person's own CLI are no stranger's.
    """
    root, hashes = main_checkout(workspace), _Hashes(workspace)
    files = list(_files(workspace, root, beside))
    brought = found(files, hashes.of)
    if hashes.problem:
        brought = found([*files, SettingsFile("settings", hashes.problem[0], problem=hashes.problem[1])], hashes.of)
    return LocalSettings(str(root), brought)


def own_settings(environment: Mapping[str, str]) -> dict[str, Any]:
    """The settings of the person whom an environment belongs to; empty if there are none to be read."""
    home = environment.get("CLAUDE_CONFIG_DIR") or f"{environment.get('HOME') or '/nonexistent'}/.claude"
    read = _read("settings", Path(home) / "settings.json", "")
    return (read_object(read.text) or {}) if read is not None else {}


def main_checkout(workspace: Path) -> Path:
    """Return the top of the checkout that a worktree belongs to, by git's own files.

    It is the workspace itself if it is no worktree.
    """
    link = _read("settings", workspace / ".git", "")
    if link is None or link.problem or not link.text.startswith(b"gitdir: "):
        return _real(workspace)
    folder = workspace / os.fsdecode(link.text.removeprefix(b"gitdir: ").strip())
    common = _read("settings", folder / "commondir", "")
    if common is None or common.problem or b"\0" in common.text:
        return _real(workspace)
    return _real(folder / os.fsdecode(common.text.strip())).parent


def _real(path: Path) -> Path:
    """Return the target of a path's links; a path that leads in a circle is returned as it is."""
    return Path(os.path.realpath(path))


def _files(workspace: Path, root: Path, beside: Beside) -> Iterator[SettingsFile]:
    """Those that there are, in an order that is the same in each worktree."""
    shared = ".claude/settings.json", ".claude/settings.local.json"
    for name in shared:
        yield from _one("settings", workspace / name, name, beside)
    if root != _real(workspace):
        yield from _one("settings", root / shared[1], str(root / shared[1]), beside)
    yield from _one("servers", workspace / ".mcp.json", ".mcp.json")
    for above in _real(workspace).parents:
        yield from _one("servers", above / ".mcp.json", str(above / ".mcp.json"))
    for name in DEFINITIONS:
        yield from _definitions(workspace, f".claude/{name}")
    texts = (path for name in TEXTS for path in _walk(workspace / ".claude" / name) if path.suffix == ".md")
    for name in (*WORDS, *(str(path.relative_to(workspace)) for path in texts)):
        yield from _led_away(workspace, root, name)


def _led_away(workspace: Path, root: Path, name: str) -> Iterator[SettingsFile]:
    """Yield words for agents that are a link out of the repository, unless it leads to other such text.

    The CLI puts what they hold before the model as it starts, be it a key, and of a skill what it says of itself: no
    hook is asked.
    """
    target = _real(workspace / name)
    inside = any(target.is_relative_to(_real(top)) for top in (workspace, root))
    if not inside and target.suffix != ".md" and os.path.lexists(target):
        yield SettingsFile("settings", name, problem=f"it is a link to {target}, outside of the repository")


def _definitions(workspace: Path, folder: str) -> Iterator[SettingsFile]:
    for path in (paths := _walk(workspace / folder)):
        if path.suffix == ".md":
            yield from _one("definition", path, str(path.relative_to(workspace)))
    if len(paths) > MAX_FILES:
        yield SettingsFile("definition", folder, problem=f"it has over {MAX_FILES} files")


def _walk(folder: Path) -> list[Path]:
    """The files below a folder, links followed as the CLI follows them, one more than the most where there are more."""
    seen: set[tuple[int, int]] = set()
    files: list[Path] = []
    waiting = [folder]
    while waiting:
        where = waiting.pop()
        try:
            there = where.stat()
            inside = sorted(where.iterdir())
        except OSError:  # none, or one that cannot be read, by the CLI neither
            continue
        if (there.st_dev, there.st_ino) in seen:
            continue
        seen.add((there.st_dev, there.st_ino))
        files += [path for path in inside if not os.path.isdir(path)]  # noqa: PTH112 - says no where it cannot look
        waiting += [path for path in reversed(inside) if os.path.isdir(path)]  # noqa: PTH112
        if len(files) > MAX_FILES or len(seen) > MAX_FILES:
            return [*files[:MAX_FILES], folder]
    return files


def _one(role: Role, path: Path, shown: str, beside: Beside = all_of) -> Iterator[SettingsFile]:
    read = _read(role, path, shown)
    if read is not None:
        yield replace(read, text=beside(path, read.text))


def _read(role: Role, path: Path, shown: str, most: int = MAX_BYTES) -> SettingsFile | None:
    """Read a file; None if there is none."""
    try:
        return SettingsFile(role, shown, read_plain(path, most))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.EISDIR:
            return None
        return SettingsFile(role, shown, problem=f"it cannot be read ({error.strerror})")


class _Hashes:
    """Hashes of the repository's own files, with an end to how much is read."""

    def __init__(self, workspace: Path) -> None:
        self._top = _real(workspace)
        self._left = MAX_HASHED
        self.problem: tuple[str, str] | None = None
        """The file that could not be hashed, and why. A file that was not seen whole cannot be trusted."""

    def of(self, word: str) -> str:
        """A hash of what a word names, where that lies in the repository; empty if it names nothing there."""
        try:
            path = _real(self._top / word)
            if path == self._top or not path.is_relative_to(self._top):
                return ""
            if path.is_dir():
                return " ".join(f"{one.relative_to(path)}={self._file(one)}" for one in _walk(path)[:MAX_FILES])
            return self._file(path)
        except (OSError, ValueError):  # a name that is too long, or has a NUL
            return ""

    def _file(self, path: Path) -> str:
        read = _read("servers", path, "", self._left)
        if read is None:
            return ""
        if read.problem:
            self.problem = self.problem or (str(path.relative_to(self._top)), read.problem)
            return ""
        self._left -= len(read.text)
        return sha256(read.text).hexdigest()
