"""Remedies of known errors, with the facts that were looked up."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from interventions.contract import Surveyed
from interventions.texts.known_errors import ErrorKind, KnownError


@dataclass(frozen=True, slots=True)
class Remedy:
    """The advice to the agent."""

    kind: ErrorKind
    says: str
    """Facts and what follows from them, for the agent; whole sentences."""
    found: bool
    """Whether the lookup found something; if not, only the question is said."""


def remedy(error: KnownError, facts: Surveyed) -> Remedy | None:
    """The remedy that the agent itself can apply; None if it can only wait, which is not its business."""
    make = _REMEDIES.get(error.kind)
    return None if make is None else make(error, facts)


def _file_not_found(error: KnownError, facts: Surveyed) -> Remedy:
    if not error.subject:
        return Remedy(error.kind, "Look which files are there before you name one.", found=False)
    moved = facts.moved_to(error.subject)
    similar = [path for path in facts.similar_paths(error.subject) if path != moved][:5]
    said = [f"{error.subject} is not there."]
    if moved:
        said.append(f"Git's history says that it was moved to {moved}.")
    if similar:
        said.append(f"These exist and are named alike: {', '.join(similar)}.")
    if not (moved or similar):
        said.append("Look which files are there, and where this one should come from.")
    return Remedy(error.kind, " ".join(said), found=bool(moved or similar))


def _permission_denied(error: KnownError, facts: Surveyed) -> Remedy:
    owner = facts.owner_and_mode(error.subject) if error.subject else ""
    said = f"{error.subject or 'The file'} may not be used in this way by you."
    if owner:
        said += f" Its owner and mode: {owner}."
    said += (
        " Do not change its mode or become another user; work on a copy inside the workspace, or say what is needed."
    )
    return Remedy(error.kind, said, found=bool(owner))


def _import_error(error: KnownError, facts: Surveyed) -> Remedy:
    installed = facts.installed(error.subject) if error.subject else ""
    said = f"The module {error.subject or 'that is imported'} cannot be loaded."
    if installed:
        said += (
            f" Installed is {installed}: check that the name is right and that this environment is the one that runs."
        )
    else:
        said += " Nothing of that name is installed: check the spelling and the project's own list of dependencies."
    return Remedy(error.kind, said, found=bool(installed))


_REMEDIES: Mapping[ErrorKind, Callable[[KnownError, Surveyed], Remedy]] = {
    ErrorKind.FILE_NOT_FOUND: _file_not_found,
    ErrorKind.PERMISSION_DENIED: _permission_denied,
    ErrorKind.IMPORT_ERROR: _import_error,
}
