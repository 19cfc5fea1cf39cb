"""The routes by which a person leaves the agents alone for a while. Only a person reaches them."""

from typing import Annotated, Literal
from uuid import uuid4

from fastapi import FastAPI
from pydantic import BaseModel, Field

from supervisor.runtime.api.routes.agents.orders import RequestId
from supervisor.runtime.daemon.submission import SubmissionRequest
from supervisor.runtime.daemon_parts import BoardParts
from supervisor.runtime.services.people.autopilot import Autopilot, AutopilotWanted
from supervisor.runtime.socket.peer import By


class AutopilotBody(SubmissionRequest):
    """A stretch without a person: its end, its budget, or both."""

    until: Annotated[float | None, Field(gt=0)] = None
    """Unix time in seconds."""
    max_cost_usd: Annotated[float | None, Field(gt=0, le=1e9)] = None
    """Most that all agents may cost in it, in US dollars."""
    reason: Annotated[str, Field(max_length=1_000)] = ""
    request_id: RequestId = ""


class AutopilotState(BaseModel):
    """The stretch that is under way, and the one before."""

    on: bool
    id: str = ""
    by: str = ""
    reason: str = ""
    since: float | None = None
    """Unix time in seconds."""
    until: float | None = None
    """Unix time in seconds; none: its budget alone ends it."""
    max_cost_usd: float | None = None
    spent_usd: float = 0.0
    """Cost of all agents in it so far, in US dollars; of one that is over, in all."""
    checkpoints: list[str] = []
    """The project checkpoints made before it, each as `project: name`."""
    ended: Literal["time", "budget", "person"] | None = None
    """Why the one before ended; none while one is under way, or if there never was one."""
    report: str = ""
    """Path of that one's report."""


def autopilot_routes(api: FastAPI, daemon: BoardParts, autopilot: Autopilot) -> None:
    """Add them."""

    def state() -> AutopilotState:
        known = daemon.board.orders
        if (began := known.autopilot) is not None:
            return AutopilotState(
                on=True,
                id=began.id,
                by=began.by,
                reason=began.reason,
                since=began.at,
                until=began.until,
                max_cost_usd=began.max_cost_usd,
                spent_usd=autopilot.spent(began),
                checkpoints=list(began.checkpoints),
            )
        if (ended := known.autopilot_before) is not None:
            told = {"id": ended.id, "by": ended.by, "report": ended.report}
            return AutopilotState(on=False, ended=ended.why, spent_usd=ended.spent_usd, **told)
        return AutopilotState(on=False)

    @api.get("/v1/autopilot")
    async def under_way() -> AutopilotState:
        """Return the stretch without a person that is under way, or how the last one ended."""
        return state()

    @api.post("/v1/autopilot")
    async def begin(wanted: AutopilotBody, by: By) -> AutopilotState:
        """Leave the agents alone until an end or a budget: checkpoints before it, agents held at it, a report after."""
        id_ = wanted.request_id or uuid4().hex[:12]
        await autopilot.begin(AutopilotWanted(id_, wanted.until, wanted.max_cost_usd, wanted.reason), by)
        return state()

    @api.post("/v1/autopilot/end")
    async def end(by: By) -> AutopilotState:
        """End it, since a person is there again: agents go on. Nothing happens if none is under way."""
        if (began := daemon.board.orders.autopilot) is not None:
            await autopilot.end(began, "person", by)
        return state()
