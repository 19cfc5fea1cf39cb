"""What a store of 10,000 tasks costs: claims one after the other to the end, beside the same by plain dicts.

usage: python -m tests.bench --only tasks

Both begin with all tasks pending, a tenth of which wait for another, in five repositories. Each is claimed once by the queue's order
and is done, so that those that wait for it may follow. The plain side keeps a dict of each task, the ids that are ready and who
waits for whom; it keeps no history, checks no step, and knows no slots.
"""

import sys
from collections import deque
from collections.abc import Sequence
from time import perf_counter
from typing import Any

from supervisor.core.settings import TaskSettings
from supervisor.core.tasks.queue import LocalQueue, MachineFacts
from supervisor.core.tasks.store import TaskStore
from supervisor.protocol.events import TaskClaimed, TaskMoved, TasksAdded
from supervisor.protocol.tasks import TaskSpec, TaskState, TaskStep
from tests.bench.figures import Figure, table

TASKS = 10_000
WAITING = 10
"""Every so many a task waits for the one before it."""

ROUNDS = 3
"""The best of them is the figure, since others on the machine only ever slow it down."""

STAMP: dict[str, Any] = {"agent": "", "at": 1.0, "mono": 1.0}
FACTS = MachineFacts(1e6, 1e6, 0.0, 2.0)


def specs() -> tuple[TaskSpec, ...]:
    return tuple(
        TaskSpec(
            id=f"t-{number}",
            prompt="Mend the parser of dates. " * 8,
            repository=f"/repositories/{number % 5}",
            depends_on=(f"t-{number - 1}",) if number % WAITING == 0 and number else (),
        )
        for number in range(TASKS)
    )


def ours(tasks: tuple[TaskSpec, ...]) -> float:
    """Claim each and have it done; seconds without those of the addition."""
    store = TaskStore()
    settings = TaskSettings()
    queue = LocalQueue(store, lambda: settings)
    store.remember(1, TasksAdded(**STAMP, request_id="all", tasks=tasks, by="eva"))
    claimed = 0
    begin = perf_counter()
    while (task := queue.next(FACTS)) is not None:
        run = f"r-{claimed}"
        seq, claimed = 2 * claimed + 2, claimed + 1
        store.remember(seq, TaskClaimed(**STAMP, task=task.id, run_id=run, worker=store.next_name("echo")))
        done: dict[str, Any] = {
            "task": task.id,
            "before": TaskState.ACTIVE,
            "after": TaskState.DONE,
            "step": TaskStep.SUCCEED,
        }
        store.remember(seq + 1, TaskMoved(**STAMP, **done, why="done", by="chaperon", run_id=run))
    seconds = perf_counter() - begin
    assert claimed == TASKS
    return seconds


def plain(tasks: tuple[TaskSpec, ...]) -> float:
    """The same by dicts."""
    records = {spec.id: {"spec": spec, "state": "pending", "run": ""} for spec in tasks}
    needed_by = {spec.depends_on[0]: spec.id for spec in tasks if spec.depends_on}
    ready = deque(spec.id for spec in tasks if not spec.depends_on)
    claimed = 0
    begin = perf_counter()
    while ready:
        id_ = ready.popleft()
        records[id_] |= {"state": "active", "run": f"r-{claimed}"}
        claimed += 1
        records[id_] |= {"state": "done"}
        if (waiting := needed_by.get(id_)) is not None:
            ready.append(waiting)
    seconds = perf_counter() - begin
    assert claimed == TASKS
    return seconds


def main() -> Sequence[Figure]:
    """Do both several times."""
    tasks = specs()
    store = min(ours(tasks) for _ in range(ROUNDS))
    dicts = min(plain(tasks) for _ in range(ROUNDS))
    return [
        Figure("stored tasks that are claimed and done in a second, of 10,000", TASKS / store, "/s", None, True),
        Figure("the same by plain dicts", TASKS / dicts, "/s", None, True),
        Figure("the store's time in terms of the dicts'", store / dicts, "x"),
    ]


if __name__ == "__main__":
    sys.stdout.write(table(main()))
