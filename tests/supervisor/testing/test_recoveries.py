"""The checks of recoveries see what is wrong."""

from dataclasses import replace
from itertools import count

import pytest

from interventions.recovery.after_end import AgentEnd, Follow, RecoveryPlan
from supervisor.testing import check_recovery

WAITS = RecoveryPlan(Follow.RESUME, "It waits a little.", wait_seconds=5.0, prompt="Go on.")


class Mine:
    name = "mine"

    def __init__(self, plan: RecoveryPlan | None) -> None:
        self._plan = plan

    def after_end(self, ended: AgentEnd) -> RecoveryPlan | None:  # noqa: ARG002 - the protocol's
        return self._plan


class Changing(Mine):
    name = "changing"
    numbers = count()

    def after_end(self, ended: AgentEnd) -> RecoveryPlan | None:  # noqa: ARG002 - the protocol's
        return replace(WAITS, why=f"Time {next(self.numbers)}.")


@pytest.mark.parametrize("plan", [None, WAITS, RecoveryPlan(Follow.PERSON, "A person looks at it.")])
def test_plans_that_can_be_carried_out_pass(plan: RecoveryPlan | None) -> None:
    check_recovery(Mine(plan))


@pytest.mark.parametrize(
    "plan",
    [
        replace(WAITS, prompt=" "),
        replace(WAITS, why=""),
        replace(WAITS, wait_seconds=-1.0),
        replace(WAITS, wait_seconds=1e9),
    ],
)
def test_plans_that_cannot_be_are_seen(plan: RecoveryPlan) -> None:
    with pytest.raises(AssertionError):
        check_recovery(Mine(plan))


def test_one_that_says_something_else_each_time_is_seen() -> None:
    with pytest.raises(AssertionError, match="another plan"):
        check_recovery(Changing(None))
