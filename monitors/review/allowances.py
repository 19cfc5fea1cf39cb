"""Allowances: a person lets one thing pass, once or for a while. Values; who gives and uses them up is outside."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from monitors.contract.actions import Action, Review
from monitors.contract.words import Decision

NEVER = ("chaperon.", "process.kill-guard", "reviewer.failed")
"""Prefixes of rules without allowances. An agent could talk a person into an allowance, and after a reviewer's
failure it is not known what would be allowed."""


HOST_TOOL = "host"
"""The tool of an allowance for a host, which the gateway heeds; no tool of a CLI is called so."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """An exception that a person granted, for one agent."""

    id: str
    """Example: `w-4f21a0`."""
    by: str
    """The person, by user name; never an agent."""
    rule: str = ""
    """The rule that is excused; empty if the action itself says enough."""
    tool: str = ""
    """The tool; empty for any."""
    text: str = ""
    """The command, path or address, exactly; empty for any that the rule blocks."""
    since: float = 0.0
    """Seconds on the clock that never goes back, at the grant. Before that time, as after a new boot, it has no
    effect."""
    expires: float | None = None
    """Seconds on that clock, after which it is worth nothing; None if it does not expire."""
    uses: int | None = 1
    """How often it may still be used; None for as often as wanted."""

    def holds(self, now: float) -> bool:
        """Whether it is worth anything at this moment."""
        return (
            now >= self.since and (self.expires is None or now < self.expires) and (self.uses is None or self.uses > 0)
        )

    def covers(self, action: Action, review: Review, now: float) -> bool:
        """Whether this lets the action pass."""
        if review.stop or review.rule.startswith(NEVER) or not self.holds(now) or not (self.rule or self.text):
            return False
        fits = self.rule in ("", review.rule) and self.tool in ("", action.tool)
        return fits and self.text in ("", action.subject.strip())

    def used(self, times: int = 1) -> "Allowance":
        """The same after so many uses."""
        return self if self.uses is None else replace(self, uses=self.uses - times)


def allowed(review: Review, action: Action, allowances: Iterable[Allowance], now: float) -> Review:
    """Apply the first allowance that covers the review. The returned review names it, and it is then used up."""
    if review.decision not in (Decision.BLOCK, Decision.MODIFY):
        return review
    found = next((one for one in allowances if one.covers(action, review, now)), None)
    if found is None:
        return review
    reasoning = f"{found.by} allowed it ({found.id}). Without that: {review.reasoning}"
    return replace(review, decision=Decision.ALLOW, reasoning=reasoning, updated_input=None, allowance=found.id)
