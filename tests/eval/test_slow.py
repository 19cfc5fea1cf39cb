"""The search for inputs that take a review long."""

from itertools import islice

from monitors.contract.actions import Review, ReviewContext
from monitors.review import make_reviewer
from tests.eval.slow import SIZE, calls, inputs


def test_the_inputs_of_a_seed_are_the_same_and_of_the_size_that_is_stated() -> None:
    first = list(islice(inputs(1), 40))
    assert first == list(islice(inputs(1), 40)) != list(islice(inputs(2), 40))
    assert {SIZE - 200 < len(text) <= SIZE for text in first} == {True}


def test_each_gets_an_answer() -> None:
    reviewer = make_reviewer()
    made = list(islice(calls(3), 20))
    assert {action.tool for action in made} == {"Bash", "Write", "mcp__a__do"}
    for action in made:
        assert isinstance(reviewer.review(action, ReviewContext(home="/home/a")), Review)
