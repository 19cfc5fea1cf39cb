"""The worktrees of a project as they are found. Everything here blocks."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from checkpoints.workspace import repository
from checkpoints.worktrees import Workspace, WorkspaceState, is_made
from host.standing import is_file, is_folder
from monitors.contract.errors import UsageError
from supervisor.protocol.projects import MadeWorkspace
from supervisor.runtime.merging.target import worktrees

MAIN = "main"
"""The label of the main worktree."""

LABEL_CHARACTERS = 40
"""Of a folder's name, those that its label keeps: with a checkpoint's name before it, 120 are allowed."""


@dataclass(frozen=True, slots=True)
class ProjectWorktree:
    """One worktree as it is found."""

    path: str
    label: str
    """A name for it within the project, fit for a ref. The same folder has the same one for as long as it is there."""
    branch: str
    """Full name of the branch that HEAD names; empty if it is detached, or there is no repository."""
    head: str
    made: MadeWorkspace | None = None
    """None if chaperon did not make it."""


def project_at(folder: Path) -> str:
    """Return the project of a folder that a person named.

    Raises:
        UsageError: There is no such folder.
    """
    if not is_folder(folder):
        raise UsageError(f"There is no folder {str(folder)!r}; nothing was done.")
    top = repository.above(folder.resolve())
    return str(repository.project_of(top or folder.resolve()))


def projects_of(repositories: Iterable[str]) -> dict[str, str]:
    """Return the project of each of these folders, as far as they are there."""
    return {one: str(repository.project_of(Path(one))) for one in repositories if is_folder(Path(one))}


def find_worktrees(project: str, made: Sequence[Workspace]) -> tuple[tuple[ProjectWorktree, ...], frozenset[str]]:
    """Return every worktree of a project that is there, the main one first, and the branches that others work on.

    What another daemon made for its agents is left alone, with the branches that are checked out there.

    Args:
        project: The folder that stands for all worktrees of the repository, or one without a repository.
        made: The workspaces that chaperon made, of any project.
    """
    records = {one.path: one for one in made if one.state is not WorkspaceState.HALF_MADE}
    half = {one.path for one in made if one.state is WorkspaceState.HALF_MADE}
    folder = Path(project)
    places = list(worktrees(folder, records)) if _is_repository(folder) else [folder]
    found, others = dict[str, ProjectWorktree](), set[str]()
    for place in places:
        if str(place) in half or not is_folder(place):
            continue
        label = MAIN if str(place) == project else _free(_label(place.name), found)
        state = repository.look(repository.find(place))
        record = records.get(str(place))
        if record is None and is_made(place):
            others.add(state.branch)
            continue
        of = MadeWorkspace(record.name, record.branch, record.base, record.target) if record else None
        found[label] = ProjectWorktree(str(place), label, state.branch, state.head, of)
    return tuple(found.values()), frozenset(others)


def _is_repository(folder: Path) -> bool:
    return repository.find(folder) is not None or is_file(folder / "HEAD")


def _label(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:LABEL_CHARACTERS].strip("-") or "worktree"


def _free(label: str, taken: Mapping[str, object]) -> str:
    names = (label, *(f"{label}-{number}" for number in range(2, len(taken) + 3)))
    return next(one for one in names if one not in taken and one != MAIN)
