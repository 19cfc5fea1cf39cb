"""The credential, and the environment of agents that do not have it."""

from pathlib import Path

import pytest

from supervisor.runtime.clock import Clock
from supervisor.runtime.gateway.credential import Credential, CredentialError, custom_headers, shielded, source_of
from supervisor.runtime.gateway.messages import PLACEHOLDER, CredentialSource
from tests.stages.token_server import login, write_login


class Later(Clock):
    seconds = 1.0

    def mono(self) -> float:
        return self.seconds


def header(source: CredentialSource) -> tuple[str, str]:
    return Credential(source, Clock()).header()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"ANTHROPIC_API_KEY": "sk-a", "ANTHROPIC_AUTH_TOKEN": "t"}, ("x-api-key", "sk-a")),
        ({"ANTHROPIC_AUTH_TOKEN": "t"}, ("authorization", "Bearer t")),
        ({"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-x"}, ("authorization", "Bearer sk-ant-oat01-x")),
    ],
)
def test_a_variable_is_sent_as_the_cli_would(environment: dict[str, str], expected: tuple[str, str]) -> None:
    assert header(source_of("", environment)) == expected


def test_without_a_credential_the_ways_to_give_one_are_named() -> None:
    with pytest.raises(CredentialError, match="no credential that the gateway could hold") as refused:
        source_of("environment", {})
    assert "file:PATH" in refused.value.way_out
    with pytest.raises(CredentialError, match="given no credentials by systemd") as refused:
        source_of("systemd:key", {})
    assert "LoadCredential=key:PATH" in refused.value.way_out
    assert source_of("systemd:key", {}, "/run/c") == CredentialSource("file", path="/run/c/key")


def test_a_command_is_asked_again_once_its_answer_is_old_or_was_refused(tmp_path: Path) -> None:
    program = tmp_path / "key"
    program.write_text(f"#!/bin/sh\necho x >> {tmp_path}/asked\nprintf 'sk-%s\\n' $(wc -l < {tmp_path}/asked)\n")
    program.chmod(0o755)
    clock = Later()
    credential = Credential(source_of(f"command:{program} --now", {}), clock)
    assert [credential.header()[1], credential.header()[1]] == ["sk-1", "sk-1"]
    credential.refused(("x-api-key", "sk-1"))
    assert credential.header()[1] == "sk-2"
    clock.seconds += 301
    assert credential.header()[1] == "sk-3"


def test_a_keyring_is_asked_by_service_and_user_and_one_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    of_user, of_service = source_of("keyring:chaperon/model key", {}), source_of("keyring:chaperon", {})
    with pytest.raises(CredentialError, match="'secret-tool' that should print") as refused:
        header(of_user)
    assert "libsecret" in refused.value.way_out
    program = tmp_path / "secret-tool"
    program.write_text("#!/bin/sh\nIFS=,; echo \"sk:$*\" | /usr/bin/tr ' ' _\n")
    program.chmod(0o755)
    assert header(of_user)[1] == "sk:lookup,service,chaperon,username,model_key"
    assert header(of_service)[1] == "sk:lookup,service,chaperon"


def test_a_credential_that_was_taken_away_pays_for_nothing() -> None:
    with pytest.raises(CredentialError, match="taken out of"):
        header(CredentialSource("none"))


@pytest.mark.parametrize("text", ["", "  \n", "two words", "line\nline", "caf\u00e9"])
def test_what_is_no_credential_is_not_sent(tmp_path: Path, text: str) -> None:
    path = tmp_path / "key"
    path.touch(mode=0o600)
    path.write_text(text)
    with pytest.raises(CredentialError, match="has no credential"):
        header(CredentialSource("file", path=str(path)))


def test_a_file_or_command_that_fails_is_named(tmp_path: Path) -> None:
    with pytest.raises(CredentialError, match="No such file"):
        header(CredentialSource("file", path=str(tmp_path / "none")))
    with pytest.raises(CredentialError, match="ended with 1"):
        header(CredentialSource("command", command=("false",)))
    with pytest.raises(CredentialError, match="cannot be run"):
        header(CredentialSource("command", command=("/not/there",)))


def test_an_agents_environment_has_a_placeholder_and_the_way_to_the_gateway() -> None:
    environment = {
        "ANTHROPIC_API_KEY": "sk-a",
        "ANTHROPIC_AUTH_TOKEN": "t",
        "CLAUDE_CODE_OAUTH_TOKEN": "o",
        "CLAUDE_CODE_OAUTH_REFRESH_TOKEN": "r",
        "ANTHROPIC_CUSTOM_HEADERS": "Authorization: Basic x",
        "ANTHROPIC_BASE_URL": "https://proxy.example",
        "HOME": "/home/a",
    }
    made = shielded(environment, "/run/s", source_of("", environment))
    assert made == {
        "ANTHROPIC_API_KEY": PLACEHOLDER,
        "ANTHROPIC_BASE_URL": "http://model.invalid",
        "ANTHROPIC_UNIX_SOCKET": "/run/s",
        "HOME": "/home/a",
    }
    assert custom_headers({"ANTHROPIC_CUSTOM_HEADERS": "A: b\nnone\nC:d:e"}) == (("A", "b"), ("C", "d:e"))


def test_in_the_place_of_a_login_an_agent_has_a_word_that_the_cli_takes_for_one(tmp_path: Path) -> None:
    write_login(tmp_path / ".claude/.credentials.json", login(60, Clock().wall(), rateLimitTier="tier\n1"))
    environment = {"HOME": str(tmp_path)}
    source = source_of("", environment)
    assert source == source_of("login", environment) == source_of(f"login:{tmp_path}/.claude", {})
    assert shielded(environment, "/run/s", source) == {
        "ANTHROPIC_BASE_URL": "http://model.invalid",
        "ANTHROPIC_UNIX_SOCKET": "/run/s",
        "CLAUDE_CODE_OAUTH_TOKEN": PLACEHOLDER,
        "CLAUDE_CODE_SUBSCRIPTION_TYPE": "max",
        "HOME": str(tmp_path),
    }
    long = {"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-long"}
    assert shielded(long, "/run/s", source_of("", long))["CLAUDE_CODE_OAUTH_TOKEN"] == PLACEHOLDER


@pytest.mark.parametrize("name", ["CLAUDE_CONFIG_DIR", "CLAUDE_SECURESTORAGE_CONFIG_DIR"])
def test_the_login_is_where_the_cli_looks_for_it(name: str) -> None:
    environment = {"HOME": "/home/a", name: "/elsewhere"}
    assert source_of("login", environment).path == "/elsewhere/.credentials.json"
    assert source_of("login", {"HOME": "/home/a"}).path == "/home/a/.claude/.credentials.json"
    with pytest.raises(CredentialError, match="no login of `claude` in /elsewhere"):
        source_of("", environment)


def test_a_credential_is_not_shown_where_its_source_is_printed() -> None:
    assert "sk-a" not in repr(source_of("", {"ANTHROPIC_API_KEY": "sk-a"}))
