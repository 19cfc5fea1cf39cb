"""The agents of a project that goes back: brought to a standstill, ended, let go."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol
from uuid import uuid4

from monitors.contract.errors import ChaperonError
from supervisor.core.fold.summary import Summary
from supervisor.core.project_marks import agents_of
from supervisor.core.states import TABLE, Transition
from supervisor.protocol import events
from supervisor.protocol.commands import RestoreCheckpoint
from supervisor.protocol.events import EventStamp
from supervisor.protocol.projects import AgentMark, ProjectPhase, ProjectRollback
from supervisor.protocol.words import AgentState
from supervisor.runtime.daemon_parts import EventParts, RequestParts
from supervisor.runtime.waiting import becomes

STANDSTILL_SECONDS = 60.0
"""Longest time until all agents of a project are held. Freezing takes milliseconds; an agent that is being started,
or stopped step by step, takes some seconds."""

END_SECONDS = 60.0
"""Longest time until agents that are ended by force have gone, with what is done at an agent's end."""


class NotStillError(ChaperonError):
    """An agent could not be held, so its project did not go back."""


class AgentParts(RequestParts, EventParts, Protocol):
    """The parts of the daemon that steer agents."""

    def is_watched(self, agent: str) -> bool:
        """Whether something is still to be done for an agent, if only after its end."""
        ...


@dataclass(frozen=True, slots=True)
class _StandingStill:
    """An agent that is held and waits for its files."""

    wanted: RestoreCheckpoint
    rollback: str


class ProjectAgents:
    """Brings agents of a project to a standstill for a rollback, and has them go on after it.

    Args:
        parts: The daemon.
    """

    def __init__(self, parts: AgentParts) -> None:
        self._parts = parts
        self._still: dict[str, _StandingStill] = {}

    def arrived(self, agent: str, wanted: RestoreCheckpoint, rollback: str) -> None:
        """Note that an agent is held for a rollback; it is told at once if that is over."""
        self._still[agent] = _StandingStill(wanted, rollback)
        known = self._parts.board.projects.rollback(rollback)
        if known is None or known.phase.over:
            self.let_go(rollback)

    async def stand_still(self, rollback: ProjectRollback) -> None:
        """Bring all agents of the project to a standstill; they are told nothing yet.

        Raises:
            NotStillError: One could not be, or not in time.
        """
        asked: set[str] = set()

        def all_stand() -> bool:
            stand = [self._stands(one, rollback, asked) for one in agents_of(self._parts.board, rollback.project)]
            return all(stand)  # each of them is asked, also if one before it does not stand yet

        if not await becomes(all_stand, STANDSTILL_SECONDS):
            moving = [one for one in agents_of(self._parts.board, rollback.project) if one.agent not in self._still]
            names = ", ".join(f"{one.agent} ({one.state})" for one in moving)
            raise NotStillError(
                f"Agents of {rollback.project} did not stand still in {STANDSTILL_SECONDS:g} s: {names}."
            )

    def _stands(self, one: Summary, rollback: ProjectRollback, asked: set[str]) -> bool:
        """Whether an agent is held; it is asked to be if it was not."""
        agent, board = one.agent, self._parts.board
        if one.state is AgentState.WAITING:
            return True  # no process of it runs
        session = next((session for session in board.live() if session.summary.agent == agent), None)
        if session is None or Transition.GO_BACK not in TABLE[one.state]:
            return False  # it is on its way out
        if session.goes_back_with == rollback.id:
            return agent in self._still and self._still[agent].rollback == rollback.id
        if agent in asked:
            raise NotStillError(f"Agent {agent} did not stand still, so {rollback.project} did not go back.")
        if not session.goes_back and session.launched:
            asked.add(agent)
            stamp = self._parts.stamp(agent)
            request = events.RollbackRequested(
                **stamp, id=uuid4().hex[:12], checkpoint=rollback.checkpoint, by=rollback.by, together=rollback.id
            )
            self._parts.happened(request)
        return False

    async def end(self, agents: tuple[str, ...], why: str) -> None:
        """End agents by force, and wait until all that is done at their end is done.

        Raises:
            NotStillError: One could not be ended in time.
        """
        for agent in agents:
            if not self._parts.board.summary(agent).state.ended:
                stamp = self._parts.stamp(agent)
                await self._parts.request(events.StopRequested(**stamp, by="chaperon", reason=why, force=True))
        if not await becomes(lambda: all(self._has_gone(agent) for agent in agents), END_SECONDS):
            names = ", ".join(agent for agent in agents if not self._has_gone(agent))
            raise NotStillError(f"Agents could not be ended within {END_SECONDS:g} s: {names}.")
        for agent in agents:
            self._still.pop(agent, None)

    def _has_gone(self, agent: str) -> bool:
        return self._parts.board.summary(agent).state.ended and not self._parts.is_watched(agent)

    def let_go(self, rollback: str, restored: Callable[[str], int] = lambda _: 0) -> None:
        """Have the agents that are held for a rollback which is over go on: as it came out, or as they were.

        Args:
            rollback: Its id.
            restored: Returns how many paths of an agent's workspace changed.
        """
        known = self._parts.board.projects.rollback(rollback)
        for agent, here in list(self._still.items()):
            if here.rollback != rollback:
                continue
            del self._still[agent]
            if self._parts.board.summary(agent).state.ended:
                continue
            stamp, id_ = self._parts.stamp(agent), here.wanted.intervention
            if known is not None and known.phase is ProjectPhase.DONE:
                self._parts.happened(self._restored(stamp, here.wanted, known, restored(agent)))
            else:
                error = known.error if known else "The rollback of its project is not known any more."
                name = here.wanted.checkpoint
                self._parts.happened(events.RestoreFailed(**stamp, intervention=id_, checkpoint=name, error=error))

    def _restored(
        self, stamp: EventStamp, wanted: RestoreCheckpoint, done: ProjectRollback, count: int
    ) -> events.CheckpointRestored:
        target = self._parts.board.projects.get(done.project, done.checkpoint)
        mark = next((one for one in target.agents if one.agent == stamp["agent"]), None) if target else None
        files_only = wanted.how.files_only
        position = mark if mark is not None and mark.message_uuid else AgentMark(stamp["agent"], "", "", "")
        return events.CheckpointRestored(
            **stamp,
            intervention=wanted.intervention,
            checkpoint=done.checkpoint,
            undo=done.undo,
            restored=count,
            session_id="" if files_only else str(uuid4()),
            resume_session="" if files_only else position.session_id,
            resume_at="" if files_only else position.message_uuid,
            files_only=files_only,
        )
