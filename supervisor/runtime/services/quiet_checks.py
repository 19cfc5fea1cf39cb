"""Checks of agents' work in quiet moments, so that the detection of progress knows how the work stands.

A moment is quiet if no call of the agent is under way. The agent is neither held nor told: the check runs beside it, in
its containment. A failure counts for nothing if the agent changed something meanwhile.
"""

from collections.abc import Callable

import anyio
from anyio.abc import TaskGroup

from supervisor.core.board import Board
from supervisor.core.fold.summary import Summary
from supervisor.core.observing.read_only import only_reads
from supervisor.protocol import events
from supervisor.protocol.events import CheckMade
from supervisor.protocol.merges import CheckOutcome
from supervisor.protocol.words import AgentState
from supervisor.runtime.clock import Clock
from supervisor.runtime.merging.merge_rules import MergeRules
from supervisor.runtime.merging.verification import Check, Verifier

AT_ONCE = 2
"""Checks of different agents that run at once: each may keep a core busy for minutes."""


class QuietChecks:
    """Runs checks beside agents at work.

    Args:
        board: All agents and tasks.
        verifier: Runs checks.
        rules: Returns the rules of checks that are in force.
        happened: Receives what a check came to.
        clock: When.
        tasks: Where checks run.
    """

    def __init__(
        self,
        board: Board,
        verifier: Verifier,
        rules: Callable[[], MergeRules],
        happened: Callable[[events.AnyEvent], object],
        clock: Clock,
        tasks: TaskGroup,
    ) -> None:
        self._board, self._verifier, self._rules = board, verifier, rules
        self._happened, self._clock, self._tasks = happened, clock, tasks
        self._steps: dict[str, int] = {}
        """The steps of each agent since its last check, for agents that had any."""
        self._running: dict[str, anyio.CancelScope] = {}
        self._beside: set[str] = set()
        """Agents that changed something since their check began."""
        self._limiter = anyio.CapacityLimiter(AT_ONCE)

    def saw(self, event: events.AnyEvent) -> None:
        """Count the steps of agents, and begin a check in the first quiet moment after enough of them."""
        agent = event.agent
        match event:
            case events.ReviewMade():
                self._steps[agent] = self._steps.get(agent, 0) + 1
                if agent in self._running and not only_reads(event.action, event.review):
                    self._beside.add(agent)
            case events.StateChanged(after=after) if after not in (AgentState.RUNNING, AgentState.PAUSED):
                self._steps.pop(agent, None)
                if agent in self._running:
                    self._running[agent].cancel()
            case events.LineReceived() if 0 < self._rules().verify.every_steps <= self._steps.get(agent, 0):
                self._begin(agent)
            case _:
                pass

    def _begin(self, agent: str) -> None:
        if agent not in self._running:
            self._running[agent] = anyio.CancelScope()
            self._tasks.start_soon(self._check, agent, name=f"quiet check of {agent}")

    def _command(self, known: Summary) -> str:
        """Return the command that is due for an agent now; empty if the moment is not quiet, or there is none."""
        if known.calls or known.state is not AgentState.RUNNING:
            return ""
        self._steps[known.agent] = 0
        stored = self._board.tasks.find(known.stored_task)
        own = stored.spec.verify if stored is not None else None
        return self._rules().command_of(known.project) if own is None else own

    async def _check(self, agent: str) -> None:
        """Check the work of an agent if the moment is quiet, once the event that led here is folded in."""
        known = self._board.summary(agent)
        self._beside.discard(agent)
        facts = {"AGENT": agent, "WORKSPACE": known.workspace, "REPOSITORY": known.project, "TASK_ID": known.task.id}
        try:
            with self._running[agent]:
                if not (command := self._command(known)):
                    return
                async with self._limiter:
                    result = await self._verifier.run(
                        Check(
                            name=f"quiet:{agent}",
                            command=command,
                            folder=known.workspace,
                            project=known.project,
                            seconds=self._rules().verify.seconds,
                            limits=known.task.limits,
                            facts=facts,
                        )
                    )
                if result.outcome is not CheckOutcome.NOT_STARTED:
                    stamp, beside = self._clock.stamp(agent), agent in self._beside
                    self._happened(CheckMade(**stamp, task=known.task.id, result=result, quiet=True, beside=beside))
        finally:
            del self._running[agent]
