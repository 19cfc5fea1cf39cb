"""Standing orders of people: pauses of all agents or some, drains, autopilot; a fold over the journal.

It is kept with the snapshot. It also knows which requests were carried out for which agents, by their ids, so that one
that comes twice, or is repeated after a crash, is carried out once.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter

from supervisor.protocol.events import (
    AnyEvent,
    AutopilotBegan,
    AutopilotEnded,
    DrainChanged,
    OrderCarriedOut,
    OrderGiven,
    PauseRequested,
    ResumeRequested,
    SayRequested,
    StopRequested,
)

MOST_ORDERS = 256
"""Orders kept, the last ones: a client repeats a request within seconds."""

MOST_REQUESTS = 2_048
"""Ids of requests kept, the last ones, as above; each with the agents for which it was carried out."""

AUTOPILOT_PAUSE = "autopilot-"
"""The beginning of the id of the pause at an autopilot's end; no task is claimed while it stands."""

_ORDERS = TypeAdapter(dict[str, OrderGiven])
_RESULTS = TypeAdapter(dict[str, OrderCarriedOut])
_AUTOPILOT = TypeAdapter(AutopilotBegan | None)
_AUTOPILOT_BEFORE = TypeAdapter(AutopilotEnded | None)
_DRAINS = TypeAdapter(dict[str, DrainChanged])


class StandingOrders:
    """The orders in force, and the last ones that were given."""

    def __init__(self) -> None:
        self.drains: dict[str, DrainChanged] = {}
        """The orders by which no new tasks are taken, by scope."""
        self.pauses: dict[str, OrderGiven] = {}
        """The pauses in force by scope, under an empty name that of all agents."""
        self.autopilot: AutopilotBegan | None = None
        """The stretch without a person that is under way."""
        self.autopilot_before: AutopilotEnded | None = None
        """The last one that ended."""
        self.given: dict[str, OrderGiven] = {}
        """The last orders, by id."""
        self.results: dict[str, OrderCarriedOut] = {}
        """Their results, by id; an order without results was cut off by a crash."""
        self._carried_out: dict[str, set[str]] = {}
        self._stops: dict[str, tuple[int, OrderGiven]] = {}
        self._last_seq = 0

    @property
    def drain(self) -> DrainChanged | None:
        """The order by which no new task at all is taken; None without one."""
        return self.drains.get("")

    def pause_of(self, project: str, labels: Collection[str] = ()) -> OrderGiven | None:
        """Return the pause that holds an agent of this project and these labels which starts now; None if none does."""
        return next((pause for _, pause in sorted(self.pauses.items()) if _is_of(pause, project, labels)), None)

    def drain_of(self, project: str, labels: Collection[str]) -> DrainChanged | None:
        """Return the order by which no task of this project and these labels is taken; None if it may be."""
        return next((drain for drain in self.drains.values() if _is_of(drain, project, labels)), None)

    def stop_since(self, seq: int, project: str, labels: Collection[str] = ()) -> OrderGiven | None:
        """Return the order to stop that was given behind this event for such agents; None without one."""
        return next(
            (order for number, order in self._stops.values() if number > seq and _is_of(order, project, labels)), None
        )

    def carried_out(self, request_id: str, agent: str) -> bool:
        """Whether this request was carried out for an agent."""
        return agent in self._carried_out.get(request_id, ())

    def unfinished(self) -> Iterator[OrderGiven]:
        """The orders that a crash cut off before all their agents were asked, oldest first."""
        return iter([order for id_, order in self.given.items() if id_ not in self.results])

    def remember(self, seq: int, event: AnyEvent) -> None:
        """Take in an event, once, however often the journal is read; those without bearing change nothing."""
        if seq <= self._last_seq:
            return
        match event:
            case OrderGiven():
                self._ordered(seq, event)
            case OrderCarriedOut():
                self.results[event.id] = event
            case DrainChanged():
                self.drains = {name: one for name, one in self.drains.items() if not _covers(event, one)}
                if event.on:
                    self.drains[_scope(event)] = event
            case AutopilotBegan():
                self.autopilot = event
            case AutopilotEnded():
                self.autopilot, self.autopilot_before = None, event
            case PauseRequested() | ResumeRequested() | StopRequested() if event.request_id:
                self._asked(event.request_id, event.agent)
            case SayRequested():
                self._asked(event.id, event.agent)
            case _:
                return
        self._last_seq = seq

    def _ordered(self, seq: int, order: OrderGiven) -> None:
        self.given[order.id] = order
        if len(self.given) > MOST_ORDERS:
            oldest = next(iter(self.given))
            del self.given[oldest]
            self.results.pop(oldest, None)
        match order.control:
            case "pause":
                self.pauses[_scope(order)] = order
            case "resume" if order.lifts:
                self.pauses = {where: pause for where, pause in self.pauses.items() if pause.id != order.lifts}
            case "resume":
                self.pauses = {where: pause for where, pause in self.pauses.items() if not _covers(order, pause)}
            case "stop":
                self._stops[_scope(order)] = seq, order
            case "say":
                pass

    def _asked(self, request_id: str, agent: str) -> None:
        self._carried_out.setdefault(request_id, set()).add(agent)
        if len(self._carried_out) > MOST_REQUESTS:
            standing = {pause.id for pause in self.pauses.values()}  # whom it held already is asked at each start
            del self._carried_out[next(id_ for id_ in self._carried_out if id_ not in standing)]

    def as_json(self) -> dict[str, Any]:
        """Plain data for the snapshot."""
        return {
            "last_seq": self._last_seq,
            "drains": _DRAINS.dump_python(self.drains, mode="json"),
            "autopilot": _AUTOPILOT.dump_python(self.autopilot, mode="json"),
            "autopilot_before": _AUTOPILOT_BEFORE.dump_python(self.autopilot_before, mode="json"),
            "pauses": _ORDERS.dump_python(self.pauses, mode="json"),
            "given": _ORDERS.dump_python(self.given, mode="json"),
            "results": _RESULTS.dump_python(self.results, mode="json"),
            "carried_out": {id_: sorted(agents) for id_, agents in self._carried_out.items()},
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take in what a snapshot has, before the journal is read from where it ends."""
        self._last_seq = saved["last_seq"]
        old = saved.get("drain")  # of a daemon before there were drains of a part
        self.drains = _DRAINS.validate_python(saved.get("drains") or ({"": old} if old else {}))
        self.autopilot = _AUTOPILOT.validate_python(saved.get("autopilot"))
        self.autopilot_before = _AUTOPILOT_BEFORE.validate_python(saved.get("autopilot_before"))
        self.pauses = _ORDERS.validate_python(saved["pauses"])
        self.given = _ORDERS.validate_python(saved["given"])
        self.results = _RESULTS.validate_python(saved["results"])
        self._carried_out = {id_: set(agents) for id_, agents in saved["carried_out"].items()}


def _scope(order: OrderGiven | DrainChanged) -> str:
    """Return the key of what an order is for: the project, and the label if it has one."""
    return f"{order.project}\0{order.label}" if order.label else order.project


def _is_of(order: OrderGiven | DrainChanged, project: str, labels: Collection[str]) -> bool:
    """Whether an order is for an agent or a task of this project and these labels."""
    return order.project in ("", project) and (not order.label or order.label in labels)


def _covers(wide: OrderGiven | DrainChanged, narrow: OrderGiven | DrainChanged) -> bool:
    """Whether an order is for all that another is for."""
    return wide.project in ("", narrow.project) and wide.label in ("", narrow.label)
