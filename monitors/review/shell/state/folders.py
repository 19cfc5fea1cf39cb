"""Programs that print where something lies: the working directory, parts of a path, links followed, the repository.

A script's `cd "$(dirname "$0")/.."` and `ROOT=$(git rev-parse --show-toplevel)` are known by these.
"""

import posixpath
from collections.abc import Callable, Iterator
from typing import Protocol

from monitors.review.shell.invocation import Arg, Invocation


class FolderLookups(Protocol):
    """Answers about the folders of an action, all paths absolute."""

    @property
    def workspace(self) -> str:
        """The agent's workspace; empty if there is none."""
        ...

    def real(self, path: str) -> str:
        """Return the path with all links in it followed."""
        ...

    def kind(self, path: str) -> str:
        """Return `file`, `directory`, `missing` or `unknown`."""
        ...


class NoFolders:
    """Knows nothing."""

    workspace = ""

    def real(self, path: str) -> str:
        """The path itself."""
        return path

    def kind(self, path: str) -> str:  # noqa: ARG002 — the protocol's signature
        """Always unknown."""
        return "unknown"


SILENT = frozenset({"cd", "mkdir", "export", "unset", "shift", ":", "true"})
"""Commands that print nothing unless an option says otherwise, and hardly ever fail."""
REDIRECTED = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_CEILING_DIRECTORIES"})
"""Variables by which git takes another folder for the repository."""


def where(invocation: Invocation, disk: FolderLookups, stands: Callable[[str], bool]) -> str | None:
    """Return what the invocation prints of places; None if it is no such program, or if that is not known.

    Args:
        invocation: The command, with an absolute working directory if that is known.
        disk: Answers about folders.
        stands: Whether the script itself makes something at or below a path.
    """
    if invocation.inside or invocation.name not in _PROGRAMS:
        return None
    if not all(word.known and not word.glob for word in invocation.args):
        return None
    if invocation.name == "dirname":
        return _dirname(invocation)
    cwd = invocation.cwd
    if cwd[:1] != "/":
        return None
    if invocation.name == "pwd":
        return f"{disk.real(cwd) if '-P' in invocation.args else cwd}\n"
    if invocation.name in ("realpath", "readlink"):
        return _resolved(invocation, disk, stands)
    root = _root(invocation, disk)
    return None if root is None else f"{root}\n"


def silent(invocation: Invocation, disk: FolderLookups, stands: Callable[[str], bool]) -> bool:
    """Whether the command prints nothing and surely succeeds, so that what a script prints is what others print."""
    name, args = invocation.name, invocation.args
    if name not in SILENT or invocation.via or not all(word.known for word in args):
        return False
    if name == "cd":
        where_to = [word for word in args if word[:1] != "-"]
        path = posixpath.normpath(posixpath.join(invocation.cwd, where_to[0])) if where_to else ""
        return path[:1] == "/" and (disk.kind(path) != "missing" or stands(path))
    return not any("v" in word or (name == "export" and "p" in word) for word in args if word[:1] == "-")


def _dirname(invocation: Invocation) -> str | None:
    named = [word for word in invocation.args if word != "--"]
    if not named or any(word[:1] == "-" for word in named):
        return None
    return "".join(f"{_parent(word)}\n" for word in named)


def _parent(path: str) -> str:
    head = posixpath.split(path.rstrip("/"))[0]
    return head or ("/" if path[:1] == "/" else ".")


def _resolved(invocation: Invocation, disk: FolderLookups, stands: Callable[[str], bool]) -> str | None:
    flags = {word for word in invocation.args if word[:1] == "-"}
    named = [word for word in invocation.args if word[:1] != "-"]
    known = _FOLLOW if invocation.name == "readlink" else _REAL
    if len(named) != 1 or not flags <= known or (invocation.name == "readlink" and not flags & _FOLLOWING):
        return None
    path = posixpath.normpath(posixpath.join(invocation.cwd, _expanded_home(named[0])))
    if path[:1] != "/" or (disk.kind(path) == "missing" and not stands(path)):
        return None  # it prints nothing, or what is to be
    return f"{path if '-s' in flags else disk.real(path)}\n"


def _expanded_home(word: Arg) -> str:
    return "?" if word[:1] == "~" else word


_FOLLOWING = frozenset({"-f", "-e", "-m", "--canonicalize", "--canonicalize-existing", "--canonicalize-missing"})
_FOLLOW = _FOLLOWING | {"-n", "-q", "--"}
_REAL = frozenset({"-e", "-m", "-q", "-s", "-P", "-L", "--"})


def _root(invocation: Invocation, disk: FolderLookups) -> str | None:
    """Return what `git rev-parse --show-toplevel` and its like print."""
    words = list(invocation.args)
    cwd = invocation.cwd
    if invocation.name == "git":
        while words[:1] == ["-C"] and len(words) > 1:
            cwd = posixpath.normpath(posixpath.join(cwd, words[1]))
            words = words[2:]
        if words[:1] != ["rev-parse"] or not REDIRECTED.isdisjoint(invocation.assignments):
            return None
        asked = [word for word in words[1:] if word != "--path-format=absolute"]
    else:
        asked = [word for word in words if word not in ("-q", "--quiet")]
    if len(asked) != 1 or asked[0] not in _ASKED[invocation.name]:
        return None
    marker = {"git": ".git", "hg": ".hg", "jj": ".jj"}[invocation.name]
    top, found = _holder(cwd, marker, disk)
    if not top or asked[0] not in ("--git-dir", "--absolute-git-dir", "--git-common-dir"):
        if asked[0] == "--show-cdup" and top:
            return "../" * posixpath.relpath(cwd, top).count("/") + ("../" if cwd != top else "")
        return top or None
    return f"{top}/.git" if found != "file" else None


_ASKED = {
    "git": frozenset({"--show-toplevel", "--show-cdup", "--git-dir", "--absolute-git-dir", "--git-common-dir"}),
    "hg": frozenset({"root"}),
    "jj": frozenset({"root"}),
}


def _holder(cwd: str, marker: str, disk: FolderLookups) -> tuple[str, str]:
    """Return the nearest folder with the marker in or above `cwd`, and the kind of the marker; empty if none is known.

    Where the disk says nothing, a workspace is a repository's root.
    """
    for folder in _upwards(disk.real(cwd)):
        kind = disk.kind(posixpath.join(folder, marker))
        if kind in ("file", "directory"):
            return folder, kind
        if kind == "unknown":
            break
    else:
        return "", ""
    top = disk.workspace
    within = top and (cwd == top or cwd.startswith(f"{top}/"))
    return (top, "unknown") if within and marker == ".git" else ("", "")


def _upwards(path: str) -> Iterator[str]:
    while path != "/":
        yield path
        path = posixpath.dirname(path)
    yield path


_PROGRAMS = frozenset({"dirname", "pwd", "realpath", "readlink", *_ASKED})
