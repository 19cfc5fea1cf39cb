"""Soft corrections: every type, every attempt, the user's own."""

from collections.abc import Mapping

import pytest

from interventions.contract import MAX_MESSAGE, Case, Plan, Situation, Unfit
from interventions.kinds.soft_correction import SoftCorrection
from interventions.ladders import LADDERS
from interventions.texts import fields
from interventions.texts.soft_texts import OTHERWISE, SOFT_TEXTS
from supervisor.testing.samples import TASK, issue

SITUATION = Situation("a1", TASK, "i-1", 0.0)


def message(case: Case, own: Mapping[str, tuple[str, ...]] | None = None) -> str:
    planned = SoftCorrection(own).plan(case)
    assert isinstance(planned, Plan)
    return planned.message


def test_every_type_with_a_ladder_has_texts_of_its_own() -> None:
    assert set(SOFT_TEXTS) == set(LADDERS)


@pytest.mark.parametrize("type_", [*SOFT_TEXTS, "unknown"])
def test_each_attempt_names_what_is_wrong_and_another_way(type_: str) -> None:
    said = [message(Case(issue(type_), SITUATION, attempt)) for attempt in (1, 2, 3)]
    assert len(set(said)) == 3
    assert all(text.startswith("[chaperon] ") and f"There is {type_}." in text for text in said)


@pytest.mark.parametrize("text", [*SOFT_TEXTS.values(), OTHERWISE])
def test_texts_name_only_fields_that_there_are(text: object) -> None:
    for template in (text.facts, *text.ways):  # type: ignore[attr-defined]
        assert fields.fields_of(template) <= fields.FIELDS.keys()


def test_the_facts_of_a_repeated_error_are_filled_in() -> None:
    details = {"error": "No such file: src/mian.py", "count": 3, "file_path": "src/mian.py"}
    said = message(Case(issue(details=details), SITUATION))
    assert "The last time it said: No such file: src/mian.py" in said
    assert "different approach" in said


def test_own_texts_take_the_place_of_the_built_in_ones_by_attempt() -> None:
    own = {"repetitive_errors": ("First {count}", "Later {count}")}
    given = issue(details={"count": 4})
    said = [message(Case(given, SITUATION, attempt), own) for attempt in (1, 2, 3)]
    assert said == ["[chaperon] First 4", "[chaperon] Later 4", "[chaperon] Later 4"]


def test_what_was_said_before_is_said_in_another_way_and_then_not_at_all() -> None:
    case = Case(issue(), SITUATION)
    said: set[str] = set()
    for _ in range(3):
        said.add(message(Case(case.issue, SITUATION, said=frozenset(said))))
    assert len(said) == 3
    assert isinstance(SoftCorrection().plan(Case(case.issue, SITUATION, said=frozenset(said))), Unfit)


def test_a_message_stays_within_its_length_whatever_the_facts_are() -> None:
    big = "x" * 100_000
    case = Case(
        issue(sentence=big, details={"error": big, "file_path": big}), SITUATION, others=(issue(sentence=big),) * 20
    )
    assert len(message(case)) <= MAX_MESSAGE
