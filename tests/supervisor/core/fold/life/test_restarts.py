"""What a session remembers of being started again."""

from interventions.decisions import EndCause, Recovery
from supervisor.core.fold.life.restarts import Retries
from supervisor.protocol.events import RecoveryChosen, StateChanged
from supervisor.protocol.words import AgentState


def chosen(cause: EndCause = EndCause.CRASHED, wait: float = 0.0) -> RecoveryChosen:
    recovery = Recovery(cause, fresh=False, why="because", wait_seconds=wait, prompt="Go on.")
    return RecoveryChosen(agent="a1", at=1_000.0, mono=5.0, recovery=recovery, session_id="s-1")


def entered(state: AgentState) -> StateChanged:
    return StateChanged(agent="a1", at=1_000.0, mono=5.0, before=AgentState.RUNNING, after=state, why="because")


def test_crashes_and_waits_are_counted_apart_and_a_good_turn_forgets_the_waits() -> None:
    retries = Retries()
    for cause in (EndCause.CRASHED, EndCause.USAGE_LIMIT, EndCause.SERVICE_FAILED):
        retries.remember(chosen(cause))
    assert (retries.crashes, retries.waits) == (1, 2)
    retries.turn_ended(failed=True)
    assert retries.waits == 2
    retries.turn_ended(failed=False)
    assert (retries.crashes, retries.waits) == (1, 0)


def test_a_launch_is_due_until_the_wait_was_entered_and_left() -> None:
    retries = Retries()
    retries.remember(chosen(wait=60.0))
    assert retries.due is not None
    assert not retries.over
    retries.remember(entered(AgentState.WAITING))
    assert retries.due is not None
    retries.remember(entered(AgentState.STARTING))
    assert retries.due is None


def test_where_nothing_is_waited_for_the_wait_is_over_at_once() -> None:
    retries = Retries()
    retries.remember(chosen())
    assert retries.over


def test_a_clock_that_was_set_makes_a_wait_neither_longer_nor_negative() -> None:
    retries = Retries()
    assert retries.seconds_left(0.0) == 0.0
    retries.remember(chosen(wait=60.0))
    assert [retries.seconds_left(at) for at in (1_000.0, 1_045.0, 9_999.0, -5.0)] == [60.0, 15.0, 0.0, 60.0]
