"""Entries of settings files: how each hook reaches the daemon, and what is said of it."""

import json
from pathlib import Path

import pytest

from supervisor.runtime.attached.relay_settings import RelaySettings
from supervisor.runtime.attached.settings.hook_entries import BY_COMMAND, EVENTS, RelayUse, WhenAway, handlers, ways_in
from supervisor.runtime.attached.settings.settings_text import hooks_in, with_hooks, without_hooks

SOCKET = Path("/run/my user/hooks.sock")


def relay(token: str, program: Path | None = None) -> RelayUse:
    return RelayUse(Path("/state/attached"), RelaySettings(20_001, "00", str(SOCKET)), token, program)


WAYS = {
    "by HTTP": relay("f-1.signed"),
    "by a compiled program": relay("", Path("/my state/attached/hook-1")),
    "by bash": relay(""),
    "by Python": None,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("when_away", ["block", "ask", "allow"])
def test_of_each_way_it_is_known_how_hooks_come_and_what_a_call_meets_without_a_daemon(
    tmp_path: Path, way: str, when_away: WhenAway
) -> None:
    path = tmp_path / "settings.json"
    path.write_text(with_hooks("{}", handlers(SOCKET, when_away, relay=WAYS[way])))
    assert ways_in(path) == f"{way}; while no daemon is there: {when_away}"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"hooks": {"PreToolUse": [{"hooks": [{"command": "say \'"}]}]}}'])
def test_of_settings_without_our_hooks_nothing_is_said(tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text(text)
    assert ways_in(path) == ""


@pytest.mark.parametrize("way", WAYS)
def test_hooks_of_each_way_are_known_as_ours_and_taken_out_again(way: str) -> None:
    text = '{"model": "opus"}'
    attached = with_hooks(text, handlers(SOCKET, "block", relay=WAYS[way]))
    assert sorted(hooks_in(attached)) == sorted(EVENTS)
    assert without_hooks(attached) == text


@pytest.mark.parametrize("way", WAYS)
def test_a_call_whose_hook_fails_is_blocked_unless_the_person_lets_it_run(way: str) -> None:
    for when_away, blocks in (("block", True), ("ask", True), ("allow", False)):
        [hook] = handlers(SOCKET, when_away, relay=WAYS[way])["PreToolUse"]["hooks"]  # type: ignore[arg-type]
        assert ("onFailure" in hook) == blocks
        if hook["type"] == "command":
            assert hook["command"].endswith("exit 2; }") == blocks


def test_by_http_no_program_is_started_but_where_the_cli_takes_no_other_hook() -> None:
    found = {
        event: entry["hooks"][0]["type"] for event, entry in handlers(SOCKET, "block", relay=WAYS["by HTTP"]).items()
    }
    assert {event for event, type_ in found.items() if type_ == "command"} == BY_COMMAND


def test_a_token_in_the_environment_stands_in_no_hook() -> None:
    text = json.dumps(handlers(SOCKET, "block", relay=relay("$CHAPERON_HOOKS_TOKEN")))
    assert "Bearer $CHAPERON_HOOKS_TOKEN" in text
    assert '"CHAPERON_HOOKS_TOKEN"' in text
