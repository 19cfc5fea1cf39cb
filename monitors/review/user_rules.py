"""The user's own rules: a tool, a pattern, and what is decided. They come before what chaperon knows.

A rule of one's own may allow, warn or block; it never takes away a block for which a critical rule asks, nor a stop.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from monitors.contract.actions import Action, Review, ReviewContext, Reviewer
from monitors.contract.subjects import SUBJECT_FIELDS
from monitors.contract.words import Decision, Severity

MAX_TEXT = 64 * 1024
"""Characters of each field that are searched: a pattern may be slow on what is longer."""

RISKS = {Decision.ALLOW: 0.0, Decision.WARN: 0.5, Decision.BLOCK: 0.9}
"""Risks that match the decision of a user's rule, so that both figures of a review agree."""


@dataclass(frozen=True, slots=True)
class OwnRule:
    """One rule of the configuration."""

    name: str
    tool: str
    """A glob. Example: `mcp__github__*`."""
    match: str
    """A regular expression; empty matches every call of the tool."""
    decision: Decision
    reason: str


class OwnRules:
    """Asks the rules first, in order, and then the reviewer behind them.

    Args:
        rules: Those of the configuration.
        reviewer: Knows what an action would do.
    """

    def __init__(self, rules: Sequence[OwnRule], reviewer: Reviewer) -> None:
        self._rules = [(rule, re.compile(rule.match)) for rule in rules]
        self._reviewer = reviewer

    def review(self, action: Action, context: ReviewContext) -> Review:
        """The reviewer's answer, with the decision of the first rule that matches."""
        known = self._reviewer.review(action, context)
        rule = next((rule for rule, pattern in self._rules if _matches(rule, pattern, action)), None)
        if rule is None or known.stop or (rule.decision is Decision.ALLOW and known.severity is Severity.CRITICAL):
            return known
        return replace(
            known,
            decision=rule.decision,
            risk=RISKS[rule.decision],
            reasoning=rule.reason,
            rule=rule.name,
            updated_input=None,
        )


def matches(rule: OwnRule, action: Action) -> bool:
    """Whether the rule is about the action."""
    return _matches(rule, re.compile(rule.match), action)


def _matches(rule: OwnRule, pattern: re.Pattern[str], action: Action) -> bool:
    if not fnmatchcase(action.tool, rule.tool):
        return False
    texts = (action.input.get(name) for name in SUBJECT_FIELDS)
    return not rule.match or any(isinstance(text, str) and pattern.search(text[:MAX_TEXT]) for text in texts)
