"""The route of the daemon's health."""

from typing import Protocol

from fastapi import FastAPI
from pydantic import BaseModel

from supervisor import __version__
from supervisor.protocol.events import WorkTakenOver
from supervisor.runtime.api.routes.agents.orders import OrdersInForce, in_force_now
from supervisor.runtime.daemon.running.runners import Runners
from supervisor.runtime.daemon_parts import EndingParts, JournalParts, TimeParts

TAKEN_OVER_SECONDS = 3_600.0
"""How long people are told of what a daemon took over: one who comes back to a machine that was started again."""


class HealthResponse(BaseModel):
    """How the daemon is."""

    version: str
    ending: bool
    journal: str
    """`open`, `full`, or why it takes nothing."""
    disk_full: str
    """A sentence that says where room is missing, so that agents wait at their next tool call; empty: there is some."""
    last_event: int
    agents: int
    """How many live."""
    ended: int
    """How many ended and were not removed."""
    adopted: dict[str, int]
    taken_over: str
    """Account of the work taken over from the daemon before, with what is missing; empty for none, or after 1 h."""
    unused_configuration: str
    """Why what the files of the configuration say is not in force, and what to do; empty: it is."""
    orders: OrdersInForce
    """Orders of people that stand: whether new tasks are taken, and which agents are held."""


class HealthParts(JournalParts, TimeParts, EndingParts, Protocol):
    """The parts of the daemon that this route needs."""

    runners: Runners
    """The runners of agents, and how those of an earlier daemon were taken over."""
    unused_configuration: str
    """Why what the files of the configuration say is not in force, as a clause; empty: it is."""
    taken_over: WorkTakenOver | None
    """The account of the work that was taken over from the daemon before."""


def health_routes(api: FastAPI, daemon: HealthParts) -> None:
    """Add it."""

    @api.get("/v1/health")
    async def health() -> HealthResponse:
        """How the daemon is."""
        return HealthResponse(
            version=__version__,
            ending=daemon.ending,
            journal=str(daemon.journal.state),
            disk_full=daemon.journal.lacks,
            last_event=daemon.journal.last,
            agents=len(daemon.board.at_work()),
            ended=sum(one.ended_at is not None and one.removed_at is None for one in daemon.board.summaries()),
            adopted=daemon.runners.adopted.counts(),
            taken_over=_taken_over(daemon),
            unused_configuration=daemon.unused_configuration,
            orders=in_force_now(daemon),
        )


def _taken_over(daemon: HealthParts) -> str:
    event = daemon.taken_over
    return event.summary if event is not None and daemon.wall() - event.at < TAKEN_OVER_SECONDS else ""
