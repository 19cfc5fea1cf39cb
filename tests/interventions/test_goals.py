"""Goals that the agent's own list says are done."""

from interventions.goals import is_done, ordered
from monitors.contract.todo import TodoItem, TodoState

DONE = TodoState.COMPLETED

GOALS = ("The parser accepts empty lines.", "All tests of the parser pass.", "The change is in the changelog.")


def test_open_goals_come_first_and_each_part_keeps_its_order() -> None:
    items = (TodoItem("Make parser accept empty lines", DONE), TodoItem("Run tests of the parser until all pass"))
    assert ordered(GOALS, items) == [(GOALS[1], False), (GOALS[2], False), (GOALS[0], True)]


def test_without_a_list_no_goal_is_done() -> None:
    assert ordered(GOALS, ()) == [(goal, False) for goal in GOALS]


def test_an_item_that_is_still_open_and_says_as_much_keeps_a_goal_open() -> None:
    items = (TodoItem("Parser accepts empty lines in headers", DONE), TodoItem("Parser accepts empty lines in bodies"))
    assert not is_done(GOALS[0], items)


def test_an_item_that_shares_one_word_is_about_something_else() -> None:
    assert not is_done(GOALS[0], (TodoItem("Read the parser", DONE),))


def test_a_goal_without_words_of_its_own_is_never_taken_for_done() -> None:
    assert not is_done("Do it.", (TodoItem("Do it", DONE),))
