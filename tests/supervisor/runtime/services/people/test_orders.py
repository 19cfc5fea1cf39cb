"""Controls given to many agents at once: each at every state of an agent, twice, and over restarts of the daemon."""

import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.service import run_daemon
from tests.stages.daemon import Base, client_on, ended, reached, served, until

pytestmark = pytest.mark.slow

ANY_STATE = """
prompt = greet()
if prompt == "starting":
    while True:
        hear()
take(prompt)
say({"type": "system", "subtype": "init", "session_id": "stand-in", "cwd": os.getcwd(), "tools": []})
if prompt == "failed":
    raise SystemExit(3)
if prompt in ("idle", "done"):
    done()
if prompt == "waiting":
    done(is_error=True, result="Claude AI usage limit reached|4102444800")
if prompt == "finishing":
    done()
    sys.stdin.read()
    time.sleep(600)
if prompt == "stopping":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.stdin.read()
    time.sleep(600)
while True:
    line = hear()
    with open(f"heard-{prompt}.log", "a") as log:
        log.write(json.dumps(line) + "\\n")
"""
"""A CLI that goes to the state that its prompt names, as far as a CLI can."""

STATES = ("starting", "running", "idle", "paused", "waiting", "finishing", "stopping", "done", "failed", "stopped")

AFTER: Mapping[str, Mapping[str, tuple[bool, str]]] = {
    "pause": {
        "starting": (True, "starting"),
        "running": (True, "paused"),
        "idle": (True, "paused"),
        "paused": (False, "paused"),
        "waiting": (True, "waiting"),
        "finishing": (False, "finishing"),
        "stopping": (False, "stopping"),
    },
    "resume": {
        "starting": (False, "starting"),
        "running": (False, "running"),
        "idle": (False, "idle"),
        "paused": (True, "running"),
        "waiting": (False, "waiting"),
        "finishing": (False, "finishing"),
        "stopping": (False, "stopping"),
    },
    "say": {
        "starting": (True, "starting"),
        "running": (True, "running"),
        "idle": (True, "idle"),
        "paused": (True, "paused"),
        "waiting": (False, "waiting"),
        "finishing": (False, "finishing"),
        "stopping": (False, "stopping"),
    },
    "stop": {
        "starting": (True, "stopping"),
        "running": (True, "stopping"),
        "idle": (True, "stopping"),
        "paused": (True, "stopping"),
        "waiting": (True, "stopped"),
        "finishing": (True, "stopping"),
        "stopping": (False, "stopping"),
    },
}
"""For each control and state: whether an agent in it is asked, and its state then."""

BODIES: Mapping[str, Mapping[str, Any]] = {"say": {"text": "mind the gap"}, "stop": {"reason": "enough"}}

SINGLE_REFUSED = {"resume": {"starting", "running", "idle", "finishing", "stopping"}, "pause": {"paused", "finishing", "stopping"}, "say": {"waiting", "finishing", "stopping"}, "stop": set[str]()}  # fmt: skip
"""States in which one agent alone cannot be asked: a wait to be started again ends by a resume, and a stop may be said twice."""


@asynccontextmanager
async def in_every_state(base: Base, labels: tuple[str, ...] = ()) -> AsyncIterator[tuple[Daemon, httpx.AsyncClient]]:
    """A daemon with an agent in each state, named by it."""
    base.cli(ANY_STATE)
    async with served(base) as (daemon, client):
        for name in STATES:
            await daemon.submit(
                base.submission(name=name, prompt=name, keep_open=name == "idle", labels=labels), by="test"
            )
        for name in STATES:
            await reached(daemon, AgentState(_first(name)), name)
        stamp = daemon.stamp
        await daemon.request(events.PauseRequested(**stamp("paused"), by="bob"))
        await daemon.request(events.StopRequested(**stamp("stopped"), by="bob", force=True))
        await ended(daemon, "stopped")
        await daemon.request(events.StopRequested(**stamp("stopping"), by="bob"))
        assert {one.agent: str(one.state) for one in daemon.board.summaries()} == {name: name for name in STATES}
        yield daemon, client


def _first(name: str) -> str:
    return "running" if name in ("paused", "stopping", "stopped") else name


def rows(answer: httpx.Response) -> dict[str, tuple[bool, str]]:
    assert answer.status_code == 200, answer.text
    return {row["agent"]: (row["done"], row["state"]) for row in answer.json()["agents"]}


@pytest.mark.parametrize("control", sorted(AFTER))
async def test_an_order_reaches_agents_in_every_state_once_however_often_it_is_given(base: Base, control: str) -> None:
    async with in_every_state(base) as (_, client):
        body = {**BODIES.get(control, {}), "request_id": "order-1"}
        assert rows(await client.post(f"/v1/orders/{control}", json=body)) == AFTER[control]
        asked = sum(done for done, _ in AFTER[control].values())
        kind = {"pause": "pause_requested", "resume": "resume_requested", "stop": "stop_requested", "say": "say_requested"}[control]  # fmt: skip
        before = {"pause": 1, "stop": 2}.get(control, 0)
        assert base.kinds().count(kind) == asked + before
        again = rows(await client.post(f"/v1/orders/{control}", json=body))
        assert {agent: done for agent, (done, _) in again.items()} == {
            agent: done for agent, (done, _) in AFTER[control].items()
        }
        assert base.kinds().count(kind) == asked + before
        other = await client.post(f"/v1/orders/{control}", json={**body, "repository": str(base.repo)})
        assert (other.status_code, "another order" in other.text.lower()) == (422, True)


@pytest.mark.parametrize("control", sorted(AFTER))
async def test_an_order_for_a_label_reaches_agents_with_it_in_every_state_alone_and_once(
    base: Base, control: str
) -> None:
    async with in_every_state(base, ("web", "night")) as (daemon, client):
        bare = await daemon.submit(base.submission(name="bare", prompt="running"), by="test")
        await reached(daemon, AgentState.RUNNING, bare.agent)
        body = {**BODIES.get(control, {}), "label": "web", "request_id": "order-1"}
        assert rows(await client.post(f"/v1/orders/{control}", json=body)) == AFTER[control]
        count = len(base.kinds())
        again = rows(await client.post(f"/v1/orders/{control}", json=body))
        assert again.keys() == AFTER[control].keys()
        assert [kind for kind in base.kinds()[count:] if kind.endswith(("_requested", "order_given"))] == []
        none = rows(
            await client.post(f"/v1/orders/{control}", json={**body, "label": "other", "request_id": "order-2"})
        )
        assert none == {}


@pytest.mark.parametrize("control", sorted(AFTER))
async def test_one_agent_is_asked_in_every_state_once_however_often_its_request_comes(base: Base, control: str) -> None:
    async with in_every_state(base) as (_, client):
        for state in STATES:
            body = {**BODIES.get(control, {}), "request_id": f"one-{state}"}
            first = await client.post(f"/v1/agents/{state}/{control}", json=body)
            refused = state in SINGLE_REFUSED[control] or AgentState(state).ended
            assert first.status_code == (409 if refused else 200), (state, first.text)
            count = len(base.kinds())
            second = await client.post(f"/v1/agents/{state}/{control}", json=body)
            assert second.status_code == first.status_code, (state, second.text)
            new = [kind for kind in base.kinds()[count:] if kind.endswith("_requested")]
            assert new == []


async def test_agents_that_start_while_all_are_paused_are_held_at_their_first_call_over_restarts_too(
    base: Base,
) -> None:
    base.cli(CALLS)
    async with run_daemon(base.setup()) as daemon, client_on(base.places.socket) as client:
        assert rows(await client.post("/v1/orders/pause", json={"reason": "night"})) == {}
        await daemon.submit(base.submission(name="before"), by="test")
        await reached(daemon, AgentState.PAUSED, "before")
    async with served(base) as (daemon, client):
        assert daemon.board.summary("before").state is AgentState.PAUSED
        await daemon.submit(base.submission(name="after"), by="test")
        await reached(daemon, AgentState.PAUSED, "after")
        health = (await client.get("/v1/health")).json()["orders"]
        assert [(each["repository"], each["reason"]) for each in health["pauses"]] == [("", "night")]
        assert daemon.board.summary("after").why.endswith(": night")
        assert not list(base.repo.glob("ran-*"))
        assert rows(await client.post("/v1/orders/resume")) == {"before": (True, "running"), "after": (True, "running")}
        await ended(daemon, "before")
        await ended(daemon, "after")
        await daemon.submit(base.submission(name="free"), by="test")
        assert (await ended(daemon, "free")).state is AgentState.DONE


async def test_an_agent_that_was_resumed_by_name_stays_so_over_a_restart(base: Base) -> None:
    base.cli("begin()\nwhile True:\n    hear()")
    async with run_daemon(base.setup()) as daemon, client_on(base.places.socket) as client:
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        await client.post("/v1/orders/pause")
        assert (await client.post("/v1/agents/a1/resume")).json()["state"] == "running"
    async with served(base) as (daemon, _):
        assert daemon.board.summary("a1").state is AgentState.RUNNING


async def test_an_order_that_a_crash_cut_off_is_carried_out_at_the_next_start(base: Base) -> None:
    base.cli("begin()\nwhile True:\n    hear()")
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        cut_off = events.OrderGiven(**daemon.stamp(""), id="cut", control="pause", by="ann", agents=("a1",))
        await daemon.journal.written(daemon.happened(cut_off))
    async with served(base) as (daemon, _):
        await reached(daemon, AgentState.PAUSED)
        assert daemon.board.orders.results["cut"].results[0].done


async def test_an_order_for_a_repository_leaves_agents_of_others_alone(base: Base, tmp_path: Path) -> None:
    other = Base(tmp_path / "other")
    base.cli("begin()\nwhile True:\n    hear()")
    async with served(base) as (daemon, client):
        await daemon.submit(base.submission(name="here", workspace="in-place"), by="test")
        await daemon.submit(base.submission(name="there", repository=str(other.repo)), by="test")
        for name in ("here", "there"):
            await reached(daemon, AgentState.RUNNING, name)
        below = base.repo / "src"
        below.mkdir()
        assert rows(await client.post("/v1/orders/pause", json={"repository": str(below)})) == {
            "here": (True, "paused")
        }
        await daemon.submit(base.submission(name="late"), by="test")
        await daemon.submit(base.submission(name="free", repository=str(other.repo)), by="test")
        await reached(daemon, AgentState.PAUSED, "late")
        await reached(daemon, AgentState.RUNNING, "free")


async def test_a_task_that_is_being_taken_while_all_are_stopped_is_not_started(base: Base, tmp_path: Path) -> None:
    slow = tmp_path / "set-up"
    slow.write_text(f"#!/bin/sh\ntouch {tmp_path}/begun\nwhile [ ! -e {tmp_path}/go ]; do sleep 0.01; done\n")
    slow.chmod(0o755)
    base.config["workspaces"] = {"mode": "new", "set_up": str(slow)}
    commit(base)
    async with served(base) as (daemon, client), anyio.create_task_group() as tasks:
        answers: list[httpx.Response] = []

        async def submit() -> None:
            answers.append(await client.post("/v1/agents", json={"prompt": "go", "repository": str(base.repo)}))

        tasks.start_soon(submit)
        await until((tmp_path / "begun").exists)
        assert rows(await client.post("/v1/orders/stop")) == {}
        (tmp_path / "go").touch()
        await until(lambda: bool(answers))
        assert (answers[0].status_code, "stopped all agents while" in answers[0].text) == (503, True)
        assert daemon.board.summaries() == []


async def test_no_task_is_taken_while_the_daemon_is_drained_over_restarts_and_agents_go_on(base: Base) -> None:
    base.cli("begin()\nwhile True:\n    hear()")
    wanted = {"prompt": "go", "repository": str(base.repo)}
    async with run_daemon(base.setup()) as daemon, client_on(base.places.socket) as client:
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        assert (await client.post("/v1/drain", json={"on": True, "reason": "upgrade"})).json()["on"]
    async with served(base) as (daemon, client):
        refused = await client.post("/v1/agents", json=wanted)
        assert (refused.status_code, "drains this daemon (upgrade)" in refused.text) == (503, True)
        assert "chaperon drain --off" in refused.text
        assert daemon.board.summary("a1").state is AgentState.RUNNING
        assert not (await client.post("/v1/drain", json={"on": False})).json()["on"]
        assert (await client.post("/v1/agents", json=wanted)).status_code == 201


async def test_a_pause_and_a_drain_of_a_label_hold_what_comes_with_it_over_restarts(base: Base) -> None:
    base.cli("begin()\nwhile True:\n    hear()")
    async with run_daemon(base.setup()) as _, client_on(base.places.socket) as client:
        await client.post("/v1/orders/pause", json={"label": "web"})
        drain = (await client.post("/v1/drain", json={"on": True, "label": "db", "repository": str(base.repo)})).json()
        assert (drain["on"], drain["label"], drain["repository"]) == (True, "db", str(base.repo))
    async with served(base) as (daemon, client):
        await daemon.submit(base.submission(name="held", labels=["web"]), by="test")
        await daemon.submit(base.submission(name="free"), by="test")
        await reached(daemon, AgentState.PAUSED, "held")
        await reached(daemon, AgentState.RUNNING, "free")
        wanted = {"prompt": "go", "repository": str(base.repo)}
        refused = await client.post("/v1/agents", json={**wanted, "labels": ["db"]})
        assert (refused.status_code, "with the label db of" in refused.text) == (503, True), refused.text
        orders = (await client.get("/v1/health")).json()["orders"]
        assert [(each["label"], each["repository"]) for each in orders["pauses"]] == [("web", "")]
        assert ([each["label"] for each in orders["drains"]], orders["drain"]["on"]) == (["db"], False)
        assert [row["agent"] for row in (await client.get("/v1/agents", params={"label": "web"})).json()] == ["held"]
        assert not (await client.post("/v1/drain", json={"on": False, "label": "db"})).json()["on"]
        assert (await client.post("/v1/agents", json={**wanted, "labels": ["db"]})).status_code == 201


CALLS = """
begin()
given = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "u"}
say({"type": "control_request", "request_id": "pre", "request": {"subtype": "hook_callback", "callback_id": "x", "input": given}})
while hear().get("response", {}).get("request_id") != "pre":
    pass
open(f"ran-{os.getpid()}", "w").close()
done()
hear()
"""
"""A CLI that asks for one call, and notes that it was allowed."""


def commit(base: Base) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "-C", str(base.repo), "add", "."], check=True)
    subprocess.run(["git", "-C", str(base.repo), *who, "commit", "--quiet", "-m", "first"], check=True)


@pytest.mark.parametrize(("at_end", "state"), [("go_on", AgentState.RUNNING), ("pause", AgentState.PAUSED)])
async def test_agents_are_held_over_the_daemons_end_if_that_is_wanted_and_else_go_on(
    tmp_path: Path, at_end: str, state: AgentState
) -> None:
    base = Base(tmp_path, {"agent": {"at_daemon_end": at_end}})
    base.cli("begin()\nwhile True:\n    hear()")
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(), by="ann")
        await reached(daemon, AgentState.RUNNING)
    async with served(base) as (daemon, client):
        assert daemon.board.summary("a1").state is state
        pauses = (await client.get("/v1/orders")).json()["pauses"]
        said = [(one["by"], "the daemon ended" in one["reason"]) for one in pauses]
        assert said == ([("chaperon", True)] if at_end == "pause" else [])
        if at_end == "pause":
            assert (await client.post("/v1/orders/resume", json={"request_id": "go-on"})).status_code == 200
            await reached(daemon, AgentState.RUNNING)


REDIRECTED = {"starting": "starting", "running": "running", "idle": "idle", "paused": "paused"}
"""The states in which an agent takes another task, and its state just then."""


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_an_agent_in_every_state_is_given_another_task_once_however_often_it_is_asked_or_is_left_as_it_was(
    base: Base, elsewhere: bool
) -> None:
    git = ["git", "-C", str(base.repo), "-c", "user.name=A", "-c", "user.email=a@x", "-c", "commit.gpgsign=false"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "start"], check=True)
    async with in_every_state(base) as (daemon, client):
        before = {one.agent: (str(one.state), one.task.id) for one in daemon.board.summaries()}
        for name in STATES:
            body = {"text": f"another than {name}", "request_id": f"r-{name}", "new_workspace": elsewhere}
            answers = [await client.post(f"/v1/agents/{name}/redirect", json=body) for _ in range(2)]
            known = daemon.board.summary(name)
            if name not in REDIRECTED:
                assert {one.status_code for one in answers} == {409}, (name, answers[0].text)
                assert (str(known.state), known.task.id) == before[name]
                continue
            assert [one.status_code for one in answers] == [200, 200], (name, answers[0].text)
            follower = daemon.board.summary(answers[0].json()["agent"])
            assert answers[1].json()["agent"] == follower.agent
            assert follower.task.prompt == f"another than {name}"
            assert (follower.agent == name) is not elsewhere
            asked = [event for event in base.events(events.RedirectRequested) if event.agent == name]
            assert len(asked) == (0 if elsewhere else 1)
            if not elsewhere:
                assert [past.prompt for past in known.past_tasks] == [name]
        assert len(daemon.board.summaries()) == len(STATES) + (len(REDIRECTED) if elsewhere else 0)


async def test_autopilot_and_drain_are_begun_once_whatever_states_agents_are_in_and_change_none_of_them(
    base: Base,
) -> None:
    async with in_every_state(base) as (daemon, client):
        for number in range(2):
            began = await client.post("/v1/autopilot", json={"max_cost_usd": 100, "request_id": "night"})
            assert (began.status_code, began.json()["on"], began.json()["id"]) == (200, True, "night"), number
            drained = await client.post("/v1/drain", json={"on": True})
            assert (drained.status_code, drained.json()["on"]) == (200, True), number
        assert {one.agent: str(one.state) for one in daemon.board.summaries()} == {name: name for name in STATES}
        assert len(base.events(events.AutopilotBegan)) == 1
        assert [one.on for one in base.events(events.DrainChanged)] == [True]
