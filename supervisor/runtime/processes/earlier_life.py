"""Agents of an earlier life of the state directory: their folders are there, and the journal knows nothing of them.

This comes of a journal that was lost, moved away or cut. Nobody can watch such an agent, so one that still runs is
ended at the start. Its folder stays until an agent of the same name is submitted, and is then set aside, because a
folder serves one launch.
"""

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from monitors.contract.errors import UsageError
from supervisor.protocol.identity import Identity
from supervisor.runtime.processes.identity import is_running, read_identity
from supervisor.runtime.processes.leftovers import nobody_left
from supervisor.runtime.protection.outputs import remove_printed
from supervisor.runtime.protection.protector import Protector

MOST_ASIDE = 10_000
"""Folders of one name that are kept aside; the next submission under that name is refused."""


def living(agents: Path, known: Collection[str]) -> list[tuple[Path, Identity]]:
    """Return the launches below `agents` whose shim lives, of agents that are not among the known. Blocks."""
    if not agents.is_dir():
        return []
    strange = sorted(folder for folder in agents.iterdir() if folder.name not in known)
    return [
        (launch, identity)
        for folder in strange
        for launch in launches(folder)
        if (identity := _identity(launch)) is not None and is_running(identity)
    ]


def launches(folder: Path) -> Iterator[Path]:
    """Yield the directories of an agent's launches: its own, which the first one used, and those of later ones."""
    yield folder
    if folder.is_dir():
        yield from sorted(folder.glob("launch-*"))


def let_go(protector: Protector, agent: str, folder: Path) -> None:
    """Remove what was kept in full for an agent that has ended: its values, and what it printed. Blocks.

    Raises:
        OSError: Something could not be removed.
    """
    protector.forget_agent(agent)
    for launch in launches(folder):
        remove_printed(launch)


def set_aside(folder: Path, aside: Path) -> Path | None:
    """Move an agent's folder of an earlier life out of the way; return its new place, None if there was none. Blocks.

    Args:
        folder: The directory of an agent that is about to be submitted, so nothing of this life is in it.
        aside: The directory that gets it.

    Raises:
        UsageError: Processes of it live and could not be ended.
        OSError: It could not be moved.
    """
    if not os.path.lexists(folder):
        return None
    for launch in launches(folder):
        identity = _identity(launch)
        if identity is not None and not nobody_left(launch):
            raise UsageError(
                f"The name {folder.name!r} belongs to an agent of an earlier life of this state directory whose processes "
                f"live (CLI {identity.cli_pid}, held by process {identity.shim_pid}); nothing was started.",
                way_out="Start the daemon again, which ends them, or choose another name.",
            )
    aside.mkdir(mode=0o700, parents=True, exist_ok=True)
    free = (aside / f"{folder.name}-{number}" for number in range(1, MOST_ASIDE + 1))
    target = next((path for path in free if not os.path.lexists(path)), None)
    if target is None:
        raise UsageError(
            f"{MOST_ASIDE} folders of earlier agents named {folder.name!r} are in {aside}; nothing was started.",
            way_out="Remove those that nobody needs, or choose another name.",
        )
    folder.rename(target)
    return target


def _identity(launch: Path) -> Identity | None:
    """Return the identity of the launch's processes.

    None if there was none or the file is damaged: damage must not keep a daemon from starting.
    """
    try:
        return read_identity(launch)
    except (OSError, ValueError, TypeError):
        return None
