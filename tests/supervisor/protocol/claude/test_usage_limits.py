"""The CLI's notices of usage limits, as it writes them and as they may be broken."""

from typing import Any

import orjson
import pytest

from supervisor.protocol.claude.messages import parse
from supervisor.protocol.claude.usage_limits import LimitNotice

SEEN = {"status": "rejected", "resetsAt": 1_795_378_006, "rateLimitType": "five_hour", "isUsingOverage": False}


def notice(**facts: Any) -> LimitNotice:
    found = parse(orjson.dumps({"type": "rate_limit_event", "rate_limit_info": facts, "session_id": "s"}))
    assert isinstance(found, LimitNotice)
    return found


def test_a_limit_that_was_reached_says_until_when() -> None:
    found = notice(**SEEN)
    assert (found.rejected, found.resets_at) == (True, 1_795_378_006.0)
    assert found.sentence == "the five hour limit is reached"


def test_one_that_is_near_says_how_much_is_used_and_one_that_is_far_says_nothing() -> None:
    near = notice(**{**SEEN, "status": "allowed_warning", "utilization": 0.93})
    assert near.sentence == "93 % of the five hour limit are used"
    assert not near.rejected
    assert notice(**{**SEEN, "status": "allowed"}).sentence == ""


@pytest.mark.parametrize("broken", [None, [], "", True, -1, 1e300, {"a": 1}, "12"])
def test_what_is_no_time_and_no_part_is_left_out(broken: object) -> None:
    found = notice(status="rejected", resetsAt=broken, utilization=broken, rateLimitType=broken)
    assert found.resets_at is None
    assert found.sentence
    assert isinstance(parse(orjson.dumps({"type": "rate_limit_event", "rate_limit_info": broken})), LimitNotice)
