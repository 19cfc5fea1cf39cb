"""The worktree that a directory is in: the folder in which `.git` lies, or the reason why no agent could work there.

A repository can set `core.worktree` to another folder, HOME for one. Git obeys, so an agent's `git clean` would delete
files there that the review takes for files of the workspace. Such a repository is refused.
"""

import os
from pathlib import Path

from checkpoints.errors import CheckpointError
from checkpoints.git.git_command import config_values
from checkpoints.workspace import repository
from host.standing import is_file, is_folder
from monitors.contract.errors import UsageError

NOTHING = "nothing was started"
"""How these refusals end: they are made before anything is."""

SETTINGS = ("core.worktree", "core.bare")


def worktree_of(directory: Path) -> Path:
    """Return the top of the worktree, with no link in its path. Blocks for some milliseconds.

    Args:
        directory: An existing directory.

    Raises:
        UsageError: It is in no worktree, or its repository belongs to another user, is bare, is damaged, or sets its
            worktree to another folder.
        CheckpointError: Git could not read the user's own configuration.
    """
    place = directory.resolve()
    top = repository.above(place)
    if top is None:
        if _is_git_folder(place):
            raise UsageError(f"{str(directory)!r} is a bare repository, and has no worktree to work in; {NOTHING}.")
        raise UsageError(
            f"{str(directory)!r} is not in a git worktree; {NOTHING}.",
            way_out=f"Run `git init` there: git -C {directory} init",
        )
    if any(
        _is_git_folder(folder) for folder in (place, *place.parents) if folder.is_relative_to(top) and folder != top
    ):
        raise UsageError(f"{str(directory)!r} is inside of a repository's own folder, which is no worktree; {NOTHING}.")
    folders = repository.find(top)
    if folders is None:
        raise UsageError(
            f"{str(top / '.git')!r} leads to no git repository; {NOTHING}.",
            way_out=f"See what is wrong with it: git -C {top} status",
        )
    _refuse_strangers(top, folders)
    _refuse_elsewhere(top, folders)
    return top


def _is_git_folder(folder: Path) -> bool:
    """Whether a folder is a repository's own, as git tells it."""
    return is_file(folder / "HEAD") and is_folder(folder / "objects") and is_folder(folder / "refs")


def _refuse_strangers(top: Path, folders: repository.GitFolders) -> None:
    """Refuse a repository of another user, unless `safe.directory` says that this user trusts it.

    Git refuses it too.
    """
    owners = {path.lstat().st_uid for path in (top, top / ".git", folders.own)}
    by_sudo = os.environ.get("SUDO_UID", "") if os.geteuid() == 0 else ""
    trusted = {os.geteuid(), int(by_sudo) if by_sudo.isdecimal() else os.geteuid()}
    if owners <= trusted or _is_safe(top):
        return
    raise UsageError(
        f"The repository {str(top)!r} belongs to user {min(owners - trusted)}, and this is user {os.geteuid()}: its owner decides "
        f"what git runs there; {NOTHING}.",
        way_out=f"If you trust it: git config --global --add safe.directory {top}",
    )


def _is_safe(top: Path) -> bool:
    safe: list[str] = []
    for file in repository.user_configs():
        for value in config_values(file, ["safe.directory"])["safe.directory"]:
            safe = [] if not value else [*safe, value]
    return any(
        each == "*" or Path(each) == top or (each.endswith("/*") and top.is_relative_to(each[:-2])) for each in safe
    )


def _refuse_elsewhere(top: Path, folders: repository.GitFolders) -> None:
    linked = folders.own != folders.common
    for file in (folders.own / "config.worktree", *(() if linked else (folders.common / "config",))):
        try:
            values = config_values(file, SETTINGS)
        except CheckpointError as error:
            raise UsageError(
                f"{file} cannot be read, so {NOTHING}: {error.what}", way_out=error.way_out or "Mend the file."
            ) from error
        for named in values["core.worktree"][-1:]:
            if (folders.own / named).resolve() != top:
                raise UsageError(
                    f"The repository in {str(top)!r} says that its worktree is {named!r} (core.worktree in {file}): git would "
                    f"change files there that are not in the workspace; {NOTHING}.",
                    way_out=f"Take it out: git config --file {file} --unset core.worktree",
                )
        if linked or "true" not in (value.lower() for value in values["core.bare"][-1:]):
            continue
        raise UsageError(
            f"The repository in {str(top)!r} is bare (core.bare in {file}), and has no worktree; {NOTHING}."
        )
