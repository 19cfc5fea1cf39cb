"""The manager of checkpoints: one capturer per workspace, blocking work in threads.

    capture ─┐
    plan ────┤  one at a time per workspace, first come first served; workspaces do not wait for one another
    restore ─┘

What goes wrong comes out as a `ChaperonError`; nothing here decides.
"""

import os
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread
import pygit2

from checkpoints.errors import CheckpointError, RestoreRefusedError, StoreFullError
from checkpoints.git.sealed_pack import CLEAR, StoreSeals
from checkpoints.model import (
    CaptureContext,
    Checkpoint,
    ConversationContext,
    ConversationPosition,
    Difference,
    Kept,
    Reason,
    RestorePlan,
    RunHealth,
)
from checkpoints.restore.plan import compare
from checkpoints.restore.restore import Restorer
from checkpoints.store.restore_journal import interrupted
from checkpoints.store.store import Store
from checkpoints.workspace import repository
from checkpoints.workspace.capture import Capturer, CaptureSettings, ScrubReport
from checkpoints.workspace.notes import NoteQueues
from checkpoints.workspace.watch import Watcher
from monitors.contract.errors import ChaperonError, UsageError
from monitors.contract.tasks import Task
from supervisor.protocol.commands import Capture, RestoreCheckpoint
from supervisor.protocol.moments import RunMoment
from supervisor.runtime.checkpointing.keyed_locks import KeyedLocks
from supervisor.runtime.checkpointing.stores import Stores
from supervisor.runtime.clock import Clock
from supervisor.runtime.long_work import LongWork

T = TypeVar("T")

CAPTURE_SECONDS = 300.0
"""Longest capture, after which the actions that wait for it go on without. A first scan of 500,000 files on a busy
disk took 128 s, so a longer one hangs on its disk."""

CLOSE_SECONDS = 30.0
"""Time that the end waits for a capture or a restore that is under way. A restore of thousands of files takes
seconds, and one that a hung disk blocks is completed by the next start."""

END_SECONDS = 60.0
"""Time to wait for the capture of an agent's end: the first one of 200,000 files takes 18 s."""

CLOSE_LOOK_SECONDS = 0.02
"""Between two looks whether it has ended."""

LOOKING = "looking at"
"""Names work on a workspace that changes nothing in it."""

MOST_CHANGED = 200
"""Changed files that are reported for one call: as many paths as a review lists."""


class NeedlessError(ChaperonError):
    """An automatic rollback would change no file, and was not done."""


@dataclass(frozen=True, slots=True)
class Restored:
    """The result of a restore."""

    target: Checkpoint
    undo: str
    """The checkpoint of what was there before."""
    restored: int
    kept: tuple[str, ...]
    commits_kept_as: str = ""
    """The ref that holds the branch's former tip; empty if the branch was not moved."""


@dataclass(slots=True)
class WatchedWorkspace:
    """One workspace that is watched."""

    capturer: Capturer
    lock: anyio.Lock = field(default_factory=lambda: anyio.Lock(fast_acquire=True))
    working: bool = False
    """Whether a thread is at work, even if it is no longer awaited."""
    used_at: float = 0.0
    scrubbed_at: float = 0.0

    @property
    def store(self) -> Store:
        """The store of its checkpoints."""
        return self.capturer.store


class CheckpointManager:
    """Makes, lists and goes back to checkpoints.

    Args:
        folder: The directory that has one store per project.
        settings: What is captured.
        clock: Tells the time that checkpoints carry.
        seals: Encrypt what is kept, if that is wanted.
    """

    def __init__(self, folder: Path, settings: CaptureSettings, clock: Clock, seals: StoreSeals = CLEAR) -> None:
        self.stores = Stores(folder, seals)
        self.places: dict[str, WatchedWorkspace] = {}
        """By workspace."""
        self.work = LongWork(clock)
        """The captures and restores that are under way, and other long work of the daemon."""
        self._settings = settings
        self._clock = clock
        self._opening = KeyedLocks()
        self._queues = NoteQueues()
        self._claimed: set[tuple[Path, str]] = set()
        """Names of checkpoints that are being made, each with the folder of its store."""
        self._ends: dict[tuple[str, str], anyio.Event] = {}
        """Captures of ends of turns that are under way, by agent and key."""

    # ── what is done ──────────────────────────────────────────────────────────────────────────────────────────────

    async def capture(self, agent: str, wanted: Capture) -> Checkpoint:
        """Make the present a checkpoint; it is durable when this returns.

        Raises:
            ChaperonError: It could not be made, and why; nothing was announced.
        """
        facts = self._facts(agent, Reason(wanted.reason), wanted.task, wanted.moment)
        facts = replace(facts, name=wanted.name, note=wanted.note, key=wanted.key)
        return await self.capturing(
            wanted.workspace, lambda capturer: _made_before(capturer, facts) or capturer.capture(facts)
        )

    async def capturing(self, workspace: str, make: Callable[[Capturer], Checkpoint]) -> Checkpoint:
        """Make a checkpoint by blocking work in a workspace, unless that takes too long; raises like `at`."""
        place = await self.place(workspace)
        try:
            with anyio.fail_after(CAPTURE_SECONDS):
                return await self._at(place, make, "capturing", abandon=True)
        except TimeoutError:
            raise CheckpointError(
                f"The capture of {workspace} took longer than {CAPTURE_SECONDS:g} s and was given up."
            ) from None

    async def at(
        self, workspace: str, work: Callable[[Capturer], T], what: str = LOOKING, *, abandon: bool = False
    ) -> T:
        """Do blocking work in a workspace, in a thread, with no other work there meanwhile.

        Args:
            workspace: Which.
            work: The work.
            what: Its name, for people who ask what takes long.
            abandon: Whether a caller that is cancelled goes on at once, and leaves the thread to itself.

        Raises:
            ChaperonError: It could not be done, and why.
        """
        return await self._at(await self.place(workspace), work, what, abandon=abandon)

    async def roll_back(self, agent: str, wanted: RestoreCheckpoint) -> Restored:
        """Bring the files back; nothing may write in the workspace meanwhile. Asked twice, it is done once.

        Raises:
            ChaperonError: It was not done, and why; the sentence says how the workspace was left.
        """
        facts = replace(
            self._facts(agent, Reason.UNDO, wanted.task, wanted.moment),
            name=f"before-{wanted.intervention}",
            frozen=True,
        )
        return await self.at(
            wanted.workspace, lambda capturer: _roll_back(capturer, wanted, facts), "restoring", abandon=True
        )

    async def write_out(self, target: Checkpoint, workspace: str) -> tuple[str, ...]:
        """Write the files of a checkpoint into another workspace of its project, in which no agent works.

        Returns:
            The paths that could not be written, each with the reason.

        Raises:
            ChaperonError: It was not done, and why.
        """

        def work(capturer: Capturer) -> tuple[str, ...]:
            restorer = Restorer(capturer)
            plan = restorer.plan(target, CaptureContext(Reason.UNDO, self._clock.wall()), elsewhere=True)
            result = restorer.restore(plan, confirmed=True, unusual_confirmed=True)
            capturer.store.drop([plan.undo.name])
            return _with_reasons(result.kept)

        return await self.at(workspace, work, "writing")

    async def preview(self, workspace: str, checkpoint: str, *, with_branch: bool = False) -> RestorePlan:
        """Say what going back would do; the present is captured for it and forgotten again.

        Args:
            workspace: Which.
            checkpoint: The target's name.
            with_branch: Whether the branch is to move back as well.

        Raises:
            ChaperonError: It cannot be said.
        """

        def work(capturer: Capturer) -> RestorePlan:
            target = capturer.store.find(checkpoint)
            plan = Restorer(capturer).plan(
                target, CaptureContext(Reason.UNDO, self._clock.wall()), thorough=False, with_branch=with_branch
            )
            capturer.store.drop([plan.undo.name])
            return plan

        return await self.at(workspace, work)

    async def changed_since_start(self, workspace: str, agent: str, since: float) -> list[str]:
        """Return the paths that are not as in the first checkpoint of an agent, each with what became of it.

        Args:
            workspace: Where the agent worked.
            agent: Whose checkpoints.
            since: When it started, as Unix time in seconds: a name may have been used before.

        Raises:
            ChaperonError: They cannot be said, and why.
        """
        return [f"{each.path} ({each.change})" for each in await self.changes(workspace, agent, since, now=True)]

    async def changes(self, workspace: str, agent: str, since: float, *, now: bool) -> tuple[Difference, ...]:
        """Return the changes since the first checkpoint of an agent; arguments and errors as for `changed_since_start`.

        Args:
            workspace: The agent's workspace.
            agent: The agent.
            since: Its start.
            now: Whether up to the present; otherwise up to the agent's last checkpoint, which the end of each turn
                makes.
        """
        first, last = await self.span(workspace, agent, since)
        return await self.between(workspace, agent, first, None if now else last, compare)

    def awaits_end(self, agent: str, key: str) -> None:
        """Have requests for the changes of an agent wait for this capture, of the end of a turn."""
        self._ends[agent, key] = anyio.Event()

    def has_end(self, agent: str, key: str) -> None:
        """Note that this capture is made, or has failed."""
        if (waited_for := self._ends.pop((agent, key), None)) is not None:
            waited_for.set()

    async def end_kept(self, agent: str) -> None:
        """Return once the ends of an agent's turns are captured, or if that takes too long."""
        with anyio.move_on_after(END_SECONDS):
            for waited_for in [event for (whose, _), event in self._ends.items() if whose == agent]:
                await waited_for.wait()

    async def span(self, workspace: str, agent: str, since: float) -> tuple[Checkpoint, Checkpoint]:
        """Return the first and the last checkpoint of an agent; also if its workspace has gone.

        Args:
            workspace: The agent's workspace.
            agent: The agent.
            since: Its start.

        Raises:
            CheckpointError: It has none.
        """
        await self.end_kept(agent)
        kept = (await self.stores.all()).checkpoints
        own = [one for one in kept if one.workspace == workspace and one.facts.agent == agent and one.facts.at >= since]
        if not own:
            raise CheckpointError(f"there is no checkpoint of the start of agent {agent}")
        return own[0], own[-1]

    async def between(
        self,
        workspace: str,
        agent: str,
        before: Checkpoint,
        after: Checkpoint | None,
        compared: Callable[[Store, Checkpoint, Checkpoint], T],
    ) -> T:
        """Return what a comparison says of two checkpoints of one store.

        Args:
            workspace: The agent's workspace.
            agent: The agent.
            before: The earlier one.
            after: The later one; None for the present, which is captured for this and forgotten.
            compared: Compares them; it blocks.
        """
        if after is not None:
            store = self.stores.holding(before)
            return await self.stores.in_thread(lambda: compared(store, before, after))

        def work(capturer: Capturer) -> T:
            present = capturer.capture(CaptureContext(Reason.UNDO, self._clock.wall(), agent))
            try:
                return compared(capturer.store, before, present)
            finally:
                capturer.store.drop([present.name])

        return await self.at(workspace, work)

    async def scrub(self, place: WatchedWorkspace) -> ScrubReport:
        """Compare every file of a workspace with what is believed; raises like `capture`."""
        place.scrubbed_at = self._clock.mono()
        return await self._at(place, Capturer.scrub, LOOKING)

    @asynccontextmanager
    async def naming(self, workspace: str, name: str) -> AsyncIterator[None]:
        """Hold a name while its checkpoint is made, so that of several who ask for it at once one gets it.

        Raises:
            UsageError: The name is taken in this workspace's store, is being taken by another, or cannot be one.
        """
        place = await self.place(workspace)
        claim = (place.store.folder, name)
        if claim in self._claimed:
            raise UsageError(
                f"A checkpoint {name!r} is being made for somebody else; none was made for this request.",
                way_out="Choose another name.",
            )
        self._claimed.add(claim)  # before the look: whoever comes between the two would find the name free
        try:
            await self.stores.in_thread(lambda: place.store.check_name(name))
            yield
        finally:
            self._claimed.discard(claim)

    # ── opening and closing ───────────────────────────────────────────────────────────────────────────────────────

    async def place(self, workspace: str) -> WatchedWorkspace:
        """Begin to watch a workspace, if it is not watched yet.

        Raises:
            ChaperonError: There is no folder, or its store cannot be opened.
        """
        if workspace in self.places:
            return self.places[workspace]
        store = await self.stores.of(await self.stores.in_thread(lambda: repository.project_of(Path(workspace))))
        async with self._opening.of(workspace):
            if workspace not in self.places:
                capturer = await self.stores.in_thread(
                    lambda: Capturer(store, Path(workspace), self._settings, self._queues)
                )
                self.places[workspace] = WatchedWorkspace(capturer, scrubbed_at=self._clock.mono())
            return self.places[workspace]

    async def forget_project(self, project: str) -> None:
        """Delete all checkpoints of a project in whose workspaces no agent works; raises like `Stores.delete`."""
        for workspace, place in list(self.places.items()):
            if str(place.store.project) == project:
                await self.release(workspace)
        await self.stores.delete(project)

    def pass_over_changes(self, workspace: str) -> None:
        """Have `changed` report changes from now on.

        An answer to the CLI waits for it, so it is done in the loop: some 20 microseconds, against half a millisecond
        in another thread. It is bounded however much other workspaces change.
        """
        if place := self.places.get(workspace):
            place.capturer.watcher.pass_over()

    async def changed(self, workspace: str) -> list[str]:
        """Return the files of a watched workspace that changed since the last call, at most `MOST_CHANGED`.

        Only files that exist now are among them.
        """
        place = self.places.get(workspace)
        if place is None:
            return []
        return await anyio.to_thread.run_sync(_changed_files, place.capturer.watcher, workspace)

    def operations(self, workspace: str) -> int:
        """Files written, moved or deleted in a workspace since it is watched; 0 if it is not."""
        place = self.places.get(workspace)
        return place.capturer.watcher.operations if place else 0

    def unwatched(self, workspace: str) -> str:
        """Return the reason why every capture of a workspace has to read all of it; empty if its changes are noted."""
        place = self.places.get(workspace)
        return place.capturer.watcher.problem if place else ""

    async def complete_interrupted(self) -> list[str]:
        """Complete or return every restore that a crash cut; call it before any agent's commands are performed.

        Returns:
            What could not be, as sentences.
        """
        problems = []
        for folder in await self.stores.interrupted():
            try:
                store = await self.stores.open(folder)
                for workspace in await self.stores.in_thread(lambda store=store: interrupted(store)):  # type: ignore[misc]
                    place = await self.place(workspace)
                    await self._at(place, lambda capturer: Restorer(capturer).recover(), LOOKING)
            except (ChaperonError, OSError, ValueError, pygit2.GitError) as error:
                problems.append(f"A rollback that was cut short could not be completed: {error}")
        return problems

    async def release(self, workspace: str) -> None:
        """Watch a workspace no longer; what is under way there is completed first."""
        place = self.places.get(workspace)
        if place is None:
            return
        async with place.lock:
            if self.places.get(workspace) is place and not place.working:
                del self.places[workspace]
                await self.stores.in_thread(place.capturer.close)

    async def close(self) -> None:
        """Write everything to its own place and let go of the stores. What a thread still works on is left to it."""
        with anyio.CancelScope(shield=True):
            for _ in range(round(CLOSE_SECONDS / CLOSE_LOOK_SECONDS)):
                if not any(place.working for place in self.places.values()):
                    break
                await anyio.sleep(CLOSE_LOOK_SECONDS)
            for workspace in list(self.places):
                await self.release(workspace)
            for store in list(self.stores.opened.values()):
                if all(place.store is not store for place in self.places.values()):
                    await self.stores.close(store)
            self.stores.opened.clear()

    # ── within ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _at(
        self, place: WatchedWorkspace, work: Callable[[Capturer], T], what: str, *, abandon: bool = False
    ) -> T:
        def alone() -> T:
            place.working = True
            try:
                return work(place.capturer)
            finally:
                place.working = False

        async with place.lock:
            if place.working:
                raise CheckpointError(
                    f"Work on {place.capturer.workspace} that was given up still hangs; nothing was done.",
                    way_out="Look whether its disk answers.",
                )
            place.used_at = self._clock.mono()
            try:
                with self.work.under_way(what, str(place.capturer.workspace), "file") as report:
                    place.capturer.report = report
                    return await anyio.to_thread.run_sync(alone, limiter=self.stores.threads, abandon_on_cancel=abandon)
            except (OSError, pygit2.GitError, KeyError, ValueError) as error:
                raise CheckpointError(f"{type(error).__name__}: {error}") from error
            finally:
                place.used_at = self._clock.mono()

    def _facts(self, agent: str, reason: Reason, task: Task, moment: RunMoment) -> CaptureContext:
        return CaptureContext(
            reason,
            self._clock.wall(),
            agent,
            position=ConversationPosition(moment.session_id, moment.message_uuid),
            context=ConversationContext(task.goals, task.constraints, task.limits),
            task_states={task.id: moment.state},
            agent_states={agent: moment.state},
            seq=moment.seq,
            health=RunHealth(moment.success_rate, moment.seconds_without_errors),
        )


def _made_before(capturer: Capturer, facts: CaptureContext) -> Checkpoint | None:
    """Return the checkpoint that was made for this very request before a crash kept us from saying so."""
    found = capturer.store.ledger.get(facts.name) if facts.name else None
    same = found is not None and (found.facts.agent, found.facts.key) == (facts.agent, facts.key)
    return found if same else None


def _roll_back(capturer: Capturer, wanted: RestoreCheckpoint, facts: CaptureContext) -> Restored:
    """Plan and restore.

    If an earlier attempt was cut off after its end, nothing is left to do, and its undo counts.
    """
    restorer, store = Restorer(capturer), capturer.store
    restorer.recover()
    target, earlier = store.find(wanted.checkpoint), store.ledger.get(facts.name)
    if earlier is not None:
        facts = replace(facts, name=f"{facts.name}-{store.ledger.next_number}")
    plan = restorer.plan(target, facts)
    if not (plan.changes or wanted.needless or earlier):
        store.drop([plan.undo.name])
        raise NeedlessError(f"no file has changed since {target.name}")
    undo = earlier if earlier is not None and not plan.changes else plan.undo
    try:
        result = restorer.restore(
            plan, confirmed=True, unusual_confirmed=wanted.how.unusual, with_branch=wanted.how.with_branch
        )
    except (RestoreRefusedError, StoreFullError):
        store.drop([plan.undo.name])
        raise
    if earlier is not None:
        store.drop([(plan.undo if undo is earlier else earlier).name])
    return Restored(
        target, undo.name, len(compare(store, undo, target)), _with_reasons(result.kept), result.branch_kept_as
    )


def _with_reasons(kept: Iterable[Kept]) -> tuple[str, ...]:
    return tuple(f"{one.path}: {one.why}" for one in kept)


def _changed_files(watcher: Watcher, workspace: str) -> list[str]:
    """Return the changed paths that are files. Temporary files of editors and new folders are left out."""
    paths = sorted(Path(workspace, os.fsdecode(path)) for path in watcher.look())
    return [str(path) for path in paths if path.is_file()][:MOST_CHANGED]
