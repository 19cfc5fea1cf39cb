"""Hooks of other CLIs, sent as their documentation has them through the real program to a real daemon."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.runtime.attached.adapters import other_cli as at_work
from supervisor.runtime.attached.adapters.other_cli import NAMES, UnreadCallError, adapter, in_folder
from supervisor.runtime.attached.hook import LAUNCHED
from supervisor.runtime.attached.settings.hook_entries import FAILED, entries_for
from supervisor.runtime.attached.settings.settings_text import with_hooks
from tests.stages.daemon import Base, ended, served, until
from tests.stages.other_cli import OtherCli, other_cli

pytestmark = pytest.mark.parametrize("name", NAMES)

FOLDER = Path(__file__).parent


def recorded(name: str, base: Base) -> list[dict[str, Any]]:
    """The hooks of a session, in order, with what its CLI is to make of each answer."""
    text = (FOLDER / f"{name}.json").read_text()
    places = {"WORKSPACE": base.repo, "OUTSIDE": base.root / "own-home/notes", "HOME": base.home}
    for word, path in places.items():
        text = text.replace(word, str(path))
    return list(json.loads(text))


def hook_of(name: str, base: Base, what: str) -> Any:
    return next(one["hook"] for one in recorded(name, base) if one["what"] == what)


@contextmanager
def attached(name: str, base: Base, when_away: str = "block", wait: float = 30.0) -> Iterator[OtherCli]:
    entries = entries_for(name, base.places.hooks_socket, when_away, wait)  # type: ignore[arg-type]
    settings = base.root / "settings.json"
    settings.write_text(with_hooks("", entries, adapter(name).TOP))
    with other_cli(name, settings, base.repo) as cli:
        yield cli


async def test_a_session_is_reviewed_call_by_call_and_answered_in_the_clis_own_words(name: str, tmp_path: Path) -> None:
    base = Base(tmp_path)
    with attached(name, base) as cli:
        async with served(base) as (daemon, _):
            for one in recorded(name, base):
                heard = await anyio.to_thread.run_sync(cli.send, one["hook"])
                assert heard.runs == one["runs"], (one["what"], heard)
                assert one.get("reason", "") in heard.reason, (one["what"], heard)
                assert one.get("answer", heard.answer) == heard.answer, one["what"]
                if "changed" in one:
                    assert heard.answer["hookSpecificOutput"] == one["changed"], one["what"]
            summary = daemon.board.summary("a1")
            assert (summary.origin, summary.state) == (name, AgentState.IDLE)
            assert summary.task.prompt == "Mend the failing test."
            made = {event.action.tool_use_id: event for event in base.events(events.ReviewMade)}
    assert {event.action.tool for event in made.values()} > {"Bash", "Write", "Edit", "Read"}
    assert any(event.action.tool.startswith("mcp__") for event in made.values())
    assert all(made), "a call without an id"
    assert not [one for one in base.incidents() if "bypass" in json.dumps(one)]


async def test_what_a_call_brought_is_noted_with_the_call(name: str, tmp_path: Path) -> None:
    base = Base(tmp_path)
    with attached(name, base) as cli:
        async with served(base):
            for what in ("a prompt", "a command", "a command comes back"):
                await anyio.to_thread.run_sync(cli.send, hook_of(name, base, what))
            await until(lambda: any("tool_result" in str(event.frame) for event in base.events(events.LineReceived)))
            lines = [event.frame for event in base.events(events.LineReceived)]
    [made] = base.events(events.ReviewMade)
    assert [made.action.tool_use_id in str(line) for line in lines if "tool_result" in str(line)] == [True]


async def test_the_process_of_the_cli_is_the_agents_and_its_end_is_the_agents(name: str, tmp_path: Path) -> None:
    base = Base(tmp_path)
    async with served(base) as (daemon, _):
        with attached(name, base) as cli:
            await anyio.to_thread.run_sync(cli.send, hook_of(name, base, "a prompt"))
            assert daemon.board.summary("a1").cli_pid == cli._process.pid
            await anyio.to_thread.run_sync(cli.send, hook_of(name, base, "the end"))
        assert (await ended(daemon)).state is AgentState.DONE


@pytest.mark.parametrize(("when_away", "runs"), [("block", False), ("ask", False), ("allow", True)])
def test_without_a_daemon_no_call_runs_unless_the_person_chose_so(
    name: str, tmp_path: Path, when_away: str, runs: bool
) -> None:
    base = Base(tmp_path)
    with attached(name, base, when_away, wait=0.1) as cli:
        heard = cli.send(hook_of(name, base, "a command"))
        assert heard.runs == runs
        assert runs or "daemon of chaperon" in heard.reason
        for what in ("a prompt", "a command comes back", "the end of a turn"):
            assert cli.send(hook_of(name, base, what)).runs, what


def test_within_a_launched_agent_its_hook_is_still_the_gate(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LAUNCHED, "x")
    base = Base(tmp_path)
    with attached(name, base, wait=0.1) as cli:
        heard = cli.send(hook_of(name, base, "a command"))
    assert not heard.runs
    assert "daemon of chaperon" in heard.reason


def unasked(body: bytes) -> tuple[bytes, str]:
    raise AssertionError(f"the daemon was asked: {body!r}")


def allows(told: list[Any]) -> at_work.Ask:
    """A daemon that lets all run."""

    def ask(body: bytes) -> tuple[bytes, str]:
        told.append(json.loads(body))
        return b"{}", ""

    return ask


def is_denied(answer: bytes) -> bool:
    found = json.loads(answer)
    return "deny" in (found.get("decision"), found.get("permission"))


def test_a_call_that_cannot_be_read_whole_is_denied_in_the_clis_own_words_whatever_the_daemon_says(name: str) -> None:
    given = {one["what"]: one["hook"] for one in json.loads((FOLDER / f"{name}.json").read_text())}["a command"]
    body, told = json.dumps({**given, "tool_name": None}).encode(), []  # type: ignore[var-annotated]
    answer = at_work.served(name, "PreToolUse", body, allows(told))
    assert is_denied(answer)
    assert b"tool_name" in answer
    assert "tool_name" in told[0]["unread"]
    assert b"deny" not in at_work.served(name, "PostToolUse", json.dumps({"tool_name": None}).encode(), unasked)


UNREAD: list[dict[str, Any]] = [
    {"tool_name": None},
    {"tool_name": "x\x1b[31m" * 10_000, "cwd": "/nowhere", "hook_event_name": "\x1b[2J" * 100, "tool_input": 5},
    {"tool_name": "\udcff", "cwd": "\udcff", "session_id": ["\udcff"], "conversation_id": {}},
]


async def test_a_call_that_cannot_be_read_is_in_the_journal_cut_and_with_nothing_that_a_terminal_obeys(
    name: str, tmp_path: Path
) -> None:
    base = Base(tmp_path)
    gate = next(event for event, ours in adapter(name).EVENTS.items() if ours == "PreToolUse")
    other = next(event for event, ours in adapter(name).EVENTS.items() if ours == "Stop")
    hook = hook_of(name, base, "a command")
    bodies = [json.dumps({**hook, **one}) for one in UNREAD]
    bodies += [json.dumps({**hook, "hook_event_name": other}), "{" + "x\x1b[31m" * 10_000, "[]", "", "[" * 100_000]
    with attached(name, base) as cli:
        async with served(base):
            for body in bodies:
                heard = await anyio.to_thread.run_sync(cli.send, body, gate)
                assert not heard.runs, body[:200]
            made, rejected = base.events(events.ReviewMade), base.events(events.FrameRejected)
            lines = [json.dumps(event.frame) for event in base.events(events.LineReceived)]
    assert len(made) + len(rejected) == len(bodies)
    assert len([event for event in made if event.review.rule == "chaperon.unread-call"]) >= len(UNREAD) + 2
    for event in made:
        assert len(event.review.reasoning) < 600
        assert event.review.reasoning.isprintable()
    assert max(len(line) for line in lines if '"unread"' in line) < 20_000, "the beginning of 50,000 bytes is kept"


def test_a_hook_that_says_that_it_is_another_event_of_its_cli_is_not_taken(name: str) -> None:
    own, told = adapter(name), []  # type: ignore[var-annotated]
    for said, ours in own.EVENTS.items():
        if ours != "PreToolUse":
            body = json.dumps({"hook_event_name": said}).encode()
            assert is_denied(at_work.served(name, "PreToolUse", body, allows(told)))
            assert said in told[-1]["unread"]


@pytest.mark.parametrize("body", ["", "{", "[]", '"text"', "\udcff", "[" * 100_000])
def test_a_hook_that_cannot_be_read_lets_no_call_run(name: str, tmp_path: Path, body: str) -> None:
    base = Base(tmp_path)
    gate = next(event for event, ours in adapter(name).EVENTS.items() if ours == "PreToolUse")
    other = next(event for event, ours in adapter(name).EVENTS.items() if ours == "Stop")
    with attached(name, base, wait=0.1) as cli:
        assert not cli.send(body, gate).runs
        assert cli.send(body, other).runs


def test_a_program_that_is_missing_lets_no_call_run(name: str, tmp_path: Path) -> None:
    base = Base(tmp_path)
    with attached(name, base) as cli:
        gone = cli.command("BeforeTool" if name == "gemini" else "preToolUse").replace("hook.py", "gone.py")
        heard = cli.send(hook_of(name, base, "a command"), command=gone)
        assert not heard.runs
        assert FAILED in heard.reason


async def test_a_hook_under_another_events_name_is_still_the_gate(name: str, tmp_path: Path) -> None:
    base = Base(tmp_path)
    gate = next(event for event, ours in adapter(name).EVENTS.items() if ours == "PreToolUse")
    with attached(name, base) as cli:
        async with served(base):
            hook = {**hook_of(name, base, "a command that harms"), "hook_event_name": "BeforeWhatComesNext"}
            assert not (await anyio.to_thread.run_sync(cli.send, hook, gate)).runs


def test_a_command_with_a_folder_of_its_own_is_reviewed_as_one_that_goes_there(name: str) -> None:
    assert name in NAMES
    assert in_folder("ls", "sub dir", "/w") == "cd '/w/sub dir' &&\nls"
    assert in_folder("ls", "/w/.", "/w") == "ls"
    assert in_folder("ls", None, "/w") == "ls"
    assert in_folder(["ls"], "x", "/w") == ["ls"]
    for folder, cwd in ((["x"], "/w"), ("x", None)):
        with pytest.raises(UnreadCallError):
            in_folder("ls", folder, cwd)
    there = in_folder("ls", "x", "/w")
    assert in_folder(there, "x", "/w") == there


def test_a_payload_of_any_kind_of_value_becomes_a_hook_or_is_a_call_that_cannot_be_read(name: str) -> None:
    own = adapter(name)
    values: list[Any] = [None, 0, "", "x", [], [1], {}, {"a": None}, True, "\udcff"]
    keys = {key for one in json.loads((FOLDER / f"{name}.json").read_text()) for key in one["hook"]}
    for event, ours in own.EVENTS.items():
        for value in values:
            given = {**dict.fromkeys(keys, value), "hook_event_name": event}
            try:
                made = own.payload(ours, given)
            except UnreadCallError:
                assert ours in ("PreToolUse", "PostToolUse", "PostToolUseFailure")
            else:
                assert made is None or json.dumps(made)
            for answer in ({}, {"hookSpecificOutput": {"permissionDecision": "deny"}}, {"continue": False}):
                assert isinstance(own.answer(given, answer), dict)
    assert os.sep not in name
