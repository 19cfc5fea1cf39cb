"""The origin of a file of a workspace, by the history of its repository. Blocks.

A file whose content a commit has under the same name was brought there by git, as by a switch of branches. Only commits
that were there before an agent began prove that the agent did not make them: it can write commits and references, those
of remotes too.
"""

import os
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Literal

import pygit2

from host.standing import is_folder

Origin = Literal["history", "remote", "manager", ""]
"""The repository's history before the agent began; what a remote has by what the repository says now; a hook manager;
or unknown."""

MOST_TIPS = 500
"""References of a repository that one look takes up: 10 ms."""

MOST_CONTENT = 1_000_000
"""Bytes of a file that is compared."""

READ_BY_GIT = ("HEAD", "config", "packed-refs", "commondir")
"""Files of a repository that are read as it is opened; one that is no plain file could be waited for for ever."""

MANAGERS = {"husky": ".husky/_"}
"""Hook managers that are installed as packages, and the folder of the workspace that each writes and points git to."""

MANIFEST = "package.json"


def tips(workspace: Path) -> frozenset[str]:
    """Return the commits that the references of a workspace's repository name; none if it cannot be read."""
    repository = _opened(workspace)
    try:
        return frozenset() if repository is None else frozenset(str(each.id) for each in _commits(repository, ""))
    except (pygit2.GitError, OSError, ValueError, KeyError):  # an agent can write the list of references too
        return frozenset()


def origin(path: Path, workspace: Path, before: Collection[str]) -> Origin:
    """Say where a file of a workspace comes from.

    Args:
        path: The file, absolute.
        workspace: The workspace.
        before: What `tips` returned before the agent began.
    """
    folder = _repository_of(path, workspace)
    repository = _opened(folder)
    name = str(path.relative_to(folder)) if path.is_relative_to(folder) else ""
    if repository is None or not name:
        return ""
    with suppress(pygit2.GitError, OSError, ValueError, KeyError):
        content = _content(path)
        if content is not None:
            known = _known(repository, before) if folder == workspace else ()
            if _has(known, name, content):
                return "history"
            if _has(_commits(repository, "refs/remotes/"), name, content):
                return "remote"
        if folder == workspace and _is_managers(repository, name, before):
            return "manager"
    return ""


def points_to_manager(value: str, workspace: Path, before: Collection[str]) -> bool:
    """Whether git's folder of hooks is that of a hook manager that the project had before the agent began."""
    repository = _opened(workspace)
    if repository is None:
        return False
    with suppress(pygit2.GitError, OSError, ValueError, KeyError):
        return _is_managers(repository, f"{value.strip('/')}/", before)
    return False


def _is_managers(repository: pygit2.Repository, name: str, before: Collection[str]) -> bool:
    """Whether a name lies in the folder of a hook manager that a commit of before has in its list of packages."""
    for manager, folder in MANAGERS.items():
        if name.startswith(f"{folder}/"):
            for commit in _known(repository, before):
                with suppress(KeyError):
                    listed = commit.tree[MANIFEST]
                    if isinstance(listed, pygit2.Blob) and f'"{manager}"'.encode() in listed.data[:MOST_CONTENT]:
                        return True
    return False


def _repository_of(path: Path, workspace: Path) -> Path:
    """Return the nearest folder above a path, up to the workspace, that has a repository."""
    for folder in path.parents:
        if folder == workspace or not folder.is_relative_to(workspace):
            break
        if os.path.lexists(folder / ".git"):
            return folder
    return workspace


def _opened(folder: Path) -> pygit2.Repository | None:
    link = folder / ".git"
    try:
        if stat.S_ISDIR(link.lstat().st_mode) and not all(map(_is_plain, (link / name for name in READ_BY_GIT))):
            return None
        return pygit2.Repository(str(folder)) if _is_plain(link) or is_folder(link) else None
    except (pygit2.GitError, OSError, ValueError, KeyError):
        return None


def _is_plain(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return True


def _known(repository: pygit2.Repository, before: Collection[str]) -> Iterator[pygit2.Commit]:
    """Yield the commits of before, and the one that is checked out if it is an ancestor of one of them."""
    commits = []
    for each in before:
        with suppress(pygit2.GitError, KeyError, ValueError):
            commits.append(repository[each].peel(pygit2.Commit))
    yield from commits
    with suppress(pygit2.GitError):
        head = repository.head.peel(pygit2.Commit)
        if any(repository.descendant_of(each.id, head.id) for each in commits):
            yield head


def _commits(repository: pygit2.Repository, prefix: str) -> Iterator[pygit2.Commit]:
    """Yield the commits of references whose names begin so; none twice."""
    seen = set()
    names = (name for name in repository.references if name.startswith(prefix))
    for name in ("HEAD", *islice(names, MOST_TIPS)) if not prefix else islice(names, MOST_TIPS):
        with suppress(pygit2.GitError, KeyError, ValueError):
            commit = repository.references[name].peel(pygit2.Commit)
            if commit.id not in seen:
                seen.add(commit.id)
                yield commit


def _content(path: Path) -> bytes | None:
    """Return what git would have of a file: its bytes, or the target of a link; None if it is nothing of both."""
    about = path.lstat()
    if stat.S_ISLNK(about.st_mode):
        return os.fsencode(path.readlink())
    if not stat.S_ISREG(about.st_mode) or about.st_size > MOST_CONTENT:
        return None
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        return file.read(MOST_CONTENT + 1) if stat.S_ISREG(os.fstat(fd).st_mode) else None


def _has(commits: Iterable[pygit2.Commit], name: str, content: bytes) -> bool:
    """Whether one of the commits has a file of this name and content."""
    wanted = pygit2.hash(content)
    for commit in commits:
        with suppress(KeyError):
            if commit.tree[name].id == wanted:
                return True
    return False
