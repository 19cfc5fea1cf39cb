"""Removal of the remains of ended agents: the workspace made for one, its branch, and the files of its shim."""

from dataclasses import dataclass
from typing import Protocol

import anyio.to_thread

from monitors.contract.errors import ChaperonError
from supervisor.core.fold.summary import Summary
from supervisor.protocol import events
from supervisor.runtime.daemon_parts import FolderParts, NeighbourParts, WorktreeParts
from supervisor.runtime.services.retention import forget_output


class RemovalParts(WorktreeParts, FolderParts, NeighbourParts, Protocol):
    """The parts of the daemon that a removal needs."""


@dataclass(frozen=True, slots=True)
class Removal:
    """The outcome for one agent."""

    agent: str
    done: bool
    """Whether nothing of it is left."""
    removed: tuple[str, ...] = ()
    """The things removed, in words."""
    lost: tuple[str, ...] = ()
    """The things that were lost with them, or that would be and were left for that reason."""
    why: str = ""
    """Why it could not be removed, if for another reason."""


async def remove(daemon: RemovalParts, agent: str, by: str, *, force: bool, only_look: bool = False) -> Removal:
    """Remove what an ended agent left, if nothing is lost with it. The journal and its checkpoints stay.

    Args:
        daemon: The daemon that had it.
        agent: Its name.
        by: The person who asks.
        force: Whether losses are accepted.
        only_look: Whether nothing is to be removed, only said what would be.

    Raises:
        NotFoundError: There is no such agent.
    """
    known = daemon.board.summary(agent)
    if known.removed_at is not None:
        return Removal(agent, True, why="it was removed before")
    if problem := _not_now(daemon, known):
        return Removal(agent, False, why=problem)
    try:
        lost = (
            tuple(await daemon.worktrees.losses(known.workspace, _project(known), known.branch)) if known.branch else ()
        )
    except ChaperonError as error:
        return Removal(agent, False, why=error.what)
    if only_look or (lost and not force):
        return Removal(agent, False, lost=lost)
    return await _remove(daemon, known, by, lost)


async def _remove(daemon: RemovalParts, known: Summary, by: str, lost: tuple[str, ...]) -> Removal:
    removed: list[str] = []
    try:
        if known.branch:
            await daemon.checkpoint_manager.release(known.workspace)
            removed += await daemon.worktrees.remove(known.workspace, _project(known), known.branch)
    except ChaperonError as error:
        return Removal(known.agent, False, tuple(removed), lost, error.what)
    if await anyio.to_thread.run_sync(forget_output, daemon.agents_folder, [known.agent]):
        removed.append("what its CLI printed")
    event = events.AgentRemoved(**daemon.stamp(known.agent), by=by, removed=tuple(removed), lost=lost)
    await daemon.journal.written(daemon.happened(event))
    return Removal(known.agent, True, tuple(removed), lost)


def _not_now(daemon: RemovalParts, known: Summary) -> str:
    if known.ended_at is None:
        return f"it is {known.state}; stop it first: chaperon stop {known.agent}"
    if known.branch and (others := ", ".join(sorted(daemon.beside(known.agent)))):
        return f"{others} works in its workspace"
    return ""


def _project(known: Summary) -> str:
    return known.project or known.workspace
