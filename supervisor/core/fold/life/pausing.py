"""The pause of an agent that a person asked for: pending until the agent can be held, in force until it is lifted."""

from supervisor.core.fold.summary import AskedPause
from supervisor.protocol.events import PauseRequested
from supervisor.protocol.words import AgentState


class Pausing:
    """The pause of one agent, as people asked for it. It outlives a restart of the agent and a rollback."""

    def __init__(self) -> None:
        self.pause: AskedPause | None = None
        """The last pause that was asked for and not lifted."""
        self._after_turn: int | None = None
        """How many turns had ended when it was asked for, if the turn that ran then may end; else None."""

    @property
    def asked(self) -> bool:
        """Whether one was asked for and not lifted."""
        return self.pause is not None

    @property
    def why(self) -> str:
        """The person, and the reason if one was given."""
        return self.pause.sentence if self.pause is not None else ""

    def ask(self, event: PauseRequested, state: AgentState, turns: int) -> None:
        """Take a request in; the last one counts.

        Args:
            event: The request.
            state: The agent's state then.
            turns: How many of its turns had ended.
        """
        self.pause = AskedPause(event.by, event.reason, event.at_turn_end, event.request_id, event.at)
        self._after_turn = turns if event.at_turn_end and state is AgentState.RUNNING else None

    def lift(self) -> None:
        """Forget it."""
        self.pause = self._after_turn = None

    def due(self, state: AgentState, turns: int) -> bool:
        """Whether the agent is to be held now."""
        if self.pause is None:
            return False
        if state is AgentState.RUNNING:
            return self._after_turn is None or turns > self._after_turn
        return state is AgentState.IDLE
