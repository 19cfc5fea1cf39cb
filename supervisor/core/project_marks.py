"""The tasks, agents and merges of a project as they are now."""

from collections.abc import Collection, Iterator
from dataclasses import replace

from supervisor.core.board import Board
from supervisor.core.fold.summary import Summary
from supervisor.core.projects.going_back import task_mark
from supervisor.core.tasks.records import StoredTask
from supervisor.protocol.merges import Merge, MergePhase
from supervisor.protocol.projects import AgentMark, TaskMark
from supervisor.protocol.tasks import TaskState


def tasks_of(board: Board, repositories: Collection[str]) -> Iterator[StoredTask]:
    """The stored tasks of a project.

    Args:
        board: All tasks.
        repositories: The worktrees that are of the project.
    """
    return (task for task in board.tasks if task.spec.repository in repositories)


def marks_of_tasks(board: Board, repositories: Collection[str]) -> tuple[tuple[TaskMark, ...], tuple[str, ...]]:
    """Return the tasks that are not done, and the ids of those that are; arguments as for `tasks_of`."""
    tasks = list(tasks_of(board, repositories))
    undone = tuple(task_mark(task) for task in tasks if task.state is not TaskState.DONE)
    return undone, tuple(task.id for task in tasks if task.state is TaskState.DONE)


def agents_of(board: Board, project: str) -> list[Summary]:
    """Return the agents that are at work in a project."""
    return [one for one in board.at_work() if one.project == project]


def marks_of_agents(board: Board, project: str, mono: float) -> tuple[AgentMark, ...]:
    """Return the agents at work in a project, each with its position in its conversation.

    Args:
        board: All agents.
        project: Which.
        mono: Now, in seconds on the clock of decisions.
    """
    positions = {session.summary.agent: session.position(mono) for session in board.live()}
    marks = []
    for known in agents_of(board, project):
        moment = positions.get(known.agent)
        mark = AgentMark(
            agent=known.agent,
            workspace=known.workspace,
            state=known.state,
            task=known.stored_task,
            run_id=known.run_id,
            turns=known.turns,
            session_id=moment.session_id if moment else "",
            message_uuid=moment.message_uuid if moment else "",
        )
        marks.append(mark)
    return tuple(marks)


def merges_of(board: Board, project: str) -> tuple[Merge, ...]:
    """Return the merges of a project that were not withdrawn; those that are made without their details."""
    known = [one for one in board.merges.all() if one.project == project and one.phase is not MergePhase.WITHDRAWN]
    return tuple(replace(one, conflicts=(), check=None) if one.phase.over else one for one in known)
