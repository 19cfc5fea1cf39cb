"""The route of the daemon's health."""

from typing import Protocol

from fastapi import FastAPI
from pydantic import BaseModel

from supervisor import __version__
from supervisor.runtime.api.routes.orders import OrdersInForce, in_force_now
from supervisor.runtime.api.routes.parts import JournalParts
from supervisor.runtime.daemon.runners import Runners


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


class HealthParts(JournalParts, Protocol):
    """The parts of the daemon that this route needs."""

    @property
    def ending(self) -> bool:
        """Whether no new task is taken any more."""
        ...

    @property
    def runners(self) -> Runners:
        """The runners of agents, and how those of an earlier daemon were taken over."""
        ...


def health_routes(api: FastAPI, daemon: HealthParts) -> None:
    """Add it."""

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
