"""The way of agents' branches into their targets: proposals, and one queue for each target.

A merge is made in memory, checked on files of its own, and then the target moves by compare-and-swap. Each phase is in
the journal before it begins, so that a daemon that was killed leaves the target on the old commit or on the new one,
and the next daemon goes on. Whatever fails parks the merge with all kept.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import pygit2
from anyio.abc import TaskGroup

from checkpoints.workspace import repository
from host.apart import ApartError, run_apart
from monitors.contract.errors import ChaperonError, NotFoundError, UsageError
from monitors.contract.tasks import Limits
from monitors.contract.wording import counted
from supervisor.core.board import Board
from supervisor.core.fold.summary import Summary
from supervisor.core.settings import MergeSettings, VerifySettings
from supervisor.protocol.events import MergeChanged
from supervisor.protocol.merges import (
    STEPS,
    CheckResult,
    ConflictLevel,
    Merge,
    MergePhase,
    MergePlan,
)
from supervisor.protocol.words import AgentState
from supervisor.runtime.clock import Clock
from supervisor.runtime.journal.journal import Journal, JournalError
from supervisor.runtime.log import log
from supervisor.runtime.merging import target as targets
from supervisor.runtime.merging.git_merge import MergeError, MergeMade, Sides, make_merge, open_repository
from supervisor.runtime.merging.scratch import make_scratch, remove_scratch
from supervisor.runtime.merging.verification import Check, Verifier
from supervisor.runtime.processes.contained import end_noted
from supervisor.runtime.processes.user_program import ProgramError, Trusted, as_it_is, run_program
from supervisor.runtime.waiting import becomes

T = TypeVar("T")

MOST_RACES = 5
"""How often a merge is made anew because its target moved meanwhile. A person who commits every minute does not keep
up with that."""

STILL_SECONDS = 60.0
"""Longest time until a merge that was broken off has ended: ending a check takes tenths of a second."""

MOST_NAMED = 20
"""Conflicts that the journal has of one merge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRules:
    """Settings of checks and merges, and where files of theirs are."""

    merge: MergeSettings = field(default_factory=MergeSettings)
    verify: VerifySettings = field(default_factory=VerifySettings)
    projects: Mapping[str, str] = field(default_factory=dict)
    """Check commands of projects, instead of that of `verify`."""
    folder: Path = Path("/nonexistent")
    """The folder where merged files are checked."""
    notes: Path = Path("/nonexistent")
    """The folder where running checks are noted."""
    set_up: str | None = None
    """The program that prepares workspaces, and so also these files."""
    set_up_seconds: float = 600.0
    trusted: Trusted = as_it_is
    """Tells by which path the program is run."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment of that program."""

    def command_of(self, project: str) -> str:
        """Return the check command for a project; empty if there is none."""
        return self.projects.get(project, self.verify.command)


async def no_veto(_merge: Merge) -> str:
    """Let every merge be."""
    return ""


async def leave_it(_merge: Merge) -> None:
    """Do nothing about a merge that is settled."""


class MergeQueue:
    """Proposes merges and carries them out.

    Args:
        board: All agents, and all merges.
        journal: Has each step before it is taken.
        happened: Receives each step.
        clock: Gives the time.
        verifier: Runs checks.
        rules: The settings.
        tasks: The task group of the workers.
    """

    def __init__(
        self,
        board: Board,
        journal: Journal,
        happened: Callable[[Any], int],
        clock: Clock,
        verifier: Verifier,
        rules: MergeRules,
        tasks: TaskGroup,
    ) -> None:
        self.rules = rules
        self.before_merge: Callable[[Merge], Awaitable[str]] = no_veto
        """Returns why a merge may not be; empty if it may."""
        self.merged: Callable[[Merge], None] = lambda _: None
        """Called once a merge is made and in the journal."""
        self.settled: Callable[[Merge], Awaitable[None]] = leave_it
        """Called once nothing is under way any more for a merge of the queue."""
        self._board = board
        self._journal = journal
        self._happened = happened
        self._clock = clock
        self._verifier = verifier
        self._tasks = tasks
        self._at_work: set[tuple[str, str]] = set()
        """Targets that have a worker."""
        self._scopes: dict[tuple[str, str], anyio.CancelScope] = {}
        """The scopes that break these workers off."""
        self._changed: dict[str, anyio.Event] = {}

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
        made = await self._apart(make_merge, _sides(merge, self.rules.merge.method), write=False)
        known = self._board.summary(merge.id)
        held = await self._apart(targets.checkouts, Path(merge.project), merge.target)
        return MergePlan(
            _with(merge, made),
            made.log,
            made.paths,
            tuple(str(one.path) for one in held),
            tuple(f"{one.path} {one.problem}" for one in held if one.problem),
            await self._apart(uncommitted, Path(known.workspace), known.branch),
            tuple(_warnings(merge, made)),
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
            await self._apart(make_merge, _sides(wanted, self.rules.merge.method), write=False)  # refused, not parked
            why = f"{by} asked for it"
            await self._step(replace(wanted, phase=MergePhase.QUEUED, why=why, by=by, check=None, merged=""))
        self.go_on()
        return await self._settled(wanted.id)

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
        return await self._step(replace(known, phase=MergePhase.WITHDRAWN, why=f"{by} withdrew it", by=by))

    # ── at an agent's end, and at the start ───────────────────────────────────────────────────────────────────────

    async def propose(self, agent: str) -> None:
        """Propose the merge of an agent that is done, or queue it if merges are made by themselves.

        Nothing happens if it has no commits of its own. A failure is logged: the branch is where it was.
        """
        known = self._board.summary(agent)
        mode = self.rules.merge.mode
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
            made: MergeMade | None = await self._apart(make_merge, _sides(merge, self.rules.merge.method), write=False)
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
            await self._step(replace(before, phase=MergePhase.WITHDRAWN, why=why))
            merge = replace(merge, rounds=before.rounds)
        merge = replace(_with(merge, made), why="its agent is done")
        if mode == "auto":
            merge = replace(merge, phase=MergePhase.QUEUED, why="its agent is done, and merge.mode is auto")
        await self._step(merge)

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
                    await self._step(
                        replace(other, phase=MergePhase.WITHDRAWN, why=f"{merge.id} goes on with its work")
                    )
            made = await self._apart(make_merge, _sides(merge, self.rules.merge.method), write=False)
            if not made.commits:
                return None
            merge = replace(_with(merge, made), why="its work is finished")
            phase = MergePhase.QUEUED if by_itself else MergePhase.PROPOSED
            await self._step(replace(merge, phase=phase))
        self.go_on()
        return await self._settled(merge.id)

    async def tidy(self, id_: str) -> None:
        """Remove the branch of a merge that is made, once no worktree has it; its commits stay under a ref."""
        merge = self._board.merges.get(id_)
        if merge is None or merge.phase is not MergePhase.MERGED:
            return
        try:
            await self._do(_tidy, merge)
        except (ChaperonError, pygit2.GitError, OSError) as error:
            log.warning("the branch %s was merged and is still there: %s", merge.branch, error)

    async def resolving(self, merge: Merge) -> None:
        """Note that an agent was given a merge to resolve."""
        await self._step(replace(merge, phase=MergePhase.RESOLVING, why=f"an agent resolves it: {merge.why}"))

    async def not_resolved(self, merge: Merge, why: str) -> None:
        """Park a merge again that no agent resolved."""
        await self._step(replace(merge, phase=MergePhase.PARKED, why=why))

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

    async def _settled(self, id_: str) -> Merge:
        while (now := self._board.merges.find(id_)).phase.under_way:
            await self._changed.setdefault(id_, anyio.Event()).wait()
        return now

    async def resume(self) -> None:
        """Put what a daemon before this one had under way back into the queue, and clear away what it left."""
        await anyio.to_thread.run_sync(end_noted, self._verifier.notes)
        await self._queue_again(self.all(), "the daemon ended")
        for project in {merge.project for merge in self.all() if merge.phase is MergePhase.MERGED}:
            for id_ in await self._do(targets.held, Path(project)):
                await self.tidy(id_)
        await anyio.to_thread.run_sync(self._clear_scratch)
        self.go_on()

    async def _queue_again(self, merges: list[Merge], what: str) -> None:
        """Put what was broken off back into the queue, but for what is made."""
        for merge in merges:
            if self._has_no_agent(merge):
                why = f"{what} before an agent took it up"
                await self._step(replace(merge, phase=MergePhase.QUEUED, why=why, rounds=merge.rounds - 1))
            if not merge.phase.under_way:
                continue
            if merge.phase is MergePhase.MOVING and await self._has_moved(merge):
                await self._merged(merge, f"the target had moved before {what}")
            elif merge.phase is not MergePhase.QUEUED:
                await self._step(replace(merge, phase=MergePhase.QUEUED, why=f"{what} while it was {merge.phase}"))

    async def stand_still(self, project: str) -> None:
        """Break off the merges of a project that goes back; none is under way when this returns."""
        mine = [key for key in self._at_work if key[0] == project]
        for key in mine:
            self._scopes[key].cancel()
        await becomes(lambda: self._at_work.isdisjoint(mine), STILL_SECONDS)
        await self._queue_again([one for one in self.all() if one.project == project], "its project began to go back")

    async def set_back(self, merge: Merge) -> None:
        """Give a merge the phase that it has after its project went back."""
        await self._step(merge)

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
                        await self._carry_out(merge)
                    except JournalError:
                        raise
                    except Exception as error:  # noqa: BLE001 - whatever failed, other merges must not wait for it
                        log.exception("the merge of %s failed", merge.id)
                        await self._park(merge.id, f"it failed: {error}")
                    await self._settle(self._now(merge))
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
            if self._now(merge).phase is MergePhase.RESOLVING:
                await self.not_resolved(self._now(merge), f"{merge.why}; no agent could be given it: {error}")

    def _next(self, key: tuple[str, str]) -> Merge | None:
        if self._stands_still(key[0]):
            return None
        waiting = (one for one in self.all() if one.phase is MergePhase.QUEUED)
        return next((one for one in waiting if (one.project, one.target) == key), None)

    async def _carry_out(self, merge: Merge) -> None:
        for _ in range(MOST_RACES):
            try:
                return await self._try(merge)
            except targets.TargetMovedError as error:
                merge = await self._step(replace(self._now(merge), phase=MergePhase.QUEUED, why=str(error), merged=""))
            except targets.TargetHeldError as error:
                way_out = f" {error.way_out}" if error.way_out else ""
                why = f"{error.what} To have it: chaperon merge {merge.id} --yes, once nothing there is uncommitted."
                now = self._now(merge)
                phase = MergePhase.PROPOSED if not now.by else MergePhase.PARKED
                await self._step(replace(now, phase=phase, why=why if not now.by else f"{error.what}{way_out}"))
                return None
            except (ChaperonError, pygit2.GitError, OSError, ProgramError) as error:
                return await self._park(merge.id, str(error))
        return await self._park(merge.id, f"{merge.target} moved {MOST_RACES} times while it was made")

    async def _try(self, merge: Merge) -> None:
        if not merge.by and (mode := self._mode_of(merge)) != "auto":
            why = f"merge.mode is {mode} now; before: {merge.why}"
            await self._step(replace(merge, phase=MergePhase.PROPOSED, why=why))
            return
        if not merge.merged or not await self._still(merge):
            made = await self._make(merge)
            if made is None:
                return
            merge = await self._check(made)
            if merge.check is not None and not merge.check.passed:
                why = f"the check of the merged files {how_it_ended(merge.check)}"
                await self._step(replace(merge, phase=MergePhase.PARKED, why=why))
                return
        if self._has_lost_claim(merge):
            await self._park(merge.id, "its run has lost the claim of the task, so that nothing of it may be merged")
            return
        merge = await self._step(replace(merge, phase=MergePhase.MOVING, why="the target is about to move"))
        update = bool(merge.by) or self.rules.merge.checked_out == "update"
        note = f"chaperon: merge {merge.branch} of {merge.id} ({merge.task})"
        where = Path(merge.project), merge.target, merge.before, merge.merged, note
        set_ = await self._do(partial(targets.move, set_files=update), *where)
        also = f", with the files of {', '.join(map(str, set_))}" if set_ else ""
        await self._merged(merge, f"{merge.target} stands on {merge.merged[:12]}{also}")

    async def _make(self, merge: Merge) -> Merge | None:
        """Make the merged commit, and hold it; None if that was the end."""
        merge = await self._step(replace(merge, phase=MergePhase.MERGING, why="the merged commit is being made"))
        if veto := await self.before_merge(merge):
            await self._park(merge.id, veto)
            return None
        made = await self._apart(make_merge, _sides(merge, self.rules.merge.method))
        merge = _with(merge, made)
        if made.merged == made.before:
            await self._merged(merge, f"{merge.target} has all of it already")
            return None
        if not made.merged:
            await self._step(replace(merge, phase=MergePhase.PARKED, why=_disagree(merge)))
            return None
        if made.rewritten and not merge.by:
            why = f"the history of {merge.target} was rewritten since the work began: a person has to say that it still fits"
            await self._step(replace(merge, phase=MergePhase.PROPOSED, why=why))
            return None
        await self._do(targets.hold, Path(merge.project), targets.HELD + merge.id, made.merged)
        return merge

    async def _check(self, merge: Merge) -> Merge:
        """Run the check on the merged files, if there is one: all of it by the rules that were in force as it began."""
        rules = self.rules
        command = rules.command_of(merge.project) if merge.verify is None else merge.verify
        if not command:
            return merge
        merge = await self._step(
            replace(merge, phase=MergePhase.VERIFYING, why=f"`{command}` runs on the merged files")
        )
        folder = rules.folder / merge.id
        try:
            await self._do(make_scratch, folder, Path(merge.project), merge.merged)
            facts = {"AGENT": merge.id, "WORKSPACE": str(folder), "REPOSITORY": merge.project, "TASK_ID": merge.task}
            if rules.set_up is not None:
                environment = {**rules.environment, **facts}
                seconds = rules.set_up_seconds
                trusted = rules.trusted
                await run_program("set-up program", rules.set_up, str(folder), environment, seconds, trusted)
            check = Check(
                name=merge.id,
                command=command,
                folder=str(folder),
                seconds=rules.verify.seconds,
                project=merge.project,
                limits=self._limits(merge),
                facts=facts,
            )
            result = await self._verifier.run(check)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(_remove, folder)
        return replace(merge, check=result)

    def _has_lost_claim(self, merge: Merge) -> bool:
        """Whether a merge that no person asked for is of a run whose task another has now."""
        try:
            known = self._board.summary(merge.id)
        except NotFoundError:
            return False
        return bool(known.run_id) and not merge.by and not self._board.tasks.holds(known.stored_task, known.run_id)

    def _command_of(self, merge: Merge) -> str:
        return self.rules.command_of(merge.project) if merge.verify is None else merge.verify

    def _mode_of(self, merge: Merge) -> str:
        """Return how a merge comes about that no person asked for: as its stored task has it, or as is configured."""
        task = self._board.tasks.find(merge.task)
        return (task.spec.merge if task is not None else None) or self.rules.merge.mode

    def _limits(self, merge: Merge) -> Limits:
        try:
            return self._board.summary(merge.id).task.limits
        except NotFoundError:
            return Limits()

    async def _still(self, merge: Merge) -> bool:
        """Whether a commit that was made and checked before the daemon ended can still be the target's next."""
        passed = merge.check.passed if merge.check is not None else not self._command_of(merge)
        return passed and await self._do(_fits, merge)

    async def _has_moved(self, merge: Merge) -> bool:
        try:
            return await self._do(targets.holds, Path(merge.project), merge.target, merge.merged)
        except (ChaperonError, pygit2.GitError, OSError, ValueError):
            return False

    async def _merged(self, merge: Merge, why: str) -> None:
        merge = await self._step(replace(merge, phase=MergePhase.MERGED, why=why))
        self.merged(merge)
        await self.tidy(merge.id)

    async def _park(self, id_: str, why: str) -> None:
        await self._step(replace(self._board.merges.find(id_), phase=MergePhase.PARKED, why=why))

    # ── steps ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _step(self, merge: Merge) -> Merge:
        """Journal a step; it is on the disk when this returns."""
        merge = replace(merge, at=self._clock.wall())
        seq = self._happened(MergeChanged(**self._clock.stamp(merge.id), merge=merge))
        await self._journal.written(seq)
        if (waiting := self._changed.pop(merge.id, None)) is not None:
            waiting.set()
        return merge

    def _now(self, merge: Merge) -> Merge:
        return self._board.merges.find(merge.id)

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
        """Return the agent of this name, or the last one that had the task of this id."""
        found = [one for one in self._board.summaries() if name in (one.agent, one.task.id)]
        return found[-1] if found else self._board.summary(name)

    def _clear_scratch(self) -> None:
        folder = self.rules.folder
        for one in sorted(folder.iterdir()) if folder.is_dir() else ():
            _remove(one)

    async def _apart(self, work: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Do what an agent can make long without end in a process of its own.

        Raises:
            MergeError: It was given up.
        """
        try:
            return await self._do(run_apart, work, *arguments, **named)
        except ApartError as error:
            raise MergeError(
                f"{error}. No branch moved.", way_out="Look at the branch with git, and merge it by hand."
            ) from error

    async def _do(self, work: Callable[..., T], *arguments: Any, **named: Any) -> T:
        return await anyio.to_thread.run_sync(partial(work, *arguments, **named))


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


def _sides(merge: Merge, method: Any) -> Sides:
    return Sides(
        project=Path(merge.project),
        branch=merge.branch,
        target=merge.target,
        base=merge.base,
        method=method,
        trailers=(f"Chaperon-Task: {merge.task}", f"Chaperon-Agent: {merge.id}"),
    )


def _with(merge: Merge, made: MergeMade) -> Merge:
    return replace(
        merge,
        tip=made.tip,
        before=made.before,
        merged=made.merged,
        commits=made.commits,
        files=made.files,
        level=made.level,
        conflicts=made.conflicts[:MOST_NAMED],
    )


def _disagree(merge: Merge) -> str:
    paths = ", ".join(one.path for one in merge.conflicts[:5])
    return f"{merge.branch} and {merge.target} disagree in {counted(len(merge.conflicts), 'file')} ({merge.level}): {paths}"


def how_it_ended(check: CheckResult) -> str:
    """Say how a check ended, with its command."""
    code = f" with exit code {check.code}" if check.code is not None else ""
    return f"`{check.command}` {check.outcome}{code}"


def _warnings(merge: Merge, made: MergeMade) -> list[str]:
    found = []
    if made.rewritten:
        found.append(f"The history of {merge.target} was rewritten since the work began.")
    if made.level is ConflictLevel.TRIVIAL:
        found.append("Both sides changed some of the same files, in different places.")
    return found


def uncommitted(workspace: Path, branch: str) -> int:
    """Count the paths of an agent's workspace that are not committed; 0 if it is gone. Blocks."""
    if not branch or not workspace.is_dir():
        return 0
    opened = repository.open_worktree(workspace)  # whatever an agent wrote into its core.worktree
    if opened is None:
        return 0
    try:
        status = opened.status()
    except (pygit2.GitError, OSError):
        return 0
    return sum(flags != pygit2.enums.FileStatus.IGNORED for flags in status.values())


def _fits(merge: Merge) -> bool:
    """Whether branch and target stand where they stood when the merged commit was made. Blocks."""
    repo = open_repository(Path(merge.project))
    stand = {merge.branch: merge.tip, merge.target: merge.before}
    held = repo.references.get(targets.HELD + merge.id)
    tips = (repo.references.get(f"refs/heads/{name}") for name in stand)
    return (
        held is not None
        and str(held.target) == merge.merged
        and [None if tip is None else str(tip.target) for tip in tips] == list(stand.values())
    )


def _tidy(merge: Merge) -> None:
    """Let go of the merged commit, and of the agent's branch if its work is on the target. Blocks."""
    project = Path(merge.project)
    if merge.branch == merge.target:
        return
    targets.release(project, targets.HELD + merge.id)
    keep_as = "" if targets.holds(project, merge.target, merge.tip) else targets.KEPT + merge.id
    targets.drop_branch(project, merge.branch, merge.tip, keep_as=keep_as)


def _remove(folder: Path) -> None:
    try:
        remove_scratch(folder)
    except OSError as error:
        log.warning("the folder %s could not be removed: %s", folder, error)
