"""One answer on one connection: the step, or the failure in its place."""

from collections.abc import Iterator, Mapping
from typing import Any

import anyio

from supervisor.rehearsal import reply
from supervisor.rehearsal.connection import Connection
from supervisor.rehearsal.script import (
    ApiError,
    BrokenStream,
    EndlessStream,
    ErrorEvent,
    Failure,
    Garbage,
    ScriptStep,
)


async def play(
    connection: Connection,
    body: Mapping[str, Any],
    step: ScriptStep,
    message_id: str,
    tool_ids: Iterator[str],
    failure: Failure | None,
) -> None:
    """Answer with the step, or with the failure in its place."""
    if step.hold is not None:
        await step.hold()
    await anyio.sleep(step.first_byte_seconds)
    model = str(body.get("model", ""))
    if isinstance(failure, ApiError):
        wait = failure.retry_after_seconds
        headers = dict(failure.headers) if wait is None else {**dict(failure.headers), "retry-after": f"{wait:g}"}
        await connection.answer(failure.status, reply.error_body(failure), headers)
    elif body.get("stream"):
        await connection.begin_stream()
        await _stream(connection, reply.events(step, message_id, model, tool_ids), step.chunk_seconds, failure)
    elif failure is None:
        await connection.answer(200, reply.body(step, message_id, model, tool_ids))
    else:
        whole = reply.body(step, message_id, model, tool_ids)
        await connection.begin_stream()
        await connection.cut(whole[: len(whole) // 2])


async def _stream(
    connection: Connection, events: Iterator[bytes], pause_seconds: float, failure: Failure | None
) -> None:
    good = None if failure is None or isinstance(failure, ApiError) else failure.after_events
    for number, event in enumerate(events):
        if number:
            await anyio.sleep(pause_seconds)
        if number == good:
            break
        await connection.write(event)
    if isinstance(failure, BrokenStream):
        await connection.cut(b'event: content_block_delta\ndata: {"type":"content_bl')
        return
    match failure:
        case EndlessStream():
            while True:
                await anyio.sleep(failure.ping_seconds)
                await connection.write(reply.event("ping"))
        case ErrorEvent():
            error = {"type": failure.type, "message": failure.message}
            await connection.write(reply.event("error", error=error))
        case Garbage():
            await connection.write(b"data: {not json\x00\xff\n\n<html>502 Bad Gateway</html>\n\n")
    await connection.end()
