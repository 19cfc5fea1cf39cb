"""The way of agents' branches into their targets: proposals, and one queue for each target.

A merge is made in memory, checked on files of its own, and then the target moves by compare-and-swap. Each phase is in
the journal before it begins, so that a daemon that was killed leaves the target on the old commit or on the new one,
and the next daemon goes on. Whatever fails parks the merge with all kept.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from monitors.contract.errors import ChaperonError, NotFoundError, UsageError
from supervisor.core.board import Board
from supervisor.core.fold.summary import Summary
from supervisor.protocol.merges import (
    STEPS,
    ConflictLevel,
    Merge,
    MergePhase,
    MergePlan,
)
from supervisor.protocol.words import AgentState
from supervisor.runtime.journal.journal import JournalError
from supervisor.runtime.log import log
from supervisor.runtime.merging import target as targets
from supervisor.runtime.merging.git_merge import MergeError, MergeMade
from supervisor.runtime.merging.loose_work import uncommitted
from supervisor.runtime.merging.merge_work import MergeWork, with_made
from supervisor.runtime.waiting import becomes

T = TypeVar("T")

STILL_SECONDS = 60.0
"""Longest time until a merge that was broken off has ended: ending a check takes tenths of a second."""


async def leave_it(_merge: Merge) -> None:
    """Do nothing about a merge that is settled."""


class MergeQueue:
    """Proposes merges, and has them carried out one after the other for each target.

    Args:
        board: All agents, and all merges.
        work: Takes merges through their phases.
        tasks: The task group of the workers.
    """

    def __init__(self, board: Board, work: MergeWork, tasks: TaskGroup) -> None:
        self.work = work
        self.settled: Callable[[Merge], Awaitable[None]] = leave_it
        """Called once nothing is under way any more for a merge of the queue."""
        self._board = board
        self._tasks = tasks
        self._at_work: set[tuple[str, str]] = set()
        """Targets that have a worker."""
        self._scopes: dict[tuple[str, str], anyio.CancelScope] = {}
        """The scopes that break these workers off."""

    # ── what people ask ───────────────────────────────────────────────────────────────────────────────────────────

    def all(self) -> list[Merge]:
        """Return every merge that is not over, and the last ones that are."""
        return self._board.merges.all()

    async def plan(self, name: str, into: str = "") -> MergePlan:
        """Return what a merge would do now; nothing is changed.

        Args:
            name: An agent, or a task's id.
            into: The target; empty for the branch that the work was begun from.

        Raises:
            NotFoundError: There is no such agent.
            UsageError: The agent has no branch of its own, or there is no target.
            MergeError: Git cannot make the merge.
        """
        merge = self._wanted(name, into)
        made = await self.work.try_out(merge)
        known = self._board.summary(merge.id)
        held = await self.work.apart(targets.checkouts, Path(merge.project), merge.target)
        unknown, loose = [], 0
        try:
            loose = await self.work.apart(uncommitted, Path(known.workspace), known.branch)
        except MergeError as error:
            unknown = [error.what]
        return MergePlan(
            with_made(merge, made),
            made.log,
            made.paths,
            tuple(str(one.path) for one in held),
            tuple(f"{one.path} {one.problem}" for one in held if one.problem),
            loose,
            (*_warnings(merge, made), *unknown),
        )

    async def carry_out(self, name: str, by: str, into: str = "") -> Merge:
        """Merge now, behind those that wait for the same target; returns the merge as it ended.

        Raises as `plan` does.
        """
        wanted = self._wanted(name, into)
        known = self._board.merges.get(wanted.id)
        if known is not None and known.phase is MergePhase.MERGED and known.target == wanted.target:
            return known
        if (back := self._board.projects.going_back(wanted.project)) is not None:
            raise UsageError(
                f"{wanted.project} goes back to {back.checkpoint} right now; nothing was merged.",
                way_out="Ask again once that is over: chaperon checkpoints --project .",
            )
        if known is None or not known.phase.under_way:
            await self.work.try_out(wanted)  # refused, not parked
            why = f"{by} asked for it"
            await self.work.step(replace(wanted, phase=MergePhase.QUEUED, why=why, by=by, check=None, merged=""))
        self.go_on()
        return await self.work.settled(wanted.id)

    async def withdraw(self, name: str, by: str) -> Merge:
        """Take a merge off the list that is not under way. The branch stays.

        Raises:
            NotFoundError: There is none.
            UsageError: It is under way, or over.
        """
        known = self._board.merges.find(name)
        if MergePhase.WITHDRAWN not in STEPS[known.phase]:
            raise UsageError(
                f"The merge of {known.id} is {known.phase}, and cannot be withdrawn.",
                way_out="chaperon merge shows it.",
            )
        return await self.work.step(replace(known, phase=MergePhase.WITHDRAWN, why=f"{by} withdrew it", by=by))

    # ── at an agent's end, and at the start ───────────────────────────────────────────────────────────────────────

    async def propose(self, agent: str) -> None:
        """Propose the merge of an agent that is done, or queue it if merges are made by themselves.

        Nothing happens if it has no commits of its own. A failure is logged: the branch is where it was.
        """
        known = self._board.summary(agent)
        mode = self.work.rules.merge.mode
        before = self._resolved_by(known)
        if before is not None and known.state is not AgentState.DONE:
            await self.not_resolved(before, f"{before.why}; {agent}, which was to resolve it, is {known.state}")
        elif before is not None and mode == "off":
            await self.not_resolved(before, f"{before.why}; {agent} is done with it, and merge.mode is off")
        if mode == "off" or known.state is not AgentState.DONE or self._board.merges.get(agent) is not None:
            return
        if not (known.branch and known.project and known.target) or known.stored_task:
            return
        merge = merge_of(known, known.target)
        try:
            made: MergeMade | None = await self.work.try_out(merge)
        except ChaperonError as error:
            log.warning("the merge of %s is not proposed: %s", agent, error)
            made = None
        if made is None or not made.commits:
            if before is not None:
                await self.not_resolved(
                    before, f"{before.why}; {agent}, which was to resolve it, left nothing to merge"
                )
            return
        if before is not None:
            why = f"{agent} goes on with its work"
            await self.work.step(replace(before, phase=MergePhase.WITHDRAWN, why=why))
            merge = replace(merge, rounds=before.rounds)
        merge = replace(with_made(merge, made), why="its agent is done")
        if mode == "auto":
            merge = replace(merge, phase=MergePhase.QUEUED, why="its agent is done, and merge.mode is auto")
        await self.work.step(merge)

    def _resolved_by(self, known: Summary) -> Merge | None:
        """Return the merge that an agent without a stored task was given to resolve."""
        of_branch = (one for one in self.all() if known.branch and one.branch == known.branch)
        mine = (one for one in of_branch if one.project == known.project and one.id != known.agent)
        return next((one for one in mine if one.phase is MergePhase.RESOLVING and not known.stored_task), None)

    def awaits_agent(self, agent: str) -> bool:
        """Whether the work of an agent without a stored task may yet be given back, so that its workspace is needed."""
        merge, known = self._board.merges.get(agent), self._board.summary(agent)
        if merge is None or merge.by or known.stored_task:
            return False
        return merge.phase.under_way or merge.phase is MergePhase.RESOLVING

    async def take(self, merge: Merge, *, by_itself: bool) -> Merge | None:
        """Propose the merge of a task's finished work, or have it made; the merge once nothing is under way for it.

        Merges of earlier runs of the task on the same branch are withdrawn: this one has their work.

        Args:
            merge: The merge.
            by_itself: Whether it is made without a person.

        Returns:
            The merge, or None if the branch has nothing that the target has not.

        Raises:
            MergeError, UsageError: Git cannot make it.
        """
        known = self._board.merges.get(merge.id)
        if known is None:
            for other in self.all():
                same = (other.project, other.branch) == (merge.project, merge.branch) and other.task == merge.task
                if same and MergePhase.WITHDRAWN in STEPS[other.phase]:
                    await self.work.step(
                        replace(other, phase=MergePhase.WITHDRAWN, why=f"{merge.id} goes on with its work")
                    )
            made = await self.work.try_out(merge)
            if not made.commits:
                return None
            merge = replace(with_made(merge, made), why="its work is finished")
            phase = MergePhase.QUEUED if by_itself else MergePhase.PROPOSED
            await self.work.step(replace(merge, phase=phase))
        self.go_on()
        return await self.work.settled(merge.id)

    async def resolving(self, merge: Merge) -> None:
        """Note that an agent was given a merge to resolve."""
        await self.work.step(replace(merge, phase=MergePhase.RESOLVING, why=f"an agent resolves it: {merge.why}"))

    async def not_resolved(self, merge: Merge, why: str) -> None:
        """Park a merge again that no agent resolved."""
        await self.work.step(replace(merge, phase=MergePhase.PARKED, why=why))

    def _has_no_agent(self, merge: Merge) -> bool:
        """Whether a merge waits for an agent to resolve it that was never submitted.

        An agent that has ended counts until all is done at its end: what follows of the merge is decided there.
        """
        if merge.phase is not MergePhase.RESOLVING or self._board.tasks.find(merge.task) is not None:
            return False  # a stored task's next run is its own store's affair
        worked = self._board.known(merge.id)
        since = worked.first_event if worked is not None else 0
        of_branch = (
            one for one in self._board.summaries() if (one.project, one.branch) == (merge.project, merge.branch)
        )
        return all(one.first_event <= since or (one.state.ended and one.workspace_closed) for one in of_branch)

    async def resume(self) -> None:
        """Put what a daemon before this one had under way back into the queue, and clear away what it left."""
        await self.work.clear()
        await self._queue_again(self.all(), "the daemon ended")
        for project in {merge.project for merge in self.all() if merge.phase is MergePhase.MERGED}:
            for id_ in await self.work.in_thread(targets.held, Path(project)):
                await self.work.tidy(id_)
        self.go_on()

    async def _queue_again(self, merges: list[Merge], what: str) -> None:
        """Put what was broken off back into the queue, but for what is made."""
        for merge in merges:
            if self._has_no_agent(merge):
                why = f"{what} before an agent took it up"
                await self.work.step(replace(merge, phase=MergePhase.QUEUED, why=why, rounds=merge.rounds - 1))
            if not merge.phase.under_way:
                continue
            if merge.phase is MergePhase.MOVING and await self.work.has_moved(merge):
                await self.work.note_merged(merge, f"the target had moved before {what}")
            elif merge.phase is not MergePhase.QUEUED:
                await self.work.step(replace(merge, phase=MergePhase.QUEUED, why=f"{what} while it was {merge.phase}"))

    async def stand_still(self, project: str) -> None:
        """Break off the merges of a project that goes back; none is under way when this returns."""
        mine = [key for key in self._at_work if key[0] == project]
        for key in mine:
            self._scopes[key].cancel()
        await becomes(lambda: self._at_work.isdisjoint(mine), STILL_SECONDS)
        await self._queue_again([one for one in self.all() if one.project == project], "its project began to go back")

    async def set_back(self, merge: Merge) -> None:
        """Give a merge the phase that it has after its project went back."""
        await self.work.step(merge)

    def _stands_still(self, project: str) -> bool:
        return self._board.projects.going_back(project) is not None

    def go_on(self) -> None:
        """See that each target with a queue has a worker."""
        for merge in self.all():
            key = merge.project, merge.target
            if merge.phase is MergePhase.QUEUED and key not in self._at_work and not self._stands_still(merge.project):
                self._at_work.add(key)
                self._scopes[key] = anyio.CancelScope()
                self._tasks.start_soon(self._work, key, name=f"merges into {merge.target}")

    # ── the queue ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def _work(self, key: tuple[str, str]) -> None:
        """Carry out the merges into one target, one after the other."""
        try:
            with self._scopes[key]:
                while (merge := self._next(key)) is not None:
                    try:
                        await self.work.carry_out(merge)
                    except JournalError:
                        raise
                    except Exception as error:  # noqa: BLE001 - whatever failed, other merges must not wait for it
                        log.exception("the merge of %s failed", merge.id)
                        await self.work.park(merge.id, f"it failed: {error}")
                    await self._settle(self.work.now(merge))
        finally:
            self._at_work.discard(key)
            del self._scopes[key]

    async def _settle(self, merge: Merge) -> None:
        """Have what follows a merge done; whatever of it fails, other merges go on."""
        try:
            await self.settled(merge)
        except JournalError:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            log.exception("what follows the merge of %s failed", merge.id)
            if self.work.now(merge).phase is MergePhase.RESOLVING:
                await self.not_resolved(self.work.now(merge), f"{merge.why}; no agent could be given it: {error}")

    def _next(self, key: tuple[str, str]) -> Merge | None:
        if self._stands_still(key[0]):
            return None
        waiting = (one for one in self.all() if one.phase is MergePhase.QUEUED)
        return next((one for one in waiting if (one.project, one.target) == key), None)

    # ── what a person means ───────────────────────────────────────────────────────────────────────────────────────

    def _wanted(self, name: str, into: str) -> Merge:
        """Return the merge that a person means, as a new proposal if there is none.

        Raises:
            NotFoundError: There is no such agent.
            UsageError: The agent has no branch of its own, is at work, or there is no target.
        """
        known = self._summary(name)
        merge = self._board.merges.get(known.agent)
        if merge is not None and into in ("", merge.target):
            return merge
        if merge is not None and merge.phase.under_way:
            raise UsageError(f"{known.agent} is being merged into {merge.target}; nothing else was begun.")
        target = into or known.target
        if not known.branch:
            raise UsageError(
                f"{known.agent} worked in {known.workspace} itself and has no branch of its own; there is nothing to merge.",
                way_out="Start agents with --workspace new.",
            )
        if target == known.branch:
            raise UsageError(f"{target} is the branch of {known.agent} itself; nothing was merged.")
        if not known.project or not target:
            raise UsageError(
                f"It is not known into which branch the work of {known.agent} belongs; nothing was merged.",
                way_out=f"Name it: chaperon merge {known.agent} --into BRANCH"
                if known.project
                else f"Merge {known.branch} by hand.",
            )
        if not known.state.ended and known.state is not AgentState.IDLE:
            raise UsageError(
                f"{known.agent} is {known.state}, and its branch may grow; nothing was merged.",
                way_out="Wait for its end, or stop it.",
            )
        other = next((one for one in self.all() if one.branch == known.branch and one.project == known.project), None)
        if other is not None and other.id != known.agent and not other.phase.over:
            raise UsageError(f"{known.branch} is {other.id}'s too, whose merge is {other.phase}; nothing was merged.")
        return merge_of(known, target)

    def _summary(self, name: str) -> Summary:
        """Return the agent of this name, or the last one that had the task of this id; raises NotFoundError."""
        found = [one for one in self._board.summaries() if name in (one.agent, one.task.id)]
        if not found:
            raise NotFoundError(
                f"There is no agent {name!r}, and none had a task of this id; nothing was merged.",
                way_out="chaperon merge lists what waits to be merged.",
            )
        return found[-1]


def merge_of(known: Summary, target: str) -> Merge:
    """Return the merge of an agent's branch, before any request."""
    return Merge(
        id=known.agent,
        task=known.task.id,
        project=known.project,
        branch=known.branch,
        base=known.base,
        target=target,
        phase=MergePhase.PROPOSED,
        why="nobody asked for it yet",
    )


def _warnings(merge: Merge, made: MergeMade) -> list[str]:
    found = []
    if made.rewritten:
        found.append(f"The history of {merge.target} was rewritten since the work began.")
    if made.level is ConflictLevel.TRIVIAL:
        found.append("Both sides changed some of the same files, in different places.")
    return found
