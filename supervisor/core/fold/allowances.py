"""Allowances that a person gave one agent, as a fold over its events."""

from collections.abc import Collection

from monitors.contract.actions import Action, Review
from monitors.contract.errors import NotFoundError, UsageError
from monitors.review.allowances import NEVER, Allowance, allowed
from monitors.review.catalogue import NAMES, near
from supervisor.protocol.events import AgentAdopted, AllowanceGiven, AllowanceRevoked, HostReached


class Allowances:
    """The allowances of one agent, by their ids, oldest first.

    Args:
        own_rules: The names of the user's own rules, and of plugins'; None if there may be others, as those of plugins
            that review.
    """

    def __init__(self, own_rules: Collection[str] | None = None) -> None:
        self.own_rules = own_rules
        """Another policy may bring others."""
        self._given: dict[str, Allowance] = {}
        self._boots: dict[str, str] = {}
        self._decided: set[str] = set()

    def remember(self, event: AllowanceGiven | AllowanceRevoked) -> None:
        """Fold in that one was given or taken back."""
        if isinstance(event, AllowanceRevoked):
            self._given.pop(event.id, None)
            return
        self._boots[event.id] = event.boot_id
        expires = None if event.seconds is None else event.mono + event.seconds
        self._given[event.id] = Allowance(
            event.id, event.by, event.rule, event.tool, event.text, event.mono, expires, event.uses
        )

    def adopted(self, event: AgentAdopted) -> None:
        """Fold in that another daemon took over: what was given in an earlier boot is over for good.

        Older journals name no boot; there, what was given later than now is of an earlier one.
        """
        self._given = {
            id_: one
            for id_, one in self._given.items()
            if one.since <= event.mono and self._boots[id_] in ("", event.boot_id)
        }

    def reviewed(self, review: Review) -> None:
        """Fold in a review: an allowance that it names is used, and the rule that decided is one that there is."""
        self._decided.add(review.rule)
        if review.allowance in self._given:
            self._given[review.allowance] = self._given[review.allowance].used()

    def reached(self, event: HostReached) -> None:
        """Fold in that the gateway connected the agent to a host by one of them."""
        if event.allowance in self._given:
            self._given[event.allowance] = self._given[event.allowance].used(event.times)

    def holding(self, now: float) -> tuple[Allowance, ...]:
        """Those that are worth something at this moment."""
        return tuple(one for one in self._given.values() if one.holds(now))

    def applied(self, action: Action, review: Review, now: float) -> Review:
        """The review with what was allowed taken into account."""
        return allowed(review, action, self._given.values(), now) if self._given else review

    def check(self, request: AllowanceGiven | AllowanceRevoked) -> None:
        """Refuse an allowance that an agent gives itself, or that is empty, and the end of one that does not exist.

        Raises:
            UsageError: It cannot be.
        """
        if isinstance(request, AllowanceRevoked):
            if request.id not in self._given:
                known = ", ".join(self._given) or "none"
                raise NotFoundError(
                    f"Agent {request.agent!r} has no allowance {request.id!r}.", way_out=f"There are: {known}."
                )
            return
        if request.from_agent:
            raise UsageError(
                f"This allowance comes from a process of agent {request.from_agent!r}; agents allow nothing. It was not given.",
                way_out="Give it from a terminal outside of it.",
            )
        if not (request.rule or request.text):
            raise UsageError(
                "An allowance for everything is none: it names neither a rule nor a command. It was not given.",
                way_out="Name the command, path or address exactly, or the rule; reviews name their rule.",
            )
        if request.rule.startswith(NEVER):
            raise UsageError(
                f"Nobody is excused from {request.rule!r}. The allowance was not given.",
                way_out="Do it yourself, outside of the agent.",
            )
        self._check_rule(request.rule)
        if (request.uses is not None and request.uses < 1) or (request.seconds is not None and request.seconds <= 0):
            raise UsageError(f"An allowance of {request.uses} uses for {request.seconds} s is none. It was not given.")

    def _check_rule(self, rule: str) -> None:
        """Refuse the name of a rule that there is not; where a plugin reviews, only one that is near to a rule's."""
        if not rule or rule in self._decided or rule in NAMES or rule in (self.own_rules or ()):
            return
        alike = near(rule, self.own_rules or ())
        if alike or self.own_rules is not None:
            meant = f"Did you mean {', '.join(map(repr, alike[:3]))}? " if alike else ""
            raise UsageError(
                f"There is no rule {rule!r}. The allowance was not given.",
                way_out=f"{meant}Reviews name their rule, and `chaperon rules` lists them.",
            )
