"""The state of the workspace's own repository: HEAD, the operation under way, the ignored paths.

Everything here is read as data. No git runs in a worktree, no configuration is obeyed but the name of a file of ignore
rules, and a broken file reads as absent: a capture does not fail because the agent damaged its repository. The worktree
is the folder in which `.git` lies, whatever the repository says of it.
"""

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

import pygit2

from checkpoints.model import RepositoryState
from checkpoints.workspace.ignore import MAX_FILE_BYTES, Rules, TrackedPaths, parse
from host.plain_files import open_plain, read_plain, read_up_to
from host.standing import is_file, is_there

_OPERATIONS = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisect",
}
"""Files of a git folder, and the operation that is under way while they are there."""

_ID = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_MAX_TEXT_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class GitFolders:
    """The folder of a worktree's state, and the folder that all worktrees of its repository share."""

    own: Path
    common: Path


def find(worktree: Path) -> GitFolders | None:
    """Return the git folders of a worktree, or None if it has none that can be read."""
    marker = worktree / ".git"
    own = marker
    if is_file(marker):
        text = _text(marker)
        if not text.startswith("gitdir:"):
            return None
        own = worktree / text.removeprefix("gitdir:").strip()
    if not is_file(own / "HEAD"):
        return None
    common = _text(own / "commondir").strip()
    try:
        return GitFolders(own, (own / common).resolve() if common else own)
    except (OSError, ValueError, RuntimeError):  # it has a NUL, or goes round in links
        return None


def tracked(folders: GitFolders | None) -> int | None:
    """Return how many paths git tracks in a worktree, by the head of its index; None if that cannot be read.

    The index begins with `DIRC`, a version and the number of entries, four bytes each (gitformat-index(5)).
    """
    if folders is None:
        return None
    try:
        with open_plain(folders.own / "index") as fd:
            head = read_up_to(fd, 12)
    except OSError:
        return None
    return int.from_bytes(head[8:12]) if head[:4] == b"DIRC" and len(head) == 12 else None


def above(directory: Path) -> Path | None:
    """Return the nearest folder at or above this one in which `.git` lies; None if there is none."""
    return next((folder for folder in (directory, *directory.parents) if os.path.lexists(folder / ".git")), None)


def open_worktree(directory: Path) -> pygit2.Repository | None:
    """Return libgit2's view of the worktree that a directory is in; None if there is none, or it cannot be opened."""
    opened = worktree_or_why(directory)
    return None if isinstance(opened, str) else opened


def worktree_or_why(directory: Path) -> pygit2.Repository | str:
    """Return libgit2's view of the worktree that a directory is in, or the reason why there is none, as a clause.

    `core.worktree` would have libgit2 take another folder for the worktree. An agent can set it at any time, so it is
    never obeyed.
    """
    try:
        top = above(directory.resolve())
        if top is None:
            return "it is in no git repository"
        if endless := endless_file(find(top)):
            return f"git would wait for ever at {endless}, which is a named pipe"
        opened = pygit2.Repository(str(top))
        if Path(opened.workdir or "") != top:
            opened.workdir = str(top)
    except (pygit2.GitError, OSError, ValueError, KeyError, RuntimeError) as error:
        return f"git cannot read its repository ({error})"
    return opened


def endless_file(folders: GitFolders | None) -> Path | None:
    """Return the file for which libgit2 would wait for ever as it opens a repository or looks up a branch; None: none.

    An agent can put a pipe in place of these files. It looks at no object and at no included configuration.
    """
    if folders is None:
        return None
    shared = (folders.common / name for name in ("config", "shallow", "packed-refs"))
    files = (folders.own / "config.worktree", *shared)
    return next((file for file in files if is_there(file) and stat.S_ISFIFO(file.stat().st_mode)), None)


def project_of(worktree: Path) -> Path:
    """Return the folder that stands for all worktrees of a repository.

    That is the main one, or the repository itself if it is bare.
    """
    folders = find(worktree)
    if folders is None:
        return worktree
    return folders.common.parent if folders.common.name == ".git" else folders.common


def look(folders: GitFolders | None) -> RepositoryState:
    """Return the state of the repository."""
    if folders is None:
        return RepositoryState()
    head = _text(folders.own / "HEAD").strip()
    operation = next((name for file, name in _OPERATIONS.items() if is_there(folders.own / file)), "")
    if not head.startswith("ref:"):
        return RepositoryState(head if _ID.fullmatch(head) else "", "", operation)
    branch = head.removeprefix("ref:").strip()
    return RepositoryState(_resolve(folders, branch), branch, operation)


def _resolve(folders: GitFolders, ref: str) -> str:
    """Return the commit that a ref names; empty for a branch without one."""
    if ".." in ref.split("/"):
        return ""
    loose = _text(folders.common / ref).strip()
    if _ID.fullmatch(loose):
        return loose
    packed = re.search(rf"^([0-9a-f]{{40,64}}) {re.escape(ref)}$", _text(folders.common / "packed-refs"), re.MULTILINE)
    return packed[1] if packed else ""


def _text(path: Path) -> str:
    return _data(path, _MAX_TEXT_BYTES).decode("utf-8", "replace")


def _data(path: Path, limit: int) -> bytes:
    """Return a file's content; empty if it is absent, unreadable, no plain file, or over the limit."""
    try:
        return read_plain(path, limit)
    except OSError:
        return b""


@dataclass(frozen=True, slots=True)
class IgnoreSources:
    """The files outside the tree that say what is ignored, weakest first, and what they looked like."""

    files: tuple[Path, ...]
    watched: tuple[Path, ...]
    """These and the configuration files that name them."""
    looks: tuple[tuple[int, int, int] | None, ...]

    def changed(self) -> bool:
        """Whether any of the files is not as it was."""
        return looks_of(self.watched) != self.looks

    def rules(self, folder: bytes = b"", index: TrackedPaths | None = None) -> Rules:
        """Return the rules they hold together.

        Args:
            folder: Where in the workspace the repository lies.
            index: What it tracks.
        """
        rules = Rules(folder, index=index)
        for file in self.files:
            rules = Rules(folder, parse(_data(file, MAX_FILE_BYTES)), rules)
        return rules


def looks_of(files: tuple[Path, ...]) -> tuple[tuple[int, int, int] | None, ...]:
    """Return size, time and inode of each file, None for those that are not there."""
    looks: list[tuple[int, int, int] | None] = []
    for file in files:
        try:
            state = file.stat()
        except (OSError, ValueError):
            looks.append(None)
        else:
            looks.append((state.st_size, state.st_mtime_ns, state.st_ino))
    return tuple(looks)


def user_configs() -> list[Path]:
    """Return the configuration files that git reads for this user in every repository, weakest first."""
    home, user = _homes()
    return [Path("/etc/gitconfig"), user / "config", home / ".gitconfig"]


def _homes() -> tuple[Path, Path]:
    home = Path(os.environ.get("HOME", "/"))
    return home, Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git"


def ignore_sources(folders: GitFolders | None) -> IgnoreSources:
    """Return where ignore rules come from: `core.excludesFile` as git would find it, then the repository's own list."""
    home, user = _homes()
    users = user_configs()
    configs = list(users)
    files = [user / "ignore"]
    if folders is not None:
        configs.append(folders.common / "config")
        files.append(folders.common / "info" / "exclude")
    for config in configs:
        named = _excludes_file(config, follow=config in users)
        if named is not None:
            files[0] = home / named[2:] if named.startswith("~/") else Path(named)
    watched = (*configs, *files)
    return IgnoreSources(tuple(files), watched, looks_of(watched))


def _excludes_file(config: Path, *, follow: bool) -> str | None:
    """Return the file of rules that a configuration names; None if it names none.

    Args:
        config: The file.
        follow: Whether it may include others. An agent can write its repository's, and have it include a pipe, for
            which libgit2 would wait for ever: such a one names none, and so more is captured, never less.
    """
    try:
        text = read_plain(config, MAX_FILE_BYTES).lower()
        includes = b"include" in text
        if (includes and not follow) or (not includes and b"excludesfile" not in text):
            return None
        values = pygit2.Config(str(config))
        return str(values["core.excludesfile"]) if "core.excludesfile" in values else None
    except (OSError, pygit2.GitError, KeyError, ValueError, UnicodeError):
        return None
