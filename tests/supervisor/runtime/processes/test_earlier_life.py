"""A state directory whose journal was moved away, as `docs/how-to/troubleshoot.md` says for a damaged one, with what agents left in it."""

import json
import os
import shutil
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from monitors.contract.errors import UsageError
from supervisor.protocol.words import AgentState
from supervisor.runtime.processes import earlier_life
from supervisor.runtime.processes.identity import is_running, read_identity
from supervisor.runtime.service import run_daemon
from supervisor.runtime.services.retention import forget_strangers
from tests.stages.daemon import Base, ended, reached, served, until
from tests.support import alive

WAITS = """
begin()
while True:
    hear()
"""


def lose_the_journal(base: Base) -> None:
    shutil.rmtree(base.places.journal)
    (base.places.state / "snapshot.json").unlink(missing_ok=True)


async def test_an_agents_name_can_be_used_again_after_the_journal_was_moved_away(base: Base) -> None:
    base.config["audit"] = {"store": "full"}
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
    printed = await anyio.Path(base.places.agents / "a1" / "out.log").read_bytes()
    lose_the_journal(base)
    for number in (1, 2):
        async with served(base) as (daemon, _):
            await daemon.submit(base.submission(), by="test")
            assert (await ended(daemon)).state is AgentState.DONE
        await anyio.to_thread.run_sync(lose_the_journal, base)
        kept = base.places.set_aside / f"a1-{number}"
        assert (kept / "exit.json").exists()
        told = [one for one in await anyio.to_thread.run_sync(base.incidents) if one["type"] == "earlier_life"]
        assert len(told) == number
        assert str(kept) in told[-1]["way_out"]
    assert await anyio.Path(base.places.set_aside / "a1-1" / "out.log").read_bytes() == printed


async def test_an_agent_that_runs_and_of_which_the_journal_knows_nothing_is_ended_at_the_start_and_told(
    base: Base,
) -> None:
    base.cli(WAITS)
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
    identity = await anyio.to_thread.run_sync(read_identity, base.places.agents / "a1")
    assert identity is not None
    assert await anyio.to_thread.run_sync(is_running, identity)
    lose_the_journal(base)
    async with served(base) as (daemon, client):
        assert not alive(identity.cli_pid)
        (told,) = [one for one in await anyio.to_thread.run_sync(base.incidents) if one["type"] == "unknown_agent"]
        assert f"CLI {identity.cli_pid}" in told["summary"]
        assert "It was ended" in told["summary"]
        await until(lambda: not alive(identity.shim_pid))
        base.plan("ls")
        assert (await client.post("/v1/agents", json=base.submission().model_dump(mode="json"))).status_code == 201
        assert (await ended(daemon)).state is AgentState.DONE


async def test_an_agent_that_the_journal_knows_is_adopted_and_not_ended(base: Base) -> None:
    base.cli(WAITS)
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
    async with served(base) as (daemon, _):
        assert daemon.board.summary("a1").state is AgentState.RUNNING
        assert await anyio.to_thread.run_sync(base.incidents) == []


async def test_a_name_that_living_processes_hold_is_refused(base: Base) -> None:
    base.cli(WAITS)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        with pytest.raises(UsageError, match="processes live"):
            await anyio.to_thread.run_sync(daemon._launcher.set_aside, "a1")
        assert (base.places.agents / "a1" / "out.log").exists()


@pytest.mark.parametrize("left", ["{", "[]", '{"agent": 7}', "\x00"])
def test_a_damaged_note_of_who_ran_is_set_aside_with_its_folder(tmp_path: Path, left: str) -> None:
    folder = tmp_path / "agents" / "a1"
    folder.mkdir(parents=True)
    (folder / "agent.json").write_text(left)
    assert earlier_life.living(tmp_path / "agents", ()) == []
    assert earlier_life.set_aside(folder, tmp_path / "aside") == tmp_path / "aside" / "a1-1"
    assert not folder.exists()


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_is_no_folder_is_set_aside_as_it_is(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "a1"
    if kind == "file":
        place.write_text("no folder")
    else:
        place.symlink_to(tmp_path / "elsewhere")
    moved = earlier_life.set_aside(place, tmp_path / "aside")
    assert moved is not None
    assert not os.path.lexists(place)
    assert os.path.lexists(moved)


def test_nothing_is_set_aside_where_nothing_is(tmp_path: Path) -> None:
    assert earlier_life.set_aside(tmp_path / "a1", tmp_path / "aside") is None
    assert not (tmp_path / "aside").exists()


def test_folders_of_an_earlier_life_go_once_they_are_old_and_nobody_lives_in_them(tmp_path: Path) -> None:
    agents, aside = tmp_path / "agents", tmp_path / "aside"
    for folder in (agents / "known", agents / "strange", agents / "new", aside / "a1-1", aside / "a2-1"):
        folder.mkdir(parents=True)
        (folder / "out.log").write_text("printed")
    for folder in (agents / "known", agents / "strange", aside / "a1-1"):
        os.utime(folder, (1_000, 1_000))
        os.utime(folder / "out.log", (1_000, 1_000))
    assert forget_strangers(agents, aside, {"known"}, before=2_000.0) == ["strange", "a1-1"]
    assert sorted(path.name for path in agents.iterdir()) == ["known", "new"]
    assert [path.name for path in aside.iterdir()] == ["a2-1"]


async def test_a_snapshot_of_a_journal_that_has_gone_is_removed(base: Base) -> None:
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
    snapshot = anyio.Path(base.places.state / "snapshot.json")
    old = await snapshot.read_bytes()
    await anyio.to_thread.run_sync(shutil.rmtree, base.places.journal)
    async with served(base) as (daemon, _):
        assert not await snapshot.exists() or await snapshot.read_bytes() != old
        assert list(daemon.board.summaries()) == []


async def test_a_name_that_is_being_submitted_is_given_once(base: Base) -> None:
    async with served(base) as (daemon, client):
        del daemon
        wanted = base.submission().model_dump(mode="json")
        answers = []

        async def ask() -> None:
            answers.append((await client.post("/v1/agents", json=wanted)).status_code)

        async with anyio.create_task_group() as asking:
            for _ in range(5):
                asking.start_soon(ask)
        assert sorted(answers) == [201, 422, 422, 422, 422]
        assert json.loads((await client.get("/v1/agents")).content)[0]["agent"] == "a1"
