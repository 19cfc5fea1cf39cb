"""Context reinforcement: strength, emphasis, size."""

from dataclasses import replace
from typing import Any

import pytest

from interventions.contract import Case, Plan, Situation, Unfit
from interventions.kinds.context_reinforcement import STRENGTHS, ContextReinforcement, emphasised
from interventions.settings import ContextReinforcementSettings
from monitors.contract.errors import UsageError
from monitors.contract.todo import TodoItem, TodoState
from supervisor.testing.samples import TASK, issue, step

SITUATION = Situation("a1", TASK, "i-1", 0.0, history=(step("Edit", "src/parser/lex.py"), step(failed=True)))


def plan(attempt: int = 1, strength: Any = "medium", type_: str = "scope_creep", **more: object) -> Plan:
    settings = ContextReinforcementSettings(reinforcement_strength=strength)
    planned = ContextReinforcement(settings).plan(Case(issue(type_), SITUATION, attempt, **more))  # type: ignore[arg-type]
    assert isinstance(planned, Plan)
    return planned


def test_the_request_constraints_goals_and_boundaries_are_said_again() -> None:
    said = plan().message
    for part in ("Mend the parser", "Change no public name.", "All parser tests pass.", "Files: src/parser/**"):
        assert part in said


def test_light_says_only_the_request_and_what_bears_on_the_issue() -> None:
    said = plan(strength="light").message
    assert "Mend the parser" in said
    assert "Work only with the files" in said
    assert "All parser tests pass." not in said


def test_strong_says_where_the_work_stands() -> None:
    assert "src/parser/lex.py" in plan(strength="strong").message
    assert "src/parser/lex.py" not in plan().message


def test_where_the_agent_keeps_a_list_the_list_says_what_is_done_and_which_goals() -> None:
    items = (
        TodoItem("Read the lexer", TodoState.COMPLETED),
        TodoItem("Have all parser tests pass", TodoState.COMPLETED),
    )
    situation = replace(SITUATION, todo=(*items, TodoItem("Write the changelog")))
    settings = ContextReinforcementSettings(reinforcement_strength="strong")
    planned = ContextReinforcement(settings).plan(Case(issue("scope_creep"), situation))
    assert isinstance(planned, Plan)
    assert "Done so far: Read the lexer, Have all parser tests pass." in planned.message
    assert "Still open: Write the changelog." in planned.message
    assert "- All parser tests pass. (done, by your own list)" in planned.message
    assert "Still open" not in plan(strength="strong").message


def test_each_further_one_is_a_step_stronger() -> None:
    strengths = [plan(attempt, "light").details["strength"] for attempt in (1, 2, 3, 4)]
    assert strengths == ["light", "medium", "strong", "strong"]


@pytest.mark.parametrize("strength", STRENGTHS)
def test_the_size_is_bounded(strength: object) -> None:
    big = replace(TASK, prompt="x " * 50_000, constraints=("c " * 5_000,) * 90, goals=("g " * 5_000,) * 90)
    settings = ContextReinforcementSettings(reinforcement_strength=strength.name)  # type: ignore[attr-defined]
    planned = ContextReinforcement(settings).plan(Case(issue(), replace(SITUATION, task=big)))
    assert isinstance(planned, Plan)
    assert len(planned.message) <= strength.total_characters  # type: ignore[attr-defined]


def test_constraints_that_bear_on_the_issue_come_first_and_in_bold() -> None:
    constraints = ("Change no public name.", "Keep the tests as they are.")
    assert emphasised(constraints, "Tests were weakened.") == [
        "**Keep the tests as they are.**",
        "Change no public name.",
    ]


def test_examples_can_be_left_out() -> None:
    case = Case(issue("scope_creep"), SITUATION)
    without = ContextReinforcement(ContextReinforcementSettings(include_examples=False)).plan(case)
    assert isinstance(without, Plan)
    assert "For example" in plan().message
    assert "For example" not in without.message


def test_nothing_is_said_twice_unchanged() -> None:
    said: set[str] = set()
    planned: Plan | Unfit = plan()
    while isinstance(planned, Plan):
        assert planned.message not in said
        said.add(planned.message)
        planned = ContextReinforcement().plan(Case(issue("scope_creep"), SITUATION, said=frozenset(said)))
    assert len(said) == 3


def test_a_rollback_that_is_not_possible_becomes_a_plan_to_get_there_by_hand() -> None:
    assert "Going back to an earlier state was due, but none is safe." in plan(excluded="none is safe").message


def test_a_strength_that_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match="light, medium, strong"):
        ContextReinforcement(ContextReinforcementSettings(reinforcement_strength="loud"))  # type: ignore[arg-type]
