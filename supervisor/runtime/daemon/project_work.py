"""Checkpoints and rollbacks of whole projects, as the daemon has them: imported once one is asked for."""

from collections.abc import Awaitable, Callable, Collection
from functools import cached_property
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup

from supervisor.core.board import Board
from supervisor.protocol.commands import RestoreCheckpoint
from supervisor.protocol.projects import ProjectRollback
from supervisor.runtime.daemon.submission import UnavailableError
from supervisor.runtime.incidents.feed import NoteFault

if TYPE_CHECKING:
    from supervisor.runtime.projects.checkpoints import ProjectCheckpoints
    from supervisor.runtime.projects.rollback import ProjectRollbacks, RollbackOfProjectParts


class ProjectWork:
    """Makes what works on projects when it is needed.

    Args:
        daemon: The daemon.
        board: Its agents, tasks and project checkpoints.
        tasks: The task group of the work.
        fault: Notes an incident.
    """

    def __init__(
        self,
        daemon: "RollbackOfProjectParts",
        board: Board,
        tasks: TaskGroup,
        fault: NoteFault,
    ) -> None:
        self._daemon = daemon
        self._board = board
        self._tasks = tasks
        self._fault = fault
        self._marking = anyio.Lock()
        self.stand_stills: list[Callable[[Collection[str]], Awaitable[None]]] = []
        """Hold work on stored tasks of some repositories, while their project goes back."""

    @cached_property
    def checkpoints(self) -> "ProjectCheckpoints":
        """Makes and forgets checkpoints of projects."""
        from supervisor.runtime.projects.checkpoints import ProjectCheckpoints

        return ProjectCheckpoints(self._daemon)

    @cached_property
    def rollbacks(self) -> "ProjectRollbacks":
        """Carries out rollbacks of projects."""
        from supervisor.runtime.projects.rollback import ProjectRollbacks

        return ProjectRollbacks(self._daemon, self.checkpoints, self._stand_still, self._tasks)

    async def _stand_still(self, rollback: ProjectRollback) -> None:
        for stand_still in self.stand_stills:
            await stand_still(rollback.repositories)

    def together(self, agent: str, wanted: RestoreCheckpoint, rollback: str) -> None:
        """Note that an agent is held whose files go back with those of its whole project."""
        self.rollbacks.agents.arrived(agent, wanted, rollback)

    def resume(self) -> None:
        """Carry on the rollbacks that the daemon before this one had under way."""
        for rollback in self._board.projects.under_way():
            self.rollbacks.go_on(rollback.id)

    def refuse_going_back(self, project: str) -> None:
        """Refuse a new agent in a project that goes back; raises UnavailableError."""
        if (back := self._board.projects.going_back(project)) is not None:
            raise UnavailableError(
                f"{project} goes back to {back.checkpoint} right now; nothing was started.", way_out="Ask again soon."
            )

    async def mark(self, project: str, done: str, every: int) -> None:
        """Make the checkpoint of a project that is due after every so many of its tasks; 0 makes none.

        Args:
            project: The project of which a task has just been done.
            done: That task, or the agent if its task was given to it alone.
            every: How many make one due.
        """
        if not every or self._board.projects.finished(project) < every:
            return
        async with self._marking:
            from supervisor.runtime.projects.milestones import mark_milestone

            await mark_milestone(self._daemon, self.checkpoints, self._fault, project, done, every)
