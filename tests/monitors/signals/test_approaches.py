import pytest

from monitors.signals.approaches import APPROACHES, Stuck, another


@pytest.mark.parametrize("stuck", Stuck)
def test_each_way_to_be_stuck_has_approaches_that_are_named_once_each_and_the_last_again_and_again(
    stuck: Stuck,
) -> None:
    named: list[str] = []
    for _ in APPROACHES[stuck]:
        named.append(another(stuck, named).name)
    assert len(set(named)) == len(named) >= 3
    assert another(stuck, named).name == named[-1] == "hand_over"
