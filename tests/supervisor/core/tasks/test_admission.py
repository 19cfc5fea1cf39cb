import pytest

from monitors.contract.errors import UsageError
from supervisor.core.tasks import admission
from supervisor.core.tasks.admission import check_added, check_edited
from supervisor.protocol.tasks import TaskStep
from tests.supervisor.core.tasks.conftest import Fold, spec


def test_new_tasks_may_depend_on_one_another_and_on_those_there_are(fold: Fold) -> None:
    fold.add("t-1")
    chain = [spec(f"n-{number}", depends_on=("t-1", f"n-{number + 1}")) for number in range(3_000)]
    check_added(fold.store, [*chain, spec("n-3000")])


def test_a_circle_is_refused_and_named(fold: Fold) -> None:
    specs = [spec("t-1", depends_on=("t-2",)), spec("t-2", depends_on=("t-3",)), spec("t-3", depends_on=("t-1",))]
    with pytest.raises(UsageError, match=r"t-1 \(do t-1\) → t-2 \(do t-2\) → t-3 \(do t-3\) → t-1"):
        check_added(fold.store, specs)


def test_a_change_that_closes_a_circle_through_other_tasks_is_refused(fold: Fold) -> None:
    fold.add("t-1")
    fold.add("t-2", depends_on=("t-1",))
    with pytest.raises(UsageError, match="wait for one another: t-1"):
        check_edited(fold.store, spec("t-1", depends_on=("t-2",)))


def test_a_task_does_not_wait_for_itself(fold: Fold) -> None:
    with pytest.raises(UsageError, match="wait for one another"):
        check_added(fold.store, [spec("t-1", depends_on=("t-1",))])


def test_dependencies_that_are_unknown_or_cancelled_are_refused(fold: Fold) -> None:
    fold.add("t-1")
    fold.move("t-1", TaskStep.CANCEL)
    with pytest.raises(UsageError, match="depends on t-1, which was cancelled"):
        check_added(fold.store, [spec("t-2", depends_on=("t-1",))])
    with pytest.raises(UsageError, match="depends on 't-7', which is no task"):
        check_added(fold.store, [spec("t-2", depends_on=("t-7",))])


def test_the_store_takes_no_more_tasks_than_it_holds(fold: Fold, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "MOST_OPEN", 2)
    monkeypatch.setattr(admission, "MOST_TEXT_BYTES", 100)
    fold.add("t-1")
    with pytest.raises(UsageError, match="1 tasks are open, and 2 more would be over the 2"):
        check_added(fold.store, [spec("t-2"), spec("t-3")])
    with pytest.raises(UsageError, match="would have 106 bytes of text"):
        check_added(fold.store, [spec("t-2", prompt="x" * 100)])
    fold.do("t-1")
    check_added(fold.store, [spec("t-2"), spec("t-3")])
