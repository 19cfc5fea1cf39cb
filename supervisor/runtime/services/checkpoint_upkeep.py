"""Looking after checkpoints when nothing else is to do: write-ahead logs emptied, files compared, old ones dropped, stores packed."""

import anyio
import pygit2

from checkpoints.retention import RetentionPolicy
from checkpoints.store.store import Store
from checkpoints.store.upkeep import Upkeep, maintain
from monitors.contract.errors import ChaperonError
from monitors.contract.wording import counted, size
from monitors.contract.words import Severity
from supervisor.runtime.checkpointing.manager import WatchedWorkspace
from supervisor.runtime.clock import Clock
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.log import log

LOOK_SECONDS = 15.0
"""Between two looks for something to do."""

IDLE_SECONDS = 10.0
"""How long a workspace must have been left alone: a turn's captures follow one another within seconds."""

SCRUB_SECONDS = 900.0
"""Between two comparisons of a whole workspace: reading 50,000 files takes a second or two of one core, 0.2 % of this time."""

TIDY_SECONDS = 3_600.0
"""Between two looks for what has grown too old, in a store that nothing new came to."""


async def tend(daemon: Daemon, policy: RetentionPolicy, clock: Clock) -> None:
    """Look after the daemon's checkpoints for as long as it runs."""
    while True:
        await anyio.sleep(LOOK_SECONDS)
        await maintain_once(daemon, policy, clock)


async def maintain_once(daemon: Daemon, policy: RetentionPolicy, clock: Clock) -> None:
    """Do what is due now; a failure is told and the rest is done."""
    manager = daemon.checkpoint_manager
    live = {summary.workspace for summary in daemon.board.at_work()}
    for workspace, place in list(manager.places.items()):
        if not _idle(place, clock):
            continue
        if clock.mono() - place.scrubbed_at > SCRUB_SECONDS:
            await _scrub(daemon, workspace, place)
        if workspace not in live:
            await manager.release(workspace)
    for store in list(manager.stores.opened.values()):
        if all(_idle(place, clock) for place in manager.places.values() if place.store is store):
            due = manager.tidied_at.get(store.folder, float("-inf")) + TIDY_SECONDS
            if not store.is_settled or clock.mono() > due:
                manager.tidied_at[store.folder] = clock.mono()
                await _tidy(daemon, store, policy, clock.wall())


async def close_left(daemon: Daemon) -> None:
    """Close what a crash left open: the workspaces of agents that have ended, and those that none ever worked in."""
    summaries = daemon.board.summaries()
    for summary in summaries:
        if summary.state.ended:
            await daemon.close_workspace(summary.agent)
    live = {summary.workspace for summary in summaries if not summary.state.ended}
    try:
        await daemon.worktrees.close_left(live, {summary.workspace for summary in summaries})
    except ChaperonError as error:
        daemon.fault("", "workspaces_untended", str(error), Severity.MEDIUM, error.way_out)


def _idle(place: WatchedWorkspace, clock: Clock) -> bool:
    return not place.working and clock.mono() - place.used_at > IDLE_SECONDS


async def _scrub(daemon: Daemon, workspace: str, place: WatchedWorkspace) -> None:
    try:
        report = await daemon.checkpoint_manager.scrub(place)
    except ChaperonError as error:
        log.warning("%s could not be compared with its checkpoint: %s", workspace, error)
        return
    if report.missed:
        shown = ", ".join(report.missed[:5])
        what = f"{counted(len(report.missed), 'file')} of {workspace} had changed unnoticed since the last checkpoint: {shown}."
        way_out = "The next checkpoint has them; nothing is lost."
        daemon.fault("", "capture_missed", what, Severity.MEDIUM, way_out)


async def _tidy(daemon: Daemon, store: Store, policy: RetentionPolicy, now: float) -> None:
    """Settle, drop and pack, where something came to the store since or time may have made something old."""
    try:
        done = await daemon.checkpoint_manager.stores.in_thread(lambda: maintain(store, now, policy))
    except (ChaperonError, OSError, pygit2.GitError) as error:
        what = f"The store {store.folder} could not be tidied: {error}"
        daemon.fault("", "checkpoints_untended", what, Severity.MEDIUM, "What is in it is safe; it only grows.")
        return
    _tell_of_quota(daemon, store, done)
    if done.dropped:
        log.info(
            "%s: %d checkpoints were dropped, %d bytes are left", store.project, len(done.dropped), done.size_bytes
        )


def _tell_of_quota(daemon: Daemon, store: Store, done: Upkeep) -> None:
    """Tell once that a store is too large and nothing more may go, until it is not any more."""
    if not done.over_quota:
        daemon.checkpoint_manager.over_quota.discard(store.folder)
    elif store.folder not in daemon.checkpoint_manager.over_quota:
        daemon.checkpoint_manager.over_quota.add(store.folder)
        what = f"The checkpoints of {store.project} take {size(done.size_bytes)}, more than checkpoints.quota_mb allows; those left must stay."
        daemon.fault("", "checkpoints_over_quota", what, Severity.MEDIUM, "Raise the quota, or free named checkpoints.")
