from typing import Any

import pytest
from pydantic import ValidationError

from monitors.contract.tasks import Limits
from supervisor.config.model import Config


def made(**sections: Any) -> Config:
    return Config.model_validate(sections)


def test_the_defaults_are_those_of_the_protocol_where_both_have_them() -> None:
    assert Config().resources.limits() == Limits()


def test_the_mission_profile_tightens_what_is_not_written_beside_it() -> None:
    resources = made(resources={"profile": "mission", "max_memory_mb": 900}).resources
    assert resources.limits() == Limits(100, 900, 300, 100_000)


def test_null_lifts_a_limit() -> None:
    assert made(resources={"max_token_usage": None}).resources.limits().max_token_usage is None


def test_a_switchable_section_can_be_written_as_a_truth_value() -> None:
    interventions = made(interventions={"soft_correction": False, "emergency_stop": True}).interventions.model_dump()
    assert not interventions["soft_correction"]["enabled"]
    assert interventions["emergency_stop"]["enabled"]


@pytest.mark.parametrize("mode", [0o600, "0600", "0o600", "600"])
def test_the_sockets_mode_is_read_as_the_octal_number_it_is(mode: object) -> None:
    if mode == "600":
        with pytest.raises(ValidationError):
            made(socket={"mode": mode})
    else:
        assert made(socket={"mode": mode}).socket.mode == 0o600


@pytest.mark.parametrize(
    ("section", "key", "value", "says"),
    [
        ("socket", "mode", 600, "0o1130 is not one of 0600 and 0660"),
        ("socket", "mode", 0o666, "0o666 is not one of 0600 and 0660"),
        ("agent", "arguments", ["--model", "x", "--resume=1"], "'--resume' is not for the configuration"),
        ("agent", "arguments", ["--bare"], "'--bare' is not for the configuration"),
        ("agent", "arguments", ["-pc"], "'-pc' is not for the configuration"),
        ("agent", "arguments", ["-rabc"], "'-rabc' is not for the configuration"),
        ("agent", "environment", {"A-B": "1"}, "'A-B' is no name of an environment variable"),
        ("agent", "environment", {"A": "1\0"}, "NUL"),
        ("agent", "command", "claude", "no absolute path"),
        ("hooks", "pre-start", "x.sh", "no absolute path"),
        ("reviewer", "risk_threshold", 1.5, "less than or equal to 1"),
        ("stop", "interrupt_seconds", -1, "greater than or equal to 0"),
        ("stop", "interrupt_seconds", 1e9, "less than or equal to 86400"),
        ("audit", "retain_days", 0, "greater than or equal to 1"),
        ("audit", "log_level", "loud", "'debug', 'info', 'warn' or 'error'"),
        ("hooks", "timeout", 0, "greater than 0"),
        *(("checkpoints", "also", [path], "is no path below a workspace") for path in ("/x", "a/../b", "", ".git/x")),
    ],
)
def test_a_value_that_cannot_be_is_refused(section: str, key: str, value: object, says: str) -> None:
    with pytest.raises(ValidationError) as caught:
        made(**{section: {key: value}})
    assert says in str(caught.value)


RULE = {"name": "own.x", "decision": "block", "reason": "Ask first."}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"decision": "modify"}, "cannot decide `modify`"),
        ({"match": "("}, "no regular expression"),
        ({"name": "Own X"}, "match pattern"),
        ({"reason": ""}, "at least 1 character"),
    ],
)
def test_a_rule_that_cannot_decide_is_refused(change: dict[str, str], says: str) -> None:
    assert made(rules=[RULE]).rules[0].tool == "*"
    with pytest.raises(ValidationError) as caught:
        made(rules=[{**RULE, **change}])
    assert says in str(caught.value)


def test_nothing_can_be_changed_after_it_was_checked() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Config().reviewer.enabled = False  # type: ignore[misc]


def test_arguments_that_do_no_harm_are_taken() -> None:
    arguments = ("--model", "opus", "--add-dir=/x", "-d", "--max-budget-usd", "-1")
    assert made(agent={"arguments": list(arguments)}).agent.arguments == arguments
