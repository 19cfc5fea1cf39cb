"""Allowances: a person lets one thing pass, once or for a while. Values; who gives and uses them up is outside."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from supervisor.protocol.actions import Action, Review
from supervisor.protocol.words import Decision

NEVER = frozenset({"chaperon.self-protection", "process.kill-guard"})
"""Rules that nobody is excused from: an allowance could be had by an agent that talks a person into it."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a person has let pass."""

    id: str
    """Example: `w-4`."""
    by: str
    """Who, by user name; never an agent."""
    rule: str = ""
    """The rule that is excused; empty where the action itself says enough."""
    tool: str = ""
    """The tool; empty for any."""
    text: str = ""
    """The command or path, exactly; empty for any that the rule blocks."""
    agent: str = ""
    """The agent; empty for all."""
    expires: float | None = None
    """Seconds on the clock that never goes back, after which it is worth nothing; None where it does not expire."""
    uses: int | None = 1
    """How often it may still be used; None for as often as wanted."""

    def covers(self, action: Action, review: Review, *, agent: str, now: float) -> bool:
        """Whether this lets the action pass."""
        if (
            review.rule in NEVER
            or review.stop
            or (self.uses is not None and self.uses < 1)
            or (self.expires is not None and now >= self.expires)
        ):
            return False
        if not (self.rule or self.text):
            return False
        given = action.input.get("command", action.input.get("file_path", ""))
        return (
            self.rule in ("", review.rule)
            and self.tool in ("", action.tool)
            and self.text in ("", given)
            and self.agent in ("", agent)
        )

    def used(self) -> "Allowance":
        """The same after one use."""
        return self if self.uses is None else replace(self, uses=self.uses - 1)


def allowed(
    review: Review, action: Action, allowances: Iterable[Allowance], *, agent: str, now: float
) -> tuple[Review, Allowance | None]:
    """The review with the first allowance that covers it taken into account, and that allowance, which the caller uses up."""
    if review.decision not in (Decision.BLOCK, Decision.MODIFY):
        return review, None
    for allowance in allowances:
        if allowance.covers(action, review, agent=agent, now=now):
            reasoning = f"{allowance.by} allowed it ({allowance.id}). Without that: {review.reasoning}"
            return replace(review, decision=Decision.ALLOW, reasoning=reasoning, updated_input=None), allowance
    return review, None
