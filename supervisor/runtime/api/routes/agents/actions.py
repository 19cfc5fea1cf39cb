"""The routes of actions: those that wait for a person, and those that are only thought of."""

from typing import Any, Protocol
from uuid import uuid4

from fastapi import FastAPI, Response
from pydantic import BaseModel

from monitors.contract.actions import Action, Review
from monitors.review.allowances import HOST_TOOL
from supervisor.core.fold.asked_hosts import KEPT_SECONDS
from supervisor.core.fold.summary import Summary
from supervisor.protocol import events
from supervisor.runtime.api.serving.answer_types import AgentAnswer
from supervisor.runtime.daemon.submission import SubmissionRequest
from supervisor.runtime.daemon_parts import BootParts, RequestParts, TimeParts
from supervisor.runtime.reading.handing_over import AnsweredElsewhere
from supervisor.runtime.reading.jobs import Reviewing
from supervisor.runtime.reading.reader import ReadingService
from supervisor.runtime.socket.peer import By


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
    """How long after that it is denied, and how long a host is listed."""


class ReviewBody(SubmissionRequest):
    """An action that is only thought of."""

    tool: str
    input: dict[str, Any]
    cwd: str = ""
    workspace: str = ""


class ActionParts(RequestParts, TimeParts, BootParts, Protocol):
    """The parts of the daemon that these routes need."""


def action_routes(api: FastAPI, daemon: ActionParts, reader: ReadingService) -> None:
    """Add them.

    Args:
        api: To what.
        daemon: Has what waits.
        reader: Reviews what is only thought of.
    """

    @api.get("/v1/approvals")
    async def approvals() -> list[Waiting]:
        """The actions of all agents that wait for a person, and hosts that they were refused, oldest first."""
        live, now = list(daemon.board.live()), daemon.wall()
        asked = [_waiting(each) for session in live for each in session.approvals]
        asked += [_host_waiting(each) for session in live for each in session.hosts.waiting(now)]
        return sorted(asked, key=lambda each: each.asked_at)

    @api.post("/v1/agents/{agent}/approvals/{request_id}")
    async def answer(agent: str, request_id: str, given: ApprovalReply, by: By) -> AgentAnswer:
        """Let an action that waits run, or turn it down; a host is opened to the agent for an hour."""
        stamp = daemon.stamp(agent)
        session = daemon.board.find(agent)
        if session is not None and (host := session.hosts.find(request_id, daemon.wall())):
            return await _answer_host(daemon, host, given, by)
        return await daemon.request(
            events.ApprovalGiven(**stamp, request_id=request_id, granted=given.granted, note=given.note, by=by)
        )

    @api.post("/v1/review", response_class=Response, responses={200: {"model": Review}})
    async def review(wanted: ReviewBody) -> Response:
        """Return the gate's answer to an action that no agent takes; nothing is noted."""
        return AnsweredElsewhere(reader, Reviewing.of(Action(wanted.tool, wanted.input, wanted.cwd, wanted.workspace)))


async def _answer_host(daemon: ActionParts, host: events.HostRefused, given: ApprovalReply, by: str) -> Summary:
    """Open a host, or turn it down; the agent is told what the person says to that."""
    agent = host.agent
    if given.granted:
        known = await daemon.request(
            events.AllowanceGiven(
                **daemon.stamp(agent),
                id=f"w-{uuid4().hex[:6]}",
                by=by,
                tool=HOST_TOOL,
                text=host.host,
                uses=None,
                seconds=KEPT_SECONDS,
                boot_id=daemon.boot_id(),
            )
        )
    else:
        known = await daemon.request(events.HostDenied(**daemon.stamp(agent), host=host.host, by=by))
    if given.note:
        said = events.SayRequested(**daemon.stamp(agent), id=f"{host.id}-{uuid4().hex[:6]}", text=given.note, by=by)
        known = await daemon.request(said)
    return known


def _host_waiting(asked: events.HostRefused) -> Waiting:
    return Waiting(
        agent=asked.agent,
        request_id=asked.id,
        tool=HOST_TOOL,
        input={"url": asked.host},
        why=asked.why,
        risk=0.0,
        reasoning="The agent was refused, and goes on without it. Approved, the host is open to it for an hour.",
        asked_at=asked.at,
        deadline_seconds=KEPT_SECONDS,
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
