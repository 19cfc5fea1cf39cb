"""The plan of a project's rollback: what becomes of its tasks, agents and merges.

What is due is read off the present each time, so that a daemon that was killed anywhere finds what is left to be done.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from supervisor.core.fold.summary import Summary
from supervisor.core.tasks.records import StoredTask
from supervisor.core.tasks.store import WENT_BACK
from supervisor.protocol.merges import Merge, MergePhase
from supervisor.protocol.projects import ProjectCheckpoint, TaskMark
from supervisor.protocol.tasks import TaskRun, TaskState
from supervisor.protocol.words import AgentState


@dataclass(frozen=True, slots=True)
class AgentsGoingBack:
    """The agents at work in a project that goes back."""

    back: tuple[str, ...]
    """Those that were at work then with the same task: their conversations go back with the files."""
    ended: Mapping[str, str]
    """Those that are ended, each with the reason."""


def agents_going_back(target: ProjectCheckpoint, agents: Iterable[Summary]) -> AgentsGoingBack:
    """Return which agents go back, and which are ended.

    Args:
        target: Where the project goes back to.
        agents: Those at work in it now.
    """
    then = {mark.agent: mark for mark in target.agents}
    back, ended = list[str](), dict[str, str]()
    for one in agents:
        mark = then.get(one.agent)
        if one.origin:  # its CLI is a person's: it is told, and goes on
            back.append(one.agent)
        elif mark is None:
            ended[one.agent] = "it was started since"
        elif mark.run_id != one.run_id:
            ended[one.agent] = "it has another task now"
        elif one.state is AgentState.WAITING:
            ended[one.agent] = "it waits to be started again, so that it could not be told"
        elif one.state is AgentState.STOPPING:
            ended[one.agent] = "it is being stopped"
        else:
            back.append(one.agent)
    return AgentsGoingBack(tuple(back), ended)


@dataclass(frozen=True, slots=True)
class TasksGoingBack:
    """The stored tasks of a project that goes back."""

    changed: tuple[TaskMark, ...]
    """Those whose state, place or attempts change, as they will be."""
    under_way: tuple[str, ...]
    """Those that an agent has now."""
    finished: tuple[str, ...]
    """Those that were done since."""
    merged: Mapping[str, str]
    """Those of them that stay done, each with the branch that keeps its work."""


def tasks_going_back(
    target: ProjectCheckpoint,
    tasks: Iterable[StoredTask],
    merges: Iterable[Merge],
    back: Collection[str],
    now: float,
    *,
    with_branches: bool,
) -> TasksGoingBack:
    """Return what becomes of each stored task.

    Args:
        target: Where the project goes back to.
        tasks: Those of the project now.
        merges: Its merges now.
        back: Agents whose conversations go back: they keep their tasks.
        now: Unix time in seconds.
        with_branches: Whether branches go back as well. If not, a task whose work is merged stays done.
    """
    then = {mark.id: mark for mark in target.tasks}
    done_then = frozenset(target.done)
    into = {one.id: one.target for one in merges if one.phase is MergePhase.MERGED}
    changed, under_way, finished, merged = list[TaskMark](), list[str](), list[str](), dict[str, str]()
    for task in tasks:
        if task.state.held:
            under_way.append(task.id)
        if task.state is TaskState.DONE and task.id not in done_then:
            finished.append(task.id)
            branch = into.get(task.last_run.agent, "") if task.last_run else ""
            if branch and not with_branches:
                merged[task.id] = branch
                continue
        if task.run is not None and task.run.agent in back:
            continue
        mark = _wanted(target.name, task, then.get(task.id), task.id in done_then, now)
        if mark is not None:
            changed.append(mark)
    return TasksGoingBack(tuple(changed), tuple(under_way), tuple(finished), merged)


def task_mark(task: StoredTask) -> TaskMark:
    """Return a task as it is."""
    return TaskMark(
        id=task.id,
        state=task.state,
        why=task.why,
        priority=task.spec.priority,
        rank=task.rank,
        tries=task.tries,
        not_before=task.not_before,
        runs=task.runs,
        runs_before=task.runs_before,
    )


def _wanted(name: str, task: StoredTask, then: TaskMark | None, was_done: bool, now: float) -> TaskMark | None:
    """Return a task as it will be; None if it stays as it is."""
    back = f"its project went back to {name}"
    present = task_mark(task)
    if was_done:
        wanted = replace(
            present, state=TaskState.DONE, runs=_closed(task.runs, now, back), why=f"{back}, when it was done"
        )
        return None if task.state is TaskState.DONE else wanted
    if then is None:
        if task.state is TaskState.CANCELLED or (task.state is TaskState.PENDING and not task.runs):
            return None
        count = task.runs_before + len(task.runs)
        state, why = _without_agent(task, f"{back}, when it was not there")
        return replace(present, state=state, why=why, tries=0, not_before=0.0, runs=(), runs_before=count)
    runs = _closed(then.runs, now, back)
    if then.state.held:
        state, why = _without_agent(task, f"{back}, when {then.runs[-1].agent if then.runs else 'an agent'} had it")
        wanted = replace(then, state=state, why=why, not_before=0.0, runs=runs)
    else:
        wanted = replace(then, runs=runs)
    unchanged = replace(wanted, why="", runs=()) == replace(present, why="", runs=())
    return None if unchanged and _ids(wanted.runs) == _ids(present.runs) else wanted


def _without_agent(task: StoredTask, why: str) -> tuple[TaskState, str]:
    """Return the state of a task that its agent has no more, and why.

    One that was submitted with its agent is for no other one, unless a person has it tried again.
    """
    if not task.spec.with_agent:
        return TaskState.PENDING, why
    return TaskState.CANCELLED, f"{why}; it was submitted with its agent: chaperon task retry {task.id}"


def _closed(runs: tuple[TaskRun, ...], now: float, why: str) -> tuple[TaskRun, ...]:
    """Return the runs with the last one over: what it had is gone."""
    if not runs or runs[-1].outcome:
        return runs
    return (*runs[:-1], replace(runs[-1], ended_at=now, outcome=WENT_BACK, why=why))


def _ids(runs: tuple[TaskRun, ...]) -> list[str]:
    return [run.run_id for run in runs]


def merges_going_back(
    target: ProjectCheckpoint,
    merges: Iterable[Merge],
    tasks: Collection[str],
    gone: Collection[str],
    *,
    with_branches: bool,
) -> tuple[Merge, ...]:
    """Return the merges that change, as they will be.

    Args:
        target: Where the project goes back to.
        merges: Those of the project now, over or not.
        tasks: The stored tasks that go back to the queue: their next runs have merges of their own.
        gone: Branches that go, without `refs/heads/`.
        with_branches: Whether branches go back as well, so that what was merged since is to be merged again.
    """
    then, changed = {one.id: one for one in target.merges}, list[Merge]()
    why = f"its project went back to {target.name}"
    for one in merges:
        phase = _phase(one, then.get(one.id), with_branches, superseded=one.task in tasks or one.branch in gone)
        if phase is not one.phase:
            known = then.get(one.id, one)
            known = known if phase.over else replace(known, by="", check=None, merged="")
            changed.append(replace(known, phase=phase, why=why))
    return tuple(changed)


def _phase(one: Merge, then: Merge | None, with_branches: bool, *, superseded: bool) -> MergePhase:
    """Return the phase of a merge after its project went back."""
    if one.phase is MergePhase.MERGED and not with_branches:
        return one.phase  # the target stays, and has the work
    if then is not None and then.phase is MergePhase.MERGED:
        return then.phase if with_branches else one.phase
    if superseded or (then is None and one.phase is MergePhase.MERGED):
        return MergePhase.WITHDRAWN
    phase = then.phase if then is not None else one.phase
    return MergePhase.PROPOSED if phase.under_way else phase
