"""Orders of people to many agents at once.

An order is one request of the daemon: it is journalled, its agents are asked without anything in between, and what
became of each is journalled behind it. An order that a crash cut off is carried out at the next start.
"""

from dataclasses import replace
from typing import Protocol
from uuid import uuid4

import anyio

from monitors.contract.errors import ChaperonError, UsageError
from supervisor.core.fold.summary import Summary
from supervisor.protocol import events
from supervisor.protocol.events import EventStamp
from supervisor.protocol.kinds.orders import OrderGiven, OrderResult
from supervisor.protocol.words import AgentState
from supervisor.runtime.daemon.orders import held_by
from supervisor.runtime.daemon_parts import RecordParts, RequestParts
from supervisor.runtime.log import log

HOLD_SECONDS = 5.0
"""How long the daemon's end may be delayed by the order that holds all agents. It takes milliseconds."""

Asked = events.PauseRequested | events.ResumeRequested | events.StopRequested | events.SayRequested


class OrderParts(RecordParts, RequestParts, Protocol):
    """The parts of the daemon that orders need."""

    def refuse_request(self, event: events.AgentRequest) -> None:
        """Refuse what cannot be asked of an agent now."""
        ...


async def give(daemon: OrderParts, order: OrderGiven) -> tuple[OrderResult, ...]:
    """Carry an order out; all of it is in the journal when this returns.

    One that was given before under its id is not given again: its results are returned.

    Args:
        daemon: The daemon whose agents are meant.
        order: The order, without its agents: they are those at work now.

    Raises:
        UsageError: Another order had this id.
    """
    known = daemon.board.orders.given.get(order.id)
    if known is None:
        meant = tuple(one.agent for one in daemon.board.at_work() if _means(order, one))
        known = replace(order, agents=meant)
        daemon.happened(known)
    elif _without_moment(known) != _without_moment(order):
        raise UsageError(
            f"Another order was given under the id {order.id!r}; nothing was done.", way_out="Take a new id."
        )
    results = _carried_out(daemon, known)
    for number, result in enumerate(results):  # agents without a session are ended outside, and take their time
        if known.control == "stop" and result.agent in daemon.board.unmade:
            results = (*results[:number], await _end_unmade(daemon, known, result.agent), *results[number + 1 :])
    await daemon.journal.written(daemon.journal.last)
    return results


def _means(order: OrderGiven, agent: Summary) -> bool:
    lifted = agent.pause.request_id if agent.pause is not None else ""
    if order.label and order.label not in agent.task.labels:
        return False
    return order.project in ("", agent.project) and order.lifts in ("", lifted)


async def hold_all(daemon: OrderParts, reason: str) -> None:
    """Hold all agents as the daemon ends, if there are any, until a person lets them go on.

    On a disk that takes nothing the order is given up after a while: agents wait for the next daemon anyway.
    """
    if not daemon.board.at_work():
        return
    with anyio.move_on_after(HOLD_SECONDS) as scope:
        id_ = uuid4().hex[:12]
        await give(daemon, OrderGiven(**daemon.stamp(""), id=id_, control="pause", by="chaperon", reason=reason))
    if scope.cancelled_caught:
        log.warning("it was not written within %g s of the end that agents are held", HOLD_SECONDS)


def hold_again(daemon: OrderParts) -> None:
    """Carry out what a crash cut off: orders that did not reach all their agents, and pauses of agents that started."""
    for order in daemon.board.orders.unfinished():
        _carried_out(daemon, order)
    for session in daemon.board.live():
        known = session.summary
        pause = daemon.board.orders.pause_of(known.project, known.task.labels)
        if pause is not None and not daemon.board.orders.carried_out(pause.id, known.agent):
            _ask(daemon, pause, known)


def _carried_out(daemon: OrderParts, order: OrderGiven) -> tuple[OrderResult, ...]:
    """Ask the agents of an order that were not asked; returns what became of each."""
    before = daemon.board.orders.results.get(order.id)
    if before is not None:
        return before.results
    results = tuple(_ask(daemon, order, daemon.board.summary(agent)) for agent in order.agents)
    daemon.happened(events.OrderCarriedOut(**daemon.stamp(""), id=order.id, results=results))
    return results


def _ask(daemon: OrderParts, order: OrderGiven, known: Summary) -> OrderResult:
    """Ask one agent for what the order says, once, if its state allows it."""
    agent = known.agent
    if daemon.board.orders.carried_out(order.id, agent):
        return OrderResult(agent, True, "was asked before")
    request = _request(order, daemon.stamp(agent))
    if (needless := _needless(order, known)) != "":
        return OrderResult(agent, False, needless)
    try:
        daemon.refuse_request(request)
    except ChaperonError as error:
        return OrderResult(agent, False, error.what)
    before = known.state
    daemon.happened(request)
    return OrderResult(agent, True, _follows(order, before, daemon.board.summary(agent)))


def _request(order: OrderGiven, stamp: EventStamp) -> Asked:
    match order.control:
        case "pause":
            return held_by(order, stamp)
        case "resume":
            return events.ResumeRequested(**stamp, by=order.by, request_id=order.id)
        case "stop":
            return events.StopRequested(
                **stamp, by=order.by, reason=order.reason, force=order.force, request_id=order.id
            )
        case "say":
            return events.SayRequested(**stamp, id=order.id, text=order.text, by=order.by)


def _needless(order: OrderGiven, known: Summary) -> str:
    """Why an agent is not to be asked although its state allows it; empty if it is."""
    match order.control:
        case "pause" if known.state is AgentState.PAUSED:
            return f"is paused already: {known.why}"
        case "resume" if known.pause is None and known.state is AgentState.PAUSED:
            return f"chaperon holds it for a person ({known.why}): chaperon show {known.agent}, then resume it by name"
        case "resume" if known.pause is None and known.state is AgentState.WAITING:
            return f"waits to be started again: {known.why}"
        case "resume" if known.pause is None:
            return "is not paused"
        case "stop" if known.state is AgentState.STOPPING and not order.force:
            return "is being stopped already"
        case _:
            return ""


def _follows(order: OrderGiven, before: AgentState, after: Summary) -> str:
    """Say what comes of the request."""
    match order.control:
        case "pause" if after.state is AgentState.PAUSED:
            return "paused: it is held at its next call"
        case "pause" if before in (AgentState.STARTING, AgentState.WAITING):
            return "held at its first call"
        case "pause":
            return "held when its turn ends"
        case "resume":
            return f"{after.state}: it goes on" if before is AgentState.PAUSED else "its pause was taken back"
        case "stop":
            return "ended at once" if order.force else "being stopped"
        case "say":
            return "told"


async def _end_unmade(daemon: OrderParts, order: OrderGiven, agent: str) -> OrderResult:
    try:
        await daemon.request(_request(order, daemon.stamp(agent)))
    except ChaperonError as error:
        return OrderResult(agent, False, error.what)
    return OrderResult(agent, True, "ended at once, since it has no session")


def _without_moment(order: OrderGiven) -> OrderGiven:
    return replace(order, at=0.0, mono=0.0, agents=())
