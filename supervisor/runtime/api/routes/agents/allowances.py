"""The routes by which a person lets an agent do what the reviewer would block, looks at that, and takes it back."""

from typing import Protocol
from uuid import uuid4

from fastapi import FastAPI
from pydantic import BaseModel, Field

from monitors.contract.errors import UsageError
from monitors.review.allowances import HOST_TOOL, Allowance
from supervisor.protocol import events
from supervisor.runtime.api.serving.answer_types import AgentAnswer
from supervisor.runtime.daemon.submission import SubmissionRequest
from supervisor.runtime.daemon_parts import BootParts, RequestParts, TimeParts
from supervisor.runtime.socket.peer import By

MOST_SECONDS = 30 * 86_400.0
"""Longest time of an allowance; a longer need is a case for a rule in the configuration."""


class AllowanceBody(SubmissionRequest):
    """The calls to allow; at least one of `rule` and `text`."""

    rule: str = Field("", max_length=200)
    tool: str = Field("", max_length=200)
    text: str = Field("", max_length=65_536)
    """The command, path or address, exactly."""
    once: bool = True
    seconds: float | None = Field(None, gt=0, le=MOST_SECONDS)


class Allowed(BaseModel):
    """An allowance of one agent."""

    agent: str
    id: str
    by: str
    rule: str
    tool: str
    text: str
    uses: int | None
    """How often it may still be used; null for as often as wanted."""
    seconds_left: float | None
    """How long it is still good; null where it does not expire."""


class AllowanceParts(RequestParts, TimeParts, BootParts, Protocol):
    """The parts of the daemon that these routes need."""


def allowance_routes(api: FastAPI, daemon: AllowanceParts) -> None:
    """Add them. Only a person reaches them: the server turns the processes of agents away."""

    @api.get("/v1/allowances")
    async def allowances() -> list[Allowed]:
        """Return the allowances of agents in force at this moment."""
        now = daemon.mono()
        return [
            _allowed(session.summary.agent, one, now)
            for session in daemon.board.live()
            for one in session.allowances(now)
        ]

    @api.post("/v1/agents/{agent}/allowances", status_code=201)
    async def allow(agent: str, wanted: AllowanceBody, by: By) -> Allowed:
        """Let the agent do something that the reviewer would block, once or for a while."""
        if wanted.tool == HOST_TOOL:
            _check_host(wanted)
        id_ = f"w-{uuid4().hex[:6]}"
        await daemon.request(
            events.AllowanceGiven(
                **daemon.stamp(agent),
                id=id_,
                by=by,
                uses=1 if wanted.once else None,
                boot_id=daemon.boot_id(),
                rule=wanted.rule,
                tool=wanted.tool,
                text=wanted.text.strip(),
                seconds=wanted.seconds,
            )
        )
        return next(
            _allowed(agent, one, daemon.mono())
            for one in daemon.board.session(agent).allowances(daemon.mono())
            if one.id == id_
        )

    @api.delete("/v1/agents/{agent}/allowances/{id_}")
    async def revoke(agent: str, id_: str, by: By) -> AgentAnswer:
        """Take an allowance back."""
        return await daemon.request(events.AllowanceRevoked(**daemon.stamp(agent), id=id_, by=by))


def _check_host(wanted: AllowanceBody) -> None:
    """Refuse what is no host.

    Raises:
        UsageError: It is none.
    """
    from supervisor.runtime.gateway.hosts import parsed  # few allowances are for hosts

    try:
        parsed(wanted.text.strip())
    except ValueError as error:
        raise UsageError(
            f"{error}. The allowance was not given.",
            way_out="Name the host alone, such as example.org or example.org:8080; without a port, 443 is meant.",
        ) from None
    if wanted.rule:
        raise UsageError(
            "An allowance for a host excuses from no rule. It was not given.", way_out="Leave the rule out."
        )


def _allowed(agent: str, one: Allowance, now: float) -> Allowed:
    left = None if one.expires is None else round(one.expires - now, 1)
    return Allowed(
        agent=agent, id=one.id, by=one.by, rule=one.rule, tool=one.tool, text=one.text, uses=one.uses, seconds_left=left
    )
