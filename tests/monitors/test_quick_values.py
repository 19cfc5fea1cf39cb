"""Values that are made quickly are like those that dataclasses make."""

from dataclasses import FrozenInstanceError, dataclass, field

import pytest

from monitors.quick_values import make_quickly


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    name: str
    size: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Further(Base):
    parts: list[str] = field(default_factory=list)
    kind: str = "further"


@dataclass(frozen=True, slots=True)
class Placed:
    at: int
    to: int = 7


@dataclass(frozen=True)
class Slotless:
    at: int = 1


@dataclass(frozen=True, slots=True)
class Checked:
    at: int

    def __post_init__(self) -> None:
        if self.at < 0:
            raise ValueError(self.at)


OWN = {kind: kind.__init__ for kind in (Slotless, Checked)}
make_quickly(Further, Placed, Slotless, Checked)


def test_fields_of_bases_defaults_and_factories_are_set() -> None:
    first, second = Further(name="a"), Further(name="a", parts=["x"], size=4)
    assert (first.name, first.size, first.parts, first.kind) == ("a", 3, [], "further")
    assert (second.size, second.parts) == (4, ["x"])
    assert Further(name="a").parts is not first.parts
    assert (Placed(1), Placed(1, 2), Placed(to=2, at=1)) == (Placed(1, 7), Placed(at=1, to=2), Placed(1, 2))


def test_a_wrong_call_is_refused_as_before() -> None:
    with pytest.raises(TypeError, match=r"Further.__init__\(\) missing 1 required keyword-only argument: 'name'"):
        Further()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="takes from 2 to 3 positional arguments"):
        Placed(1, 2, 3)  # type: ignore[call-arg]


def test_a_made_value_stays_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Placed(1).at = 2  # type: ignore[misc]


def test_classes_without_slots_or_with_a_check_of_their_own_keep_their_making() -> None:
    assert {kind: kind.__init__ for kind in OWN} == OWN
    with pytest.raises(ValueError, match="-1"):
        Checked(-1)
