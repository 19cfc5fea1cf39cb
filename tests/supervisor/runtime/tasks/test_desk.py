import itertools
import subprocess
from pathlib import Path
from typing import Any

import pytest

from monitors.contract.errors import NotFoundError, NumberedUsageError, UsageError
from supervisor.core.tasks.states import IllegalTaskStepError
from supervisor.core.tasks.store import TaskEvent, TaskStore
from supervisor.protocol import events
from supervisor.protocol.events import EventStamp, TaskClaimed, TaskMoved
from supervisor.protocol.tasks import TaskState, TaskStep
from supervisor.runtime.tasks.desk import TaskChange, TaskDesk, TaskWanted


class Office:
    """A desk over a store, without a daemon."""

    def __init__(self, repository: Path) -> None:
        self.repository = repository
        self.store = TaskStore()
        self.numbers = itertools.count(1)
        self.desk = TaskDesk(self.store, self.happened, self.written, self.stamp, lambda: None)

    def happened(self, event: events.AnyEvent) -> int:
        assert isinstance(event, TaskEvent)
        number = next(self.numbers)
        self.store.remember(number, event)
        return number

    async def written(self, _: int) -> None:
        return

    def stamp(self, agent: str) -> EventStamp:
        return {"agent": agent, "at": 1.0, "mono": 1.0}

    def wanted(self, prompt: str = "Do it.", **about: Any) -> TaskWanted:
        return TaskWanted.model_validate({"prompt": prompt, "repository": str(self.repository), **about})

    async def add(self, **about: Any) -> str:
        (id_,) = (await self.desk.add([self.wanted(**about)], "eva")).ids
        return id_


@pytest.fixture
def office(tmp_path: Path) -> Office:
    subprocess.run(["git", "init", "--quiet", str(tmp_path / "repo")], check=True)
    return Office(tmp_path / "repo")


async def test_tasks_of_one_request_depend_on_one_another_by_their_names(office: Office) -> None:
    added = await office.desk.add(
        [office.wanted("Second.", name="b", depends_on=["a"]), office.wanted("First.", name="a")], "eva"
    )
    second, first = (office.store.get(id_) for id_ in added.ids)
    assert second.spec.depends_on == (first.id,)
    assert [task.spec.prompt for task in office.store.ready()] == ["First."]


async def test_a_request_with_one_task_that_cannot_be_adds_none_and_names_it(office: Office) -> None:
    wrongs: list[tuple[dict[str, Any], str]] = [
        ({"prompt": " "}, r"Task 2 \(b\): The prompt is empty"),
        ({"repository": "/nowhere"}, r"Task 2 \(b\): The repository '/nowhere' does not exist"),
        ({"workspace": "in-place", "base": "main"}, r"Task 2 \(b\): A base is for a new workspace only"),
        ({"name_prefix": "../x"}, r"Task 2 \(b\): '../x' begins no agent's name"),
        ({"name": None, "depends_on": ["zz"]}, "depends on 'zz', which is no task"),
    ]
    for wrong, says in wrongs:
        with pytest.raises(UsageError, match=says):
            await office.desk.add([office.wanted(), office.wanted(**{"name": "b", **wrong})], "eva")
    with pytest.raises(UsageError, match=r"Task 2 \(a\): a task before it has the name 'a'; nothing was added"):
        await office.desk.add([office.wanted(name="a"), office.wanted(name="a")], "eva")
    assert len(office.store) == 0


async def test_every_fault_of_a_request_is_told_with_its_number(office: Office) -> None:
    wanted = [
        office.wanted(" "),
        office.wanted(),
        office.wanted(repository="/nowhere"),
        office.wanted(depends_on=["z"]),
    ]
    with pytest.raises(NumberedUsageError) as caught:
        await office.desk.add(wanted, "eva")
    faults = caught.value.faults
    assert faults.keys() == {1, 3, 4}
    assert faults[4].endswith("depends on 'z', which is no task")
    assert caught.value.what.startswith("Task 1: The prompt is empty; Task 3: The repository")


async def test_a_request_that_is_sent_again_adds_nothing_and_answers_the_same(office: Office) -> None:
    first = await office.desk.add([office.wanted()], "eva", "r-1")
    again = await office.desk.add([office.wanted("Something else.")], "eva", "r-1")
    assert (first.ids, first.again, again.again) == (again.ids, False, True)
    assert len(office.store) == 1


async def test_a_task_is_changed_in_what_was_given_and_in_nothing_else(office: Office) -> None:
    id_ = await office.add(verify="make test", priority=1)
    changed = await office.desk.edit(id_, TaskChange(priority=7, verify=None), "bob")
    assert (changed.spec.priority, changed.spec.verify, changed.spec.prompt) == (7, None, "Do it.")
    assert changed.history[-1].why == "changed: priority, verify"
    assert await office.desk.edit(id_, TaskChange(priority=7), "bob") == changed, "what changes nothing is no event"


@pytest.mark.parametrize("state", TaskState)
async def test_what_people_may_ask_depends_on_the_state_and_nothing_happens_twice(
    office: Office, state: TaskState
) -> None:
    id_ = await office.add()
    if state.held or state is TaskState.DONE:
        office.happened(TaskClaimed(**office.stamp(""), task=id_, run_id="r1", worker="echo-001"))
    steps = {
        TaskState.PAUSED: TaskStep.PAUSE, TaskState.WAITING: TaskStep.ASK, TaskState.VERIFYING: TaskStep.VERIFY,
        TaskState.MERGING: TaskStep.MERGE, TaskState.DONE: TaskStep.SUCCEED, TaskState.FAILED: TaskStep.FAIL,
        TaskState.PARKED: TaskStep.PARK, TaskState.CANCELLED: TaskStep.CANCEL,
    }  # fmt: skip
    before = office.store.get(id_).state
    if state in steps:
        move = {"task": id_, "before": before, "after": state, "step": steps[state], "why": "", "by": "x"}
        office.happened(TaskMoved(**office.stamp(""), run_id="r1", **move))  # type: ignore[arg-type]
    assert office.store.get(id_).state is state
    if state.held or state is TaskState.DONE:
        with pytest.raises(IllegalTaskStepError):
            await office.desk.retry(id_, "eva")
    else:
        for _ in range(2):
            assert (await office.desk.retry(id_, "eva")).state is TaskState.PENDING
    if state is TaskState.DONE:
        with pytest.raises(IllegalTaskStepError):
            await office.desk.cancel(id_, "eva")
        with pytest.raises(UsageError, match="is done and cannot be changed"):
            await office.desk.edit(id_, TaskChange(priority=1), "eva")
        return
    for _ in range(2):
        assert (await office.desk.cancel(id_, "eva", "no")).why == "cancelled by eva: no"
    assert not office.store.holds(id_, "r1")


async def test_only_pending_tasks_have_a_place_in_the_queue(office: Office) -> None:
    first, second = await office.add(), await office.add()
    await office.desk.reorder(second, office.desk.first(second), "eva")
    assert [task.id for task in office.store.ready()] == [second, first]
    await office.desk.cancel(first, "eva")
    with pytest.raises(UsageError, match="is cancelled and has no place"):
        await office.desk.reorder(second, first, "eva")
    with pytest.raises(NotFoundError):
        await office.desk.reorder(second, "t-none", "eva")
