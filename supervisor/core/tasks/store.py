"""Every stored task there is, as a fold over the journal.

What an event says of a run that has lost its claim changes nothing, and neither does a step that is not in the table:
the fold never fails. Records are immutable, so that a snapshot is a list of them.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from heapq import heappop, heappush
from typing import Any

from pydantic import TypeAdapter

from monitors.contract.errors import NotFoundError
from supervisor.core.tasks.records import StoredTask, TaskHistoryEntry
from supervisor.core.tasks.states import TABLE
from supervisor.protocol.kinds.projects import TasksWentBack
from supervisor.protocol.kinds.tasks import TaskClaimed, TaskEdited, TaskMoved, TaskReordered, TasksAdded
from supervisor.protocol.projects import TaskMark
from supervisor.protocol.tasks import TaskRun, TaskSpec, TaskState, TaskStep

TaskEvent = TasksAdded | TaskEdited | TaskReordered | TaskClaimed | TaskMoved | TasksWentBack
"""The events that the store is a fold over."""

KEPT_OVER = 10_000
"""Tasks that are over and kept; older ones are in the journal alone. One of 1 KB each is 10 MB of a snapshot."""

KEPT_HISTORY = 40
"""Steps kept of a task. One with three attempts, each paused and resumed, takes about twenty."""

KEPT_RUNS = 20
"""Runs kept of a task, the last ones."""

KEPT_PROMPT = 2_000
"""Characters kept of the prompt of a task that is done: a page."""

KEPT_REQUESTS = 1_000
"""Ids of requests that are remembered, so that one sent again within that many is taken once."""

WENT_BACK = "went back"
"""The step of a task in its history that went back with its project."""

_NUMBERED = re.compile(r"(.+)-([0-9]{1,9})")
STORED_TASKS: TypeAdapter[list[StoredTask]] = TypeAdapter(list[StoredTask])


class TaskStore:
    """All stored tasks.

    Args:
        pinned: Whether a task is kept whole, with all of its prompt, though it is done: its project may go back to when
            it was not.
    """

    def __init__(self, pinned: Callable[[str], bool] = lambda _: False) -> None:
        self._pinned = pinned
        self._last_seq = 0
        self._tasks: dict[str, StoredTask] = {}
        self._over: dict[str, None] = {}
        """Ids of those that are over, in the order in which they came to be."""
        self._pending: dict[str, None] = {}
        self._held: dict[str, None] = {}
        self._queue: list[tuple[int, float, int, str]] = []
        """A heap of places and ids of pending tasks whose dependencies are done. Some places are no longer true."""
        self._by_agent: dict[str, str] = {}
        """The task that each agent has or had last, for tasks that are kept."""
        self._needed_by: dict[str, set[str]] = {}
        """The tasks that are not over and depend on each."""
        self._requests: dict[str, tuple[str, ...]] = {}
        """The tasks of each request that was taken."""
        self._count = 0
        self._names: dict[str, int] = {}
        """The highest number that was claimed under each prefix of names."""

    # ── questions ─────────────────────────────────────────────────────────────────────────────────────────────────

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[StoredTask]:
        """All of them, in the order in which they were added."""
        return iter(list(self._tasks.values()))

    def find(self, id_: str) -> StoredTask | None:
        """The task of that id, if it is kept."""
        return self._tasks.get(id_)

    def get(self, id_: str) -> StoredTask:
        """The task of that id.

        Raises:
            NotFoundError: There is none.
        """
        try:
            return self._tasks[id_]
        except KeyError:
            raise NotFoundError(f"There is no task {id_!r}.", way_out="chaperon task list names them.") from None

    def of_agent(self, agent: str) -> StoredTask | None:
        """The task that an agent has, or had last; None if it never had a stored one."""
        return self._tasks.get(self._by_agent.get(agent, ""))

    def holds(self, id_: str, run_id: str) -> bool:
        """Whether a run still has the task that it claimed; if not, nothing of it may be frozen in or merged."""
        task = self._tasks.get(id_)
        return task is not None and task.held_by(run_id)

    def holder(self, agent: str) -> TaskRun | None:
        """The run by which an agent has a stored task now; None if it has none."""
        task = self.of_agent(agent)
        run = task.run if task else None
        return run if run is not None and run.agent == agent else None

    def pending(self) -> list[StoredTask]:
        """Those that no agent has, in the order of the queue, whether or not they may be claimed."""
        return sorted((self._tasks[id_] for id_ in self._pending), key=_place)

    def has_pending(self) -> bool:
        """Whether any is in the queue."""
        return bool(self._pending)

    def ready(self) -> Iterator[StoredTask]:
        """Those that may be claimed, in the order of the queue: pending, with all dependencies done."""
        looked_at: dict[str, tuple[int, float, int, str]] = {}
        try:
            while self._queue:
                place = heappop(self._queue)
                found = self._tasks.get(place[-1])
                if found is None or found.id in looked_at or not self._is_ready(found) or place != _place(found):
                    continue
                looked_at[found.id] = place
                yield found
        finally:
            for place in looked_at.values():
                heappush(self._queue, place)

    def unmet(self, task: StoredTask) -> Iterator[StoredTask]:
        """The tasks that it depends on and that are not done. One that is kept no more was over long ago."""
        for id_ in task.spec.depends_on:
            needed = self._tasks.get(id_)
            if needed is not None and needed.state is not TaskState.DONE:
                yield needed

    def held(self) -> list[StoredTask]:
        """Those that a run has."""
        return [self._tasks[id_] for id_ in self._held]

    def open(self) -> int:
        """How many are not over."""
        return len(self._tasks) - len(self._over)

    def needing(self, id_: str) -> frozenset[str]:
        """The tasks that are not over and depend on it."""
        return frozenset(self._needed_by.get(id_, ()))

    def taken(self, request_id: str) -> tuple[str, ...] | None:
        """The tasks that a request added or changed before; None if it was not taken yet."""
        return self._requests.get(request_id)

    def next_name(self, prefix: str, taken: Callable[[str], bool] = lambda _: False) -> str:
        """The name for the next agent of a prefix: no two claims have the same, and none is `taken`."""
        names = (f"{prefix}-{number:03d}" for number in itertools.count(self._names.get(prefix, 0) + 1))
        return next(name for name in names if not taken(name))

    def counts(self) -> dict[TaskState, int]:
        """How many are in each state."""
        found = dict.fromkeys(TaskState, 0)
        for task in self._tasks.values():
            found[task.state] += 1
        return found

    # ── the fold ──────────────────────────────────────────────────────────────────────────────────────────────────

    def remember(self, seq: int, event: TaskEvent) -> None:
        """Take in an event of the journal, once, however often the journal is read."""
        if seq <= self._last_seq:
            return
        self._last_seq = seq
        match event:
            case TasksAdded():
                self._add(event)
            case TaskEdited():
                self._edited(event)
            case TaskReordered():
                self._reordered(event)
            case TaskClaimed():
                self._claimed(event)
            case TaskMoved():
                self._moved(event)
            case TasksWentBack():
                for mark in event.tasks:
                    self._went_back(event, mark)

    def _add(self, event: TasksAdded) -> None:
        if event.request_id in self._requests:
            return
        self._note_request(event.request_id, tuple(spec.id for spec in event.tasks))
        for spec in event.tasks:
            if spec.id in self._tasks:
                continue
            self._count += 1
            entry = TaskHistoryEntry(event.at, "added", TaskState.PENDING, "added", event.by)
            self._put(
                StoredTask(
                    spec,
                    TaskState.PENDING,
                    "added",
                    event.by,
                    event.at,
                    event.by,
                    event.at,
                    float(self._count),
                    self._count,
                    history=(entry,),
                )
            )

    def _edited(self, event: TaskEdited) -> None:
        task = self._tasks.get(event.task.id)
        if task is None:
            return
        why = f"changed: {', '.join(event.changed)}"
        entry = TaskHistoryEntry(event.at, "edited", task.state, why, event.by)
        self._put(replace(task, spec=event.task, history=_with(task.history, entry)))

    def _reordered(self, event: TaskReordered) -> None:
        task = self._tasks.get(event.task)
        if task is None:
            return
        before = self._tasks.get(event.before)
        why = f"before {event.before}" if before else "to the end"
        entry = TaskHistoryEntry(event.at, "reordered", task.state, why, event.by)
        task = replace(task, history=_with(task.history, entry))
        if before is None or before.id == task.id:
            self._count += 1
            self._put(replace(task, rank=float(self._count)))
            return
        spec = replace(task.spec, priority=before.spec.priority)
        same = [each for each in self._tasks.values() if each.spec.priority == spec.priority and each.id != task.id]
        rank = _between(before, same)
        if rank is None:  # fifty halvings leave no number between two others
            for number, each in enumerate(sorted(same, key=lambda one: (one.rank, one.number)), 1):
                self._put(replace(each, rank=float(number)))
            self._count = max(self._count, len(same))
            rank = self._tasks[before.id].rank - 0.5
        self._put(replace(task, spec=spec, rank=rank))

    def _claimed(self, event: TaskClaimed) -> None:
        task = self._tasks.get(event.task)
        step = TaskStep.REWORK if event.rework else TaskStep.CLAIM
        if task is None or (after := TABLE[task.state].get(step)) is None:
            return
        if numbered := _NUMBERED.fullmatch(event.worker):
            self._names[numbered[1]] = max(self._names.get(numbered[1], 0), int(numbered[2]))
        why = event.rework or f"agent {event.worker} took it"
        task = _run_over(task, event.at, step, why) if event.rework else task
        runs = (*task.runs, TaskRun(event.run_id, event.worker, event.at, event.rework))
        dropped = max(0, len(runs) - KEPT_RUNS)
        entry = TaskHistoryEntry(event.at, step, after, why, "chaperon", event.run_id, event.worker)
        self._put(
            replace(
                task,
                state=after,
                why=why,
                by="chaperon",
                changed_at=event.at,
                runs=runs[dropped:],
                runs_before=task.runs_before + dropped,
                history=_with(task.history, entry),
            )
        )

    def _moved(self, event: TaskMoved) -> None:
        task = self._tasks.get(event.task)
        if task is None or (task.run is not None and task.run.run_id != event.run_id):
            return
        if TABLE[task.state].get(event.step) is not event.after:
            return
        worker = task.run.agent if task.run else ""
        entry = TaskHistoryEntry(event.at, event.step, event.after, event.why, event.by, event.run_id, worker)
        if task.run is not None and not event.after.held:
            task = _run_over(task, event.at, event.step, event.why)
        self._put(
            replace(
                task,
                state=event.after,
                why=event.why,
                by=event.by,
                changed_at=event.at,
                tries=0 if event.step is TaskStep.RETRY else task.tries + event.tried,
                not_before=event.not_before,
                history=_with(task.history, entry),
            )
        )

    def _went_back(self, event: TasksWentBack, mark: TaskMark) -> None:
        """Take the state, the place and the attempts of another moment, whatever the table says of the step."""
        task = self._tasks.get(mark.id)
        if task is None:
            return
        run_id, worker = (task.run.run_id, task.run.agent) if task.run else ("", "")
        entry = TaskHistoryEntry(event.at, WENT_BACK, mark.state, event.why, event.by, run_id, worker)
        self._count = max(self._count, int(mark.rank))
        self._put(
            replace(
                task,
                spec=replace(task.spec, priority=mark.priority),
                state=mark.state,
                why=mark.why,
                by=event.by,
                changed_at=event.at,
                rank=mark.rank,
                tries=mark.tries,
                not_before=mark.not_before,
                runs=mark.runs,
                runs_before=mark.runs_before,
                history=_with(task.history, entry),
            )
        )

    # ── indexes ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _put(self, task: StoredTask) -> None:
        """Keep a record in place of the one before, and the indexes with it."""
        before = self._tasks.get(task.id)
        if task.state is TaskState.DONE and not self._pinned(task.id):
            task = _compact(task)
        self._tasks[task.id] = task
        if (run := task.last_run) is not None and self._began(run.agent) <= run.began_at:
            self._by_agent[run.agent] = task.id
        if before is not None:
            self._unneed(before)
            if before.state is not task.state:
                for index in (self._pending, self._held, self._over):
                    index.pop(task.id, None)
        if not task.state.over:
            for id_ in task.spec.depends_on:
                self._needed_by.setdefault(id_, set()).add(task.id)
        index = self._over if task.state.over else self._held if task.state.held else self._pending
        index[task.id] = None
        self._enqueue(task)
        if task.state is TaskState.DONE:
            for id_ in self._needed_by.get(task.id, ()):
                self._enqueue(self._tasks[id_])
        if len(self._over) > KEPT_OVER:
            self._forget_oldest()

    def _began(self, agent: str) -> float:
        """Return when an agent claimed the task that it has, or had last."""
        task = self._tasks.get(self._by_agent.get(agent, ""))
        return task.last_run.began_at if task is not None and task.last_run is not None else 0.0

    def _enqueue(self, task: StoredTask) -> None:
        if self._is_ready(task):
            heappush(self._queue, _place(task))

    def _is_ready(self, task: StoredTask) -> bool:
        return task.state is TaskState.PENDING and next(self.unmet(task), None) is None

    def _unneed(self, task: StoredTask) -> None:
        for id_ in task.spec.depends_on:
            if (needed := self._needed_by.get(id_)) is not None:
                needed.discard(task.id)
                if not needed:
                    del self._needed_by[id_]

    def _forget_oldest(self) -> None:
        """Forget the oldest task that is over and that none that is open depends on."""
        for id_ in self._over:
            if id_ not in self._needed_by and not self._pinned(id_):
                del self._over[id_]
                task = self._tasks.pop(id_)
                for run in task.runs:
                    if self._by_agent.get(run.agent) == id_:
                        del self._by_agent[run.agent]
                return

    def _note_request(self, request_id: str, ids: tuple[str, ...]) -> None:
        self._requests[request_id] = ids
        if len(self._requests) > KEPT_REQUESTS:
            del self._requests[next(iter(self._requests))]

    # ── snapshots ─────────────────────────────────────────────────────────────────────────────────────────────────

    def as_json(self) -> dict[str, Any]:
        """Data for the snapshot: records as they are, which are immutable, in lists of their own."""
        return {
            "last_seq": self._last_seq,
            "tasks": list(self._tasks.values()),
            "over": list(self._over),
            "requests": dict(self._requests),
            "count": self._count,
            "names": dict(self._names),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take in what a snapshot has, before the journal is read from where it ends."""
        self._last_seq, self._count = saved["last_seq"], saved["count"]
        self._requests = {id_: tuple(ids) for id_, ids in saved["requests"].items()}
        self._names = dict(saved["names"])
        for task in STORED_TASKS.validate_python(saved["tasks"]):
            self._put(task)
        self._over = dict.fromkeys(saved["over"])


def _with(history: tuple[TaskHistoryEntry, ...], entry: TaskHistoryEntry) -> tuple[TaskHistoryEntry, ...]:
    """The history with one more step: how it began, and the last ones."""
    longer = (*history, entry)
    return longer if len(longer) <= KEPT_HISTORY else (longer[0], *longer[2:])


def _place(task: StoredTask) -> tuple[int, float, int, str]:
    """The place of a task in the queue: higher priorities first, and of one priority the lowest rank."""
    return -task.spec.priority, task.rank, task.number, task.id


def _run_over(task: StoredTask, at: float, step: TaskStep, why: str) -> StoredTask:
    last = replace(task.runs[-1], ended_at=at, outcome=str(step), why=why)
    return replace(task, runs=(*task.runs[:-1], last))


def _compact(task: StoredTask) -> StoredTask:
    """Keep of a task that is done what people look for; the journal has all of it."""
    if len(task.spec.prompt) <= KEPT_PROMPT:
        return task
    return replace(task, spec=replace(task.spec, prompt=f"{task.spec.prompt[:KEPT_PROMPT]}…"))


def _between(before: StoredTask, others: Iterable[StoredTask]) -> float | None:
    """A rank just before a task's; None if there is no number left."""
    lower = max((each.rank for each in others if each.rank < before.rank), default=before.rank - 1.0)
    rank = (lower + before.rank) / 2
    return rank if lower < rank < before.rank else None


def spec_of(tasks: Mapping[str, TaskSpec], store: TaskStore, id_: str) -> TaskSpec | None:
    """The spec of a task among new ones, or of the store."""
    found = store.find(id_)
    return tasks.get(id_) or (found.spec if found else None)
