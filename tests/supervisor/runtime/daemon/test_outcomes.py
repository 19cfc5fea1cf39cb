from supervisor.protocol.events import (
    AnyEvent,
    CaptureFailed,
    CheckpointMade,
    CheckpointRestored,
    RestoreFailed,
    TimerFired,
)
from supervisor.protocol.moments import RunMoment
from supervisor.runtime.clock import Clock
from supervisor.runtime.daemon.outcomes import Outcomes

STAMP = Clock().stamp("a1")


def failed(id_: str) -> RestoreFailed:
    return RestoreFailed(**STAMP, intervention=id_, checkpoint="c1", error="no")


def restored(id_: str) -> CheckpointRestored:
    return CheckpointRestored(**STAMP, intervention=id_, checkpoint="c1", session_id="")


async def test_the_first_outcome_of_a_request_comes_to_who_waits_for_its_id() -> None:
    outcomes = Outcomes()
    with (
        outcomes.expect("r1", CheckpointRestored, RestoreFailed) as first,
        outcomes.expect("person:2", CheckpointMade, CaptureFailed) as second,
    ):
        events: list[AnyEvent] = [TimerFired(**STAMP, name="r1"), failed("r2"), restored("r1"), failed("r1")]
        for seq, event in enumerate(events):
            outcomes.saw(seq, event)
        made = CheckpointMade(
            **STAMP, key="person:2", reason="person", name="c2", tree="t", number=1, moment=RunMoment(1, "s"), micros=1
        )
        outcomes.saw(9, made)
        assert await first.wait(5) == (2, restored("r1"))
        assert await second.wait(5) == (9, made)


async def test_an_outcome_of_another_kind_or_of_nobody_is_passed_over() -> None:
    outcomes = Outcomes()
    with outcomes.expect("r1", CheckpointMade, CaptureFailed) as expected:
        outcomes.saw(1, failed("r1"))
        assert await expected.wait(0) is None
    outcomes.saw(2, failed("r1"))
