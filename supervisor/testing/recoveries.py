"""The rules for any recovery: the same end gives the same plan, and one that can be carried out."""

from collections.abc import Iterator

from interventions.recovery.after_end import AgentEnd, Follow, RecoveryAnswer, RecoveryPlan
from interventions.recovery.crash_context import LastAttempt
from supervisor.testing.samples import step

MOST_SECONDS = 7 * 86_400.0
"""Longest wait that a plan may ask for: a week, as chaperon takes it."""

SAID = (
    "",
    "Claude AI usage limit reached|1763712900",
    "API Error: 529 overloaded_error",
    "\x00{0} %s " * 50,
    "x" * 100_000,
)


def check_recovery(answer: RecoveryAnswer) -> None:
    """Check one recovery with ends of every kind.

    Raises:
        AssertionError: It does not keep to the contract.
    """
    assert answer.name.strip(), "incidents call it by its name"
    for ended in ends():
        plan = answer.after_end(ended)
        assert plan == answer.after_end(ended), "the same end gave another plan"
        if plan is None:
            continue
        assert isinstance(plan, RecoveryPlan), f"a {type(plan).__name__} is no plan"
        assert 0 <= plan.wait_seconds <= MOST_SECONDS, f"it waits {plan.wait_seconds} s"
        assert plan.why, "it gives no reason"
        assert plan.follow is Follow.PERSON or plan.prompt.strip(), "it says nothing to the agent that goes on"


def ends() -> Iterator[AgentEnd]:
    """Yield ends: before and after the agent began, the first and a later one, with all that a CLI may say."""
    for said in SAID:
        for began in (True, False):
            for times in (1, 9):
                last = LastAttempt(times, "signal 9", history=(step(failed=True),) * 5)
                yield AgentEnd(said=said, began=began, crashes=times, waits=times, prompt="Mend the parser", last=last)
