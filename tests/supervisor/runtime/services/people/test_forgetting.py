"""An agent is forgotten: nothing of it is left, the others are as they were, and a kill at any step is made good."""

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from host.durable import RealDisk
from supervisor.protocol.events import AgentForgotten, RecordForgotten, TaskSubmitted
from supervisor.protocol.words import AgentState
from supervisor.runtime.journal.signing import Signing
from supervisor.runtime.journal.verification import verify
from supervisor.runtime.services.people.forgetting import ForgettingNote, read_note, traces
from tests.stages.daemon import Base, ended, reached, served, until

MAIL = "wilma.flint@example.org"

BREAKS_A_RULE = "rm -rf ~/notes"


async def lived(base: Base, daemon: Any, name: str, **about: Any) -> None:
    """Have an agent live, with a checkpoint, an incident and a mail address of its own, and end."""
    await daemon.submit(base.submission(name=name, **about), by="test")
    await ended(daemon, name)
    before = len(base.incidents())
    daemon.fault(name, "look_at_it", f"Somebody should look at {name}.")
    await until(lambda: len(base.incidents()) > before)


async def left(base: Base, note: ForgettingNote) -> list[str]:
    return await anyio.to_thread.run_sync(traces, base.places, note)


def of(base: Base, name: str) -> ForgettingNote:
    """What the agent is known by: its name, and the session that it was given."""
    (given,) = [one for one in base.events(TaskSubmitted) if one.agent == name]
    return ForgettingNote(name, "test", given.project, given.workspace, (given.session_id,), ())


@pytest.fixture
def base(base: Base) -> Base:
    base.plan("touch made", BREAKS_A_RULE)
    return base


@pytest.mark.slow
async def test_of_a_forgotten_agent_nothing_is_found_and_of_another_all_is(base: Base) -> None:
    async with served(base) as (daemon, client):
        await lived(base, daemon, "fred", prompt="Write to fred@example.org")
        await lived(base, daemon, "wilma", prompt=f"Write to {MAIL}")
        note, other = of(base, "wilma"), of(base, "fred")
        before = await left(base, note)
        assert {"incidents.jsonl", "journal/00000000000000000001.jsonl"} <= set(before)
        fred = [line for line in base.records() if line.event.agent == "fred"]
        answer = await client.post("/v1/agents/wilma/forget", json={})
        assert answer.status_code == 200, answer.text
        said = answer.json()
        assert (said["done"], said["left"]) == (True, [])
        assert said["records"] > 10
        assert said["checkpoints"] > 0
        assert await left(base, note) == []
        assert not base.places.forgetting.exists()
        assert {"incidents.jsonl", "journal/00000000000000000001.jsonl"} <= set(await left(base, other))
        assert [line for line in base.records() if line.event.agent == "fred"] == fred
        assert [one.agent for one in daemon.board.summaries()] == ["fred"]
        assert (await client.get("/v1/agents/wilma")).status_code == 404
    assert len(base.events(RecordForgotten)) == said["records"]
    assert [one.by for one in base.events(AgentForgotten)] != []
    key = await anyio.to_thread.run_sync(Signing(base.places.state).known)
    assert (await anyio.to_thread.run_sync(verify, base.places.journal, key)).problem == ""
    for name in ("snapshot.json", "ended.jsonl"):
        async with served(base) as (daemon, _):
            assert [one.agent for one in daemon.board.summaries()] == ["fred"]
            assert daemon.board.failed == {}
        assert await left(base, note) == []
        (base.places.state / name).unlink()
    async with served(base) as (daemon, _):
        assert [one.agent for one in daemon.board.summaries()] == ["fred"]


async def test_a_live_agent_is_not_forgotten(base: Base) -> None:
    base.cli("begin()\nwhile True:\n    hear()\n")
    async with served(base) as (daemon, client):
        await daemon.submit(base.submission(name="wilma"), by="test")
        await reached(daemon, AgentState.RUNNING, "wilma")
        answer = await client.post("/v1/agents/wilma/forget", json={})
        assert answer.status_code == 422, answer.text
        assert "Stop it first: chaperon stop wilma" in answer.text
        assert (await client.post("/v1/agents/nobody/forget", json={})).status_code == 404
        assert not base.places.forgetting.exists()
        assert base.events(AgentForgotten) == []


class CopyingDisk(RealDisk):
    """Copies the state before each step that replaces or removes a file: what a kill would leave there."""

    def __init__(self) -> None:
        self.copy: Callable[[], None] = lambda: None

    def rename(self, source: Path, target: Path) -> None:
        self.copy()
        super().rename(source, target)

    def unlink(self, path: Path) -> None:
        self.copy()
        super().unlink(path)


@pytest.mark.slow
async def test_a_daemon_that_is_killed_at_any_step_has_it_done_by_the_next(base: Base) -> None:
    disk, copies = CopyingDisk(), base.root / "copies"
    made: list[Path] = []

    def copy() -> None:
        if base.places.forgetting.exists():
            made.append(copies / str(len(made)))
            with contextlib.suppress(shutil.Error):  # temporary files go while it is copied
                shutil.copytree(base.places.state, made[-1], ignore=shutil.ignore_patterns("lock"))

    async with served(base, disk=disk) as (daemon, client):
        await lived(base, daemon, "fred")
        await lived(base, daemon, "wilma", prompt=f"Write to {MAIL}")
        note = of(base, "wilma")
        disk.copy = copy
        assert (await client.post("/v1/agents/wilma/forget", json={})).status_code == 200
        disk.copy = lambda: None
    assert len(made) >= 5
    for state in made:
        shutil.rmtree(base.places.state)
        state.rename(base.places.state)
        assert await anyio.to_thread.run_sync(read_note, base.places.forgetting) is not None
        async with served(base) as (daemon, _):
            await until(lambda: not base.places.forgetting.exists())
            assert [one.agent for one in daemon.board.summaries()] == ["fred"]
            assert daemon.board.failed == {}
        assert await left(base, note) == []


async def test_a_note_that_is_damaged_is_told_and_keeps_no_daemon_from_starting(
    base: Base, caplog: pytest.LogCaptureFixture
) -> None:
    base.places.state.mkdir()
    base.places.forgetting.write_text("{")
    async with served(base):
        pass
    assert "could not be, and is at the next start" in caplog.text
