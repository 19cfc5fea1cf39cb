"""The routes by which a person controls many agents at once, and has no new tasks taken."""

from collections.abc import Mapping
from typing import Annotated, Protocol
from uuid import uuid4

import anyio.to_thread
from fastapi import FastAPI
from pydantic import BaseModel, Field

from monitors.contract.errors import UsageError
from monitors.contract.tasks import MAX_PROMPT_BYTES
from supervisor.protocol import events
from supervisor.protocol.kinds.orders import OrderControl
from supervisor.protocol.words import AgentState
from supervisor.runtime.api.routes.directories import project_meant
from supervisor.runtime.daemon.orders import standing
from supervisor.runtime.daemon.submission import Label, SubmissionRequest
from supervisor.runtime.daemon_parts import BoardParts
from supervisor.runtime.services.people import orders, removal
from supervisor.runtime.services.people.forgetting import Forgetting, Forgotten
from supervisor.runtime.services.people.orders import OrderParts
from supervisor.runtime.services.people.removal import Removal, RemovalParts
from supervisor.runtime.socket.peer import By

RequestId = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{0,64}$")]
"""Id of a client's request: one that comes twice is carried out once. Empty: a new one is made."""


class OrderBody(SubmissionRequest):
    """An order to many agents."""

    repository: Annotated[str, Field(min_length=1)] | None = None
    """A directory of the repository whose agents are meant; none: all agents are."""
    label: Label | None = None
    """Only agents with this label are meant."""
    reason: Annotated[str, Field(max_length=1_000)] = ""
    text: Annotated[str, Field(max_length=MAX_PROMPT_BYTES)] = ""
    """The message to them, for `say`."""
    at_turn_end: bool = False
    """For `pause`: let the turns that run end first."""
    force: bool = False
    """For `stop`: end them at once instead of asking first."""
    request_id: RequestId = ""


class ResultOfOrder(BaseModel):
    """The outcome of an order for one agent."""

    agent: str
    state: AgentState
    """Its state now."""
    done: bool
    """Whether it was asked."""
    what: str
    """The consequence, or why it was not asked."""


class OrderResponse(BaseModel):
    """The outcome of an order."""

    request_id: str
    control: OrderControl
    repository: str
    """The repository whose agents were meant; empty if all were."""
    label: str = ""
    """The label of the agents that were meant; empty for any."""
    agents: list[ResultOfOrder]
    """Those that were at work when it was given first."""


class StandingPause(BaseModel):
    """A pause that holds agents, and those that start meanwhile."""

    repository: str
    """Empty if it is of all repositories."""
    label: str
    """Empty if it is of agents with and without one."""
    by: str
    reason: str
    at_turn_end: bool
    since: float
    """Unix time in seconds."""


class DrainState(BaseModel):
    """Whether new tasks are taken."""

    on: bool
    repository: str = ""
    """Empty if it is of all repositories."""
    label: str = ""
    """Empty if it is of tasks with and without one."""
    by: str = ""
    reason: str = ""
    since: float | None = None
    """Unix time in seconds."""


class OrdersInForce(BaseModel):
    """Orders of people that stand."""

    drain: DrainState
    drains: list[DrainState]
    """Those of a repository or a label."""
    pauses: list[StandingPause]
    autopilot_until: float | None = None
    """Unix time at which a stretch without a person ends that is under way; 0 if its budget alone ends it."""


class RemovalBody(SubmissionRequest):
    """Ended agents whose remains are to be removed."""

    agents: Annotated[tuple[str, ...], Field(max_length=1_000)] = ()
    """Their names; none: all ended agents with whose remains nothing is lost."""
    ended_before: float | None = None
    """With no names: only those that ended before this Unix time."""
    force: bool = False
    """Whether losses are accepted; only for agents that are named."""
    only_look: bool = False
    """Whether nothing is removed, only said what would be lost."""


class DrainBody(SubmissionRequest):
    """Whether the daemon is to take no new tasks."""

    on: bool
    repository: Annotated[str, Field(min_length=1)] | None = None
    """A directory of the repository whose tasks are meant; none: all tasks are."""
    label: Label | None = None
    """Only tasks with this label are meant."""
    reason: Annotated[str, Field(max_length=1_000)] = ""


class ForgettingBody(SubmissionRequest):
    """The agent's own things that go with what was written of it."""

    branch: bool = False
    """Whether its branch and its workspace go too, if they were made for it."""
    force: bool = False
    """Whether work that is lost with these may be."""


def forgetting_routes(api: FastAPI, forgetting: Forgetting) -> None:
    """Add the route by which all of an agent is forgotten."""

    @api.post("/v1/agents/{agent}/forget")
    async def forget(agent: str, wanted: ForgettingBody, by: By) -> Forgotten:
        """Forget an ended agent: its records, output, reports and checkpoints go, and what is left of it is named."""
        return await forgetting.forget(agent, by, branch=wanted.branch, force=wanted.force)


class OrderRouteParts(OrderParts, RemovalParts, Protocol):
    """The parts of the daemon that these routes need."""


def order_routes(api: FastAPI, daemon: OrderRouteParts) -> None:
    """Add them. Only a person reaches them: the server turns the processes of agents away."""

    @api.post("/v1/orders/{control}")
    async def give(control: OrderControl, by: By, body: OrderBody | None = None) -> OrderResponse:
        """Pause, resume, stop or tell all agents, or some; a pause also holds those that start meanwhile."""
        wanted = body or OrderBody()
        _check(control, wanted)
        project = "" if wanted.repository is None else await _project(daemon, wanted.repository)
        order = events.OrderGiven(
            **daemon.stamp(""),
            id=wanted.request_id or uuid4().hex[:12],
            control=control,
            by=by,
            project=project,
            label=wanted.label or "",
            reason=wanted.reason,
            text=wanted.text,
            at_turn_end=wanted.at_turn_end,
            force=wanted.force,
        )
        results = await orders.give(daemon, order)
        rows = [
            ResultOfOrder(
                agent=each.agent, state=daemon.board.summary(each.agent).state, done=each.done, what=each.what
            )
            for each in results
        ]
        return OrderResponse(request_id=order.id, control=control, repository=project, label=order.label, agents=rows)

    @api.get("/v1/orders")
    async def in_force() -> OrdersInForce:
        """Return the drain and the pauses of many agents that are in force."""
        return in_force_now(daemon)

    @api.post("/v1/removals")
    async def remove(wanted: RemovalBody, by: By) -> list[Removal]:
        """Remove what ended agents left: workspaces, branches and files; one with which something is lost stays."""
        if wanted.force and not wanted.agents:
            raise UsageError("Losses can be accepted for agents that are named only; nothing was removed.")
        named = wanted.agents or tuple(
            one.agent
            for one in daemon.board.summaries()
            if one.ended_at is not None
            and one.removed_at is None
            and (wanted.ended_before is None or one.ended_at < wanted.ended_before)
        )
        for agent in named:
            daemon.board.summary(agent)  # a name that no agent has is told before anything is removed
        how = {"force": wanted.force, "only_look": wanted.only_look}
        return [await removal.remove(daemon, agent, by, **how) for agent in named]

    @api.post("/v1/drain")
    async def drain(wanted: DrainBody, by: By) -> DrainState:
        """Take no new tasks from here on, or take them again. Kept over restarts."""
        project = "" if wanted.repository is None else await _project(daemon, wanted.repository)
        label = wanted.label or ""
        drains = daemon.board.orders.drains.values()
        new = not any((one.project, one.label) == (project, label) for one in drains) if wanted.on else bool(drains)
        if new or wanted.reason:
            changed = events.DrainChanged(
                **daemon.stamp(""), on=wanted.on, by=by, reason=wanted.reason, project=project, label=label
            )
            daemon.happened(changed)
        await daemon.journal.written(daemon.journal.last)
        return _drain_state(daemon.board.orders.drain_of(project, {label} if label else ()))


def in_force_now(daemon: BoardParts) -> OrdersInForce:
    """Return what stands, for the routes that tell of it."""
    orders_ = daemon.board.orders
    pauses = [
        StandingPause(
            repository=each.project,
            label=each.label,
            by=each.by,
            reason=each.reason,
            at_turn_end=each.at_turn_end,
            since=each.at,
        )
        for each in standing(daemon.board.orders)
    ]
    parts = [_drain_state(one) for one in orders_.drains.values() if one is not orders_.drain]
    until = None if orders_.autopilot is None else orders_.autopilot.until or 0.0
    return OrdersInForce(drain=_drain_state(orders_.drain), drains=parts, pauses=pauses, autopilot_until=until)


def _drain_state(drain: events.DrainChanged | None) -> DrainState:
    if drain is None:
        return DrainState(on=False)
    where = {"repository": drain.project, "label": drain.label}
    return DrainState(on=True, **where, by=drain.by, reason=drain.reason, since=drain.at)


_FOR: Mapping[str, OrderControl] = {"text": "say", "at_turn_end": "pause", "force": "stop"}
"""Fields of an order that one control alone has a use for."""


def _check(control: OrderControl, wanted: OrderBody) -> None:
    """Refuse fields that mean nothing for a control, and a text that says nothing.

    Raises:
        UsageError: There are some; nothing was done.
    """
    for name, use in _FOR.items():
        if getattr(wanted, name) and control != use:
            raise UsageError(f"{name} is for {use} and means nothing for {control}; nothing was done.")
    if control == "say" and not wanted.text.strip():
        raise UsageError("There is nothing to say: the text is empty. Nothing was sent.")


async def _project(daemon: BoardParts, directory: str) -> str:
    """Return the repository of a directory, also of one that has gone and is known; raises as `project_meant`."""
    known = {one.project for one in daemon.board.summaries()} | daemon.board.orders.pauses.keys()
    return await anyio.to_thread.run_sync(project_meant, directory, known - {""})
