"""Soft correction: a word in the agent's ear, with the facts and one way on."""

from collections.abc import Mapping
from dataclasses import replace

from interventions.contract import MAX_MESSAGE, Case, Plan, Unfit
from interventions.texts import fields
from interventions.texts.soft_texts import OTHERWISE, SOFT_TEXTS
from interventions.words import InterventionKind

ATTEMPTS = 3
"""Ways that the built-in texts of a type know."""


class SoftCorrection:
    """Says something else at each attempt.

    Args:
        custom: The user's texts by issue type, one for each attempt, checked by `texts.load`; they replace the built-in
            ones.
    """

    name = "soft_correction"
    kind = InterventionKind.SOFT_CORRECTION
    types: tuple[str, ...] = ()

    def __init__(self, custom: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self._custom = custom or {}

    def plan(self, case: Case) -> Plan | Unfit:
        """The message."""
        attempts = (replace(case, attempt=attempt) for attempt in range(case.attempt, case.attempt + ATTEMPTS))
        messages = (self._message(attempt) for attempt in attempts)
        fresh = next((message for message in messages if message not in case.said), None)
        return Plan(fresh) if fresh is not None else Unfit("all that there is to say was said before, word for word")

    def _message(self, case: Case) -> str:
        facts = fields.facts_of(case)
        said = fields.fill(self._template(case.issue.type, case.attempt), facts)
        if case.others:
            said += fields.fill("\nAlso seen: {others}", facts)
        return fields.cut(fields.OPENING + said, MAX_MESSAGE)

    def _template(self, issue_type: str, attempt: int) -> str:
        own = self._custom.get(issue_type)
        if own:
            return own[min(attempt, len(own)) - 1]
        text = SOFT_TEXTS.get(issue_type, OTHERWISE)
        return f"{text.facts}\n{text.ways[min(attempt, len(text.ways)) - 1]}"
