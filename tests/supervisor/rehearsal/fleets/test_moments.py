from typing import Any

import anyio
import pytest

from supervisor.rehearsal.fleets.fleet_scenario import Moment, read_fleet
from supervisor.rehearsal.fleets.moments import FleetMoments
from tests.supervisor.rehearsal.fleets.test_fleet_scenario import SMALL


def moments(*asked: tuple[int, int]) -> FleetMoments:
    made = FleetMoments(read_fleet(SMALL), {"shop": "/base/shop"}, lambda script, step: (script, step) in asked)
    made.ids["one"] = "t-1"
    return made


def moment(**about: Any) -> Moment:
    return Moment.model_validate(about)


ADDED = {"kind": "tasks_added", "tasks": [{"id": "t-1"}]}
CLAIMED = {"kind": "task_claimed", "task": "t-1", "worker": "echo-001"}
DONE = {"kind": "task_moved", "task": "t-1", "after": "done"}
BACK = {"kind": "tasks_went_back", "tasks": [{"id": "t-1", "state": "pending"}]}


def test_a_tasks_state_is_that_of_the_last_event_also_after_it_went_back() -> None:
    made, seen = moments(), []
    for event in (ADDED, CLAIMED, DONE, BACK):
        made.take(event)
        seen.append(str(made.states["t-1"]))
    assert seen == ["pending", "active", "done", "pending"]


async def test_who_waits_for_several_goes_on_once_each_has_come_though_the_first_is_over_by_then() -> None:
    made, went_on = moments(), list[str]()

    async def wait() -> None:
        await made.come([moment(task="one", state="done"), moment(act="kill")])
        went_on.append("yes")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        for event in (ADDED, DONE, BACK):
            made.take(event)
            made.tell()
            await anyio.wait_all_tasks_blocked()
        assert not went_on
        made.acts.add("kill")
        made.tell()
    assert went_on


def test_a_step_has_come_if_the_model_was_asked_for_it() -> None:
    assert moments().lacks([moment(step="one/look")])
    assert not moments((0, 0)).lacks([moment(step="one/look")])


def test_what_stands_for_something_is_filled_in_once_it_is_known() -> None:
    made = moments()
    assert made.filled("say {agent:one} {task:one} {repository:shop} {braces}") == (
        "say {agent:one} t-1 /base/shop {braces}"
    )
    made.take(CLAIMED)
    assert made.filled("{agent:one}") == "echo-001"


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        ({"kind": "task_claimed"}, True),
        ({"kind": "task_claimed", "worker": "{agent:one}"}, True),
        ({"about": {"level": 1}}, True),
        ({"about": {"level": 2}}, False),
        ({"marks": [{"id": "b"}]}, True),
        ({"marks": [{"id": "c"}]}, False),
        ({"other": None}, False),
    ],
)
def test_an_event_fits_if_it_has_all_that_is_wanted(wanted: dict[str, Any], *, fits: bool) -> None:
    made = moments()
    event = {**CLAIMED, "about": {"level": 1, "more": 2}, "marks": [{"id": "a"}, {"id": "b"}]}
    made.take(event)
    assert made.fits(wanted, event) is fits


def test_a_story_is_told_in_its_order_and_what_is_missing_is_named() -> None:
    made = moments()
    for event in (ADDED, CLAIMED, DONE):
        made.take(event)
    told = [{"kind": "tasks_added"}, {"kind": "task_moved", "after": "done"}]
    assert list(made.missing(told)) == []
    assert [number for number, _ in made.missing([told[1], told[0]])] == [1]
    assert [number for number, _ in made.missing([told[0], {"kind": "never"}, told[1]])] == [1]
