"""Each way back from a stop, from the report alone, after it was written to a file and read again."""

from typing import Any

import orjson
import pytest

from interventions.contract import ResourceUsage
from interventions.recovery_options import LEAST, OPTIONS, carry_out, options, strict_limits
from monitors.contract.errors import UsageError
from monitors.contract.tasks import Limits
from monitors.contract.words import MonitoringLevel
from supervisor.testing.samples import TASK
from tests.interventions.test_stop_report import made


def stored(**more: Any) -> dict[str, Any]:
    loaded: dict[str, Any] = orjson.loads(orjson.dumps(made(**more)))
    return loaded


@pytest.mark.parametrize("option", OPTIONS)
def test_each_option_has_one_command_and_that_carries_it_out(option: str) -> None:
    (row,) = [row for row in stored()["recovery_options"] if row["option"] == option]
    assert row["command"] == f"chaperon recover a1-41-emergency_stop {option.replace('_', '-')}"
    started = carry_out(stored(), row["command"].split()[-1])
    assert (started.option, started.agent, started.workspace) == (option, "a1", "/w/a1")


def test_resume_goes_on_in_the_session_with_half_of_what_was_left_and_a_person_at_the_shell() -> None:
    started = carry_out(stored(), "resume-with-limits")
    assert started.task is not None
    assert started.task.resume_session == "s-1"
    assert started.task.limits.max_token_usage == (100_000_000 - 5_000) // 2
    assert "You were stopped" in started.task.prompt
    assert started.task.monitoring_level is MonitoringLevel.STRICT
    assert started.approval is not None
    assert "Bash" in started.approval.tools


def test_rollback_starts_anew_from_the_checkpoint_with_the_lesson() -> None:
    started = carry_out(stored(), "rollback_and_retry")
    assert started.checkpoint == "cp-3"
    assert started.task is not None
    assert started.task.resume_session is None
    assert started.task.prompt.startswith(TASK.prompt)
    assert "An earlier attempt was stopped" in started.task.prompt
    assert started.task.goals == TASK.goals


def test_manual_approval_goes_on_in_the_session_and_asks() -> None:
    started = carry_out(stored(), "manual-approval")
    assert started.approval is not None
    assert (started.approval.mode, "changes_something" in started.approval.require_approval_for) == ("ask", True)


def test_abort_starts_nothing_and_cleans_up() -> None:
    started = carry_out(stored(), "abort")
    assert (started.task, started.clean_up) == (None, True)


def test_a_rollback_without_a_checkpoint_is_listed_as_not_possible() -> None:
    report = stored()
    report["recovery_options"] = options("x", TASK, ResourceUsage(), checkpoint="")
    with pytest.raises(UsageError, match=r"is not possible\. Not possible: there is no safe checkpoint"):
        carry_out(report, "rollback-and-retry")


def test_an_option_that_there_is_not_names_those_that_there_are() -> None:
    with pytest.raises(UsageError, match="resume-with-limits, rollback-and-retry, manual-approval, abort"):
        carry_out(stored(), "resme")


@pytest.mark.parametrize("lost", ["task", "session_id", "workspace", "root_cause"])
def test_a_report_that_lacks_something_says_what(lost: str) -> None:
    report = stored()
    del report[lost]
    with pytest.raises(UsageError, match=rf"lacks what .* needs .*{lost}"):
        carry_out(report, "resume-with-limits")


def test_strict_limits_leave_enough_for_one_useful_step_and_none_where_there_was_none() -> None:
    strict = strict_limits(Limits(max_token_usage=100_000, max_memory_mb=None), ResourceUsage(tokens=99_999))
    assert strict["max_token_usage"] == LEAST["max_token_usage"]
    assert strict["max_memory_mb"] is None
