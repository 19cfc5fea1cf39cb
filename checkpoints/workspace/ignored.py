"""A single path against git's rules: whether a capture would leave it out."""

import os
import stat
from pathlib import Path

from checkpoints.errors import WorkspaceGoneError
from checkpoints.workspace import repository
from checkpoints.workspace.ignore import Rules
from checkpoints.workspace.index import GitIndex
from checkpoints.workspace.safe_open import Folders, kind_at, open_root
from checkpoints.workspace.scan import own_rules


def is_ignored(path: Path) -> bool | None:
    """Return whether git ignores a path, by the rules that captures go by; None outside a worktree.

    No file is waited for, whatever stands where git keeps its rules: an agent can put a pipe there.

    Args:
        path: Absolute and without `..`. Nothing need be there.
    """
    top = repository.above(path.parent)
    git = repository.find(top) if top is not None else None
    if top is None or git is None or ".." in path.parts:
        return None
    rules = repository.ignore_sources(git).rules(index=GitIndex(b"", git.own / "index"))
    try:
        root = open_root(top)
    except WorkspaceGoneError:
        return None
    try:
        with Folders(root) as folders:
            return _is_ignored(os.fsencode(path.relative_to(top)), folders, rules)
    finally:
        os.close(root)


def _is_ignored(path: bytes, folders: Folders, rules: Rules) -> bool:
    above, _, _ = path.rpartition(b"/")
    walked = b""
    for name in (b"", *above.split(b"/")) if above else (b"",):
        walked = b"/".join(filter(None, (walked, name)))
        if walked and rules.ignores(walked, is_folder=True):
            return True
        if walked and rules.matches(walked, is_folder=True):
            rules = rules.within_ignored()
        elif (folder := folders.get(walked)) is not None:
            rules = rules.inside(walked, own_rules(folder))
    folder = folders.get(above)
    kind = kind_at(path[len(above) + 1 :] if above else path, folder) if folder is not None else None
    return rules.ignores(path, is_folder=kind is not None and stat.S_ISDIR(kind))
