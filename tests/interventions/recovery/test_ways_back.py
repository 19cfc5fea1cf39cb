"""Each kind has its way back."""

import pytest

from interventions.recovery.ways_back import WAYS_BACK, way_back
from supervisor.protocol.interventions import Intervention
from supervisor.protocol.words import InterventionKind
from tests.interventions.runs import STOP, issue


def test_every_kind_has_one() -> None:
    assert set(WAYS_BACK) == set(InterventionKind)


@pytest.mark.parametrize("kind", InterventionKind)
def test_only_a_stop_needs_a_person(kind: InterventionKind) -> None:
    way = way_back(Intervention("a1-9", kind, issue(), 0.4, "because"), "a1")
    assert way.by_itself is (kind is not STOP)
    assert "{" not in way.command
    assert kind is not STOP or way.command == "chaperon recover a1-9-emergency_stop"
