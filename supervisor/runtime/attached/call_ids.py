"""Ids of calls of a CLI that tells none: given to a call at its gate, and found again as it comes back. Pure."""

from collections.abc import Mapping
from typing import Any

import orjson

from supervisor.runtime.attached.translation import GATE, RETURNS, Payload

MOST_OPEN = 256
"""Calls without an id that are looked for. A blocked one never comes back."""


class CallIds:
    """The calls of one CLI that have no id of its own."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[str, bytes]] = {}

    def with_id(self, payload: Payload, request_id: str) -> Payload:
        """Return a hook with the id of its call; that of a gate follows from the request, so that it outlives us.

        A call that comes back is the oldest one of the same tool and input. One that is not known stays without an id.
        """
        event = payload.get("hook_event_name")
        if payload.get("tool_use_id") or (event != GATE and event not in RETURNS):
            return payload
        call = _call(payload.get("tool_name"), payload.get("tool_input"))
        if event == GATE:
            id_ = f"call-{request_id}"
            self._open[id_] = call
            if len(self._open) > MOST_OPEN:
                del self._open[next(iter(self._open))]
        else:
            id_ = next((open_id for open_id, one in self._open.items() if one == call), "")
            self._open.pop(id_, None)
        return {**payload, "tool_use_id": id_}

    def answered(self, payload: Payload, answer: Mapping[str, Any]) -> None:
        """Note what the gate said of a call: it comes back with its changed input, or not at all."""
        id_, output = str(payload.get("tool_use_id")), answer.get("hookSpecificOutput") or {}
        if id_ not in self._open:
            return
        if output.get("permissionDecision") == "deny":
            del self._open[id_]
        elif "updatedInput" in output:
            self._open[id_] = _call(payload.get("tool_name"), output["updatedInput"])


def _call(tool: object, input_: object) -> tuple[str, bytes]:
    return str(tool), orjson.dumps(input_, option=orjson.OPT_SORT_KEYS)
