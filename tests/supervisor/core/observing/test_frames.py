"""A line is a message, or a request that waits for an answer although it cannot be read, or nothing."""

from typing import Any

import pytest

from supervisor.core.observing.frames import TOO_LARGE, Unread, read
from supervisor.protocol import events
from supervisor.protocol.claude import messages

STAMP: dict[str, Any] = {"agent": "a1", "at": 0.0, "mono": 0.0}


def test_a_frame_is_a_message() -> None:
    line = {"type": "result", "subtype": "success", "is_error": False, "result": "Done."}
    assert isinstance(read(events.LineReceived(**STAMP, end=9, frame=line)), messages.Result)


@pytest.mark.parametrize(
    ("line", "unread"),
    [
        (events.LinePassedOver(**STAMP, start=0, end=9, request_id="r1"), Unread(TOO_LARGE, "r1")),
        (events.LinePassedOver(**STAMP, start=0, end=9, request_id=None), None),
        (events.LineReceived(**STAMP, end=9, frame=None, text="not JSON"), None),
    ],
)
def test_what_cannot_be_read_matters_only_where_it_is_a_request(line: Any, unread: Unread | None) -> None:
    assert read(line) == unread


def test_a_permission_request_without_its_fields_is_known_as_one() -> None:
    line = {"type": "control_request", "request_id": "r1", "request": {"subtype": "can_use_tool", "tool_name": 7}}
    found = read(events.LineReceived(**STAMP, end=9, frame=line))
    assert isinstance(found, Unread)
    assert (found.request_id, found.permission) == ("r1", True)
