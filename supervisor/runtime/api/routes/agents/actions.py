"""The routes of actions: those that wait for a person, and those that are only thought of."""

from typing import Any

from fastapi import FastAPI, Response
from pydantic import BaseModel

from monitors.contract.actions import Action, Review
from supervisor.core.fold.summary import Summary
from supervisor.protocol import events
from supervisor.runtime.api.routes.parts import RequestParts
from supervisor.runtime.daemon.submission import SubmissionRequest
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
    """How long after that it is denied."""


class ToReview(SubmissionRequest):
    """An action that is only thought of."""

    tool: str
    input: dict[str, Any]
    cwd: str = ""
    workspace: str = ""


def action_routes(api: FastAPI, daemon: RequestParts, reader: ReadingService) -> None:
    """Add them.

    Args:
        api: To what.
        daemon: Has what waits.
        reader: Reviews what is only thought of.
    """

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

    @api.post("/v1/review", response_class=Response, responses={200: {"model": Review}})
    async def review(wanted: ToReview) -> Response:
        """Return the gate's answer to an action that no agent takes; nothing is noted."""
        return AnsweredElsewhere(reader, Reviewing.of(Action(wanted.tool, wanted.input, wanted.cwd, wanted.workspace)))


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
