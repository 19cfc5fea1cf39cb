"""A step of the script as the Messages API would send it: one JSON body, or a stream of events."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from supervisor.rehearsal.script import ApiError, Say, ScriptStep, ToolUse

DELTA_CHARACTERS = 32 * 1024
"""Longest text or partial JSON of one event. The API sends a few words at a time; larger pieces keep inputs of
megabytes from costing a hundred thousand events, and still make the CLI join them."""

ERROR_TYPES = {
    400: ("invalid_request_error", "The request was refused by the scenario."),
    401: ("authentication_error", "invalid x-api-key"),
    403: ("permission_error", "The key may not use this resource."),
    404: ("not_found_error", "The model was not found."),
    413: ("request_too_large", "Request exceeds the maximum allowed number of bytes."),
    429: ("rate_limit_error", "This request would exceed the rate limit."),
    500: ("api_error", "Internal server error"),
    529: ("overloaded_error", "Overloaded"),
}
"""The API's error type and usual message for each status, from its documentation."""


def error_body(error: ApiError) -> bytes:
    """The JSON of an API error."""
    kind, usual = ERROR_TYPES.get(error.status, ("api_error", "The request failed."))
    return orjson.dumps({"type": "error", "error": {"type": kind, "message": error.message or usual}})


def event(kind: str, **data: object) -> bytes:
    """One server-sent event of the stream."""
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), orjson.dumps({"type": kind, **data}))


def body(step: ScriptStep, message_id: str, model: str, tool_ids: Iterator[str]) -> bytes:
    """The whole answer at once, for a request that did not ask for a stream."""
    content = [_block(block, tool_ids) for block in step.blocks]
    message = _message(step, message_id, model)
    usage = {**message["usage"], "output_tokens": step.tokens.output}
    return orjson.dumps({**message, "content": content, "stop_reason": stop_reason(step), "usage": usage})


def events(step: ScriptStep, message_id: str, model: str, tool_ids: Iterator[str]) -> Iterator[bytes]:
    """The answer as the API streams it."""
    yield event("message_start", message=_message(step, message_id, model))
    yield event("ping")
    for index, block in enumerate(step.blocks):
        yield from _block_events(index, block, tool_ids)
    delta = {"stop_reason": stop_reason(step), "stop_sequence": None}
    yield event("message_delta", delta=delta, usage={"output_tokens": step.tokens.output})
    yield event("message_stop")


def stop_reason(step: ScriptStep) -> str:
    """Why the model stopped: what the step says, or what its blocks imply."""
    calls = any(isinstance(block, ToolUse) for block in step.blocks)
    return step.stop_reason or ("tool_use" if calls else "end_turn")


def _block_events(index: int, block: Say | ToolUse, tool_ids: Iterator[str]) -> Iterator[bytes]:
    whole = _block(block, tool_ids)
    if isinstance(block, Say):
        start, kind, key, text = {**whole, "text": ""}, "text_delta", "text", block.text
    else:
        start, kind, key = {**whole, "input": {}}, "input_json_delta", "partial_json"
        text = orjson.dumps(block.input).decode()
    yield event("content_block_start", index=index, content_block=start)
    for piece in range(0, len(text), DELTA_CHARACTERS):
        delta = {"type": kind, key: text[piece : piece + DELTA_CHARACTERS]}
        yield event("content_block_delta", index=index, delta=delta)
    yield event("content_block_stop", index=index)


def _block(block: Say | ToolUse, tool_ids: Iterator[str]) -> Mapping[str, Any]:
    if isinstance(block, Say):
        return {"type": "text", "text": block.text}
    return {"type": "tool_use", "id": next(tool_ids), "name": block.tool, "input": block.input}


def _message(step: ScriptStep, message_id: str, model: str) -> dict[str, Any]:
    usage = {
        "input_tokens": step.tokens.input,
        "output_tokens": 1,
        "cache_creation_input_tokens": step.tokens.cache_write,
        "cache_read_input_tokens": step.tokens.cache_read,
    }
    return {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
