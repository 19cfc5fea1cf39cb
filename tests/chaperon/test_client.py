"""Both clients over a real daemon, and each of their methods held to the OpenAPI description."""

import asyncio
import inspect
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

import chaperon.client
from chaperon.calls import ApiCall, Calls
from supervisor.cli.client import wait_for
from supervisor.protocol.words import AgentState
from tests.drawings import described_api
from tests.stages.daemon import Base, reached, served, until

METHODS = sorted(
    name for name, _ in inspect.getmembers(Calls, inspect.isfunction) if not name.startswith("_") and name not in ("ask", "stream")
)  # fmt: skip


class Recorder(Calls[ApiCall, ApiCall, ApiCall]):
    """A client that gives back what it would send."""

    def ask(self, call: ApiCall) -> ApiCall:
        return call

    def stream(self, call: ApiCall) -> ApiCall:
        return call


def called(method: str) -> ApiCall:
    """A method's request, with a value for each argument that it must have."""
    function = getattr(Recorder(), method)
    needed = [
        name
        for name, one in inspect.signature(function).parameters.items()
        if one.default is one.empty and name != "more"
    ]
    given: dict[str, Any] = dict.fromkeys(needed, "x")
    special: dict[str, Any] = {"tasks": [], "tool_input": {}}
    given.update({name: special[name] for name in special.keys() & given.keys()})
    call = function(**given)
    assert isinstance(call, ApiCall)
    return call


def body_schema(route: dict[str, Any]) -> dict[str, Any]:
    """The object that a route takes as its body; empty if it takes none."""
    schema = route.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    named = next((one["$ref"] for one in (schema, *schema.get("anyOf", ())) if "$ref" in one), "")
    found: dict[str, Any] = described_api()["components"]["schemas"].get(named.rpartition("/")[2], {})
    return found


def parameters(route: dict[str, Any], where: str) -> set[str]:
    return {one["name"] for one in route.get("parameters", ()) if one["in"] == where}


@pytest.mark.parametrize("method", METHODS)
def test_a_method_asks_a_route_that_the_daemon_has_for_what_it_knows(method: str) -> None:
    call = called(method)
    route = described_api()["paths"][call.route][call.method.lower()]
    assert call.names.keys() == parameters(route, "path")
    assert call.query.keys() <= parameters(route, "query")
    schema = body_schema(route)
    assert (call.body or {}).keys() <= schema.get("properties", {}).keys()
    if call.body is not None or route.get("requestBody", {}).get("required"):
        assert set(schema.get("required", ())) <= (call.body or {}).keys()


def test_the_methods_that_programs_need_are_there() -> None:
    assert len(METHODS) > 15
    assert {"submit", "say", "pause", "approve", "deny", "events", "roll_back", "add_tasks"} <= set(METHODS)


def test_a_name_with_a_slash_stays_one_name_in_the_path() -> None:
    assert Recorder().agent("a/../b c").path == "/v1/agents/a%2F..%2Fb%20c"


def work_with(socket: Path, repository: Path) -> list[str]:
    """What a blocking program does; returns the kinds of events of its agent."""
    daemon = chaperon.client.SyncClient(socket)
    assert daemon.submit("go", str(repository), name="a1", keep_open=True)["agent"] == "a1"
    assert [one["agent"] for one in daemon.agents()] == ["a1"]
    assert daemon.approvals() == []
    daemon.pause("a1", reason="lunch")
    daemon.resume("a1")
    assert daemon.make_checkpoint("a1", "mine")["name"] == "mine"
    assert "mine" in str(daemon.checkpoints(agent="a1"))
    assert daemon.plan_rollback("mine")["agent"] == "a1"
    added = daemon.add_tasks([{"prompt": "later", "repository": str(repository)}], request_id="r1")
    assert [task["task"] for task in daemon.tasks(limit=10)] == [added["tasks"][0]["task"]]
    daemon.stop("a1", force=True)
    kinds = (record["kind"] for record in daemon.events(agent="a1", follow=True))
    return list(until_ended(kinds))


def until_ended(kinds: Iterator[str]) -> Iterator[str]:
    for kind in kinds:
        yield kind
        if kind == "stop_requested":
            return


async def test_a_blocking_program_starts_steers_and_reads_an_agent(base: Base) -> None:
    base.cli("import time; time.sleep(600)")
    async with served(base):
        kinds = await anyio.to_thread.run_sync(work_with, base.places.socket, base.repo)
    assert {"pause_requested", "resume_requested"} <= set(kinds)


async def test_an_awaiting_program_does_the_same(base: Base) -> None:
    base.cli("import time; time.sleep(600)")
    daemon = chaperon.client.AsyncClient(base.places.socket)
    async with served(base) as (own, _):
        assert (await daemon.health())["journal"] == "open"
        await daemon.submit("go", str(base.repo), name="a1", keep_open=True)
        await daemon.say("a1", "and gently")
        assert (await daemon.agent("a1"))["agent"] == "a1"
        await daemon.stop("a1", force=True)
        seen = []
        async for record in daemon.events(follow=True, agent="a1"):
            seen.append(record["kind"])
            if seen[-1] == "stop_requested":
                break
        assert "say_requested" in seen
        await reached(own, AgentState.STOPPED)


def waiting_threads() -> list[int]:
    """The threads that wait for an answer of the daemon."""
    return [
        thread
        for thread, frame in sys._current_frames().items()
        if any(each.f_code is wait_for.__code__ for each, _ in traceback.walk_stack(frame))
    ]


@pytest.mark.parametrize("native", [False, True])
async def test_a_cancelled_follower_hangs_up_and_leaves_no_thread_behind(base: Base, native: bool) -> None:
    daemon = chaperon.client.AsyncClient(base.places.socket)
    ended = []

    async def follow() -> None:
        try:
            async for _ in daemon.incidents(follow=True):
                pytest.fail("nothing happens meanwhile")
        finally:
            ended.append("end")

    async with served(base):
        if native:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(follow(), 0.3)
        else:
            with anyio.move_on_after(0.3):
                await follow()
        assert ended == ["end"]
        await until(lambda: not waiting_threads())
        assert (await daemon.health())["journal"] == "open"


async def test_a_refusal_is_an_exception_with_the_daemons_sentence_and_the_way_out(base: Base) -> None:
    async with served(base):
        with pytest.raises(chaperon.client.RefusedError, match="nosuch") as refused:
            await chaperon.client.AsyncClient(base.places.socket).agent("nosuch")
    assert refused.value.way_out


async def test_a_program_without_a_daemon_is_told_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(chaperon.client.NoDaemonError, match="chaperon serve"):
        await chaperon.client.AsyncClient(tmp_path / "none").agents()
    with pytest.raises(chaperon.client.NoDaemonError, match="chaperon serve"):
        chaperon.client.SyncClient(tmp_path / "none").agents()


async def test_the_daemon_of_this_user_is_found_without_being_named(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(base.places.runtime))
    async with served(base):
        assert (await chaperon.client.AsyncClient().health())["journal"] == "open"
