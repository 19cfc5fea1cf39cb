"""Upkeep of checkpoints in idle moments.

Write-ahead logs are emptied, files compared, old checkpoints deleted, stores packed.
"""

from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pygit2

from checkpoints.retention import RetentionPolicy
from checkpoints.store.store import Store
from checkpoints.store.upkeep import maintain
from monitors.contract.errors import ChaperonError
from monitors.contract.wording import counted, size
from monitors.contract.words import Severity
from supervisor.core.board import Board
from supervisor.protocol.commands import Capture
from supervisor.runtime.checkpointing.manager import CheckpointManager, WatchedWorkspace
from supervisor.runtime.checkpointing.worktrees import Worktrees
from supervisor.runtime.clock import Clock, SteadyTime
from supervisor.runtime.incidents.feed import NoteFault
from supervisor.runtime.log import log

LOOK_SECONDS = 15.0
"""Between two looks for something to do."""

IDLE_SECONDS = 10.0
"""How long a workspace must have been left alone: a turn's captures follow one another within seconds."""

SCRUB_SECONDS = 900.0
"""Time between two comparisons of a whole workspace. Reading 50,000 files takes a second or two of one core, 0.2 %
of this time."""

TIDY_SECONDS = 3_600.0
"""Between two looks for what has grown too old, in a store that nothing new came to."""


LAST_CAPTURES_SECONDS = 5.0
"""How long a daemon's end may wait for checkpoints of live workspaces; one takes milliseconds if little changed."""


async def capture_live(board: Board, make: Callable[[str, Capture], Coroutine[Any, Any, None]], clock: Clock) -> None:
    """Make a checkpoint of each live agent's workspace as the daemon ends, within some seconds.

    Args:
        board: Says which agents live.
        make: Makes a checkpoint and reports its outcome.
        clock: Gives the time.
    """
    with anyio.move_on_after(LAST_CAPTURES_SECONDS) as scope:
        async with anyio.create_task_group() as tasks:
            for session in board.live():
                agent = session.summary.agent
                if (wanted := session.capture_now(f"end:{agent}", "as the daemon ended", clock.mono())) is not None:
                    tasks.start_soon(make, agent, wanted, name=f"last capture of {agent}")
    if scope.cancelled_caught:
        log.warning("not every workspace was captured within %g s of the end", LAST_CAPTURES_SECONDS)


class CheckpointUpkeep:
    """Looks after all checkpoints, one pass after another.

    Args:
        board: Says which workspaces agents work in.
        manager: The workspaces and stores that are open.
        fault: Notes an incident.
        clock: Tells how long a workspace was left alone, and how old a checkpoint is.
        policy: The checkpoints that are kept.
    """

    def __init__(
        self, board: Board, manager: CheckpointManager, fault: NoteFault, clock: Clock, policy: RetentionPolicy
    ) -> None:
        self._board = board
        self._manager = manager
        self._fault = fault
        self._clock, self._time = clock, SteadyTime(clock)
        self._policy = policy
        self._tidied_at: dict[Path, float] = {}
        """When each store was last looked after, on the clock that never goes back."""
        self._told: dict[Path, str] = {}
        """The trouble of each store that was reported, which is not reported again until it is over or another."""

    async def run(self) -> None:
        """Look after checkpoints until cancelled."""
        while True:
            await anyio.sleep(LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Do the work that is due now; a failure is reported and the rest is done."""
        manager, clock = self._manager, self._clock
        if manager.stores.seals.seals:
            await manager.stores.replay()  # it opens all, so that those of before are encrypted too
        live = {summary.workspace for summary in self._board.at_work()}
        for workspace, place in list(manager.places.items()):
            if not self._idle(place):
                continue
            if clock.mono() - place.scrubbed_at > SCRUB_SECONDS:
                await self._scrub(workspace, place)
            if workspace not in live:
                await manager.release(workspace)
        for store in list(manager.stores.opened.values()):
            if all(self._idle(place) for place in manager.places.values() if place.store is store):
                due = self._tidied_at.get(store.folder, float("-inf")) + TIDY_SECONDS
                if not store.is_settled or clock.mono() > due:
                    self._tidied_at[store.folder] = clock.mono()
                    await self._tidy(store)

    def _idle(self, place: WatchedWorkspace) -> bool:
        return not place.working and self._clock.mono() - place.used_at > IDLE_SECONDS

    async def _scrub(self, workspace: str, place: WatchedWorkspace) -> None:
        try:
            report = await self._manager.scrub(place)
        except ChaperonError as error:
            log.warning("%s could not be compared with its checkpoint: %s", workspace, error)
            return
        if report.missed:
            shown = ", ".join(report.missed[:5])
            what = f"{counted(len(report.missed), 'file')} of {workspace} had changed unnoticed since the last checkpoint: {shown}."
            way_out = "The next checkpoint has them; nothing is lost."
            self._fault("", "capture_missed", what, Severity.MEDIUM, way_out)

    async def _tidy(self, store: Store) -> None:
        """Settle, drop and pack, if something came to the store since or time may have made something old."""
        now, policy, held = self._time.now(), self._policy, self._board.projects.needs(str(store.project))
        try:
            done = await self._manager.stores.until_cancelled(
                lambda stop: maintain(store, now, policy, held=held, stop=stop)
            )
        except (ChaperonError, OSError, pygit2.GitError) as error:
            what = f"The store {store.folder} could not be tidied: {error}"
            relies = f"Its checkpoints rely on objects of {store.project} until it is: leave that repository as it is."
            borrows = await anyio.to_thread.run_sync(lambda: store.borrows)
            way_out = relies if borrows else "What is in it is safe; it only grows."
            self._tell(store, "checkpoints_untended", what, way_out)
            return
        if done.over_quota:
            what = f"The checkpoints of {store.project} take {size(done.size_bytes)}, more than checkpoints.quota_mb allows; those left must stay."
            self._tell(store, "checkpoints_over_quota", what, "Raise the quota, or free named checkpoints.")
        else:
            self._told.pop(store.folder, None)
        if done.dropped:
            log.info(
                "%s: %d checkpoints were dropped, %d bytes are left", store.project, len(done.dropped), done.size_bytes
            )

    def _tell(self, store: Store, kind: str, what: str, way_out: str) -> None:
        """Note an incident about a store, once until it is over: each look would find it again."""
        if self._told.get(store.folder) != kind:
            self._told[store.folder] = kind
            self._fault("", kind, what, Severity.MEDIUM, way_out)


async def close_left(
    board: Board, worktrees: Worktrees, close: Callable[[str], Awaitable[object]], fault: NoteFault
) -> None:
    """Close what a crash left open: the workspaces of agents that have ended, and those that none ever worked in.

    Args:
        board: All agents.
        worktrees: The workspaces that were made.
        close: Closes the workspace of an agent that has ended.
        fault: Notes an incident.
    """
    summaries = board.summaries()
    for summary in summaries:
        if summary.state.ended:
            await close(summary.agent)
    live = {summary.workspace for summary in summaries if not summary.state.ended}
    try:
        await worktrees.close_left(live, {summary.workspace for summary in summaries})
    except ChaperonError as error:
        fault("", "workspaces_untended", str(error), Severity.MEDIUM, error.way_out)
