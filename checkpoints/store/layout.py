"""The folders and files that a store begins with, and who owns it."""

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path

import pygit2

from checkpoints.errors import CheckpointError, StoreDamagedError, room_needed
from checkpoints.store.stored import LEDGER
from host.durable import sync_path, write_new
from host.plain_files import read_path

_FOLDERS = (
    "restores",
    "objects.git/objects/pack",
    "objects.git/objects/info",
    "objects.git/refs/checkpoints",
    "objects.git/info",
)

_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tbare = true
\thooksPath = /dev/null
\tfsmonitor = false
\tattributesFile = /dev/null
\tlogAllRefUpdates = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
[pack]
\tthreads = 1
"""


def lay(folder: Path, project: Path, first: Mapping[str, bytes]) -> None:
    """Create the files of this project's store that are missing.

    `project.json` comes last, so its presence means complete.

    All of it is written before any of it is synced, so that the file system's journal commits once for all. A sync of
    the whole file system would wait for the writes of others: at 500 agents that start, 60 ms a store, against 20 ms.

    Args:
        folder: The store.
        project: Its project.
        first: First content of its files, by name.

    Raises:
        CheckpointError: The folder holds the store of another project.
        StoreDamagedError: `project.json` cannot be read.
        StoreFullError: There was no room.
    """
    about = folder / "project.json"
    if about.exists():
        _check_project(about, project)
        return
    new = {**first, about.name: json.dumps({"project": str(project), "format": 1}).encode()}
    with room_needed("a new store"):
        above = [place for place in folder.parents if not place.exists()]
        for name in ("", *_FOLDERS):
            (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / "objects.git/HEAD").write_text("ref: refs/heads/none\n")
        (folder / "objects.git/config").write_text(_CONFIG)
        (folder / LEDGER).touch(mode=0o600)
        _borrow(folder / "objects.git/objects/info/alternates", project)
        for name, data in new.items():
            write_new(folder / f"tmp_{name}", data)
        for place in (*folder.rglob("*"), folder, folder.parent, *(one.parent for one in above)):
            sync_path(place)
        for name in new:
            (folder / f"tmp_{name}").rename(folder / name)
        sync_path(folder)


def _check_project(about: Path, project: Path) -> None:
    try:
        known = json.loads(about.read_bytes())["project"]
    except (ValueError, KeyError, TypeError) as error:
        raise StoreDamagedError(f"{about} does not say which project it belongs to: {error}.") from error
    if known != str(project):
        raise CheckpointError(
            f"The store in {about.parent} belongs to {known}, not to {project}; nothing was changed.",
            way_out="Give each project a store of its own.",
        )


def _borrow(alternates: Path, project: Path) -> None:
    """Let the first capture rely on what the project's last commit holds, so that it need not be copied at once."""
    found = pygit2.discover_repository(str(project))
    if found is None:
        return
    objects = _common_folder(Path(found)) / "objects"
    if objects.is_dir() and "\n" not in str(objects):
        alternates.write_text(f"{objects}\n")


def _common_folder(git_folder: Path) -> Path:
    """Return the folder that holds the objects of a worktree's repository."""
    try:
        common = read_path(git_folder / "commondir")
    except FileNotFoundError:
        return git_folder
    return (git_folder / common).resolve()


def take_ownership(folder: Path) -> int:
    """Lock a store for this process and return the lock's descriptor; closing it, or ending, lets go.

    Raises:
        CheckpointError: Another process has it.
    """
    fd = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(fd)
        raise CheckpointError(
            f"The store {folder} is in use by another process; nothing was changed.",
            way_out="Ask the daemon that owns it, or stop that first.",
        ) from error
    return fd
