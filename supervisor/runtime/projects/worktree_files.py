"""The files of one worktree as a part of its project: captured, brought back, compared, dropped."""

from collections.abc import Collection
from pathlib import Path

from checkpoints.errors import RestoreRefusedError, StoreFullError
from checkpoints.model import CaptureContext, Checkpoint, Kept
from checkpoints.restore.plan import compare
from checkpoints.restore.restore import Restorer
from checkpoints.workspace.capture import Capturer
from supervisor.runtime.checkpointing.manager import CheckpointManager


async def capture_part(
    manager: CheckpointManager, workspace: str, facts: CaptureContext, needed: Collection[str]
) -> Checkpoint:
    """Capture a workspace as a part of its project's checkpoint; it is durable when this returns.

    What an earlier attempt left under that name is dropped first.

    Args:
        manager: Makes it.
        workspace: Which.
        facts: The moment, with a name and a key.
        needed: The names of parts that must stay.

    Raises:
        ChaperonError: It could not be made, and why.
    """

    def work(capturer: Capturer) -> Checkpoint:
        left = capturer.store.ledger.get(facts.name)
        if left is not None and left.facts.key == facts.key and left.name not in needed:
            capturer.store.drop([left.name])
        return capturer.capture(facts)

    return await manager.capturing(workspace, work)


async def set_back(
    manager: CheckpointManager, workspace: str, checkpoint: str, known: str, undo: CaptureContext
) -> tuple[Kept, ...]:
    """Bring the files of a workspace back as a part of its project; nothing may write in it meanwhile.

    Asked again, it is done once.

    Args:
        manager: Brings them back.
        workspace: Which.
        checkpoint: The part's name.
        known: The tree of the present, if a checkpoint has it already; else one of its own is kept.
        undo: The moment, for that one.

    Returns:
        The paths that were left as they are.

    Raises:
        ChaperonError: It was not done, and why; the sentence says how the workspace was left.
    """

    def work(capturer: Capturer) -> tuple[Kept, ...]:
        restorer = Restorer(capturer)
        restorer.recover()
        target = capturer.store.find(checkpoint)
        plan = restorer.plan(target, undo)
        try:
            done = restorer.restore(plan, confirmed=True, unusual_confirmed=True)
        except (RestoreRefusedError, StoreFullError):
            capturer.store.drop([plan.undo.name])
            raise
        if not plan.changes or plan.undo.tree == known:
            capturer.store.drop([plan.undo.name])
        return done.kept

    return await manager.at(workspace, work, "restoring", abandon=True)


async def compare_parts(manager: CheckpointManager, project: str, before: str, after: str) -> int:
    """Return how many paths differ between two checkpoints of a project's store.

    Raises:
        ChaperonError: One is not there, or the store cannot be read.
    """
    store = await manager.stores.of(Path(project))
    return await manager.stores.in_thread(lambda: len(compare(store, store.find(before), store.find(after))))


async def find_part(manager: CheckpointManager, project: str, name: str) -> Checkpoint:
    """Return a checkpoint of a project's store; raises NotFoundError if it is not there."""
    return (await manager.stores.of(Path(project))).find(name)


async def drop_parts(manager: CheckpointManager, project: str, key: str, needed: Collection[str]) -> None:
    """Drop the checkpoints of a project's store that were made under a key, but for those that are needed.

    Raises:
        CheckpointError: The store cannot be opened or written.
    """
    store = await manager.stores.of(Path(project))
    names = [one.name for one in store.checkpoints if one.facts.key == key and one.name not in needed]
    if names:
        await manager.stores.in_thread(lambda: store.drop(names))
