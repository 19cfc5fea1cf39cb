"""The work of merges: their steps in the journal, and the way of one merge onto its target.

A merge is made in memory, checked on files of its own, and then the target moves by compare-and-swap. Each phase is in
the journal before it begins, so that a daemon that was killed leaves the target on the old commit or on the new one.
Whatever fails parks the merge with all kept.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import pygit2

from checkpoints.branches import MERGED
from host.apart import ApartError, run_apart
from monitors.contract.errors import ChaperonError, NotFoundError
from monitors.contract.tasks import Limits
from monitors.contract.wording import counted
from supervisor.core.board import Board
from supervisor.protocol.events import MergeChanged
from supervisor.protocol.merges import CheckResult, Merge, MergePhase
from supervisor.runtime.clock import Clock
from supervisor.runtime.journal.journal import Journal
from supervisor.runtime.log import log
from supervisor.runtime.merging import target as targets
from supervisor.runtime.merging.git_merge import MergeError, MergeMade, Sides, make_merge, open_repository
from supervisor.runtime.merging.merge_rules import MergeRules
from supervisor.runtime.merging.scratch import make_scratch, remove_scratch
from supervisor.runtime.merging.verification import Check, Verifier
from supervisor.runtime.processes.contained import end_noted
from supervisor.runtime.processes.user_program import ProgramError, run_program

T = TypeVar("T")

MOST_RACES = 5
"""How often a merge is made anew because its target moved meanwhile. A person who commits every minute does not keep
up with that."""

MOST_NAMED = 20
"""Conflicts that the journal has of one merge."""


async def no_veto(_merge: Merge) -> str:
    """Let every merge be."""
    return ""


class MergeWork:
    """Takes merges through their phases.

    Args:
        board: All agents, and all merges.
        journal: Has each step before it is taken.
        happened: Receives each step.
        clock: Gives the time.
        verifier: Runs checks.
        rules: The settings.
    """

    def __init__(
        self,
        board: Board,
        journal: Journal,
        happened: Callable[[Any], int],
        clock: Clock,
        verifier: Verifier,
        rules: MergeRules,
    ) -> None:
        self.rules = rules
        self.before_merge: Callable[[Merge], Awaitable[str]] = no_veto
        """Returns why a merge may not be; empty if it may."""
        self.merged: Callable[[Merge], None] = lambda _: None
        """Called once a merge is made and in the journal."""
        self._board = board
        self._journal = journal
        self._happened = happened
        self._clock = clock
        self._verifier = verifier
        self._changed: dict[str, anyio.Event] = {}

    async def try_out(self, merge: Merge) -> MergeMade:
        """Return what git makes of a merge now; nothing is written.

        Raises:
            MergeError, UsageError: Git cannot make it.
        """
        return await self.apart(make_merge, self._sides(merge), write=False)

    async def clear(self) -> None:
        """End the checks that a daemon before this one left, and remove the files that it had merged for them."""
        await anyio.to_thread.run_sync(end_noted, self._verifier.notes)
        await anyio.to_thread.run_sync(self._clear_scratch)

    def _clear_scratch(self) -> None:
        folder = self.rules.folder
        for one in sorted(folder.iterdir()) if folder.is_dir() else ():
            _remove(one)

    async def carry_out(self, merge: Merge) -> None:
        """Take a merge of the queue as far as it goes: it is made, proposed, or parked with the reason."""
        for _ in range(MOST_RACES):
            try:
                return await self._try(merge)
            except targets.TargetMovedError as error:
                merge = await self.step(replace(self.now(merge), phase=MergePhase.QUEUED, why=str(error), merged=""))
            except targets.TargetHeldError as error:
                now = self.now(merge)
                again = f"To have it: chaperon merge {merge.id} --yes, once nothing there is uncommitted."
                why = f"{error.what} {error.way_out or again}"
                phase = MergePhase.PROPOSED if not now.by else MergePhase.PARKED
                await self.step(replace(now, phase=phase, why=why))
                return None
            except (ChaperonError, pygit2.GitError, OSError, ProgramError) as error:
                return await self.park(merge.id, str(error))
        return await self.park(merge.id, f"{merge.target} moved {MOST_RACES} times while it was made")

    async def _try(self, merge: Merge) -> None:
        if not merge.by and (mode := self._mode_of(merge)) != "auto":
            why = f"merge.mode is {mode} now; before: {merge.why}"
            await self.step(replace(merge, phase=MergePhase.PROPOSED, why=why))
            return
        if not merge.merged or not await self._still(merge):
            made = await self._make(merge)
            if made is None:
                return
            merge = await self._check(made)
            if merge.check is not None and not merge.check.passed:
                why = f"the check of the merged files {how_it_ended(merge.check)}"
                await self.step(replace(merge, phase=MergePhase.PARKED, why=why))
                return
        if self._has_lost_claim(merge):
            await self.park(merge.id, "its run has lost the claim of the task, so that nothing of it may be merged")
            return
        merge = await self.step(replace(merge, phase=MergePhase.MOVING, why="the target is about to move"))
        update = bool(merge.by) or self.rules.merge.checked_out == "update"
        note = f"chaperon: merge {merge.branch} of {merge.id} ({merge.task})"
        where = Path(merge.project), merge.target, merge.before, merge.merged, note
        set_ = await self.in_thread(partial(targets.move, set_files=update), *where)
        also = f", with the files of {', '.join(map(str, set_))}" if set_ else ""
        await self.note_merged(merge, f"{merge.target} stands on {merge.merged[:12]}{also}")

    async def _make(self, merge: Merge) -> Merge | None:
        """Make the merged commit, and hold it; None if that was the end."""
        merge = await self.step(replace(merge, phase=MergePhase.MERGING, why="the merged commit is being made"))
        if veto := await self.before_merge(merge):
            await self.park(merge.id, veto)
            return None
        made = await self.apart(make_merge, self._sides(merge))
        merge = with_made(merge, made)
        if made.merged == made.before:
            await self.note_merged(merge, f"{merge.target} has all of it already")
            return None
        if not made.merged:
            await self.step(replace(merge, phase=MergePhase.PARKED, why=_disagree(merge)))
            return None
        if made.rewritten and not merge.by:
            why = f"the history of {merge.target} was rewritten since the work began: a person has to say that it still fits"
            await self.step(replace(merge, phase=MergePhase.PROPOSED, why=why))
            return None
        await self.in_thread(targets.hold, Path(merge.project), targets.HELD + merge.id, made.merged)
        return merge

    async def _check(self, merge: Merge) -> Merge:
        """Run the check on the merged files, if there is one: all of it by the rules that were in force as it began."""
        rules = self.rules
        command = rules.command_of(merge.project) if merge.verify is None else merge.verify
        if not command:
            return merge
        merge = await self.step(replace(merge, phase=MergePhase.VERIFYING, why=f"`{command}` runs on the merged files"))
        folder = rules.folder / merge.id
        try:
            await self.in_thread(make_scratch, folder, Path(merge.project), merge.merged)
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

    async def _still(self, merge: Merge) -> bool:
        """Whether a commit that was made and checked before the daemon ended can still be the target's next."""
        passed = merge.check.passed if merge.check is not None else not self._command_of(merge)
        return passed and await self.in_thread(_fits, merge)

    async def has_moved(self, merge: Merge) -> bool:
        """Whether the target has the merged commit."""
        try:
            return await self.in_thread(targets.holds, Path(merge.project), merge.target, merge.merged)
        except (ChaperonError, pygit2.GitError, OSError, ValueError):
            return False

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

    async def note_merged(self, merge: Merge, why: str) -> None:
        """Note that the target has it, and remove the branch."""
        merge = await self.step(replace(merge, phase=MergePhase.MERGED, why=why))
        self.merged(merge)
        await self.tidy(merge.id)

    async def tidy(self, id_: str) -> None:
        """Remove the branch of a merge that is made, once no worktree has it; its commits stay under a ref."""
        merge = self._board.merges.get(id_)
        if merge is None or merge.phase is not MergePhase.MERGED:
            return
        try:
            await self.in_thread(_tidy, merge)
        except (ChaperonError, pygit2.GitError, OSError) as error:
            log.warning("the branch %s was merged and is still there: %s", merge.branch, error)

    async def park(self, id_: str, why: str) -> None:
        """Leave a merge to a person, with all that there is of it."""
        await self.step(replace(self._board.merges.find(id_), phase=MergePhase.PARKED, why=why))

    async def step(self, merge: Merge) -> Merge:
        """Journal a step; it is on the disk when this returns."""
        merge = replace(merge, at=self._clock.wall())
        seq = self._happened(MergeChanged(**self._clock.stamp(merge.id), merge=merge))
        await self._journal.written(seq)
        if (waiting := self._changed.pop(merge.id, None)) is not None:
            waiting.set()
        return merge

    def now(self, merge: Merge) -> Merge:
        """Return a merge as it is by now."""
        return self._board.merges.find(merge.id)

    async def settled(self, id_: str) -> Merge:
        """Return a merge once nothing is under way for it."""
        while (now := self._board.merges.find(id_)).phase.under_way:
            await self._changed.setdefault(id_, anyio.Event()).wait()
        return now

    async def apart(self, work: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Do what an agent can make long without end in a process of its own.

        Raises:
            MergeError: It was given up.
        """
        try:
            return await self.in_thread(run_apart, work, *arguments, **named)
        except ApartError as error:
            raise MergeError(
                f"{error}. No branch moved.", way_out="Look at the branch with git, and merge it by hand."
            ) from error

    async def in_thread(self, work: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Do what blocks in a thread."""
        return await anyio.to_thread.run_sync(partial(work, *arguments, **named))

    def _sides(self, merge: Merge) -> Sides:
        return Sides(
            project=Path(merge.project),
            branch=merge.branch,
            target=merge.target,
            base=merge.base,
            method=self.rules.merge.method,
            trailers=(f"Chaperon-Task: {merge.task}", f"Chaperon-Agent: {merge.id}"),
        )


def with_made(merge: Merge, made: MergeMade) -> Merge:
    """Return a merge with what git made of it."""
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
    keep_as = "" if targets.holds(project, merge.target, merge.tip) else MERGED + merge.id
    targets.drop_branch(project, merge.branch, merge.tip, keep_as=keep_as)
    targets.release(project, targets.HELD + merge.id)  # last: by it the next daemon knows that this was not done


def _remove(folder: Path) -> None:
    try:
        remove_scratch(folder)
    except OSError as error:
        log.warning("the folder %s could not be removed: %s", folder, error)
