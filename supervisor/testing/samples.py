"""A task, issues and steps as plugins meet them, for the checks."""

from typing import Any

from interventions.contract import GoodMoment
from monitors.contract.actions import PastCall
from monitors.contract.issues import Issue
from monitors.contract.tasks import Task
from monitors.contract.words import Decision, Severity

TASK = Task(
    "t-1",
    "Mend the parser",
    "/repo",
    expected_paths=("src/parser/**",),
    constraints=("Change no public name.", "Keep the tests as they are."),
    goals=("All parser tests pass.", "No new dependency."),
)

MOMENT = GoodMoment("cp-7", "before the first edit", 1)


def issue(type_: str = "repetitive_errors", severity: Severity = Severity.MEDIUM, **more: Any) -> Issue:
    """Return an issue of this type."""
    given = {"confidence": 0.7, "impact_factor": 0.2, "began": 5, "sentence": f"There is {type_}.", "evidence": (5, 6)}
    return Issue(type_, severity, **{**given, **more})


class Moments:
    """Checkpoints: one good moment, or why there is none."""

    def __init__(self, found: GoodMoment | str = MOMENT) -> None:
        self.found = found

    def before(self, issue: Issue, most_back: int) -> GoodMoment | str:  # noqa: ARG002 - the protocol's
        """Return it."""
        return self.found


def step(tool: str = "Bash", summary: str = "make", *, failed: bool = False) -> PastCall:
    """Return a step that was allowed."""
    return PastCall(tool, summary, failed, Decision.ALLOW)
