"""The socket's API: HTTP with JSON, described by OpenAPI at `/openapi.json`.

Events and incidents are streamed as lines from the files in which they are kept, so a reader that is slow, or that
stops reading, delays no other.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import uuid4

import anyio
from fastapi import FastAPI, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from monitors.contract.actions import Action, Review
from monitors.contract.errors import ChaperonError, UsageError
from supervisor import __version__
from supervisor.core.fold.summary import DAY, Summary
from supervisor.protocol import events
from supervisor.runtime.api.routes.agent_rows import AgentRows
from supervisor.runtime.api.routes.allowances import allowance_routes
from supervisor.runtime.api.routes.checkpoints import checkpoint_routes
from supervisor.runtime.api.routes.discoveries import discovery_routes
from supervisor.runtime.api.routes.merges import merge_routes
from supervisor.runtime.api.routes.orders import OrdersInForce, RequestId, in_force_now, order_routes
from supervisor.runtime.api.routes.trust import trust_routes
from supervisor.runtime.api.serving.bodies import BoundedBodies
from supervisor.runtime.api.serving.json_edge import ErrorResponse, speak_json
from supervisor.runtime.api.serving.turnstile import QuestionsInTurn, Turnstile
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.daemon.submission import Submission, SubmissionRequest, UnavailableError
from supervisor.runtime.reading.handing_over import AnsweredElsewhere
from supervisor.runtime.reading.jobs import JSON, LINES, Events, Incidents, Reviewing
from supervisor.runtime.reading.reader import ReadingService
from supervisor.runtime.socket.peer import By

T = TypeVar("T")

LIST_COSTS = 4
"""Questions that the list of agents counts for beside itself: that of sixty agents at work takes five times as long."""

CATCH_UP_SECONDS = 2.0
"""Time that a stream which does not follow waits for the latest events to be written. A write takes milliseconds,
and a full disk must not keep readers from the rest."""

STREAM: dict[int | str, dict[str, Any]] = {200: {"content": {LINES: {}}}}
"""Description of routes that answer with lines."""


class Said(SubmissionRequest):
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


class ApprovalReply(SubmissionRequest):
    """A person's reply to an action that waits."""

    granted: bool
    note: str = ""
    """The text for the model beside the reply."""


class Waiting(BaseModel):
    """An action that waits for a person."""

    agent: str
    request_id: str
    tool: str
    input: dict[str, Any]
    why: str
    risk: float
    reasoning: str
    """The reasoning of the review."""
    asked_at: float
    """Unix time, in seconds."""
    deadline_seconds: float
    """How long after that it is denied."""


class ToReview(SubmissionRequest):
    """An action that is only thought of."""

    tool: str
    input: dict[str, Any]
    cwd: str = ""
    workspace: str = ""


class HealthResponse(BaseModel):
    """How the daemon is."""

    version: str
    ending: bool
    journal: str
    """`open`, `full`, or why it takes nothing."""
    last_event: int
    agents: int
    """How many live."""
    ended: int
    """How many ended and were not removed."""
    adopted: dict[str, int]
    orders: OrdersInForce
    """Orders of people that stand: whether new tasks are taken, and which agents are held."""


class CostsResponse(BaseModel):
    """Spending of all agents, live and ended."""

    total_usd: float
    """In US dollars, as the CLI says it, with an estimate of what it has not counted yet."""
    today_usd: float
    """Since midnight of UTC."""
    by_day: dict[str, float]
    """By day of UTC. Example: `2026-11-22`."""
    tokens: dict[str, int]
    """By kind: `input`, `cache_write`, `cache_read` and `output`."""


def make_api(daemon: Daemon, reader: ReadingService, turnstile: Turnstile) -> FastAPI:
    """The application that serves one daemon.

    Args:
        daemon: Does what is asked.
        reader: Has answered elsewhere what is long.
        turnstile: Where requests wait that only ask.
    """
    api = FastAPI(
        title="chaperon",
        version=__version__,
        description="The socket of the daemon that watches over Claude agents.",
        redirect_slashes=False,
        responses={code: {"model": ErrorResponse} for code in (400, 404, 409, 413, 422, 424, 500, 503)},
    )
    api.add_middleware(BoundedBodies)
    api.add_middleware(QuestionsInTurn, turnstile=turnstile)
    speak_json(api)
    _daemon_routes(api, daemon, reader)
    _agent_routes(api, daemon, turnstile)
    _approval_routes(api, daemon)
    allowance_routes(api, daemon)
    trust_routes(api, daemon)
    order_routes(api, daemon)
    discovery_routes(api, daemon)
    checkpoint_routes(api, daemon, reader)
    merge_routes(api, daemon)
    _streams(api, daemon, reader)
    return api


def _daemon_routes(api: FastAPI, daemon: Daemon, reader: ReadingService) -> None:
    @api.get("/v1/health")
    async def health() -> HealthResponse:
        """How the daemon is."""
        return HealthResponse(
            version=__version__,
            ending=daemon.ending,
            journal=str(daemon.journal.state),
            last_event=daemon.journal.last,
            agents=len(daemon.board.at_work()),
            ended=sum(one.ended_at is not None and one.removed_at is None for one in daemon.board.summaries()),
            adopted=daemon.runners.adopted.counts(),
            orders=in_force_now(daemon),
        )

    @api.get("/v1/costs")
    async def costs() -> CostsResponse:
        """Return the spending of all agents, in total and by day."""
        spent = daemon.board.costs
        today = int(daemon.wall() // DAY)
        by_day = {
            datetime.fromtimestamp(day * DAY, UTC).date().isoformat(): cost
            for day, cost in sorted(spent.by_day.items())
        }
        return CostsResponse(
            total_usd=spent.cost_usd, today_usd=spent.by_day.get(today, 0.0), by_day=by_day, tokens=dict(spent.tokens)
        )

    @api.post("/v1/review", response_class=Response, responses={200: {"model": Review}})
    async def review(wanted: ToReview) -> Response:
        """Return the gate's answer to an action that no agent takes; nothing is noted."""
        return AnsweredElsewhere(reader, Reviewing.of(Action(wanted.tool, wanted.input, wanted.cwd, wanted.workspace)))


def _agent_routes(api: FastAPI, daemon: Daemon, turnstile: Turnstile) -> None:
    rows = AgentRows(lambda: daemon.board)

    @api.get("/v1/agents", response_class=Response, responses={200: {"model": list[Summary]}})
    async def agents(
        recent: bool = Query(False, description="Only live ones, and ended ones that ended lately or need a look."),
        label: str | None = Query(None, description="Only those whose task has this label."),
    ) -> Response:
        """All agents, oldest first, but for those whose remains were removed."""
        now = daemon.wall()
        turnstile.charge(LIST_COSTS)

        def wanted(one: Summary) -> bool:
            return (label is None or label in one.task.labels) and (not recent or one.listed(now))

        return StreamingResponse(rows.parts(wanted), media_type=JSON)

    @api.post("/v1/agents", status_code=201)
    async def submit(wanted: Submission, request: Request, by: By) -> Summary:
        """Submit a task.

        Its agent is launched at once, or once its workspace is set up. A client that hangs up before that takes it
        back.
        """
        return await _unless_gone(request, lambda: daemon.submit(wanted, by=by))

    @api.get("/v1/agents/{agent}")
    async def show(agent: str) -> Summary:
        """One agent, live or ended, with why it was answered as it was."""
        return daemon.board.explained(agent, daemon.mono())

    @api.post("/v1/agents/{agent}/say")
    async def say(agent: str, said: Said, by: By) -> Summary:
        """Tell the agent something: into its running turn, or as a new one."""
        return await daemon.request(
            events.SayRequested(**daemon.stamp(agent), id=said.request_id or _id(), text=_words(said), by=by)
        )

    @api.post("/v1/agents/{agent}/pause")
    async def pause(agent: str, by: By, how: PauseBody | None = None) -> Summary:
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
    async def resume(agent: str, by: By, how: ResumeBody | None = None) -> Summary:
        """Let a paused agent go on."""
        request_id = how.request_id if how is not None else ""
        return await daemon.request(events.ResumeRequested(**daemon.stamp(agent), by=by, request_id=request_id))

    @api.post("/v1/agents/{agent}/stop")
    async def stop(agent: str, by: By, how: StopBody | None = None) -> Summary:
        """Stop the agent: ask first, then make it; or at once."""
        how = how or StopBody()
        stop = events.StopRequested(
            **daemon.stamp(agent), by=by, reason=how.reason, force=how.force, request_id=how.request_id
        )
        return await daemon.request(stop)


def _approval_routes(api: FastAPI, daemon: Daemon) -> None:
    @api.get("/v1/approvals")
    async def approvals() -> list[Waiting]:
        """The actions of all agents that wait for a person, oldest first."""
        asked = [each for session in daemon.board.live() for each in session.approvals]
        return [_waiting(each) for each in sorted(asked, key=lambda each: each.at)]

    @api.post("/v1/agents/{agent}/approvals/{request_id}")
    async def answer(agent: str, request_id: str, given: ApprovalReply, by: By) -> Summary:
        """Let an action that waits run, or turn it down."""
        stamp = daemon.stamp(agent)
        return await daemon.request(
            events.ApprovalGiven(**stamp, request_id=request_id, granted=given.granted, note=given.note, by=by)
        )


def _waiting(asked: events.ApprovalAsked) -> Waiting:
    return Waiting(
        agent=asked.agent,
        request_id=asked.request_id,
        tool=asked.action.tool,
        input=dict(asked.action.input),
        why=asked.why,
        risk=asked.review.risk,
        reasoning=asked.review.reasoning,
        asked_at=asked.at,
        deadline_seconds=asked.deadline_seconds,
    )


def _streams(api: FastAPI, daemon: Daemon, reader: ReadingService) -> None:
    @api.get("/v1/events", response_class=Response, responses=STREAM)
    async def journal(
        after: int = Query(0, ge=-1, description="The last event not wanted; -1 for those to come only."),
        follow: bool = Query(False, description="Whether to wait for more."),
        agent: str | None = Query(None, description="Only this agent's."),
        since: float = Query(0.0, description="Only those from this Unix time on."),
    ) -> Response:
        """The journal's lines, as they are in its files."""
        if agent is not None:
            daemon.board.summary(agent)  # a name that nobody has is told
        last = daemon.journal.last
        if not follow:
            with anyio.move_on_after(CATCH_UP_SECONDS):
                await daemon.journal.written(last)
        return AnsweredElsewhere(reader, Events(last if after < 0 else after, last, follow, agent, since))

    @api.get("/v1/incidents", response_class=Response, responses=STREAM)
    async def incidents(follow: bool = Query(False, description="Whether to wait for more.")) -> Response:
        """The incident log's lines, oldest first."""
        return AnsweredElsewhere(reader, Incidents(follow))


def _words(said: Said) -> str:
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
