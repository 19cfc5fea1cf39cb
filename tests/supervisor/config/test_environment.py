import json
from typing import Any

import pytest

from supervisor.config.environment import (
    GATE_ARGUMENTS,
    GATE_SETTINGS,
    STRICT_SERVERS,
    agent_environment,
    gate_arguments,
    with_variables,
)

DAEMON = {
    "HOME": "/h", "PATH": "/bin", "LANG": "C", "LC_ALL": "C", "TZ": "UTC", "USER": "u", "https_proxy": "p", "NO_PROXY": "n",
    "NODE_EXTRA_CA_CERTS": "/ca", "ANTHROPIC_API_KEY": "k", "CLAUDE_CONFIG_DIR": "/c", "CLAUDE_CODE_OAUTH_TOKEN": "t",
    "CLAUDE_CODE_USE_BEDROCK": "1",
}  # fmt: skip


def test_what_an_agent_needs_is_passed_on_and_updates_are_off() -> None:
    assert agent_environment(DAEMON, {}) == {**DAEMON, "DISABLE_AUTOUPDATER": "1"}


@pytest.mark.parametrize(
    "name",
    [
        "CHAPERON_AGENT__ENVIRONMENT__X", "CHAPERON_API_TOKEN", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME",
        "NODE_OPTIONS", "BUN_OPTIONS", "BASH_ENV", "GIT_DIR", "GIT_CONFIG_PARAMETERS", "NOTIFY_SOCKET", "WATCHDOG_USEC",
        "LISTEN_FDS", "INVOCATION_ID", "STATE_DIRECTORY", "RUNTIME_DIRECTORY", "SSH_AUTH_SOCK", "AWS_SECRET_ACCESS_KEY",
        "DBUS_SESSION_BUS_ADDRESS", "TMUX", "VIRTUAL_ENV", "IS_SANDBOX",
    ],
)  # fmt: skip
def test_what_was_not_meant_for_agents_stays_behind(name: str) -> None:
    assert name not in agent_environment({**DAEMON, name: "x"}, {})


@pytest.mark.parametrize(
    "name",
    [
        "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_AGENT_SDK_VERSION", "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_REMOTE", "CLAUDE_BG_SESSION_CREDENTIAL",
        "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR", "CLAUDE_ENV_FILE", "CLAUDE_CODE_TEAMMATE_COMMAND",
    ],
)  # fmt: skip
def test_what_marks_a_surrounding_session_stays_behind(name: str) -> None:
    assert name not in agent_environment({**DAEMON, name: "x"}, {})


@pytest.mark.parametrize("name", ["CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_EVEN_MORE_DANGEROUSLY_SKIP_PERMISSIONS"])
def test_a_mode_that_loosens_the_gate_cannot_be_brought_in_at_all(name: str) -> None:
    assert name not in agent_environment({**DAEMON, name: "1"}, {name: "1"})


def test_the_configuration_wins_over_the_daemon_and_may_name_anything_else() -> None:
    made = agent_environment(DAEMON, {"PATH": "/mine", "SSH_AUTH_SOCK": "/s", "DISABLE_AUTOUPDATER": "0"})
    assert (made["PATH"], made["SSH_AUTH_SOCK"], made["DISABLE_AUTOUPDATER"]) == ("/mine", "/s", "0")


def test_an_own_configuration_directory_wins_over_both() -> None:
    assert agent_environment(DAEMON, {"CLAUDE_CONFIG_DIR": "/x"}, "/own")["CLAUDE_CONFIG_DIR"] == "/own"


def settings(arguments: tuple[str, ...]) -> dict[str, Any]:
    assert arguments[-2] == "--settings"
    found: dict[str, Any] = json.loads(arguments[-1])
    return found


def test_hooks_and_servers_of_settings_are_off_unless_they_are_asked_for() -> None:
    assert settings(GATE_ARGUMENTS)["disableAllHooks"] is True
    assert STRICT_SERVERS in GATE_ARGUMENTS
    assert settings(gate_arguments(hooks=True))["disableAllHooks"] is False
    assert STRICT_SERVERS not in gate_arguments(servers=True)


def test_further_settings_take_nothing_of_the_gate_back() -> None:
    more = {"env": {"CLAUDE_CODE_SIMPLE": "1", "NAME": "x"}, "disableAllHooks": False, "crossSessionInbound": "accept"}
    made = settings(gate_arguments(more={**more, "apiKeyHelper": ""}))
    assert made == {**GATE_SETTINGS, "env": {"NAME": "x", **GATE_SETTINGS["env"]}, "apiKeyHelper": ""}


def test_further_variables_of_the_settings_win_over_no_variable_of_the_gate() -> None:
    *before, text = with_variables(GATE_ARGUMENTS, {"A": "b", "CLAUDE_CODE_SIMPLE": "1"})
    assert tuple(before) == GATE_ARGUMENTS[:-1]
    made, given = json.loads(text), json.loads(GATE_ARGUMENTS[-1])
    assert made == {**given, "env": {"A": "b", **GATE_SETTINGS["env"]}}
