"""The list of checkpoints as readers ask for it."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio.to_thread

from checkpoints.git.sealed_pack import CLEAR, StoreSeals
from checkpoints.store import stored
from monitors.contract import anyjson


async def listed(folder: Path, agent: str, seals: StoreSeals = CLEAR) -> AsyncIterator[bytes]:
    """Yield an object with `checkpoints`, oldest first with their project, and `problems`, store by store.

    Args:
        folder: The folder that has the stores.
        agent: Only this agent's; empty: all.
        seals: Open what is encrypted.
    """
    problems: list[str] = []
    between = b'{"checkpoints":['
    for store in await anyio.to_thread.run_sync(stored.folders, folder):
        made, wrong = await anyio.to_thread.run_sync(stored.recorded, store, seals)
        problems += wrong
        project = await anyio.to_thread.run_sync(_project, store)
        chosen = [{**one, "project": project} for one in made if agent in ("", one.get("facts", {}).get("agent"))]
        if chosen:
            yield between + b",".join(map(anyjson.dumps, chosen))
            between = b","
    if between != b",":
        yield between
    yield b'],"problems":' + anyjson.dumps(problems) + b"}"


def _project(store: Path) -> str:
    """The folder of the main worktree; empty if the store does not say. Blocks."""
    try:
        return str(stored.project_named(store))
    except (OSError, ValueError, KeyError, TypeError):  # what is wrong with a store is told beside the list
        return ""
