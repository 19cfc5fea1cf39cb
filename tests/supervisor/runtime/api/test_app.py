"""Every route, by a real daemon on a real Unix socket."""

import json
import os
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pwd import getpwuid
from typing import Any, cast

import anyio
import httpx
import orjson
import pytest

from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.reading.reader import ReadingService
from tests.stages.daemon import Base, client_on, ended, lines, reached, served, until

WAITS = """
begin()
while True:
    line = hear()
    with open("heard.log", "a") as log:
        log.write(json.dumps(line) + "\\n")
    if line.get("request", {}).get("subtype") == "interrupt":
        done()
"""


def wanted(base: Base, **about: Any) -> dict[str, Any]:
    return {"prompt": "go", "repository": str(base.repo), **about}


def heard(base: Base) -> str:
    log = base.repo / "heard.log"
    return log.read_text() if log.exists() else ""


async def test_a_task_is_submitted_shown_and_listed(base: Base) -> None:
    async with served(base) as (daemon, client):
        made = await client.post("/v1/agents", json=wanted(base, goals=["a", "b"]))
        assert made.status_code == 201
        assert made.json()["agent"] == "a1"
        await ended(daemon)
        shown = (await client.get("/v1/agents/a1")).json()
        assert shown["state"] == "done"
        assert shown["workspace"] == str(base.repo)
        assert shown["task"]["goals"] == ["a", "b"]
        assert shown["reviews"] == {"allow": 1}
        assert [one["agent"] for one in (await client.get("/v1/agents")).json()] == ["a1"]
    assert base.ran() == ["ls"]


async def test_what_is_said_reaches_the_cli(base: Base) -> None:
    base.cli(WAITS)
    async with served(base) as (daemon, client):
        await client.post("/v1/agents", json=wanted(base))
        await reached(daemon, AgentState.RUNNING)
        assert (await client.post("/v1/agents/a1/say", json={"text": "mind the gap"})).status_code == 200
        await until(lambda: "mind the gap" in heard(base))


async def test_the_journal_has_the_name_of_the_user_who_asked(base: Base) -> None:
    base.cli(WAITS)
    async with served(base) as (daemon, client):
        await client.post("/v1/agents", json=wanted(base))
        await reached(daemon, AgentState.RUNNING)
        assert (await client.post("/v1/agents/a1/pause")).status_code == 200
    (paused,) = base.events(events.PauseRequested)
    assert paused.by == getpwuid(os.getuid()).pw_name


async def test_a_redirected_agent_is_interrupted_and_then_told(base: Base) -> None:
    base.cli(WAITS)
    async with served(base) as (daemon, client):
        await client.post("/v1/agents", json=wanted(base))
        await reached(daemon, AgentState.RUNNING)
        assert (await client.post("/v1/agents/a1/redirect", json={"text": "do that"})).status_code == 200
        await until(lambda: "do that" in heard(base))
        told = heard(base)
        assert 0 < told.index("interrupt") < told.index("do that")
        await client.post("/v1/agents/a1/stop", json={"force": True})
        await ended(daemon)
        refused = await client.post("/v1/agents/a1/redirect", json={"text": "do that"})
        assert (
            refused.json()["what"]
            == "Agent 'a1' is stopped and cannot be given something else to do; nothing was changed."
        )


async def test_a_paused_agents_call_waits_until_it_is_resumed(base: Base) -> None:
    base.cli(WAITS + "")
    base.cli(
        """
begin()
while not os.path.exists("go"):
    time.sleep(0.01)
given = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "u"}
say({"type": "control_request", "request_id": "pre", "request": {"subtype": "hook_callback", "callback_id": "x", "input": given}})
while (line := hear()).get("response", {}).get("request_id") != "pre":
    pass
open("answered", "w").close()
done()
hear()
"""
    )
    async with served(base) as (daemon, client):
        await client.post("/v1/agents", json=wanted(base))
        await reached(daemon, AgentState.RUNNING)
        assert (await client.post("/v1/agents/a1/pause")).json()["state"] == "paused"
        (base.repo / "go").touch()
        await until(lambda: "pre" in [frame_id(record.event) for record in base.records()])
        assert not (base.repo / "answered").exists()
        assert (await client.post("/v1/agents/a1/resume")).json()["state"] == "running"
        await ended(daemon)
        assert (base.repo / "answered").exists()


def frame_id(event: object) -> str | None:
    frame = event.frame if isinstance(event, events.LineReceived) else None
    return frame.get("request_id") if isinstance(frame, dict) else None


@pytest.mark.parametrize("body", [None, {"force": True, "reason": "enough"}])
async def test_a_stopped_agent_ends(base: Base, body: Any) -> None:
    base.cli(WAITS)
    async with served(base) as (daemon, client):
        await client.post("/v1/agents", json=wanted(base))
        await reached(daemon, AgentState.RUNNING)
        assert (await client.post("/v1/agents/a1/stop", json=body)).json()["state"] == "stopping"
        assert (await ended(daemon)).state is AgentState.STOPPED


async def test_events_come_as_the_journal_has_them(base: Base) -> None:
    async with served(base) as (daemon, client):
        await client.post("/v1/agents", json=wanted(base))
        await ended(daemon)
        last = daemon.journal.last
        got = await lines(client, "/v1/events")
        assert [one["n"] for one in got] == list(range(1, len(got) + 1))
        assert len(got) >= last, "more may have come meanwhile"
        assert [one["kind"] for one in got][:2] == ["daemon_started", "task_submitted"]
        assert (await lines(client, "/v1/events", after=5))[: len(got) - 5] == got[5:]
        assert await lines(client, "/v1/events", after=-1) == []


async def test_events_of_one_agent_come_without_those_of_others(base: Base) -> None:
    async with served(base) as (daemon, client):
        for name in ("one", "two"):
            await client.post("/v1/agents", json=wanted(base, name=name))
        await ended(daemon, "one")
        await ended(daemon, "two")
        got = await lines(client, "/v1/events", agent="two")
        assert {one["agent"] for one in got} == {"two"}
        assert {"task_submitted", "state_changed"} <= {one["kind"] for one in got}


async def test_a_follower_sees_what_comes_and_ends_with_the_daemon(base: Base) -> None:
    got: list[str] = []
    async with anyio.create_task_group() as tasks:
        async with served(base) as (daemon, client):
            tasks.start_soon(follow, base, got)
            await until(lambda: "daemon_started" in got)
            await client.post("/v1/agents", json=wanted(base))
            await ended(daemon)
            await until(lambda: "agent_exited" in got)
        with anyio.fail_after(30):
            await until(lambda: got[-1] == "the end")
    assert got[-2] == "daemon_stopped"


async def follow(base: Base, got: list[str]) -> None:
    async with (
        client_on(base.places.socket, timeout=None) as client,
        client.stream("GET", "/v1/events", params={"follow": True}) as response,
    ):
        async for line in response.aiter_lines():
            got.append(json.loads(line)["kind"])  # noqa: PERF401 - others look at it as it grows
    got.append("the end")


async def test_a_follower_that_goes_away_is_forgotten(base: Base) -> None:
    async with served(base) as (daemon, client):
        async with client.stream("GET", "/v1/events", params={"follow": True}) as response:
            assert await anext(response.aiter_lines())
            assert reader_of(daemon)._following == 1
        await until(lambda: reader_of(daemon)._following == 0)


def reader_of(daemon: Daemon) -> ReadingService:
    reader = cast("Any", daemon.incidents.on_growth).__self__
    assert isinstance(reader, ReadingService)
    return reader


@pytest.mark.slow
async def test_a_reader_that_stops_reading_stalls_nobody_and_costs_no_memory(base: Base) -> None:
    text = "x" * 100_000
    base.cli(f"begin()\nfor number in range(300):\n    say({{'type': 'novelty', 'text': {text!r}}})\ndone()\nhear()")
    async with served(base) as (daemon, client), await anyio.connect_unix(str(base.places.socket)) as slow:
        await slow.send(b"GET /v1/events?follow=true HTTP/1.1\r\nhost: x\r\n\r\n")
        await client.get("/v1/agents")  # the first request makes the routes, which stay
        with objects_held() as held:
            await client.post("/v1/agents", json=wanted(base))
            assert (await ended(daemon)).state is AgentState.DONE
            assert held() < 3_000_000, "thirty megabytes were printed"
        assert len(await lines(client, "/v1/events", after=300)) > 0


@contextmanager
def objects_held() -> Iterator[Callable[[], int]]:
    """The bytes of objects made since and still held; resident memory would count what the allocator keeps for later."""
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


async def test_incidents_come_as_the_log_has_them(base: Base) -> None:
    base.cli("begin()\nsys.stderr.write('out of luck')\nraise SystemExit(3)")
    async with served(base) as (daemon, client):
        await client.post("/v1/agents", json=wanted(base))
        await ended(daemon)
        (incident,) = await lines(client, "/v1/incidents")
    assert incident["type"] == "agent_failed"
    assert "out of luck" in incident["summary"]
    assert base.incidents() == [incident]


async def test_health_tells_how_the_daemon_is(base: Base) -> None:
    async with served(base) as (daemon, client):
        health = (await client.get("/v1/health")).json()
        assert health["journal"] == "open"
        assert health["last_event"] == daemon.journal.last
        assert (health["agents"], health["ending"]) == (0, False)
        assert health["adopted"]["found"] == 0


async def test_the_description_lists_every_route_and_is_openapi(base: Base) -> None:
    async with served(base) as (_, client):
        described = (await client.get("/openapi.json")).json()
    assert described["openapi"].startswith("3.")
    routes = {(method, path) for path, methods in described["paths"].items() for method in methods}
    assert routes >= {
        ("get", "/v1/health"), ("get", "/v1/agents"), ("post", "/v1/agents"), ("get", "/v1/agents/{agent}"),
        ("get", "/v1/events"), ("get", "/v1/incidents"),
        *(("post", f"/v1/agents/{{agent}}/{verb}") for verb in ("say", "redirect", "pause", "resume", "stop")),
    }  # fmt: skip
    for reference in references(described):
        place = described
        for part in reference.removeprefix("#/").split("/"):
            place = place[part]
    operations = [operation for methods in described["paths"].values() for operation in methods.values()]
    assert all(operation.get("summary") and operation["responses"] for operation in operations)
    assert len({operation["operationId"] for operation in operations}) == len(operations)


def references(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [value["$ref"]] if "$ref" in value else [one for each in value.values() for one in references(each)]
    return [one for each in value for one in references(each)] if isinstance(value, list) else []


# ── what is refused ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"[]", "malformed"),
        (b'{"prompt": "go"}', "repository"),
        (b'{"prompt": "go", "repository": "/", "promt": 1}', "promt"),
        (b'{"prompt": 7, "repository": "/"}', "prompt"),
        (b'{"prompt": "go", "repository": "/", "permission_mode": "yolo"}', "permission_mode"),
        (b'{"prompt": "go", "repository": "/", "resume_session": "x"}', "resume_session"),
        (b'{"prompt": "go", "repository": "/", "verify": "a\\u0000b"}', "verify: Value error, it has a NUL"),
        (b'{"prompt": "go", "repository": "/", "model": "a\\u0000b"}', "model: Value error, it has a NUL"),
    ],
)
async def test_a_malformed_submission_is_refused_by_name_and_nothing_is_started(
    base: Base, body: bytes, says: str
) -> None:
    async with served(base) as (_, client):
        answer = await client.post("/v1/agents", content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 422
        assert says in answer.json()["what"]
        assert answer.json()["way_out"]
        assert (await client.get("/v1/agents")).json() == []
    assert "task_submitted" not in base.kinds()


@pytest.mark.parametrize("path", ["agents/nobody", "agents/nobody/pause", "agents/nobody/stop"])
async def test_an_unknown_agent_is_not_found(base: Base, path: str) -> None:
    async with served(base) as (_, client):
        method = "GET" if path.endswith("nobody") else "POST"
        answer = await client.request(method, f"/v1/{path}")
        assert answer.status_code == 404
        assert "There is no agent 'nobody'" in answer.json()["what"]


async def test_an_unknown_path_is_told_in_the_same_form(base: Base) -> None:
    async with served(base) as (_, client):
        answer = await client.get("/v1/nothing")
        assert answer.status_code == 404
        assert "/v1/nothing" in answer.json()["what"]
        assert (await client.delete("/v1/agents")).status_code == 405


async def test_a_step_that_the_state_does_not_know_is_refused_with_what_can_be_typed(base: Base) -> None:
    base.cli(WAITS)
    async with served(base) as (daemon, client):
        await client.post("/v1/agents", json=wanted(base))
        await reached(daemon, AgentState.RUNNING)
        answer = await client.post("/v1/agents/a1/resume")
        assert answer.status_code == 409
        assert "is running and cannot be resumed" in answer.json()["what"]
        assert "chaperon pause a1" in answer.json()["way_out"]


@pytest.mark.parametrize("verb", ["pause", "resume", "stop"])
async def test_an_agent_that_has_ended_is_known_and_takes_no_step(base: Base, verb: str) -> None:
    async with served(base) as (daemon, client):
        await client.post("/v1/agents", json=wanted(base))
        await ended(daemon)
        answer = await client.post(f"/v1/agents/a1/{verb}")
        assert answer.status_code == 409
        assert "is done and cannot" in answer.json()["what"]


async def test_nothing_can_be_said_with_no_words(base: Base) -> None:
    base.cli(WAITS)
    async with served(base) as (daemon, client):
        await client.post("/v1/agents", json=wanted(base))
        await reached(daemon, AgentState.RUNNING)
        assert (await client.post("/v1/agents/a1/say", json={"text": " \n"})).status_code == 422


async def test_a_name_is_given_once(base: Base) -> None:
    async with served(base) as (daemon, client):
        await client.post("/v1/agents", json=wanted(base, name="x"))
        await ended(daemon, "x")
        answer = await client.post("/v1/agents", json=wanted(base, name="x"))
        assert (answer.status_code, "already" in answer.json()["what"]) == (422, True)


async def test_a_daemon_that_is_ending_takes_no_task(base: Base) -> None:
    async with served(base) as (daemon, client):
        daemon.ending = True
        answer = await client.post("/v1/agents", json=wanted(base))
        assert answer.status_code == 503
        assert "Start it again" in answer.json()["way_out"]


async def test_a_refusal_has_the_form_that_the_description_promises(base: Base) -> None:
    async with served(base) as (_, client):
        answer = orjson.loads((await client.get("/v1/agents/nobody")).content)
        assert set(answer) == {"kind", "what", "way_out"}
        assert answer["kind"] == "NotFound"


@pytest.mark.parametrize("live", [True, False])
async def test_of_five_who_ask_for_one_checkpoints_name_at_once_one_gets_it_and_four_are_told(
    base: Base, live: bool
) -> None:
    if live:
        base.cli(WAITS)
    async with served(base) as (daemon, client):
        await client.post("/v1/agents", json=wanted(base))
        await (reached(daemon, AgentState.RUNNING) if live else ended(daemon))
        answers: list[httpx.Response] = []

        async def ask() -> None:
            answers.append(await client.post("/v1/agents/a1/checkpoints", json={"name": "mine"}))

        async with anyio.create_task_group() as asking:
            for _ in range(5):
                asking.start_soon(ask)
        assert sorted(answer.status_code for answer in answers) == [201, 422, 422, 422, 422]
        assert all("mine" in answer.json()["what"] for answer in answers if answer.is_error)
        listed = (await client.get("/v1/checkpoints")).json()["checkpoints"]
        assert [one["name"] for one in listed].count("mine") == 1
    assert base.events(events.CaptureFailed) == []
    assert len(base.events(events.CheckpointRequested)) == 1
