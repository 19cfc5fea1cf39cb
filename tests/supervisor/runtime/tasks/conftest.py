"""A daemon with the real CLI, whose stored tasks are added by events."""

from collections.abc import Callable
from typing import Any

import anyio

from supervisor.core.tasks.records import StoredTask
from supervisor.protocol.events import TasksAdded
from supervisor.protocol.tasks import TaskSpec, TaskState
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.tasks.desk import TaskDesk
from tests.stages.house import SECONDS, House


def add(house: House, id_: str, prompt: str = "Do the task.", **about: Any) -> None:
    """Add a task."""
    wanted = {"repository": str(house.workspace), "permission_mode": "bypassPermissions", **about}
    spec = TaskSpec(id=id_, prompt=prompt, **wanted)
    house.daemon.happened(TasksAdded(**house.stamp(""), request_id=f"add {id_}", tasks=(spec,), by="eva"))


async def until_task(house: House, id_: str, fits: Callable[[StoredTask], bool]) -> StoredTask:
    """Wait until a task is as it should be."""
    with anyio.move_on_after(SECONDS):
        async for _ in house.daemon.journal.follow():
            if (task := house.daemon.board.tasks.find(id_)) is not None and fits(task):
                return task
    task = house.daemon.board.tasks.find(id_)
    told = [(entry.step, entry.why) for entry in task.history] if task else "it is not there"
    raise AssertionError(f"{id_} came to this: {told}")


async def state_of(house: House, id_: str, *states: TaskState) -> StoredTask:
    """Wait until a task is in one of these states."""
    return await until_task(house, id_, lambda task: task.state in states)


def desk(daemon: Daemon) -> TaskDesk:
    """Return what takes requests about tasks."""
    return TaskDesk(
        daemon.board.tasks, daemon.happened, daemon.journal.written, daemon.stamp, daemon.refuse_additions_for_now
    )
