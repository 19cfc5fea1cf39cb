"""The message after a compaction stays small whatever is in it."""

from interventions.texts.restated import LONGEST, restated
from monitors.contract.tasks import Task
from monitors.contract.todo import TodoItem, TodoState


def test_it_is_bounded_and_keeps_the_request_first() -> None:
    task = Task("t", "mend\nit " + "x" * 9_000, "/r", constraints=("c" * 900,) * 40, goals=("g" * 900,) * 40)
    told = restated(task, ["d" * 900] * 40, [TodoItem("t" * 200, TodoState.PENDING)] * 40, 3)
    assert len(told) <= LONGEST
    assert "What was asked: mend it xxx" in told


def test_what_is_not_there_has_no_title() -> None:
    told = restated(Task("t", "mend it", "/r"), [], [], 1)
    assert told.splitlines()[1:] == ["What was asked: mend it"]
