from dataclasses import replace
from typing import Any

import pytest

from supervisor.core.settings import TaskSettings
from supervisor.core.tasks.queue import AccountFacts, LocalQueue, MachineFacts
from supervisor.protocol.tasks import TaskStep
from tests.supervisor.core.tasks.conftest import Fold

IDLE = MachineFacts(free_memory_mb=8_000, free_disk_mb=50_000, load_per_core=0.5, disk="/work")


def queue(fold: Fold, **settings: Any) -> LocalQueue:
    return LocalQueue(fold.store, lambda: TaskSettings(**{"slots": 10, **settings}))


def claim_all(fold: Fold, queue: LocalQueue) -> list[str]:
    claimed = []
    while (task := queue.next(IDLE)) is not None:
        claimed.append(task.id)
        fold.claim(task.id)
    return claimed


def test_tasks_are_claimed_by_priority_and_then_in_the_order_in_which_they_came(fold: Fold) -> None:
    fold.add("t-1", "t-2")
    fold.add("t-3", priority=5)
    assert claim_all(fold, queue(fold)) == ["t-3", "t-1", "t-2"]


def test_a_task_that_an_order_for_some_holds_back_is_passed_over_with_the_reason(fold: Fold) -> None:
    fold.add("t-1", labels=("web",))
    fold.add("t-2")
    drained = LocalQueue(fold.store, TaskSettings, drained_of=lambda task: "drained" if task.spec.labels else "")
    assert claim_all(fold, drained) == ["t-2"]
    assert drained.reason(fold.store.get("t-1"), IDLE) == "drained"


def test_a_task_waits_until_all_that_it_depends_on_is_done(fold: Fold) -> None:
    fold.add("t-1", "t-2")
    fold.add("t-3", depends_on=("t-1", "t-2"), priority=9)
    waiting = queue(fold)
    assert claim_all(fold, waiting) == ["t-1", "t-2"]
    assert waiting.reason(fold.store.get("t-3"), IDLE) == "it waits for t-1, which is active"
    fold.move("t-1", TaskStep.SUCCEED, "r1")
    fold.move("t-2", TaskStep.PARK, "r2")
    assert waiting.next(IDLE) is None
    assert waiting.reason(fold.store.get("t-3"), IDLE) == "it waits for t-2, which is parked: chaperon task retry t-2"
    fold.move("t-2", TaskStep.SUCCEED)
    assert claim_all(fold, waiting) == ["t-3"]


def test_of_what_holds_a_task_back_that_is_told_first_which_comes_to_nothing_by_itself(fold: Fold) -> None:
    fold.add("t-1", "t-2")
    fold.add("t-3", depends_on=("t-1", "t-2"))
    waiting = queue(fold)
    assert claim_all(fold, waiting) == ["t-1", "t-2"]
    fold.move("t-2", TaskStep.FAIL, "r2")
    assert waiting.reason(fold.store.get("t-3"), IDLE) == "it waits for t-2, which is failed: chaperon task retry t-2"


def test_no_more_are_claimed_than_there_are_slots_in_all_and_for_each_repository(fold: Fold) -> None:
    fold.add("t-1", "t-2", repository="/a")
    fold.add("t-3", "t-4", repository="/b")
    each = queue(fold, slots=3, slots_per_repository=1)
    assert claim_all(fold, each) == ["t-1", "t-3"]
    assert each.reason(fold.store.get("t-2"), IDLE) == "its repository has no slot free (1 in use)"
    fold.move("t-1", TaskStep.VERIFY, "r1")
    assert each.next(IDLE) is None, "a task that is verified keeps its slot"
    fold.move("t-1", TaskStep.SUCCEED, "r1")
    assert claim_all(fold, each) == ["t-2"]


def test_no_more_are_claimed_than_the_account_in_force_has_slots_and_none_while_it_pays_for_none(fold: Fold) -> None:
    fold.add("t-1", "t-2", "t-3")
    facts = AccountFacts()
    each = LocalQueue(fold.store, lambda: TaskSettings(slots=3, slots_per_account=1), account=lambda: facts)
    assert claim_all(fold, each) == ["t-1"]
    assert each.reason(fold.store.get("t-2"), IDLE) == "the account has no slot free (1 in use)"
    agent = fold.store.get("t-1").runs[0].agent
    facts = AccountFacts(others={agent})
    assert claim_all(fold, each) == ["t-2"], "another account pays for the first"
    facts = AccountFacts(holds="the budget of the day is used up", others={agent})
    fold.move("t-2", TaskStep.SUCCEED, "r2")
    assert each.next(IDLE) is None
    assert each.reason(fold.store.get("t-3"), IDLE) == "the budget of the day is used up"


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        (replace(IDLE, free_memory_mb=100), "100 MiB of memory are free, and tasks.min_free_memory_mb is 512"),
        (replace(IDLE, free_disk_mb=100), "100 MiB of the disk of /work are free, and tasks.min_free_disk_mb is 1024"),
        (replace(IDLE, load_per_core=9.0), "the load is 9.0 per core, and tasks.max_load_per_core is 8"),
    ],
)
def test_a_machine_that_is_short_of_something_begins_no_task_and_says_what(
    fold: Fold, facts: MachineFacts, says: str
) -> None:
    fold.add("t-1")
    gated = queue(fold)
    assert gated.next(facts) is None
    assert gated.reason(fold.store.get("t-1"), facts) == says


def test_a_drained_queue_gives_nothing_and_says_why(fold: Fold) -> None:
    fold.add("t-1")
    drained = LocalQueue(fold.store, TaskSettings, lambda: "eva drains the queue")
    assert drained.next(IDLE) is None
    assert drained.reason(fold.store.get("t-1"), IDLE) == "eva drains the queue"


def test_a_task_waits_until_the_work_that_it_depends_on_is_merged_in_its_repository(fold: Fold) -> None:
    fold.add("t-1", repository="/a")
    fold.add("t-2", repository="/a", depends_on=("t-1",))
    fold.add("t-3", repository="/b", depends_on=("t-1",))
    proposed = {"t-1"}
    merging = LocalQueue(fold.store, lambda: TaskSettings(slots=10), awaited=proposed.__contains__)
    assert claim_all(fold, merging) == ["t-1"]
    fold.move("t-1", TaskStep.SUCCEED, "r1")
    assert claim_all(fold, merging) == ["t-3"], "the work of another repository reaches it by no merge"
    says = "it waits for the work of t-1 to be merged: chaperon merge t-1"
    assert merging.reason(fold.store.get("t-2"), IDLE) == says
    proposed.clear()
    assert claim_all(fold, merging) == ["t-2"]
