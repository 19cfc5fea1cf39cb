"""The tiers of no progress, as its detector words them."""

from interventions.settings import InterventionSettings
from interventions.words import InterventionKind
from monitors.patterns.no_progress import TIERS
from supervisor.testing.samples import issue
from tests.interventions.runs import REINFORCE, ROLLBACK, SOFT, Run


def tier(number: int) -> dict[str, object]:
    raised = TIERS[number - 1]
    return {
        "severity": raised.severity,
        "confidence": raised.confidence,
        "impact_factor": raised.impact_factor,
        "details": {"tier": number},
    }


def test_the_three_tiers_are_a_word_a_strong_one_and_a_fresh_attempt() -> None:
    run = Run(InterventionSettings(auto_rollback=True))
    chosen = [run.answer(issue("no_progress", **tier(number)), after=40) for number in (1, 2, 3)]  # type: ignore[arg-type]
    kinds: list[InterventionKind | None] = [one.kind if one else None for one in chosen]
    assert kinds == [SOFT, REINFORCE, ROLLBACK]
    assert chosen[2] is not None
    assert chosen[2].details["fresh"] is True


def test_a_tier_that_is_not_named_follows_from_what_was_tried() -> None:
    run = Run()
    kinds = [run.kind(issue("no_progress", details={"tier": "odd"}), after=40) for _ in range(2)]
    assert kinds == [SOFT, REINFORCE]
