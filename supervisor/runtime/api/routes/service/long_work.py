"""The route of long work: what is under way, how far it is, and how long yet."""

from collections.abc import AsyncIterator
from typing import Any

import anyio
from fastapi import FastAPI, Query, Response
from fastapi.responses import JSONResponse, StreamingResponse

from monitors.contract import anyjson
from supervisor.runtime.daemon_parts import CheckpointParts
from supervisor.runtime.long_work import LongWork
from supervisor.runtime.reading.jobs import LINES

TOLD_SECONDS = 0.25
"""Between two looks for those who follow: people see it move, and the loop has the rest of the time."""


def work_routes(api: FastAPI, daemon: CheckpointParts) -> None:
    """Add it."""

    @api.get("/v1/work", response_class=Response)
    async def work(follow: bool = Query(False, description="Whether to wait for more, as lines.")) -> Response:
        """Long work that is under way, such as a first capture or a restore: what, how far, and how long yet."""
        table = daemon.checkpoint_manager.work
        if follow:
            return StreamingResponse(_followed(table), media_type=LINES)
        return JSONResponse([{"id": number, **each.as_json()} for number, each in table.rows().items()])


async def _followed(table: LongWork) -> AsyncIterator[bytes]:
    """Yield a line for each step that can be seen, and one for each end."""
    told: dict[int, dict[str, Any]] = {}
    while True:
        rows = {number: each.as_json() for number, each in table.rows().items()}
        for number, row in rows.items():
            if number not in told or told[number]["done"] != row["done"]:
                yield anyjson.dumps({"id": number, "over": False, **row}) + b"\n"
        for number in told.keys() - rows.keys():
            yield anyjson.dumps({"id": number, "over": True, **told[number]}) + b"\n"
        told = rows
        await anyio.sleep(TOLD_SECONDS)
