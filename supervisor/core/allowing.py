"""What a person has let one agent do, as a fold over its events."""

from monitors.review.allowances import NEVER, Allowance, allowed
from supervisor.protocol.actions import Action, Review
from supervisor.protocol.errors import NotFoundError, UsageError
from supervisor.protocol.events import AllowanceGiven, AllowanceRevoked


class Allowances:
    """The allowances of one agent, by their ids, oldest first."""

    def __init__(self) -> None:
        self._given: dict[str, Allowance] = {}

    def remember(self, event: AllowanceGiven | AllowanceRevoked) -> None:
        """Fold in that one was given or taken back."""
        if isinstance(event, AllowanceRevoked):
            self._given.pop(event.id, None)
            return
        expires = None if event.seconds is None else event.mono + event.seconds
        self._given[event.id] = Allowance(
            event.id, event.by, event.rule, event.tool, event.text, event.mono, expires, event.uses
        )

    def adopted(self, now: float) -> None:
        """Fold in that another daemon took over: what was given later than now is of an earlier boot, and over for good."""
        self._given = {id_: one for id_, one in self._given.items() if one.since <= now}

    def used(self, id_: str) -> None:
        """Fold in that a review let an action pass by it; nothing where it names none."""
        if id_ in self._given:
            self._given[id_] = self._given[id_].used()

    def holding(self, now: float) -> tuple[Allowance, ...]:
        """Those that are worth something at this moment."""
        return tuple(one for one in self._given.values() if one.holds(now))

    def applied(self, action: Action, review: Review, now: float) -> Review:
        """The review with what was allowed taken into account."""
        return allowed(review, action, self._given.values(), now) if self._given else review

    def check(self, wish: AllowanceGiven | AllowanceRevoked) -> None:
        """Refuse an allowance that an agent gives itself, or that says nothing, and the end of one that there is none of.

        Raises:
            UsageError: It cannot be.
        """
        if isinstance(wish, AllowanceRevoked):
            if wish.id not in self._given:
                known = ", ".join(self._given) or "none"
                raise NotFoundError(
                    f"Agent {wish.agent!r} has no allowance {wish.id!r}.", way_out=f"There are: {known}."
                )
            return
        if wish.from_agent:
            raise UsageError(
                f"This allowance comes from a process of agent {wish.from_agent!r}; agents allow nothing. It was not given.",
                way_out="Give it from a terminal outside of it.",
            )
        if not (wish.rule or wish.text):
            raise UsageError(
                "An allowance for everything is none: it names neither a rule nor a command. It was not given.",
                way_out="Name the command, path or address exactly, or the rule; reviews name their rule.",
            )
        if wish.rule.startswith(NEVER):
            raise UsageError(
                f"Nobody is excused from {wish.rule!r}. The allowance was not given.",
                way_out="Do it yourself, outside of the agent.",
            )
        if (wish.uses is not None and wish.uses < 1) or (wish.seconds is not None and wish.seconds <= 0):
            raise UsageError(f"An allowance of {wish.uses} uses for {wish.seconds} s is none. It was not given.")
