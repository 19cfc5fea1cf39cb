"""The search for inputs that take a review long."""

from itertools import islice

from monitors.contract.actions import Action, Review, ReviewContext
from monitors.review import make_reviewer
from tests.eval.slow import SIZE, inputs


def test_the_inputs_of_a_seed_are_the_same_and_of_the_size_that_is_stated() -> None:
    first = list(islice(inputs(1), 40))
    assert first == list(islice(inputs(1), 40)) != list(islice(inputs(2), 40))
    assert {SIZE - 200 < len(text) <= SIZE for text in first} == {True}


def test_each_gets_an_answer() -> None:
    reviewer = make_reviewer()
    for text in islice(inputs(3), 12):
        review = reviewer.review(Action("Bash", {"command": text}, "/w", "/w"), ReviewContext(home="/home/a"))
        assert isinstance(review, Review)
