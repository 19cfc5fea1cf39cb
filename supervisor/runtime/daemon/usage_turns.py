"""The turns of agents that waited for their account's usage limit: one tries first, and the others follow.

Without turns all of them would start their CLIs in the moment of the reset, and each would be refused if the limit
still holds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from monitors.contract.errors import NotFoundError
from supervisor.core.board import Board
from supervisor.core.fold.summary import Summary
from supervisor.protocol.words import AgentState

TRY_SECONDS = 120.0
"""How long the one that tries first may be without an answer until the next one tries as well: a CLI begins in 2 s, and
the longest answers take a minute or two."""


@dataclass(slots=True)
class _Trying:
    """The agent that tries first."""

    agent: str
    since: float
    tokens: int
    """Its tokens before: more of them show that it was served."""
    refused: frozenset[tuple[str, float]]
    """The agents that waited as it was let go, each with the end of its wait: any other was refused since."""


@dataclass(frozen=True, slots=True)
class UsageTurn:
    """The place of an agent among those that wait for the usage limit of one account."""

    agent: str
    account: str
    priority: int
    until: float
    """When its wait ends, in Unix seconds."""
    due: bool
    """Whether its wait is over, so that it goes on as soon as its turn comes."""


class UsageTurns:
    """Lets agents go on, by priority and then by age, once the usage limit of their account is over.

    Args:
        board: The agents; what waits is read off their states, so that a daemon that starts knows it too.
        wall: Unix time in seconds.
        account: Names the account that pays for the next launch; an empty name is not known.
        go_on: Has an agent go on whose wait is not over.
    """

    def __init__(
        self,
        board: Board,
        wall: Callable[[], float],
        account: Callable[[], str] = str,
        go_on: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._board, self._wall, self._account, self._go_on = board, wall, account, go_on
        self._due: dict[str, Callable[[], object]] = {}
        """The agents whose wait is over, with what has them go on."""
        self._trying: dict[str, _Trying] = {}
        """By account."""

    def over(self, agent: str, go_on: Callable[[], object]) -> None:
        """Have an agent go on whose wait is over: at once, or in its turn if it waited for a usage limit."""
        try:
            known = self._board.summary(agent)
        except NotFoundError:
            return
        if known.limited_until is None:
            go_on()
            return
        self._due[agent] = go_on
        self.look()

    def look(self) -> None:
        """Let those go on whose turn has come."""
        waiting = self.waiting()
        for agent in set(self._due).difference(turn.agent for turn in waiting):
            del self._due[agent]  # a person had it go on, or ended it
        for turn in waiting:
            if turn.due:  # another account pays from now on: its timer has not run out
                self._due.setdefault(turn.agent, partial(self._go_on, turn.agent))
        for account in {turn.account for turn in waiting}.union(self._trying):
            self._look_at(account, [turn for turn in waiting if turn.account == account])

    def waiting(self) -> list[UsageTurn]:
        """The agents that wait for a usage limit to end, in the order of their turns.

        The wait of one that was refused by another account than the one in force is over, since that one pays next.
        """
        waiting = [one for one in self._board.at_work() if one.limited_until is not None]
        waiting.sort(key=lambda one: (-self._priority(one), one.started_at, one.agent))
        return [self._turn(one) for one in waiting]

    def _turn(self, known: Summary) -> UsageTurn:
        in_force, priority = self._account(), self._priority(known)
        if in_force and known.account not in ("", in_force):
            return UsageTurn(known.agent, in_force, priority, 0.0, due=True)
        return UsageTurn(known.agent, known.account, priority, known.limited_until or 0.0, known.agent in self._due)

    def reason(self, account: str) -> str:
        """Why no other agent of an account is begun now; empty if none waits."""
        turns = [turn for turn in self.waiting() if turn.account == account]
        if not turns or (self._is_served(account, turns) and not any(turn.due for turn in turns)):
            return ""
        until = max(turn.until for turn in turns)
        if until > self._wall():
            return f"the usage limit of the account {account} holds until {utc(until)}"
        return f"agents that waited for the usage limit of the account {account} go on first: {turns[0].agent}"

    def _look_at(self, account: str, turns: Sequence[UsageTurn]) -> None:
        served = self._is_served(account, turns)
        if served is None:
            return
        if not served or not turns:
            self._trying.pop(account, None)
        due = [turn.agent for turn in turns if turn.due]
        for agent in due if served else due[:1]:
            if not served:
                refused = frozenset((turn.agent, turn.until) for turn in turns)
                self._trying[account] = _Trying(agent, self._wall(), self._board.summary(agent).tokens, refused)
            self._due.pop(agent)()

    def _is_served(self, account: str, turns: Sequence[UsageTurn]) -> bool | None:
        """Whether the service answers the agent that tries first; None while that is not known."""
        trying = self._trying.get(account)
        if trying is None or not trying.refused.issuperset((turn.agent, turn.until) for turn in turns):
            return False
        try:
            known = self._board.summary(trying.agent)
        except NotFoundError:
            return False
        if known.tokens > trying.tokens:
            return True
        gave_up = known.state.ended or known.state is AgentState.PAUSED
        return False if gave_up or self._wall() - trying.since > TRY_SECONDS else None

    def _priority(self, known: Summary) -> int:
        task = self._board.tasks.find(known.stored_task) if known.stored_task else None
        return task.spec.priority if task is not None else 0


def utc(at: float) -> str:
    """Name a moment for people. Example: `2026-10-09 17:00 UTC`."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
