import pytest

from monitors.contract import anyjson
from supervisor.core.tasks import store as stores
from supervisor.core.tasks.store import TaskStore
from supervisor.protocol.events import TaskEdited, TaskMoved, TaskReordered, TasksAdded
from supervisor.protocol.tasks import TaskState, TaskStep
from tests.supervisor.core.tasks.conftest import Fold, spec


def rebuilt(fold: Fold, upto: int) -> TaskStore:
    """The store of a daemon that took a snapshot after so many events, and read the whole journal again."""
    before = TaskStore()
    for seq, event in fold.events[:upto]:
        before.remember(seq, event)
    after = TaskStore()
    after.restore(anyjson.loads(anyjson.dumps(before.as_json())))
    for seq, event in fold.events:
        after.remember(seq, event)
    return after


def a_life(fold: Fold) -> None:
    fold.add("t-1", "t-2")
    fold.add("t-3", depends_on=("t-1",), priority=3)
    run = fold.claim("t-1")
    fold.move("t-1", TaskStep.PAUSE, run)
    fold.move("t-1", TaskStep.GIVE_BACK, run, tried=True)
    run = fold.claim("t-1")
    fold.move("t-1", TaskStep.VERIFY, run)
    fold.move("t-1", TaskStep.SUCCEED, fold.claim("t-1", rework="its check failed"))
    fold.see(TaskEdited(**fold.stamp(), task=spec("t-2", priority=9), changed=("priority",), by="eva"))
    fold.see(TaskReordered(**fold.stamp(), task="t-2", before="t-3", by="eva"))
    fold.move("t-2", TaskStep.CANCEL)


@pytest.mark.parametrize("upto", range(12))
def test_a_snapshot_at_any_moment_and_the_whole_journal_again_give_the_same_store(fold: Fold, upto: int) -> None:
    a_life(fold)
    again = rebuilt(fold, upto)
    assert again.as_json() == fold.store.as_json()
    assert [task.id for task in again.ready()] == [task.id for task in fold.store.ready()] == ["t-3"]


def test_a_task_tells_of_each_step_who_took_it_and_why(fold: Fold) -> None:
    a_life(fold)
    task = fold.store.get("t-1")
    assert [entry.step for entry in task.history] == [
        "added", "be claimed", "be paused", "go back to the queue", "be claimed", "be verified",
        "go back to an agent", "be done",
    ]  # fmt: skip
    assert [(run.agent, run.outcome) for run in task.runs] == [
        ("echo-001", "go back to the queue"),
        ("echo-002", "go back to an agent"),
        ("echo-003", "be done"),
    ]
    assert task.tries == 1


def test_what_comes_from_a_run_that_lost_its_claim_changes_nothing(fold: Fold) -> None:
    fold.add("t-1")
    lost = fold.claim("t-1")
    fold.move("t-1", TaskStep.GIVE_BACK, lost)
    assert not fold.store.holds("t-1", lost)
    held = fold.claim("t-1")
    before = fold.store.as_json()["tasks"]
    fold.move("t-1", TaskStep.SUCCEED, lost)
    fold.move("t-1", TaskStep.MERGE, "")
    assert fold.store.as_json()["tasks"] == before
    assert fold.store.holds("t-1", held)


def test_a_second_claim_of_a_task_is_none(fold: Fold) -> None:
    fold.add("t-1")
    first = fold.claim("t-1")
    second = fold.claim("t-1")
    assert fold.store.holds("t-1", first)
    assert not fold.store.holds("t-1", second)


def test_a_request_that_is_sent_twice_adds_its_tasks_once(fold: Fold) -> None:
    for _ in range(2):
        fold.see(TasksAdded(**fold.stamp(), request_id="same", tasks=(spec(f"t-{len(fold.events)}"),), by="eva"))
    assert [task.id for task in fold.store] == ["t-0"]
    assert fold.store.taken("same") == ("t-0",)


def test_no_two_claims_give_an_agent_the_same_name(fold: Fold) -> None:
    fold.add("t-1")
    assert fold.store.next_name("echo") == "echo-001"
    fold.move("t-1", TaskStep.GIVE_BACK, fold.claim("t-1"))
    assert fold.store.next_name("echo") == "echo-002"
    assert rebuilt(fold, 2).next_name("echo") == "echo-002"


def test_an_agent_names_the_task_that_it_has_and_the_one_that_it_had(fold: Fold) -> None:
    fold.add("t-1")
    run = fold.claim("t-1")
    holder = fold.store.holder("echo-001")
    assert holder is not None
    assert holder.run_id == run
    fold.move("t-1", TaskStep.GIVE_BACK, run)
    had = fold.store.of_agent("echo-001")
    assert (fold.store.holder("echo-001"), had) == (None, fold.store.get("t-1"))


def test_a_task_takes_the_place_before_another_as_often_as_one_likes(fold: Fold) -> None:
    fold.add("t-1", "t-2", "t-3")
    fold.add("t-0", priority=1)
    for number in range(200):
        moved, before = ("t-2", "t-3") if number % 2 else ("t-3", "t-2")
        fold.see(TaskReordered(**fold.stamp(), task=moved, before=before, by="eva"))
    assert [task.id for task in fold.store.ready()] == ["t-0", "t-1", "t-2", "t-3"]
    fold.see(TaskReordered(**fold.stamp(), task="t-1", before="", by="eva"))
    assert [task.id for task in fold.store.ready()] == ["t-0", "t-2", "t-3", "t-1"]


def test_the_oldest_tasks_that_are_over_go_unless_one_that_is_open_needs_them(
    fold: Fold, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "KEPT_OVER", 2)
    fold.add("t-1", "t-2", "t-3", "t-4", prompt="x" * 5_000)
    fold.add("t-9", depends_on=("t-1",))
    for id_ in ("t-1", "t-2", "t-3", "t-4"):
        fold.do(id_)
    assert [task.id for task in fold.store] == ["t-1", "t-4", "t-9"]
    assert len(fold.store.get("t-4").spec.prompt) == stores.KEPT_PROMPT + 1
    assert fold.store.of_agent("echo-002") is None


def test_the_history_of_a_task_is_bounded_and_keeps_how_it_began(fold: Fold) -> None:
    fold.add("t-1")
    run = fold.claim("t-1")
    for _ in range(stores.KEPT_HISTORY):
        fold.move("t-1", TaskStep.PAUSE, run)
        fold.move("t-1", TaskStep.GO_ON, run)
    history = fold.store.get("t-1").history
    assert (len(history), history[0].step, history[-1].step) == (stores.KEPT_HISTORY, "added", "go on")


def test_the_fold_passes_over_steps_that_are_not_in_the_table(fold: Fold) -> None:
    fold.add("t-1")
    fold.do("t-1")
    done, pending = TaskState.DONE, TaskState.PENDING
    back = {"task": "t-1", "before": done, "after": pending, "step": TaskStep.GIVE_BACK, "why": "", "by": "eva"}
    fold.see(TaskMoved(**fold.stamp(), **back))  # type: ignore[arg-type]
    assert fold.store.get("t-1").state is done
