"""Agents are stopped from the records of their shims while their daemon hangs, and are not started again by it."""

import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
import yaml

from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.runtime.processes.hand_stop import NOTE, noted_stop
from supervisor.runtime.service import run_daemon
from supervisor.runtime.shim import process_tree
from tests.stages import forked
from tests.stages.daemon import PATIENCE_SECONDS, Base, reached, served, until
from tests.support import holds_open

WAITS = """
import subprocess
begin()
tool = subprocess.Popen(["sleep", "600"], start_new_session=True)
open("tool.pid", "w").write(str(tool.pid))
while True:
    hear()
"""


@asynccontextmanager
async def serving(base: Base, tmp_path: Path, about: Mapping[str, Any] = {}) -> AsyncIterator[forked.Program]:
    """A daemon in a process of its own."""
    config = tmp_path / "chaperon.yaml"
    config.write_text(yaml.safe_dump({"agent": {"command": str(base.command)}, **about}))
    process = forked.Program(["supervisor.cli", "--config", str(config), "serve"], env=environ(base))
    try:
        await until(base.places.socket.exists)
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()


def environ(base: Base) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(base.home),
        "STATE_DIRECTORY": str(base.places.state),
        "RUNTIME_DIRECTORY": str(base.places.runtime),
    }


def goes(pid: int) -> bool:
    """Whether a process has gone, or goes within a second: who inherits an orphan may take a moment to reap it."""
    deadline = process_tree.now() + 1.0
    while (lives := process_tree.states(pid) - process_tree.GONE) and process_tree.now() < deadline:
        process_tree.pause()
    return not lives


async def chaperon(base: Base, *arguments: str) -> subprocess.CompletedProcess[str]:
    return await anyio.to_thread.run_sync(
        lambda: forked.run("supervisor.cli", *arguments, seconds=PATIENCE_SECONDS, environ=environ(base))
    )


@pytest.mark.slow
async def test_all_agents_are_stopped_by_force_while_the_daemon_is_frozen_and_stay_so_when_it_wakes(
    base: Base, tmp_path: Path
) -> None:
    base.cli(WAITS)
    async with serving(base, tmp_path) as daemon:
        for name in ("a1", "a2"):
            begun = await chaperon(base, "run", "go", "--repo", str(base.repo), "--detach", "--name", name)
            assert begun.returncode == 0, begun.stderr
        await until(lambda: len(base.events(events.LineReceived)) >= 4 and (base.repo / "tool.pid").exists())
        daemon.send_signal(signal.SIGSTOP)
        stopped = await chaperon(base, "stop", "--all", "--force", "--reason", "it hangs", "--json")
        assert stopped.returncode == 0, stopped.stderr
        assert "did not answer" in stopped.stderr
        assert [(row["agent"], row["done"]) for row in json.loads(stopped.stdout)] == [("a1", True), ("a2", True)]
        tool = int((base.repo / "tool.pid").read_text())
        assert await anyio.to_thread.run_sync(goes, tool)
        daemon.send_signal(signal.SIGCONT)
        await until(lambda: sum(event.after.ended for event in base.events(events.StateChanged)) == 2)
    ends = [event for event in base.events(events.StateChanged) if event.after.ended]
    assert {(event.after, event.why.partition(": ")[2]) for event in ends} == {(AgentState.STOPPED, "it hangs")}
    assert base.events(events.RecoveryChosen) == []
    assert (await chaperon(base, "stop", "--all", "--force")).stdout == "No process of an agent lives.\n"


@pytest.mark.slow
async def test_agents_of_a_daemon_that_is_gone_are_stopped_and_the_next_one_knows_who_did_it(base: Base) -> None:
    base.cli(WAITS)
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
    stopped = await chaperon(base, "stop", "--all", "--force", "--reason", "enough")
    assert (stopped.returncode, "No daemon listens" in stopped.stderr) == (0, True)
    async with served(base) as (daemon, _):
        await reached(daemon, AgentState.STOPPED)
        assert daemon.board.summary("a1").why.endswith(": enough")


async def test_without_force_nothing_is_ended_beside_the_daemon(base: Base) -> None:
    assert (await chaperon(base, "stop", "--all")).returncode == 3


@pytest.mark.parametrize("text", ["", "[]", "{", '{"by": 3, "reason": ""}', '{"by": "x"}', "[" * 9_000])
def test_a_note_that_is_none_is_passed_over(tmp_path: Path, text: str) -> None:
    (tmp_path / NOTE).write_text(text)
    assert noted_stop(tmp_path) is None


def test_a_note_is_read_shortened_and_never_through_a_link_a_pipe_or_a_folder(tmp_path: Path) -> None:
    (tmp_path / NOTE).write_text(json.dumps({"by": "x" * 500, "reason": "r"}))
    found = noted_stop(tmp_path)
    assert found is not None
    assert len(found.by) == 100
    (tmp_path / NOTE).rename(tmp_path / "elsewhere")
    (tmp_path / NOTE).symlink_to(tmp_path / "elsewhere")
    assert noted_stop(tmp_path) is None
    (tmp_path / NOTE).unlink()
    os.mkfifo(tmp_path / NOTE)
    assert noted_stop(tmp_path) is None
    (tmp_path / NOTE).unlink()
    (tmp_path / NOTE).mkdir()
    assert noted_stop(tmp_path) is None
    assert not holds_open(tmp_path / NOTE)
