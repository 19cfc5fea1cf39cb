"""Hooks in the text of settings files as people have them, and the same texts once the hooks are gone."""

import json

import pytest

from monitors.contract.errors import UsageError
from supervisor.runtime.attached.settings.settings_text import (
    BYTE_ORDER_MARK,
    MARK,
    hooks_in,
    with_hooks,
    without_hooks,
)

OURS = {
    event: {"hooks": [{"type": "command", "command": f"python {MARK} {event}"}]} for event in ("PreToolUse", "Stop")
}

SETTINGS = {
    "empty": "",
    "an empty object": "{}",
    "an empty object on lines": "{\n}\n",
    "permissions": '{\n  "permissions": {\n    "allow": ["Bash(npm run lint)", "Read(~/.zshrc)"],\n    "deny": []\n  }\n}\n',
    "a formatter's hook": '{\n  "hooks": {\n    "PostToolUse": [\n      {\n        "matcher": "Edit|Write",\n        "hooks": [{"type": "command", "command": "prettier --write"}]\n      }\n    ]\n  }\n}\n',
    "a hook before calls": '{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./check.sh"}]}]}, "model": "opus"}',
    "tabs": '{\n\t"model": "sonnet",\n\t"env": {\n\t\t"FOO": "bar"\n\t}\n}',
    "carriage returns": '{\r\n    "includeCoAuthoredBy": false,\r\n    "hooks": {}\r\n}\r\n',
    "escapes and doubled keys": '{"a": "\\u00e9\\"}", "hooks": {"Stop": []}, "a": "ß 🙂 ]}"}\n',
    "four spaces, hooks last": '{\n    "statusLine": {"type": "command", "command": "~/.claude/line.sh"},\n    "hooks": {\n        "Notification": [],\n        "Stop": [ {"hooks": []} ]\n    }\n}\n\n',
    "a byte order mark": '\ufeff{\r\n  "model": "opus"\r\n}\r\n',
    "a team's": """{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
  "env": { "BASH_DEFAULT_TIMEOUT_MS": "120000", "NAME": "Zoë ❤" },
  "permissions": {
    "defaultMode": "acceptEdits",
    "allow": [ "Bash(git diff:*)", "mcp__linear__get_issue", "WebFetch(domain:docs.rs)" ],
    "deny": [ "Read(./.env)", "Read(./secrets/**)" ],
    "additionalDirectories": [ "../shared" ]
  },
  "statusLine": { "type": "command", "command": "~/.claude/line.sh", "padding": 0 },
  "hooks": {
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [ { "type": "command", "command": "jq -r .tool_input.command >> ~/log" } ] },
      {
        "matcher": "Edit|MultiEdit|Write|mcp__.*__write.*",
        "hooks": [
          { "type": "command", "command": "python3 \\"$CLAUDE_PROJECT_DIR\\"/.claude/hooks/guard.py", "timeout": 10 },
          { "type": "http", "url": "http://127.0.0.1:8080/hook" }
        ]
      }
    ],
    "SessionStart": [{ "matcher": "startup|resume", "hooks": [{ "type": "command", "command": "bd prime" }] }]
  },
  "enabledPlugins": { "formatter@team": true },
  "extraKnownMarketplaces": { "team": { "source": { "source": "github", "repo": "team/plugins" } } }
}""",
    "one line": '{"enabledPlugins": {"x@y": true}, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}',
}


@pytest.mark.parametrize("text", SETTINGS.values(), ids=SETTINGS)
def test_with_the_hooks_every_other_setting_is_as_it_was(text: str) -> None:
    after = json.loads(with_hooks(text, OURS).removeprefix(BYTE_ORDER_MARK))
    before = json.loads(text.removeprefix(BYTE_ORDER_MARK) or "{}")
    for event, entry in OURS.items():
        assert after["hooks"][event].pop() == entry
    kept = {event: entries for event, entries in after.pop("hooks").items() if entries}
    assert kept == {event: entries for event, entries in before.pop("hooks", {}).items() if entries}
    assert after == before


@pytest.mark.parametrize("text", SETTINGS.values(), ids=SETTINGS)
def test_a_second_time_changes_nothing(text: str) -> None:
    once = with_hooks(text, OURS)
    assert with_hooks(once, OURS) == once
    assert hooks_in(once) == hooks_in(with_hooks(once, OURS))


@pytest.mark.parametrize("text", SETTINGS.values(), ids=SETTINGS)
def test_taken_out_of_an_edited_file_nothing_of_ours_is_left_and_all_else_means_the_same(text: str) -> None:
    edited = with_hooks(text, OURS).rstrip()[:-1] + ', "edited": true}'
    after = without_hooks(edited)
    assert MARK not in after
    found, before = (json.loads(one.removeprefix(BYTE_ORDER_MARK)) for one in (after, text or "{}"))
    assert found.pop("edited") is True
    kept = {event: entries for event, entries in found.pop("hooks", {}).items() if entries}
    assert kept == {event: entries for event, entries in before.pop("hooks", {}).items() if entries}
    assert found == before


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a": 1, // mine\n}', "not JSON"),
        ("[]", "a list and not an object"),
        ('{"hooks": []}', "not an object"),
        ('{"hooks": {"Stop": {}}}', "not a list"),
        ('{"a": 1,}', "not JSON"),
        ("\ufeff\ufeff{}", "not JSON"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_what_is_no_settings_is_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        with_hooks(text, OURS)
