"""How a CLI is started for what a repository's settings bring, trusted and not."""

from typing import Any

import orjson
import pytest

from supervisor.config.brought import Found, SettingsFile, found
from supervisor.config.environment import GATE_ARGUMENTS, GATE_SETTINGS, STRICT_SERVERS
from supervisor.config.settings_guard import ConfiguredValue, Guard, Own, guard, is_guarded

HOOK = {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}
SERVER = SettingsFile("servers", ".mcp.json", b'{"mcpServers": {"db": {"command": "db"}}}')
SUBAGENT = SettingsFile("definition", ".claude/agents/a.md", b"---\nhooks: {}\nmcpServers: [{x: {command: sh}}]\n---\n")


def brought(*files: SettingsFile, **given: Any) -> Found:
    own = SettingsFile("settings", ".claude/settings.json", orjson.dumps(given))
    return found((own, *files), lambda _: "")


def made(
    what: Found, *, trusted: bool = False, own: Own | None = None, **wanted: Any
) -> tuple[Guard, dict[str, Any], bool]:
    """The guard, the settings that the CLI is given, and whether servers of settings are started."""
    guarded = guard(what, own or Own(), ConfiguredValue(**wanted), trusted=trusted)
    settings = guarded.arguments[guarded.arguments.index("--settings") + 1]
    return guarded, orjson.loads(settings), STRICT_SERVERS not in guarded.arguments


def test_where_settings_bring_nothing_the_cli_is_started_as_ever() -> None:
    assert guard(Found(), Own(), ConfiguredValue(), trusted=True) == Guard(GATE_ARGUMENTS)


def test_what_nobody_trusts_is_taken_back_thing_by_thing() -> None:
    what = brought(SERVER, hooks=HOOK, env={"NODE_ENV": "x"}, apiKeyHelper="./k", enabledPlugins={"p@m": True})
    guarded, settings, servers = made(what)
    assert guarded.off == what.things
    assert settings == {
        **GATE_SETTINGS,
        "env": {"NODE_ENV": "", **GATE_SETTINGS["env"]},
        "apiKeyHelper": "",
        "enabledPlugins": {"p@m": False},
    }
    assert not servers


def test_what_a_person_trusts_counts() -> None:
    what = brought(SERVER, hooks=HOOK, env={"NODE_ENV": "x"}, apiKeyHelper="./k", enabledPlugins={"p@m": True})
    guarded, settings, servers = made(what, trusted=True)
    assert guarded.off == ()
    assert settings == {**GATE_SETTINGS, "disableAllHooks": False}
    assert servers


def test_what_is_the_persons_own_comes_in_the_place_of_what_is_off() -> None:
    what = brought(env={"A": "theirs", "B": "theirs", "C": "theirs"}, apiKeyHelper="./k", enabledPlugins={"p@m": True})
    settings = {"env": {"A": "mine"}, "apiKeyHelper": "pass show key", "enabledPlugins": {"p@m": True}}
    _, given, _ = made(what, own=Own({"A": "no", "B": "of the agent"}, settings))
    assert given["env"] == {"A": "mine", "B": "of the agent", "C": "", **GATE_SETTINGS["env"]}
    assert (given["apiKeyHelper"], given["enabledPlugins"]) == ("pass show key", {"p@m": True})


STEERING = (
    "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_UNIX_SOCKET",
    "HTTPS_PROXY", "http_proxy", "ALL_PROXY", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_SHELL_PREFIX", "CLAUDE_CONFIG_DIR", "AWS_PROFILE",
    "PATH", "BASH_ENV", "ENV", "SHELL", "LD_PRELOAD", "LD_LIBRARY_PATH", "NODE_OPTIONS", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE",
    "NODE_TLS_REJECT_UNAUTHORIZED", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_CONFIG_GLOBAL", "PYTHONPATH", "PYTHONSTARTUP",
    "PERL5OPT", "HOME", "XDG_CONFIG_HOME", "OTEL_EXPORTER_OTLP_ENDPOINT", "PROMPT_COMMAND", "EDITOR", "PAGER",
)  # fmt: skip


@pytest.mark.parametrize("name", STEERING)
def test_a_variable_that_steers_the_cli_or_what_it_runs_is_off_though_the_repository_is_trusted(name: str) -> None:
    assert is_guarded(name)
    guarded, given, _ = made(brought(env={name: "theirs", "NODE_ENV": "x"}), trusted=True, own=Own({name: "mine"}))
    if guarded.left_out:  # the agent's own is a secret
        assert "--setting-sources" in guarded.arguments
    else:
        assert given["env"] == {name: "mine", **GATE_SETTINGS["env"]}
    assert [thing.name for thing in guarded.off if thing.name == name] == [name]


@pytest.mark.parametrize(
    "name", ["NODE_ENV", "RUST_LOG", "ANTHROPIC_MODEL", "GIT_AUTHOR_NAME", "BASH_MAX_TIMEOUT_MS", "DEBUG"]
)
def test_a_variable_that_steers_nothing_counts_in_a_trusted_repository_alone(name: str) -> None:
    assert made(brought(env={name: "x"}), trusted=True)[0].off == ()
    assert made(brought(env={name: "x"}))[1]["env"][name] == ""


@pytest.mark.parametrize("trusted", [True, False])
def test_a_variable_that_the_configuration_names_counts_whoever_trusts_the_repository(trusted: bool) -> None:
    what = brought(env={"ANTHROPIC_BASE_URL": "https://gateway.example"})
    guarded, given, _ = made(what, trusted=trusted, variables=("ANTHROPIC_BASE_URL",))
    assert (guarded.off, given["env"]) == ((), {**GATE_SETTINGS["env"]})


@pytest.mark.parametrize("trusted", [True, False])
def test_where_the_agents_own_value_is_a_secret_the_project_is_left_out_instead_of_saying_it(trusted: bool) -> None:
    """Everybody on the machine can read a command line."""
    what = brought(env={"ANTHROPIC_API_KEY": "theirs"})
    guarded = guard(what, Own({"ANTHROPIC_API_KEY": "sk-mine"}), ConfiguredValue(), trusted=trusted)
    assert guarded.arguments[-2:] == ("--setting-sources", "user")
    assert "sk-mine" not in " ".join(guarded.arguments)
    assert "ANTHROPIC_API_KEY" in guarded.left_out


def test_where_a_file_is_not_understood_the_project_is_left_out_though_it_is_trusted() -> None:
    what = brought(SettingsFile("settings", ".claude/settings.local.json", problem="it has over 1048576 bytes"))
    guarded = guard(what, Own(), ConfiguredValue(), trusted=True)
    assert guarded.arguments[-2:] == ("--setting-sources", "user")
    assert guarded.off == what.things


@pytest.mark.parametrize(
    ("what", "trusted", "hooks", "servers"),
    [
        (brought(), False, True, True),  # the person's own alone
        (brought(hooks=HOOK), False, False, True),
        (brought(hooks=HOOK), True, True, True),
        (brought(SERVER), False, True, False),
        (brought(SUBAGENT), False, False, False),
        (brought(SUBAGENT), True, True, True),
    ],
)
def test_the_persons_own_hooks_and_servers_run_where_they_are_wanted_and_no_others_would_run_with_them(
    what: Found, trusted: bool, hooks: bool, servers: bool
) -> None:
    _, given, started = made(what, trusted=trusted, hooks=True, servers=True)
    assert (not given["disableAllHooks"], started) == (hooks, servers)
