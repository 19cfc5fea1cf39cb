"""What settings bring: listed, told without secrets, and hashed with all that could make a difference."""

from typing import Any

import orjson
import pytest

from supervisor.config.brought import HARMLESS, MOST, Found, SettingsFile, found


def settings(**given: Any) -> SettingsFile:
    return SettingsFile("settings", ".claude/settings.json", orjson.dumps(given))


def servers(**given: Any) -> SettingsFile:
    return SettingsFile("servers", ".mcp.json", orjson.dumps({"mcpServers": given}))


def definition(text: str) -> SettingsFile:
    return SettingsFile("definition", ".claude/agents/tidy.md", text.encode())


def look(*files: SettingsFile, scripts: dict[str, str] | None = None) -> Found:
    return found(files, lambda word: (scripts or {}).get(word, ""))


def listed(*files: SettingsFile) -> list[tuple[str, str, str]]:
    return [(thing.kind, thing.name, thing.what) for thing in look(*files).things]


HOOKS = {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "sh check.sh"}]}]}


def test_each_thing_is_listed_by_its_kind_with_what_it_runs_or_sets() -> None:
    everything = settings(
        hooks=HOOKS,
        env={"NODE_ENV": "test", "DB_PASSWORD": "hunter2"},
        apiKeyHelper="./key.sh",
        statusLine={"type": "command", "command": "date"},
        permissions={"allow": ["Bash(ls)"], "deny": ["Read(.env)"], "defaultMode": "plan"},
        enabledPlugins={"tidy@here": True, "off@here": False},
        extraKnownMarketplaces={"here": {"source": {"source": "directory", "path": "./plugins"}}},
        model="opus",
    )
    assert listed(everything, servers(db={"command": "npx", "args": ["db", "--fast"]}, web={"url": "https://x.example"})) == [
        ("hook", "PreToolUse Bash", "sh check.sh"),
        ("variable", "NODE_ENV", "test"),
        ("variable", "DB_PASSWORD", "a secret"),
        ("helper", "apiKeyHelper", "./key.sh"),
        ("helper", "statusLine", "date"),
        ("permission", "allow", '["Bash(ls)"]'),
        ("permission", "defaultMode", "plan"),
        ("plugin", "tidy@here", ""),
        ("plugin", "marketplace here", '{"source":{"source":"directory","path":"./plugins"}}'),
        ("server", "db", "npx db --fast"),
        ("server", "web", "https://x.example"),
    ]  # fmt: skip


def test_what_looks_like_a_secret_is_not_repeated() -> None:
    key = "sk-ant-api03-" + "x" * 40
    ((_, _, what),) = listed(servers(web={"command": "curl", "args": ["-H", f"x-api-key: {key}"]}))
    assert key not in what
    assert "an Anthropic key was here" in what


@pytest.mark.parametrize(
    ("front", "brings"),
    [
        ("hooks: {PreToolUse: []}", ["hooks"]),
        ("mcpServers:\n  - x: {command: sh}", ["servers"]),
        ("hooks: {}\nmcpServers:\n  - x: {command: sh}", ["hooks and servers"]),
        ("description: tidies", []),
    ],
)
def test_definitions_are_listed_that_have_hooks_or_servers(front: str, brings: list[str]) -> None:
    assert [what for _, _, what in listed(definition(f"---\nname: tidy\n{front}\n---\nTidy up.\n"))] == brings


@pytest.mark.parametrize("text", [b"{", b"[]", b"\xff{}", b'{"a": "\\ud800"}', b"\xef\xbb\xbf{}", b"NaN"])
def test_what_the_cli_might_understand_and_we_do_not_is_said_to_be_unread(text: bytes) -> None:
    (thing,) = look(SettingsFile("settings", "x", text)).things
    assert thing.kind == "unread"


@pytest.mark.parametrize("text", [b"", b" \n", b"{}", b'{"hooks": [], "env": 5, "permissions": "x", "model": "opus"}'])
def test_what_brings_nothing_needs_no_trust(text: bytes) -> None:
    assert look(SettingsFile("settings", "x", text)) == Found()


def test_a_file_with_more_than_anybody_reads_is_unread() -> None:
    (thing,) = look(settings(env={f"N{number}": "x" for number in range(MOST + 1)})).things
    assert thing.kind == "unread"


def test_permissions_are_listed_and_not_asked_about() -> None:
    assert frozenset({"permission"}) == HARMLESS
    shown = look(settings(permissions={"allow": ["Bash(*)"]}))
    assert (len(shown.things), shown.digest) == (1, "")


def test_the_digest_is_that_of_the_things_wherever_their_file_lies_and_in_whatever_order_keys_stand() -> None:
    one = look(settings(env={"A": "1", "B": "2"}, apiKeyHelper="x"))
    file = SettingsFile(
        "settings", "/elsewhere/settings.json", b'{"apiKeyHelper":"x",  "model":"opus","env":{"A":"1","B":"2"}}'
    )
    assert look(file).digest == one.digest


@pytest.mark.parametrize(
    "other",
    [
        settings(hooks=HOOKS, env={"A": "2"}),
        settings(hooks={**HOOKS, "Stop": HOOKS["PreToolUse"]}, env={"A": "1"}),
        settings(hooks={"PreToolUse": [{**HOOKS["PreToolUse"][0], "matcher": ""}]}, env={"A": "1"}),
        settings(hooks={"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "sh check.sh x"}]}]}, env={"A": "1"}),
        settings(env={"A": "1"}),
    ],
)  # fmt: skip
def test_whatever_is_brought_otherwise_has_another_digest(other: SettingsFile) -> None:
    assert look(other).digest != look(settings(hooks=HOOKS, env={"A": "1"})).digest


def test_a_script_of_the_repository_that_a_command_names_is_part_of_the_digest() -> None:
    command = '"$CLAUDE_PROJECT_DIR"/hooks/check.sh --fast'
    hooked = settings(hooks={"Stop": [{"hooks": [{"type": "command", "command": command}]}]})
    before, after = (look(hooked, scripts={"hooks/check.sh": content}) for content in ("one", "two"))
    assert before.things == after.things
    assert before.digest != after.digest
