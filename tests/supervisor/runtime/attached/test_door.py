"""The socket of hooks, by a process that says whatever it likes, against a real daemon."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from supervisor.protocol import events
from supervisor.protocol.claude import messages
from supervisor.runtime.attached import attaching, door, link, relay_settings, translation
from supervisor.runtime.attached.settings import hook_entries
from tests.stages.daemon import Base, ended, served, until
from tests.stages.speaker import Answer, Speaker, speaker

PAGE = (Path(__file__).parents[4] / "docs/reference/hooks.md").read_text()


def part(name: str) -> str:
    return PAGE.partition(f"<!-- {name} -->")[2].partition("<!-- /")[0]


def like(shown: Any, found: Any) -> bool:
    """Whether a value is as the page shows it, `…` for any text."""
    if isinstance(shown, dict) and isinstance(found, dict):
        return shown.keys() == found.keys() and all(like(shown[key], found[key]) for key in shown)
    return shown == found or (shown == "…" and isinstance(found, str) and bool(found))


async def say(cli: Speaker, *about: Any, **more: Any) -> Answer:
    return await anyio.to_thread.run_sync(lambda: cli.say(*about, **more))


class Words:
    """Hooks of one session."""

    def __init__(self, base: Base, session: str = "s1") -> None:
        self._about = {"session_id": session, "cwd": str(base.repo)}

    def prompt(self, text: str = "Go.") -> dict[str, Any]:
        return {**self._about, "hook_event_name": "UserPromptSubmit", "prompt": text}

    def call(self, command: str, **more: Any) -> dict[str, Any]:
        given = {"tool_name": "Bash", "tool_input": {"command": command}}
        return {**self._about, "hook_event_name": "PreToolUse", **given, **more}


def denied(answer: Answer) -> bool:
    status, found = answer
    return status != 200 or (found.get("hookSpecificOutput") or {}).get("permissionDecision") == "deny"


HARM = "rm -rf /etc"


async def test_what_the_page_shows_is_what_the_daemon_answers(tmp_path: Path) -> None:
    base = Base(tmp_path)
    blocks = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", part("exchange"), re.DOTALL)]
    assert len(blocks) == 12
    with speaker(base.places.hooks_socket, base.repo) as cli:
        async with served(base) as (daemon, _):
            for asked, shown in zip(blocks[::2], blocks[1::2], strict=True):
                status, found = await say(cli, {**asked, "cwd": str(base.repo)})
                assert status == 200
                assert like(shown, found), (asked, found)
            assert daemon.board.summary("a1").origin == "my-cli"


def test_the_page_has_the_events_that_are_registered_and_no_field_that_is_not_read() -> None:
    named = {name for row in part("events of hooks").splitlines() for name in re.findall(r"`(\w+)`", row[:140])}
    assert named == set(hook_entries.EVENTS)
    code = "".join(Path(str(one.__file__)).read_text() for one in (attaching, door, link, translation, messages))
    code += Path(str(door.__file__)).with_name("call_ids.py").read_text()
    fields = re.findall(r"^\| `(\w+)`", part("fields of a hook"), re.MULTILINE)
    assert len(fields) > 10
    assert [field for field in fields if f'"{field}"' not in code] == []
    assert f"{relay_settings.MOST_BYTES // 2**20} MiB" in PAGE


async def test_a_hook_that_is_asked_again_has_the_same_answer_and_is_reviewed_once(tmp_path: Path) -> None:
    base = Base(tmp_path)
    words = Words(base)
    with speaker(base.places.hooks_socket, base.repo) as cli:
        async with served(base):
            await say(cli, words.prompt())
            first = await say(cli, words.call(HARM), id_="h1")
            again = await say(cli, words.call(HARM), id_="h1", by=1)
            later = await say(cli, words.call(HARM), id_="h1")
    assert denied(first)
    assert first == again == later
    assert len(base.events(events.ReviewMade)) == 1


async def test_a_denied_call_without_an_id_that_is_asked_again_never_comes_back(tmp_path: Path) -> None:
    base = Base(tmp_path)
    words = Words(base)
    with speaker(base.places.hooks_socket, base.repo) as cli:
        async with served(base):
            await say(cli, words.prompt())
            assert denied(await say(cli, words.call(HARM), id_="h1"))
            assert denied(await say(cli, words.call(HARM), id_="h1", by=1))
            back = {**words.call(HARM), "hook_event_name": "PostToolUse", "tool_response": {"stdout": "of another"}}
            await say(cli, back)
            await until(lambda: any("PostToolUse" in str(event.frame) for event in base.events(events.LineReceived)))
            lines = [str(event.frame) for event in base.events(events.LineReceived)]
    assert len(base.events(events.ReviewMade)) == 1
    assert not [line for line in lines if "tool_result" in line]


async def test_an_id_of_a_harmless_call_does_not_let_another_call_run(tmp_path: Path) -> None:
    base = Base(tmp_path)
    words = Words(base)
    with speaker(base.places.hooks_socket, base.repo) as cli:
        async with served(base):
            await say(cli, words.prompt())
            assert not denied(await say(cli, words.call("touch one.txt"), id_="h1"))
            assert denied(await say(cli, words.call(HARM), id_="h1", by=1))
    assert len(base.events(events.ReviewMade)) == 2


async def test_a_session_id_that_another_process_says_too_is_another_agents(tmp_path: Path) -> None:
    base = Base(tmp_path)
    words, socket = Words(base, "the-same"), base.places.hooks_socket
    async with served(base) as (daemon, _):
        with speaker(socket, base.repo) as one, speaker(socket, base.repo) as other:
            for cli in (one, other):
                await say(cli, words.prompt())
            assert denied(await say(one, words.call(HARM), id_="h1"))
            assert not denied(await say(other, words.call("touch one.txt"), id_="h1"))
            by_agent = {event.agent: event.review.decision.value for event in base.events(events.ReviewMade)}
            assert by_agent == {"a1": "block", "a2": "allow"}
            assert [daemon.board.summary(agent).cli_pid for agent in ("a1", "a2")] == [one.pid, other.pid]
        await ended(daemon, "a2")
        with speaker(socket, base.repo) as resumed:
            await say(resumed, words.prompt())
            assert daemon.board.summary("a3").cli_pid == resumed.pid


async def test_events_and_fields_of_versions_to_come_are_kept_and_change_nothing(tmp_path: Path) -> None:
    base = Base(tmp_path)
    words = Words(base)
    new = {"hook_event_name": "BeforeDreaming", "depth": 3}
    with speaker(base.places.hooks_socket, base.repo) as cli:
        async with served(base) as (daemon, _):
            assert await say(cli, new) == (200, {})
            assert not list(daemon.board.live()), "it begins no agent"
            await say(cli, {**words.prompt(), "mood": {"kind": ["good"]}})
            assert await say(cli, new) == (200, {})
            assert denied(await say(cli, words.call(HARM, urgency=7, cwd=str(base.repo))))
            lines = [json.dumps(event.frame) for event in base.events(events.LineReceived)]
    assert any("BeforeDreaming" in line for line in lines)


WRONG: list[dict[str, Any]] = [
    {"tool_name": 5},
    {"tool_name": None},
    {"tool_name": ["Bash"]},
    {"tool_input": "text"},
    {"tool_input": None},
    {"tool_use_id": {"a": 1}},
    {"session_id": ["s1"]},
    {"cwd": 7},
    {"agent_id": {}},
    {"prompt": [1]},
    {"permission_mode": {}},
    {"transcript_path": 5},
    {"client": ["x"]},
    {"source": 1, "file_path": {}},
]


@pytest.mark.parametrize("wrong", WRONG, ids=json.dumps)
async def test_values_of_another_kind_are_answered_and_harm_does_not_run(tmp_path: Path, wrong: dict[str, Any]) -> None:
    base = Base(tmp_path)
    words = Words(base)
    with speaker(base.places.hooks_socket, base.repo) as cli:
        async with served(base):
            with anyio.fail_after(30):
                assert denied(await say(cli, {**words.call(HARM), **wrong})), "as the first hook of all"
                await say(cli, words.prompt())
                assert denied(await say(cli, {**words.call(HARM), **wrong}))
                assert denied(await say(cli, words.call(HARM)))


@pytest.mark.parametrize("body", ["", "null", "[]", "{", '{"hook_event_name": "PreToolUse"', "\udcff", "[" * 50_000])
async def test_what_is_no_hook_is_refused(tmp_path: Path, body: str) -> None:
    base = Base(tmp_path)
    with speaker(base.places.hooks_socket, base.repo) as cli:
        async with served(base):
            status, why = await say(cli, body)
    assert status == 409
    assert "no JSON object" in why


async def test_a_call_of_the_cli_that_cannot_be_read_is_denied_and_in_the_journal_cut_and_escaped(
    tmp_path: Path,
) -> None:
    base = Base(tmp_path)
    other = json.dumps({"hook_event_name": "Stop", "session_id": "s1", "cwd": str(base.repo)})
    bodies = ["", "null", "[]", "{" + "\x1b[31mx" * 10_000, "\udcff", "[" * 50_000, other]
    with speaker(base.places.hooks_socket, base.repo) as cli:
        async with served(base) as (daemon, _):
            for body in bodies:
                status, answer = await say(cli, body, event="PreToolUse")
                assert status == 200
                assert denied((status, answer))
                assert body == other or await say(cli, body, event="Notification") == (200, {})
            assert denied(await say(cli, Words(base).call(HARM), event="PreToolUse"))
            assert daemon.board.summary("a1").workspace == str(base.repo)
            made = base.events(events.ReviewMade)
            lines = [json.dumps(event.frame) for event in base.events(events.LineReceived)]
    assert [event.review.rule for event in made[:-1]] == ["chaperon.unread-call"] * len(bodies)
    assert {event.agent for event in made} == {"a1"}
    kept = [line for line in lines if '"unread"' in line]
    assert len(kept) == len(bodies)
    assert max(map(len, kept)) < 20_000
    assert all(line.isprintable() for line in kept)


@pytest.mark.slow
async def test_a_flood_of_one_cli_is_answered_call_by_call_and_holds_no_other_up(tmp_path: Path) -> None:
    base = Base(tmp_path, {"patterns": {"enabled_patterns": []}})
    words = Words(base)
    flood = [
        words.call(HARM if number % 10 == 0 else f"touch {number}.txt", tool_use_id=f"t{number}")
        for number in range(600)
    ]
    async with served(base) as (daemon, _):
        with speaker(base.places.hooks_socket, base.repo) as cli, speaker(base.places.hooks_socket, base.repo) as other:
            for each in (cli, other):
                await say(each, words.prompt())
            answers: list[Answer] = []
            async with anyio.create_task_group() as tasks:

                async def pour() -> None:
                    answers.extend(await anyio.to_thread.run_sync(cli.say_at_once, flood))

                tasks.start_soon(pour)
                await until(lambda: len(base.events(events.ReviewMade)) > 20)
                assert denied(await say(other, words.call(HARM)))
                assert not answers, "it was answered while the flood was under way"
            link_of = next(one for one in daemon.attaching._links.values() if one.agent == "a1")
            assert not link_of._waiting
            assert not link_of._answers
    assert [denied(answer) for answer in answers] == [number % 10 == 0 for number in range(600)]
    reviewed = Counter(event.action.tool_use_id for event in base.events(events.ReviewMade) if event.agent == "a1")
    assert reviewed == {f"t{number}": 1 for number in range(600)}
