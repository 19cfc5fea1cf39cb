"""An account is named by its credential, and the name gives nothing of it away."""

from typing import Any

import pytest

from supervisor.config.model import Agent
from supervisor.runtime.gateway.account import account_of, has_gateway


@pytest.mark.parametrize(
    ("credential", "environ", "name"),
    [
        ("file:/keys/one", {"ANTHROPIC_API_KEY": "k"}, "file:/keys/one"),
        ("keyring:chaperon/model", {}, "keyring:chaperon/model"),
        ("systemd:model-key", {}, "systemd:model-key"),
        ("command:pass show model --secret=x", {}, "command:pass"),
        ("", {}, "login"),
        ("login", {"ANTHROPIC_API_KEY": "sk"}, "login"),
        ("login:/home/ada/.other", {}, "login:/home/ada/.other"),
    ],
)
def test_its_name_is_the_place_of_the_credential(credential: str, environ: dict[str, str], name: str) -> None:
    assert account_of(Agent(credential=credential), {"PATH": "/bin", **environ}) == name


def test_two_keys_of_the_environment_are_two_accounts_and_agents_own_variables_count() -> None:
    one = account_of(Agent(), {"ANTHROPIC_API_KEY": "one"})
    assert one != account_of(Agent(), {"ANTHROPIC_API_KEY": "other"})
    assert account_of(Agent(), {"ANTHROPIC_API_KEY": "\udcff"}) not in (one, "login"), "a byte that is no text"
    assert account_of(Agent(environment={"ANTHROPIC_API_KEY": "one"}), {}) == one
    assert "one" not in one


def test_several_credentials_of_one_program_are_several_accounts() -> None:
    sources = "command:pass show one", "command:pass show two", "command:op read one"
    several = [{"source": source} for source in sources]
    named = [account_of(Agent.model_validate({"credential": "", "credentials": several}).model_copy(update={"credential": each}), {}) for each in sources]  # fmt: skip
    assert len(set(named)) == 3
    assert named[2] == "command:op"
    assert not any("show" in each or "two" in each for each in named)


@pytest.mark.parametrize(
    ("agent", "environ", "has"),
    [
        ({}, {"ANTHROPIC_API_KEY": "k"}, True),
        ({"environment": {"ANTHROPIC_AUTH_TOKEN": "k"}}, {}, True),
        ({}, {"CLAUDE_CODE_OAUTH_TOKEN": "k"}, True),
        ({}, {}, False),
        ({"credential": "login"}, {}, True),
        ({"sandbox": "auto"}, {}, True),
        ({}, {"ANTHROPIC_API_KEY": "k", "CLAUDE_CODE_USE_BEDROCK": "1"}, False),
        ({}, {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_UNIX_SOCKET": "/run/model"}, False),
        ({"credential": "inherited"}, {"ANTHROPIC_API_KEY": "k"}, False),
        ({"credential": "inherited", "sandbox": "auto"}, {"ANTHROPIC_API_KEY": "k"}, False),
    ],
)
def test_agents_are_behind_the_gateway_wherever_it_keeps_a_credential_from_them(
    agent: dict[str, Any], environ: dict[str, str], has: bool
) -> None:
    assert has_gateway(Agent.model_validate(agent), environ) is has
