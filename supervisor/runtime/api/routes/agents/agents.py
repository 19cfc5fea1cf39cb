"""The routes of agents: their list, new ones, and what a person tells one."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar
from uuid import uuid4

import anyio
from fastapi import FastAPI, Query, Request, Response
from fastapi.responses import StreamingResponse

from monitors.contract.errors import ChaperonError, UsageError
from supervisor.core.fold.summary import Summary
from supervisor.protocol import events
from supervisor.runtime.api.routes.agents.orders import RequestId
from supervisor.runtime.api.serving.agent_rows import MOST_ROWS, AgentRows
from supervisor.runtime.api.serving.answer_types import AgentAnswer
from supervisor.runtime.api.serving.turnstile import Turnstile
from supervisor.runtime.daemon.submission import Submission, SubmissionRequest, UnavailableError
from supervisor.runtime.daemon_parts import RequestParts, TimeParts
from supervisor.runtime.reading.jobs import JSON
from supervisor.runtime.socket.peer import By

T = TypeVar("T")

LIST_COSTS = 4
"""Questions that the list of agents counts for beside itself: that of sixty agents at work takes five times as long."""


MOST_NAMES = 100
"""Names of agents in one question for some of them."""


NAMED = Query([], max_length=MOST_NAMES, description="Only those of this name; may be given more than once.")


class MessageBody(SubmissionRequest):
    """A message to an agent."""

    text: str
    request_id: RequestId = ""


class PauseBody(SubmissionRequest):
    """How an agent is to be held."""

    reason: str = ""
    at_turn_end: bool = False
    """Let the turn that runs end first."""
    request_id: RequestId = ""


class ResumeBody(SubmissionRequest):
    """How an agent is to go on."""

    request_id: RequestId = ""


class StopBody(SubmissionRequest):
    """How an agent is to be stopped."""

    reason: str = ""
    request_id: RequestId = ""
    force: bool = False
    """End the tree at once instead of asking first."""


class AgentRouteParts(RequestParts, TimeParts, Protocol):
    """The parts of the daemon that these routes need."""

    async def submit(self, wanted: Submission, by: str) -> Summary:
        """Take a task; its agent is launched once the journal has it."""
        ...


def agent_routes(api: FastAPI, daemon: AgentRouteParts, turnstile: Turnstile) -> None:
    """Add them."""
    rows = AgentRows(lambda: daemon.board)

    @api.get("/v1/agents", response_class=Response, responses={200: {"model": list[AgentAnswer]}})
    async def agents(
        recent: bool = Query(False, description="Only live ones, and ended ones that ended lately or need a look."),
        label: str | None = Query(None, description="Only those whose task has this label."),
        name: list[str] = NAMED,
        after: str | None = Query(None, description="Only those submitted after this agent."),
        limit: int = Query(MOST_ROWS, ge=1, description="How many at most."),
    ) -> Response:
        """All agents, oldest first, but for those whose remains were removed."""
        now = daemon.wall()
        if after is not None:
            daemon.board.summary(after)  # refused before the answer begins
        if not name:
            turnstile.charge(LIST_COSTS)

        def wanted(one: Summary) -> bool:
            return (label is None or label in one.task.labels) and (not recent or one.listed(now))

        return StreamingResponse(rows.parts(wanted, frozenset(name), after, limit), media_type=JSON)

    @api.post("/v1/agents", status_code=201)
    async def submit(wanted: Submission, request: Request, by: By) -> AgentAnswer:
        """Submit a task.

        Its agent is launched at once, or once its workspace is set up. A client that hangs up before that takes it
        back.
        """
        return await _unless_gone(request, lambda: daemon.submit(wanted, by=by))

    @api.get("/v1/agents/{agent}")
    async def show(agent: str) -> AgentAnswer:
        """One agent, live or ended, with why it was answered as it was."""
        return daemon.board.explained(agent, daemon.mono())

    @api.post("/v1/agents/{agent}/say")
    async def say(agent: str, said: MessageBody, by: By) -> AgentAnswer:
        """Tell the agent something: into its running turn, or as a new one."""
        return await daemon.request(
            events.SayRequested(**daemon.stamp(agent), id=said.request_id or _id(), text=_words(said), by=by)
        )

    @api.post("/v1/agents/{agent}/pause")
    async def pause(agent: str, by: By, how: PauseBody | None = None) -> AgentAnswer:
        """Hold the agent at its next tool call, or when its turn ends."""
        how = how or PauseBody()
        pause = events.PauseRequested(
            **daemon.stamp(agent),
            by=by,
            reason=how.reason,
            at_turn_end=how.at_turn_end,
            request_id=how.request_id,
        )
        return await daemon.request(pause)

    @api.post("/v1/agents/{agent}/resume")
    async def resume(agent: str, by: By, how: ResumeBody | None = None) -> AgentAnswer:
        """Let a paused agent go on."""
        request_id = how.request_id if how is not None else ""
        return await daemon.request(events.ResumeRequested(**daemon.stamp(agent), by=by, request_id=request_id))

    @api.post("/v1/agents/{agent}/stop")
    async def stop(agent: str, by: By, how: StopBody | None = None) -> AgentAnswer:
        """Stop the agent: ask first, then make it; or at once."""
        how = how or StopBody()
        stop = events.StopRequested(
            **daemon.stamp(agent), by=by, reason=how.reason, force=how.force, request_id=how.request_id
        )
        return await daemon.request(stop)


def _words(said: MessageBody) -> str:
    if not said.text.strip():
        raise UsageError("There is nothing to say: the text is empty. Nothing was sent.")
    return said.text


def _id() -> str:
    return uuid4().hex[:12]


async def _unless_gone(request: Request, work: Callable[[], Awaitable[T]]) -> T:
    """Do the work; it is cancelled if the client hangs up meanwhile.

    Raises:
        ChaperonError: That of the work; or it was cancelled, and there is no client to answer.
    """

    async def cancel_when_gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        tasks.cancel_scope.cancel()

    failed: ChaperonError = UnavailableError("Whoever asked has gone, so it was given up.")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(cancel_when_gone, name="watch for a hang-up")
        try:
            return await work()
        except ChaperonError as error:  # raised behind the group, which would wrap it
            failed = error
        finally:
            tasks.cancel_scope.cancel()
    raise failed
