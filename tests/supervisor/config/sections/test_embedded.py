"""A section has the keys of a dataclass of settings: its bounds, defaults, checks and meanings."""

import pickle
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any

import pytest
from pydantic import ValidationError

from monitors.contract.bounds import Count, Elsewhere, Flag, Key, Share, Switch, Texts, is_expression
from supervisor.config.model import Config
from supervisor.config.sections.base import Section
from supervisor.config.sections.embedded import embeds, section_of, settings_from


class Loudness(StrEnum):
    SOFT = "soft"
    LOUD = "loud"


@dataclass(frozen=True, slots=True, kw_only=True)
class BellSettings:
    """How it rings."""

    enabled: Switch = True
    strokes: Count = 3
    loudness: Annotated[Loudness | None, Key()] = None
    pattern: Annotated[str, Key(check=is_expression)] = "x"
    hours: Texts = ()
    weight: float = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HandsSettings:
    """What points."""

    hands: Count = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSettings:
    """What time it is."""

    exact: Share = 0.5
    right: Flag = True
    bell: BellSettings = field(default_factory=BellSettings)
    hands: Annotated[HandsSettings, Elsewhere("hands")] = field(default_factory=HandsSettings)


@embeds(ClockSettings)
class ClockSection(Section):
    """What time it is, for people."""

    face: str = "round"


def settings(**values: Any) -> ClockSettings:
    return settings_from(ClockSettings, ClockSection.model_validate(values).model_dump())


def test_the_keys_are_the_marked_fields_and_those_of_the_section_itself() -> None:
    assert list(ClockSection.model_fields) == ["exact", "right", "bell", "face"]
    assert list(section_of(BellSettings).model_fields) == ["enabled", "strokes", "loudness", "pattern", "hours"]


def test_without_a_word_from_the_user_the_settings_are_those_of_the_code() -> None:
    assert settings() == ClockSettings()


def test_what_the_user_writes_arrives_in_the_types_of_the_settings() -> None:
    given = settings(right="no", bell={"strokes": 5, "loudness": "loud", "hours": ["one", "two"]})
    assert (given.right, given.bell.strokes, given.bell.loudness, given.bell.hours) == (
        False, 5, Loudness.LOUD, ("one", "two"),
    )  # fmt: skip


def test_a_section_with_a_switch_is_switched_by_one_word() -> None:
    assert not settings(bell=False).bell.enabled


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"exact": 1.5}, "less than or equal to 1"),
        ({"bell": {"strokes": 0}}, "greater than or equal to 1"),
        ({"bell": {"strokes": "3"}}, "valid integer"),
        ({"bell": {"loudness": "shrill"}}, "'soft' or 'loud'"),
        ({"bell": {"pattern": "("}}, "no regular expression"),
        ({"bell": {"hours": "one"}}, "valid tuple"),
        ({"bell": {"weight": 1.0}}, "not permitted"),
        ({"hands": {"hands": 1}}, "not permitted"),
    ],
)
def test_what_the_code_cannot_use_is_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        settings(**wrong)


def test_a_section_survives_pickling_for_a_process_of_its_own() -> None:
    given = Config.model_validate({"patterns": {"repetition": {"threshold": 7}, "goal_drift": False}, "progress": None})
    assert pickle.loads(pickle.dumps(given)) == given


def test_a_key_without_a_default_is_refused_where_it_is_declared() -> None:
    @dataclass(frozen=True)
    class Nameless:
        name: Count

    with pytest.raises(TypeError, match=r"Nameless\.name is a key of the configuration and has no plain default"):
        section_of(Nameless)
