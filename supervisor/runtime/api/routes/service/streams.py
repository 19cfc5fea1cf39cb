"""The routes of the journal and the incident log, as lines that can be followed.

Both are streamed from the files in which they are kept, so a reader that is slow, or that stops reading, delays no
other.
"""

from typing import Any

import anyio
from fastapi import FastAPI, Query, Response

from supervisor.runtime.daemon_parts import JournalParts
from supervisor.runtime.reading.handing_over import AnsweredElsewhere
from supervisor.runtime.reading.jobs import LINES, Events, Incidents, UseOverTime
from supervisor.runtime.reading.reader import ReadingService

CATCH_UP_SECONDS = 2.0
"""Time that a stream which does not follow waits for the latest events to be written. A write takes milliseconds,
and a full disk must not keep readers from the rest."""

STREAM: dict[int | str, dict[str, Any]] = {200: {"content": {LINES: {}}}}
"""Description of routes that answer with lines."""


def stream_routes(api: FastAPI, daemon: JournalParts, reader: ReadingService) -> None:
    """Add them."""

    @api.get("/v1/events", response_class=Response, responses=STREAM)
    async def journal(
        after: int = Query(0, ge=-1, description="The last event not wanted; -1 for those to come only."),
        follow: bool = Query(False, description="Whether to wait for more."),
        agent: str | None = Query(None, description="Only this agent's."),
        since: float = Query(0.0, description="Only those from this Unix time on."),
    ) -> Response:
        """The journal's lines, as they are in its files."""
        if agent is not None:
            daemon.board.summary(agent)  # a name that nobody has is told
        last = daemon.journal.last
        if not follow:
            with anyio.move_on_after(CATCH_UP_SECONDS):
                await daemon.journal.written(last)
        return AnsweredElsewhere(reader, Events(last if after < 0 else after, last, follow, agent, since))

    @api.get("/v1/agents/{agent}/use", response_class=Response)
    async def use(agent: str) -> Response:
        """Cost, tokens, context, memory and processes of an agent over time, and what happened meanwhile."""
        daemon.board.summary(agent)
        return AnsweredElsewhere(reader, UseOverTime(agent, daemon.journal.last))

    @api.get("/v1/incidents", response_class=Response, responses=STREAM)
    async def incidents(follow: bool = Query(False, description="Whether to wait for more.")) -> Response:
        """The incident log's lines, oldest first."""
        return AnsweredElsewhere(reader, Incidents(follow))
