"""Which checkpoints stay."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from checkpoints.model import CaptureContext, Checkpoint, Reason
from checkpoints.retention import RetentionPolicy, to_drop

DAY = 86_400.0
NOW = 1_000 * DAY


def checkpoint(number: int, age_days: float = 0.0, reason: Reason = Reason.TURN, workspace: str = "/w") -> Checkpoint:
    return Checkpoint(f"c{number}", number, workspace, "", "", CaptureContext(reason, at=NOW - age_days * DAY))


def names(numbers: Iterable[int]) -> tuple[str, ...]:
    return tuple(f"c{number}" for number in numbers)


def test_the_last_three_stay_however_old_they_are() -> None:
    assert to_drop([checkpoint(number, 400) for number in range(5)], NOW) == names([0, 1])


def test_named_ones_stay_for_ever() -> None:
    made = [checkpoint(0, 400, Reason.PERSON), *(checkpoint(number, 0) for number in range(1, 60))]
    assert "c0" not in to_drop(made, NOW)


def test_those_of_a_run_go_after_minutes_and_others_after_days() -> None:
    hour = 1 / 24
    made = [
        checkpoint(0, hour, Reason.START),
        checkpoint(1, hour, Reason.TURN),
        checkpoint(2, hour, Reason.UNDO),
        checkpoint(3, 31, Reason.UNDO),
        *(checkpoint(number) for number in (4, 5, 6)),
    ]
    assert to_drop(made, NOW) == names([1, 3])


def test_no_more_than_the_count_stay_and_the_oldest_go_first() -> None:
    made = [checkpoint(number) for number in range(60)]
    assert to_drop(made, NOW) == names(range(10))


def test_each_workspace_is_counted_by_itself() -> None:
    made = [checkpoint(number, 400, workspace=f"/w{number % 2}") for number in range(6)]
    assert to_drop(made, NOW) == ()


def test_what_is_held_stays() -> None:
    made = [checkpoint(number, 400) for number in range(5)]
    assert to_drop(made, NOW, held={"c0"}) == names([1])


def test_over_quota_the_older_half_of_what_may_go_goes() -> None:
    made = [checkpoint(number, reason=Reason.START) for number in range(13)]
    assert to_drop(made, NOW, over_quota=True) == names(range(5))


@given(
    st.lists(
        st.builds(checkpoint, st.integers(0, 200), st.floats(0, 100), st.sampled_from(Reason), st.sampled_from("ab")),
        unique_by=lambda one: one.number,
        max_size=80,
    ),
    st.booleans(),
)
def test_the_newest_and_the_named_are_never_dropped_and_the_count_holds(made: list[Checkpoint], over: bool) -> None:
    policy = RetentionPolicy(max_count=10)
    dropped = set(to_drop(made, NOW, policy, over_quota=over))
    for workspace in "ab":
        of_it = sorted((one for one in made if one.workspace == workspace), key=lambda one: one.number)
        assert not dropped & {one.name for one in of_it[-3:]}
        assert not dropped & {one.name for one in of_it if one.facts.reason is Reason.PERSON}
        stay = [one for one in of_it if one.name not in dropped]
        named = [one for one in of_it[:-3] if one.facts.reason is Reason.PERSON]
        assert len(stay) <= max(10, len(named) + 3)
