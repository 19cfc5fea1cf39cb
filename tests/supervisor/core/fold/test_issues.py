"""Issues are fresh until the journal has them, and open until they are closed."""

from collections.abc import Sequence
from dataclasses import replace

from monitors.contract.issues import Issue
from monitors.contract.observations import Observation, TurnEnded
from monitors.contract.words import Severity
from monitors.guarded import Guarded, OpenIssues
from supervisor.core.fold.issues import Issues

FOUND = Issue("loop", Severity.MEDIUM, 0.9, 0.5, 1, "It loops.", (1,))
ENDED = TurnEnded(seq=1, mono=0.0, failed=False, cost_usd=None)


class Finds:
    name = "loop"

    def see(self, observation: Observation) -> Sequence[Issue]:
        return [FOUND] if isinstance(observation, TurnEnded) else []


class Fails:
    name = "broken"

    def see(self, observation: Observation) -> Sequence[Issue]:
        raise ValueError(observation)


def test_an_issue_is_fresh_then_open_then_gone() -> None:
    issues = Issues([Finds()])
    assert list(issues.observed(ENDED)) == []
    assert (issues.fresh, issues.open) == ([FOUND], {})
    issues.raised(FOUND)
    assert (issues.fresh, issues.open) == ([], {("loop", ""): FOUND})
    issues.raised(replace(FOUND, closed=True))
    assert issues.open == {}


def test_a_detector_that_fails_is_told_of_once_and_the_others_go_on() -> None:
    issues = Issues([Guarded(Fails(), OpenIssues()), Finds()])
    told = [failure.detector for _ in range(3) for failure in issues.observed(ENDED)]
    assert told == ["broken"]
    assert issues.fresh == [FOUND] * 3
