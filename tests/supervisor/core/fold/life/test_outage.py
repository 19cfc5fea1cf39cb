from typing import Any

import pytest

from supervisor.core.fold.life.outage import OUTAGE_RETRIES, Outage
from supervisor.protocol.claude.retrying import Retrying
from supervisor.protocol.commands import ReportIncident
from tests.stages.session import Play


def retry(attempt: int) -> dict[str, Any]:
    return {
        "type": "system", "subtype": "api_retry", "attempt": attempt, "max_retries": 10, "retry_delay_ms": 1000.0,
        "error_status": None, "error": "unknown",
    }  # fmt: skip


def incidents(play: Play, *attempts: int) -> list[str]:
    commands = [command for attempt in attempts for command in play.line(retry(attempt))]
    return [command.incident.summary for command in commands if isinstance(command, ReportIncident)]


def test_a_person_is_told_once_of_an_outage_and_again_of_the_next() -> None:
    outage = Outage()
    told = [outage.retried(Retrying(attempt, 10, 1.0)) for attempt in range(1, 11)]
    assert [number for number, one in enumerate(told, 1) if one] == [OUTAGE_RETRIES]
    outage.over()
    assert outage.now is None
    assert outage.retried(Retrying(OUTAGE_RETRIES, 10, 1.0))


@pytest.mark.parametrize("status", [401, 403])
def test_a_person_is_told_of_a_login_that_is_refused_again_once_the_cli_could_have_renewed_it(status: int) -> None:
    outage = Outage()
    told = [outage.retried(Retrying(attempt, 10, 1.0, status)) for attempt in range(1, 11)]
    assert [number for number, one in enumerate(told, 1) if one] == [2]


def test_an_api_that_does_not_answer_is_seen_in_what_is_known_and_told_as_an_incident() -> None:
    play = Play().running()
    assert incidents(play, 1, 2, 3, 4) == []
    assert play.session is not None
    assert play.session.summary.api == "the API cannot be reached: retry 4 of 10 in 1.0 s"
    assert incidents(play, 5, 6) == ["Agent a1 waits for the API: the API cannot be reached: retry 5 of 10 in 1.0 s."]


def test_an_api_that_answers_again_is_an_outage_no_more() -> None:
    play = Play().running()
    play.line(retry(1))
    play.line({"type": "assistant", "message": {"id": "m-1", "content": [{"type": "text", "text": "Here I am."}]}})
    assert play.session is not None
    assert play.session.summary.api == ""
