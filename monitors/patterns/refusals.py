"""Budgets of refusal: an agent that batters the gate is brought before the controller."""

from collections.abc import Sequence
from dataclasses import dataclass

from monitors.contract.issues import Issue
from monitors.contract.observations import Observation, ToolCalled
from monitors.contract.words import Decision, Severity


@dataclass(frozen=True, slots=True)
class RefusalBudget:
    """How many blocks an agent may earn."""

    in_a_row: int = 3
    """Blocks in a row; the figure at which Claude Code's own auto mode hands over to a person."""
    in_session: int = 20
    """Blocks in one session, as there."""


class RefusedCalls:
    """Counts blocks. Constant memory and work."""

    name = "refusals"
    watches = frozenset({ToolCalled})

    def __init__(self, budget: RefusalBudget | None = None) -> None:
        self._budget = budget or RefusalBudget()
        self._row: list[int] = []
        self._total = 0
        self._began = 0
        self._open = False
        self._rule = ""

    def see(self, observation: Observation) -> Sequence[Issue]:
        """Count a call that was blocked; a call that was let through ends the row."""
        if not isinstance(observation, ToolCalled):
            return ()
        if observation.review.decision is not Decision.BLOCK:
            return self._let_through()
        self._row.append(observation.seq)
        del self._row[:-20]
        self._total += 1
        self._began = self._began or observation.seq
        self._rule = observation.review.rule or self._rule
        if self._total == self._budget.in_session:
            return (
                self._issue(
                    "session", self._began, f"{self._total} calls of this session were blocked.", Severity.HIGH
                ),
            )
        if len(self._row) >= self._budget.in_a_row and not self._open:
            self._open = True
            return (
                self._issue(
                    "row",
                    self._row[0],
                    f"{len(self._row)} calls in a row were blocked, the last by `{self._rule}`.",
                    Severity.MEDIUM,
                ),
            )
        return ()

    def _let_through(self) -> Sequence[Issue]:
        began = self._row[0] if self._row else 0
        self._row.clear()
        if not self._open:
            return ()
        self._open = False
        return (
            self._issue("row", began, "The agent does something that is allowed again.", Severity.MEDIUM, closed=True),
        )

    def _issue(self, key: str, began: int, sentence: str, severity: Severity, *, closed: bool = False) -> Issue:
        return Issue(
            type=self.name, severity=severity, confidence=1.0, impact_factor=0.5, began=began, sentence=sentence, evidence=tuple(self._row),
            details={"count": self._total, "in_a_row": len(self._row), "rule": self._rule}, closed=closed, key=key,
        )  # fmt: skip
