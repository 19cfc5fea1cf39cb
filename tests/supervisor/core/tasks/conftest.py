"""A store that is filled by events, as the journal would."""

import itertools
from typing import Any

import pytest

from supervisor.core.tasks.states import TABLE
from supervisor.core.tasks.store import TaskEvent, TaskStore
from supervisor.protocol.events import EventStamp, TaskClaimed, TaskMoved, TasksAdded
from supervisor.protocol.tasks import TaskSpec, TaskStep


class Fold:
    """A store, and the events that made it."""

    def __init__(self) -> None:
        self.store = TaskStore()
        self.events: list[tuple[int, TaskEvent]] = []
        self._numbers = itertools.count(1)
        self._runs = itertools.count(1)

    def see(self, event: TaskEvent) -> None:
        """Take an event in, under the next number."""
        self.events.append((len(self.events) + 1, event))
        self.store.remember(*self.events[-1])

    def stamp(self) -> EventStamp:
        """Return the times of the next event."""
        now = float(next(self._numbers))
        return {"agent": "", "at": now, "mono": now}

    def add(self, *ids: str, **about: Any) -> None:
        """Add tasks of these ids."""
        specs = tuple(spec(id_, **about) for id_ in ids)
        self.see(TasksAdded(**self.stamp(), request_id=f"add {ids} {len(self.events)}", tasks=specs, by="eva"))

    def claim(self, id_: str, rework: str = "") -> str:
        """Have the task claimed; returns the run's id."""
        number = next(self._runs)
        claimed = TaskClaimed(**self.stamp(), task=id_, run_id=f"r{number}", worker=f"echo-{number:03d}", rework=rework)
        self.see(claimed)
        return claimed.run_id

    def move(self, id_: str, step: TaskStep, run_id: str = "", why: str = "so", *, tried: bool = False) -> None:
        """Have the task take a step."""
        before = self.store.get(id_).state
        after = TABLE[before][step]
        moved = TaskMoved(
            **self.stamp(),
            task=id_,
            before=before,
            after=after,
            step=step,
            why=why,
            by="eva",
            run_id=run_id,
            tried=tried,
        )
        self.see(moved)

    def do(self, id_: str) -> None:
        """Have the task done by one run."""
        self.move(id_, TaskStep.SUCCEED, self.claim(id_))


def spec(id_: str, **about: Any) -> TaskSpec:
    """Return a task of that id."""
    return TaskSpec(**{"id": id_, "prompt": f"do {id_}", "repository": "/repo", **about})


@pytest.fixture
def fold() -> Fold:
    """An empty store."""
    return Fold()
