"""The way of a stored task's finished work: checked where it was made, merged as far as was asked, or given back.

A claim of success counts only if the check passes. A failure goes back to an agent with its output, and a conflict with
both sides, each a bounded number of times. Then the task fails or is parked, with all of its work kept.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import anyio.to_thread

from host.apart import ApartError, run_apart
from interventions.texts import work_texts
from monitors.contract.issues import Issue
from monitors.contract.wording import counted
from monitors.contract.words import Severity
from supervisor.core.board import Board
from supervisor.core.fold.summary import Summary
from supervisor.core.tasks.records import StoredTask
from supervisor.core.tasks.states import take_step
from supervisor.protocol import events
from supervisor.protocol.events import CheckMade, EventStamp, TaskMoved
from supervisor.protocol.merges import CheckOutcome, CheckResult, Merge, MergePhase
from supervisor.protocol.tasks import TaskState, TaskStep
from supervisor.runtime.merging.git_merge import MergeError
from supervisor.runtime.merging.loose_work import uncommitted
from supervisor.runtime.merging.merge_queue import MergeQueue, merge_of
from supervisor.runtime.merging.merge_work import how_it_ended
from supervisor.runtime.merging.verification import Check, Verifier
from supervisor.runtime.tasks.completion import FinishedRun, MoveTask, NextStep
from supervisor.runtime.tasks.resolving import what_to_resolve

FALSE_SUCCESS = "false_success"
"""The type of the issue and the incident about a claim of success that a check denies."""

BY = "chaperon"

HappenedWith = Callable[[events.AnyEvent], int]

NoteFault = Callable[[str, str, str, Severity, str], None]


def end_parked(board: Board, happened: HappenedWith, stamp: Callable[[str], EventStamp], merge: Merge) -> None:
    """Have a parked task be done whose work was merged after all, as a person asked."""
    task = board.tasks.find(merge.task)
    if task is None or task.state is not TaskState.PARKED or not task.last_run or task.last_run.agent != merge.id:
        return
    step = TaskStep.SUCCEED
    after, by = take_step(task.id, task.state, step), merge.by or BY
    happened(TaskMoved(**stamp(""), task=task.id, before=task.state, after=after, step=step, why=merge.why, by=by))


class WorkCompletion:
    """Brings the work of finished runs to its end.

    Args:
        board: All agents and tasks.
        happened: Receives what checks come to.
        stamp: Gives agent and times of an event of now.
        fault: Notes an incident.
        verifier: Runs checks.
        merging: Merges branches.
    """

    def __init__(
        self,
        board: Board,
        happened: HappenedWith,
        stamp: Callable[[str], EventStamp],
        fault: NoteFault,
        verifier: Verifier,
        merging: MergeQueue,
    ) -> None:
        self._board = board
        self._happened = happened
        self._stamp = stamp
        self._fault = fault
        self._verifier = verifier
        self._merging = merging

    async def complete(self, finished: FinishedRun, move: MoveTask) -> NextStep:
        """Return the step that follows; begins again wherever an earlier daemon ended."""
        task, known = finished.task, self._board.summary(finished.agent)
        command = self.command_of(task, known)
        due = None if task.state is TaskState.MERGING else await self._checked(finished, known, command, move)
        if due is not None:
            return due
        mode = task.spec.merge or self._merging.work.rules.merge.mode
        if mode == "off" or not finished.branch:
            return NextStep(TaskStep.SUCCEED, self._verified(finished, command))
        return await self._merge(finished, self._of_branch(finished, known), command, mode, move)

    def command_of(self, task: StoredTask, known: Summary) -> str:
        """Return the check command of a task: its own, or the project's; empty for none."""
        own = task.spec.verify
        return self._merging.work.rules.command_of(known.project) if own is None else own

    # ── the check ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def _checked(self, finished: FinishedRun, known: Summary, command: str, move: MoveTask) -> NextStep | None:
        """Check the work where it was made; None if it passes, or there is no check."""
        if not command:
            return None
        if finished.task.state is not TaskState.VERIFYING:
            move(TaskStep.VERIFY, f"`{command}` runs in {finished.workspace}")
        facts = {"AGENT": finished.agent, "WORKSPACE": finished.workspace, "REPOSITORY": known.project}
        result = await self._verifier.run(
            Check(
                name=finished.agent,
                command=command,
                folder=finished.workspace,
                project=known.project,
                seconds=self._merging.work.rules.verify.seconds,
                limits=known.task.limits,
                facts={**facts, "TASK_ID": finished.task.id},
            )
        )
        self._happened(CheckMade(**self._stamp(finished.agent), task=finished.task.id, result=result))
        if result.passed:
            return None
        return self._denied(finished, known, result)

    def _denied(self, finished: FinishedRun, known: Summary, result: CheckResult) -> NextStep:
        """Report a claim of success that the check denies, and give the work back."""
        how = how_it_ended(result)
        if result.outcome is CheckOutcome.NOT_STARTED:
            return NextStep(TaskStep.PARK, f"its check could not be started: {result.output}")
        sentence = f"Agent {finished.agent} ended its turn as done, and the check {how}."
        rounds, given = self._merging.work.rules.verify.rounds, _given_back(finished.task)
        issue = Issue(
            FALSE_SUCCESS,
            Severity.MEDIUM,
            1.0,
            0.5,
            known.first_event,
            sentence,
            details={"command": result.command, "outcome": str(result.outcome), "code": result.code},
        )
        self._happened(events.IssueSeen(**self._stamp(finished.agent), issue=issue))
        if given >= rounds:
            way_out = f"chaperon task show {finished.task.id}; the work is in {finished.workspace}."
            self._fault(finished.agent, FALSE_SUCCESS, sentence, Severity.HIGH, way_out)
            times = f"after it was given back {counted(given, 'time')}" if given else "and is given back to no agent"
            return NextStep(TaskStep.FAIL, f"the check {how}, {times}")
        text = work_texts.check_failed(result.command, _without_command(how), result.output, result.left)
        return NextStep(TaskStep.REWORK, text)

    # ── the merge ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def _merge(self, finished: FinishedRun, merge: Merge, command: str, mode: str, move: MoveTask) -> NextStep:
        if merge.target == merge.branch:
            return NextStep(TaskStep.PARK, f"its target is {merge.branch}, which is the branch of its own work")
        if not merge.target:
            return NextStep(TaskStep.PARK, f"it is not known into which branch {merge.branch} belongs")
        try:
            loose = await anyio.to_thread.run_sync(run_apart, uncommitted, Path(finished.workspace), finished.branch)
        except (ApartError, MergeError) as error:
            return NextStep(TaskStep.PARK, f"it is not known whether all its work is committed: {error}")
        if loose:
            if _given_back(finished.task) < self._merging.work.rules.merge.rounds:
                return self._rework(finished, work_texts.not_committed(loose, merge.branch), move)
            return NextStep(
                TaskStep.PARK, f"its work is not all committed on {merge.branch}: {counted(loose, 'path')} left"
            )
        if finished.task.state is not TaskState.MERGING:
            move(TaskStep.MERGE, f"{merge.branch} is on its way into {merge.target}")
        done = await self._merging.take(merge, by_itself=mode == "auto")
        if done is None:
            return NextStep(TaskStep.SUCCEED, f"{self._verified(finished, command)}; it changed nothing to be merged")
        if done.phase is MergePhase.MERGED:
            return NextStep(TaskStep.SUCCEED, done.why)
        if mode == "propose" and done.phase is MergePhase.PROPOSED:
            said = self._verified(finished, command)
            return NextStep(TaskStep.SUCCEED, f"{said}; to have it merged: chaperon merge {finished.task.id}")
        return await self._not_merged(finished, done)

    async def _not_merged(self, finished: FinishedRun, done: Merge) -> NextStep:
        """Give a conflict, or a check that failed on the merged files, back to an agent, or leave it to a person."""
        may = _given_back(finished.task) < self._merging.work.rules.merge.rounds
        text = what_to_resolve(done)
        if not text or not may:
            return NextStep(TaskStep.PARK, done.why)
        await self._merging.resolving(done)
        return NextStep(TaskStep.REWORK, text)

    def _rework(self, finished: FinishedRun, text: str, move: MoveTask) -> NextStep:
        """Give work back before its merge was begun: only a task on its way goes back to an agent."""
        if self._board.tasks.get(finished.task.id).state not in (TaskState.VERIFYING, TaskState.MERGING):
            move(TaskStep.MERGE, "its branch is looked at")
        return NextStep(TaskStep.REWORK, text)

    def _of_branch(self, finished: FinishedRun, known: Summary) -> Merge:
        """Return the merge of the branch; an agent that goes on with another's work has its base and target."""
        before = [one for run in finished.task.runs if (one := self._find(run.agent)) and one.branch == finished.branch]
        first = next((one for one in before if one.base), known)
        merge = merge_of(known, finished.task.spec.target or first.target)
        return replace(merge, task=finished.task.id, base=first.base, verify=finished.task.spec.verify)

    def _find(self, agent: str) -> Summary | None:
        return next((one for one in self._board.summaries() if one.agent == agent), None)

    def _verified(self, finished: FinishedRun, command: str) -> str:
        return f"agent {finished.agent} is done" + (f", and `{command}` passed" if command else "")


def _given_back(task: StoredTask) -> int:
    """Count how often the work of the present attempt was given back."""
    return sum(1 for _ in takewhile(lambda run: run.rework, reversed(task.runs)))


def _without_command(how: str) -> str:
    return how.rpartition("` ")[2]
