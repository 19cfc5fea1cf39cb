"""Stored tasks as a list has them."""

from typing import Any

import pytest

from supervisor.core.tasks.states import TABLE
from supervisor.panel.asked import TaskQuery
from supervisor.panel.task_groups import DUE, GROUPS, ROWS, WAITING, listed, verbs
from supervisor.protocol.merges import STEPS, MergePhase
from supervisor.protocol.tasks import TaskState, TaskStep


def task(id_: str, state: str = "pending", **more: Any) -> dict[str, Any]:
    return {
        "task": id_,
        "state": state,
        "repository": "/r",
        "priority": 0,
        "rank": 0.0,
        "changed_at": 0.0,
        "tries": 0,
        "labels": (),
        **more,
    }


def shown(tasks: list[dict[str, Any]], query: TaskQuery | None = None, merges: Any = ()) -> dict[str, list[str]]:
    page = listed(tasks, merges, query or TaskQuery())
    return {section.name: [one["task"] for one in section.tasks] for section in page.sections}


@pytest.mark.parametrize("state", TaskState)
def test_each_state_is_in_one_section(state: TaskState) -> None:
    assert [state in states for states in GROUPS.values()].count(True) == 1


@pytest.mark.parametrize("state", TaskState)
@pytest.mark.parametrize("tries", [0, 1])
def test_what_a_state_refuses_is_not_offered_and_what_it_allows_is(state: TaskState, tries: int) -> None:
    can = verbs(task("t", state, tries=tries))
    assert ("cancel" in can) == (TaskStep.CANCEL in TABLE[state])
    idle = state is TaskState.PENDING and not tries  # a retry of one that waits for nothing changes nothing
    assert ("retry" in can) == (TaskStep.RETRY in TABLE[state] and not idle)


def test_a_merge_waits_for_a_person_in_the_phases_that_stop_and_can_be_queued() -> None:
    assert set(DUE) == {
        phase
        for phase, steps in STEPS.items()
        if MergePhase.QUEUED in steps and MergePhase.MERGED in steps and not phase.under_way
    }


def test_what_waits_for_a_person_is_on_top_and_the_longest_wait_first() -> None:
    tasks = [
        task("done", "done"),
        task("proposed", "done", changed_at=5.0),
        task("at work", "active"),
        task("parked", "parked", changed_at=3.0),
        task("asked", "waiting", changed_at=4.0),
    ]
    merges = [{"task": "proposed", "phase": "proposed"}, {"task": "done", "phase": "merged"}]
    found = shown(tasks, merges=merges)
    assert list(found) == [WAITING, "At work", "Done"]
    assert found[WAITING] == ["parked", "asked", "proposed"]


def test_the_queue_stands_as_it_is_claimed_and_the_rest_with_the_latest_first() -> None:
    queue = [task("third", rank=2.0), task("second", rank=1.0), task("first", priority=1, rank=9.0)]
    over = [task("early", "failed", changed_at=1.0), task("late", "failed", changed_at=2.0)]
    found = shown([*queue, *over])
    assert found == {"In the queue": ["first", "second", "third"], "Failed": ["late", "early"]}


def test_a_page_has_few_of_ten_thousand_tasks_and_all_pages_have_each_task_once() -> None:
    tasks = [task(f"t{number}", list(TaskState)[number % 10], changed_at=float(number)) for number in range(10_000)]
    pages = listed(tasks, (), TaskQuery()).pages
    assert pages == 10_000 // ROWS
    seen: list[str] = []
    for number in range(1, pages + 1):
        ids = [id_ for those in shown(tasks, TaskQuery(page=number)).values() for id_ in those]
        assert len(ids) == ROWS
        seen += ids
    assert sorted(seen) == sorted(one["task"] for one in tasks)
    assert listed(tasks, (), TaskQuery(page=10**17)).query.page == pages


def test_a_list_has_the_tasks_of_one_state_and_one_repository_and_counts_all_states_there() -> None:
    tasks = [task("a", "parked"), task("b", "done"), task("c", "parked", repository="/other")]
    found = listed(tasks, (), TaskQuery("parked", "/r"))
    assert [(section.name, section.total) for section in found.sections] == [(WAITING, 1)]
    assert found.counts == {"parked": 1, "done": 1}
    assert found.repositories == ("/other", "/r")
    none = listed(tasks, (), TaskQuery("parked", "/none"))
    assert (none.sections, none.pages, none.query.page) == ((), 1, 1)


def test_a_state_of_a_newer_daemon_is_shown_with_those_at_work() -> None:
    assert shown([task("t", "dreaming")]) == {"At work": ["t"]}


def test_a_label_chooses_the_tasks_that_have_it_and_their_counts() -> None:
    tasks = [task("one", labels=("docs", "ui")), task("two", "done", labels=("web",)), task("three")]
    page = listed(tasks, (), TaskQuery(label="docs"))
    assert [one["task"] for section in page.sections for one in section.tasks] == ["one"]
    assert page.counts == {"pending": 1}
    assert page.labels == ("docs", "ui", "web")
