"""Requests of people about stored tasks: each is checked whole before anything of it is journalled."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any
from uuid import uuid4

from pydantic import Field

from monitors.contract.errors import NumberedUsageError, UsageError
from monitors.contract.words import MonitoringLevel
from supervisor.config.model import PermissionMode
from supervisor.core.settings import is_prefix
from supervisor.core.tasks.admission import check_added, check_dependencies, check_edited
from supervisor.core.tasks.records import StoredTask
from supervisor.core.tasks.states import take_step
from supervisor.core.tasks.store import TaskStore
from supervisor.protocol import events
from supervisor.protocol.events import EventStamp, TaskEdited, TaskMoved, TaskReordered, TasksAdded
from supervisor.protocol.tasks import TaskSpec, TaskState, TaskStep, TaskWorkspace
from supervisor.protocol.words import MergeMode
from supervisor.runtime.daemon.submission import (
    ForProgram,
    Label,
    OwnApproval,
    OwnLimits,
    Submission,
    SubmissionRequest,
)

MOST_AT_ONCE = 10_000
"""Tasks that may be added with one request: as many as may be open."""

MOST_TOLD = 20
"""Faults of a request that its refusal tells in words; all of them are in its data."""


class TaskChange(SubmissionRequest):
    """New values for fields of a task; fields that are not given stay as they are."""

    prompt: str | None = None
    goals: tuple[str, ...] | None = None
    constraints: tuple[str, ...] | None = None
    expected_paths: tuple[str, ...] | None = None
    base: str | None = None
    priority: Annotated[int | None, Field(ge=-1_000_000, le=1_000_000)] = None
    depends_on: tuple[str, ...] | None = None
    """Ids of tasks; in a request that adds several also their names."""
    limits: OwnLimits | None = None
    """Single limits of its own; the others are as configured."""
    max_cost_usd: Annotated[float | None, Field(gt=0)] = None
    verify: ForProgram | None = None
    merge: MergeMode | None = None
    target: str | None = None
    retries: Annotated[int | None, Field(ge=0, le=100)] = None
    labels: Annotated[tuple[Label, ...] | None, Field(max_length=32)] = None
    workspace: TaskWorkspace | None = None
    permission_mode: PermissionMode | None = None
    approval: OwnApproval | None = None
    name_prefix: str | None = None
    model: ForProgram | None = None
    monitoring_level: Annotated[MonitoringLevel | None, Field(strict=False)] = None

    def given(self) -> dict[str, Any]:
        """The fields that were given, as a `TaskSpec` has them."""
        found = {name: getattr(self, name) for name in self.model_fields_set if name in _SPEC}
        if self.approval is not None:
            found["approval"] = self.approval.given()
        if self.limits is not None:
            found["limits"] = self.limits.model_dump(exclude_unset=True)
        return found


class TaskWanted(TaskChange):
    """A task to be added; only the prompt and the repository must be given."""

    prompt: str
    repository: str
    """Absolute path of a directory in a git worktree."""
    name: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    """A name for it within the request, by which others of the request can depend on it."""


_SPEC = frozenset(field.name for field in fields(TaskSpec))


@dataclass(frozen=True, slots=True)
class AddedTasks:
    """The tasks of a request."""

    ids: tuple[str, ...]
    again: bool
    """Whether the same request had been taken before, so that nothing was added."""


class TaskDesk:
    """Takes requests about stored tasks.

    Args:
        store: The tasks.
        happened: Journals an event and has it folded in; returns its number.
        written: Waits until the journal has an event.
        stamp: Returns the times of an event of now.
        refuse_for_now: Raises if no task can be taken at all.
    """

    def __init__(
        self,
        store: TaskStore,
        happened: Callable[[events.AnyEvent], int],
        written: Callable[[int], Awaitable[object]],
        stamp: Callable[[str], EventStamp],
        refuse_for_now: Callable[[], None],
    ) -> None:
        self._store, self._happened, self._written = store, happened, written
        self._stamp, self._refuse_for_now = stamp, refuse_for_now

    async def add(self, wanted: Sequence[TaskWanted], by: str, request_id: str = "") -> AddedTasks:
        """Add tasks: all of them or none. A request that is sent again adds nothing.

        Raises:
            UsageError: Some of them cannot be added; the sentence says which, and why.
            UnavailableError: The daemon is ending, or its disk is full.
        """
        if request_id and (taken := self._store.taken(request_id)) is not None:
            return AddedTasks(taken, again=True)
        self._refuse_for_now()
        if not 0 < len(wanted) <= MOST_AT_ONCE:
            raise UsageError(f"{len(wanted)} tasks were given, and 1 to {MOST_AT_ONCE} can be; nothing was added.")
        specs = await self._specs(wanted)
        if request_id and (taken := self._store.taken(request_id)) is not None:  # by its twin meanwhile
            return AddedTasks(taken, again=True)
        check_added(self._store, specs)
        request_id = request_id or uuid4().hex
        await self._happen(TasksAdded(**self._stamp(""), request_id=request_id, tasks=tuple(specs), by=by))
        return AddedTasks(tuple(spec.id for spec in specs), again=False)

    async def edit(self, id_: str, change: TaskChange, by: str) -> StoredTask:
        """Change a task. An agent that works on it goes on with what it was told.

        Raises:
            NotFoundError: There is no such task.
            UsageError: It cannot be changed so, or it is done.
        """
        task = self._store.get(id_)
        if task.state is TaskState.DONE:
            raise UsageError(f"Task {id_} is done and cannot be changed; nothing was changed.", way_out="Add another.")
        given = {name: value for name, value in change.given().items() if getattr(task.spec, name) != value}
        if not given:
            return task
        spec = replace(task.spec, **given)
        _check(spec)
        check_edited(self._store, spec)
        await self._happen(TaskEdited(**self._stamp(""), task=spec, changed=tuple(sorted(given)), by=by))
        return self._store.get(id_)

    async def cancel(self, id_: str, by: str, why: str = "") -> StoredTask:
        """Take a task back; an agent that works on it is ended, and its work is kept. Nothing happens a second time.

        Raises:
            NotFoundError: There is no such task.
            IllegalTaskStepError: It is done.
        """
        if self._store.get(id_).state is TaskState.CANCELLED:
            return self._store.get(id_)
        return await self.step(id_, TaskStep.CANCEL, by, f"cancelled by {by}" + (f": {why}" if why else ""))

    async def retry(self, id_: str, by: str) -> StoredTask:
        """Have a task claimed again, and at once if it waits for a while: its attempts count from nought.

        Raises:
            NotFoundError: There is no such task.
            IllegalTaskStepError: It is done, or an agent has it.
        """
        task = self._store.get(id_)
        if task.state is TaskState.PENDING and not task.tries and not task.not_before:
            return task
        return await self.step(id_, TaskStep.RETRY, by, f"to be tried again, says {by}")

    async def reorder(self, id_: str, before: str, by: str) -> StoredTask:
        """Give a task the place before another, and its priority; or, with none, the last of its own priority.

        Raises:
            NotFoundError: There is no such task.
            UsageError: One of them is not pending.
        """
        for one in filter(None, (id_, before)):
            if (task := self._store.get(one)).state is not TaskState.PENDING:
                raise UsageError(
                    f"Task {one} is {task.state} and has no place in the queue; nothing was changed.",
                    way_out="Only pending tasks have one: chaperon task list --state pending.",
                )
        if id_ == before:
            raise UsageError(f"Task {id_} cannot stand before itself; nothing was changed.")
        await self._happen(TaskReordered(**self._stamp(""), task=id_, before=before, by=by))
        return self._store.get(id_)

    def first(self, id_: str) -> str:
        """The pending task that is first in the queue, if it is another."""
        return next((task.id for task in self._store.pending() if task.id != id_), "")

    async def step(self, id_: str, step: TaskStep, by: str, why: str) -> StoredTask:
        """Have a task take a step that a person asks for.

        Raises:
            NotFoundError: There is no such task.
            IllegalTaskStepError: Its state has no such step.
        """
        task = self._store.get(id_)
        after = take_step(id_, task.state, step)
        run_id = task.run.run_id if task.run else ""
        await self._happen(
            TaskMoved(
                **self._stamp(""),
                task=id_,
                before=task.state,
                after=after,
                step=step,
                why=why,
                by=by,
                run_id=run_id,
            )
        )
        return self._store.get(id_)

    async def _happen(self, event: events.AnyEvent) -> None:
        await self._written(self._happened(event))

    async def _specs(self, wanted: Sequence[TaskWanted]) -> list[TaskSpec]:
        """Return the tasks of a request, with ids of their own in place of names.

        Raises:
            NumberedUsageError: Some are wrong; each with its number.
        """
        faults: dict[int, str] = {}
        tops = await self._worktrees(wanted, faults)
        made = [f"t-{uuid4().hex[:8]}" for _ in wanted]
        ids: dict[str, str] = {}
        for number, (id_, one) in enumerate(zip(made, wanted, strict=True), 1):
            if one.name is not None and ids.setdefault(one.name, id_) != id_:
                faults.setdefault(number, f"a task before it has the name {one.name!r}")
        specs, new = [], frozenset(made)
        for number, (id_, one) in enumerate(zip(made, wanted, strict=True), 1):
            given = {name: value for name, value in one.given().items() if value is not None}
            depends = tuple(dict.fromkeys(ids.get(name, name) for name in one.depends_on or ()))
            top = tops.get(one.repository, one.repository)
            spec = TaskSpec(**{**given, "id": id_, "repository": top, "depends_on": depends})
            try:
                _check(spec)
                check_dependencies(self._store, new, spec)
            except UsageError as error:
                faults.setdefault(number, _fault(error))
            specs.append(spec)
        if faults:
            raise _refusal(wanted, faults)
        return specs

    async def _worktrees(self, wanted: Iterable[TaskWanted], faults: dict[int, str]) -> Mapping[str, str]:
        """Return the worktree of each directory that is named, and note faults; each is looked up once."""
        tops: dict[str, str] = {}
        bad: dict[str, str] = {}
        for number, one in enumerate(wanted, 1):
            if one.repository not in tops and one.repository not in bad:
                try:
                    tops[one.repository] = await Submission(prompt="?", repository=one.repository).check()
                except UsageError as error:
                    bad[one.repository] = _fault(error)
            if one.repository in bad:
                faults[number] = bad[one.repository]
        return tops


def _fault(error: UsageError) -> str:
    """The fault of one task, without what became of the request, which is said once."""
    return error.what.rpartition("; nothing ")[0] or error.what


def _refusal(wanted: Sequence[TaskWanted], faults: Mapping[int, str]) -> NumberedUsageError:
    told = [
        f"Task {number}{f' ({name})' if (name := wanted[number - 1].name) else ''}: {faults[number]}"
        for number in sorted(faults)
    ]
    more = f"; and {len(told) - MOST_TOLD} more" if len(told) > MOST_TOLD else ""
    return NumberedUsageError(f"{'; '.join(told[:MOST_TOLD])}{more}; nothing was added.", faults)


def _check(spec: TaskSpec) -> None:
    """Refuse what no agent could be submitted for; raises UsageError."""
    Submission(prompt=spec.prompt, repository=spec.repository).check_words()
    if spec.name_prefix is not None:
        try:
            is_prefix(spec.name_prefix)
        except ValueError as error:
            raise UsageError(f"{error}; nothing was changed.") from None
    if spec.workspace == "in-place" and spec.base is not None:
        raise UsageError("A base is for a new workspace only; nothing was changed.", way_out="Leave one of them out.")
