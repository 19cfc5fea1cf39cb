"""The routes of stored tasks."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import anyio.to_thread
from fastapi import FastAPI, Query, Response
from pydantic import Field

from monitors.contract import anyjson
from monitors.contract.errors import UsageError
from supervisor.core.board import Board
from supervisor.core.tasks.records import StoredTask
from supervisor.protocol.tasks import TaskState
from supervisor.runtime.api.routes.directories import worktree_meant
from supervisor.runtime.api.serving.answer_types import AgentAnswer
from supervisor.runtime.daemon.submission import SubmissionRequest
from supervisor.runtime.socket.peer import By
from supervisor.runtime.tasks.desk import MOST_AT_ONCE, TaskChange, TaskDesk, TaskWanted
from supervisor.runtime.tasks.dispatcher import Dispatcher
from supervisor.runtime.tasks.redirecting import RedirectBody, Redirecting

PROMPT_CHARACTERS = 200
"""Characters of a task's prompt in a row of the list: two lines. The task's own route has all of it."""


class TasksBody(SubmissionRequest):
    """Tasks to be added: all of them, or none."""

    tasks: Annotated[tuple[TaskWanted, ...], Field(min_length=1, max_length=MOST_AT_ONCE)]
    request_id: Annotated[str, Field(max_length=200)] = ""
    """Names the request, so that it adds its tasks once however often it is sent."""


class CancelBody(SubmissionRequest):
    """How a task is taken back."""

    reason: str = ""


class PlaceBody(SubmissionRequest):
    """The place that a pending task is to have."""

    place: Literal["first", "last", "before"]
    before: str = ""
    """For `before`: the pending task that it is to stand before, whose priority it takes."""


def task_routes(api: FastAPI, desk: TaskDesk, dispatcher: Dispatcher, board: Board, redirecting: Redirecting) -> None:
    """Add the routes."""

    @api.post("/v1/agents/{agent}/redirect")
    async def redirect(agent: str, wanted: RedirectBody, by: By) -> AgentAnswer:
        """Interrupt the agent and give it another task: in words, or one of the store."""
        return await redirecting.redirect(agent, wanted, by)

    def answered(task: StoredTask) -> Response:
        return _json(_whole(task, board, dispatcher))

    @api.post("/v1/tasks", status_code=201, response_class=Response)
    async def add(body: TasksBody, by: By) -> Response:
        """Add tasks; agents claim them by and by. The answer has a row for each."""
        added = await desk.add(body.tasks, by, body.request_id)
        rows = [_row(task) for id_ in added.ids if (task := board.tasks.find(id_)) is not None]
        return _json({"tasks": rows, "again": added.again}, 201)

    @api.get("/v1/tasks", response_class=Response)
    async def tasks(
        state: Annotated[list[TaskState], Query(description="Only those in one of these states.")] = [],  # noqa: B006
        label: str | None = Query(None, description="Only those with this label."),
        repository: str | None = Query(None, description="Only those of the worktree of this directory."),
        after: str | None = Query(None, description="Only those added after this task."),
        limit: int = Query(20_000, ge=1, description="How many at most."),
    ) -> Response:
        """The stored tasks, oldest first: a row of each."""
        wanted = set(state)
        if repository is not None:
            tops = {task.spec.repository for task in board.tasks}
            repository = await anyio.to_thread.run_sync(worktree_meant, repository, tops)
        found = (
            task
            for task in _after(board, after)
            if (not wanted or task.state in wanted)
            and (label is None or label in task.spec.labels)
            and (repository is None or task.spec.repository == repository)
        )
        return _json([_row(task) for task, _ in zip(found, range(limit), strict=False)])

    @api.get("/v1/tasks/{task}", response_class=Response)
    async def show(task: str) -> Response:
        """One task, with its runs and its history."""
        return answered(board.tasks.get(task))

    @api.post("/v1/tasks/{task}/edit", response_class=Response)
    async def edit(task: str, change: TaskChange, by: By) -> Response:
        """Change a task in the given fields. An agent that works on it goes on with what it was told."""
        return answered(await desk.edit(task, change, by))

    @api.post("/v1/tasks/{task}/cancel", response_class=Response)
    async def cancel(task: str, by: By, how: CancelBody | None = None) -> Response:
        """Take a task back. An agent that works on it is ended; its work is kept."""
        return answered(await desk.cancel(task, by, how.reason if how else ""))

    @api.post("/v1/tasks/{task}/retry", response_class=Response)
    async def retry(task: str, by: By) -> Response:
        """Have a task tried again that failed, was parked or cancelled, or that waits for another attempt."""
        return answered(await desk.retry(task, by))

    @api.post("/v1/tasks/{task}/reorder", response_class=Response)
    async def reorder(task: str, where: PlaceBody, by: By) -> Response:
        """Give a pending task another place in the queue."""
        if where.place == "before" and not where.before:
            raise UsageError("The task to stand before is not named; nothing was changed.")
        before = desk.first(task) if where.place == "first" else where.before if where.place == "before" else ""
        return answered(await desk.reorder(task, before, by))


def _after(board: Board, after: str | None) -> Iterator[StoredTask]:
    if after is None:
        return iter(board.tasks)
    number = board.tasks.get(after).number
    return (task for task in board.tasks if task.number > number)


def _row(task: StoredTask) -> dict[str, Any]:
    """The facts of a task for a list."""
    spec, run = task.spec, task.last_run
    return {
        "task": spec.id,
        "state": task.state,
        "why": task.why,
        "by": task.by,
        "priority": spec.priority,
        "rank": task.rank,
        "repository": spec.repository,
        "agent": run.agent if run else None,
        "run_id": run.run_id if run else None,
        "depends_on": spec.depends_on,
        "labels": spec.labels,
        "attempts": task.runs_before + len(task.runs),
        "tries": task.tries,
        "added_at": task.added_at,
        "changed_at": task.changed_at,
        "prompt": spec.prompt[:PROMPT_CHARACTERS],
    }


def _whole(task: StoredTask, board: Board, dispatcher: Dispatcher) -> dict[str, Any]:
    """All facts of a task."""
    pending = task.state is TaskState.PENDING
    merge = board.merges.last_of(task.id)
    return {
        **_row(task),
        "prompt": task.spec.prompt,
        "spec": task.spec,
        "runs": task.runs,
        "history": task.history,
        "not_before": task.not_before or None,
        "waits_for": [one.id for one in board.tasks.unmet(task)] if pending else [],
        "held_back": dispatcher.queue.reason(task, dispatcher.facts_now()) if pending else "",
        "merge": {"id": merge.id, "phase": merge.phase, "why": merge.why} if merge is not None else None,
        "needed_by": sorted(board.tasks.needing(task.id)),
    }


def _json(data: Any, status: int = 200) -> Response:
    """Answer with data of plain types and records, which the fast library writes: 10,000 rows in 20 ms."""
    return Response(anyjson.dumps(data), status, media_type="application/json")
