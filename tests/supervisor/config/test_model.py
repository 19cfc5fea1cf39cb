from typing import Any

import pytest
from pydantic import ValidationError

from supervisor.config.model import Config


def made(**sections: Any) -> Config:
    return Config.model_validate(sections)


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
        ("agent", "arguments", ["--effort", "1\0"], "NUL"),
        ("agent", "command", "claude", "no absolute path"),
        ("agent", "command", "/bin/cla\0ude", "NUL"),
        ("agent", "launcher", ["ni\0ce"], "NUL"),
        ("verify", "command", "make\0test", "NUL"),
        ("verify", "projects", {"/srv": "make\0test"}, "NUL"),
        ("stop", "interrupt_seconds", -1, "greater than or equal to 0"),
        ("stop", "interrupt_seconds", 1e9, "less than or equal to 86400"),
        ("audit", "retain_days", 0, "greater than or equal to 1"),
        ("audit", "log_level", "loud", "'debug', 'info', 'warn' or 'error'"),
    ],
)
def test_a_value_that_cannot_be_is_refused(section: str, key: str, value: object, says: str) -> None:
    with pytest.raises(ValidationError) as caught:
        made(**{section: {key: value}})
    assert says in str(caught.value)


def test_nothing_can_be_changed_after_it_was_checked() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Config().reviewer.enabled = False  # type: ignore[misc]


def test_arguments_that_do_no_harm_are_taken() -> None:
    arguments = ("--model", "opus", "--add-dir=/x", "-d", "--max-budget-usd", "-1")
    assert made(agent={"arguments": list(arguments)}).agent.arguments == arguments
