"""The consequences of people's standing orders for one agent, and for tasks that are being taken."""

from collections.abc import Collection, Sequence

from supervisor.core.registers.standing import StandingOrders
from supervisor.protocol import events
from supervisor.protocol.events import EventStamp, OrderGiven
from supervisor.runtime.daemon.submission import UnavailableError


def held_by(pause: OrderGiven, stamp: EventStamp) -> events.PauseRequested:
    """Return the pause of one agent that follows from an order."""
    return events.PauseRequested(
        **stamp, by=pause.by, reason=pause.reason, at_turn_end=pause.at_turn_end, request_id=pause.id
    )


def carried_out(orders: StandingOrders, request: events.AgentRequest) -> bool:
    """Whether a request of this id was carried out for its agent before."""
    match request:
        case events.PauseRequested() | events.ResumeRequested() | events.StopRequested():
            return bool(request.request_id) and orders.carried_out(request.request_id, request.agent)
        case events.SayRequested():
            return orders.carried_out(request.id, request.agent)
        case _:
            return False


def refuse_drained(orders: StandingOrders, project: str = "", labels: Collection[str] = ()) -> None:
    """Refuse a new task while the daemon is drained, or while tasks of its project or labels are not taken.

    Raises:
        UnavailableError: It is.
    """
    drain = orders.drain_of(project, labels)
    if drain is not None:
        raise UnavailableError(
            f"No new task is taken: {drained(drain)}. Agents that run go on; nothing was started.",
            way_out="Ask again later, or have tasks taken again: chaperon drain --off.",
        )


def drained(drain: events.DrainChanged) -> str:
    """Say who drains the daemon, and why."""
    what = f"tasks{of_which(drain)}" if drain.project or drain.label else "this daemon"
    return f"{drain.by} drains {what}" + (f" ({drain.reason})" if drain.reason else "")


def of_which(order: OrderGiven | events.DrainChanged) -> str:
    """Say for which agents or tasks an order is; empty for all."""
    with_label = f" with the label {order.label}" if order.label else ""
    return with_label + (f" of {order.project}" if order.project else "")


def refuse_stopped(orders: StandingOrders, since: int, project: str, labels: Collection[str]) -> None:
    """Refuse a task during whose submission all agents were stopped.

    Args:
        orders: The orders so far.
        since: The last event as its submission began.
        project: Its repository.
        labels: Its labels.

    Raises:
        UnavailableError: They were.
    """
    if (stop := orders.stop_since(since, project, labels)) is not None:
        where = f"all agents{of_which(stop)}"
        raise UnavailableError(
            f"{stop.by} stopped {where} while this task was being taken; nothing was started.",
            way_out="Ask again if it is to run.",
        )


def standing(orders: StandingOrders) -> Sequence[OrderGiven]:
    """The pauses in force, that of all agents first."""
    return [orders.pauses[project] for project in sorted(orders.pauses)]
