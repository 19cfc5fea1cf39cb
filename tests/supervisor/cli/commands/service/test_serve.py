"""`chaperon serve`: what it has Python do with its memory, and its end by one signal, and by a second."""

import gc
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from supervisor.cli.commands.service.serve import _exempt_survivors, _settle
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from tests.stages.daemon import Base, served, until
from tests.supervisor.runtime.processes.test_hand_stop import chaperon, environ, serving


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_the_first_signal_captures_and_holds_what_lives_and_takes_no_task_and_the_second_ends_it_at_once(
    base: Base, tmp_path: Path, number: signal.Signals
) -> None:
    base.cli("begin()\nwhile True:\n    hear()")
    begun, go, hook = tmp_path / "begun", tmp_path / "go", tmp_path / "hook.sh"
    hook.write_text(f"#!/bin/sh\ntouch {begun}\nuntil [ -e {go} ]; do sleep 0.05; done\n")
    hook.chmod(0o755)
    about = {"agent": {"command": str(base.command), "at_daemon_end": "pause"}}
    async with serving(base, tmp_path, {**about, "hooks": {"on-pause": str(hook), "timeout": 50}}) as daemon:
        started = await chaperon(base, "run", "go", "--repo", str(base.repo), "--detach")
        assert started.returncode == 0, started.stderr
        await until(lambda: bool(base.events(events.CheckpointMade)) and bool(base.events(events.StateChanged)))
        (base.repo / "late.txt").write_text("late")
        daemon.send_signal(number)
        await until(lambda: begun.exists() and base.events(events.CheckpointMade)[-1].key == "end:a1")
        refused = await chaperon(base, "run", "more", "--repo", str(base.repo), "--detach")
        assert refused.returncode != 0, refused.stdout
        assert daemon.poll() is None, "it waits for the hook"
        daemon.send_signal(number)
        assert await anyio.to_thread.run_sync(partial(daemon.wait, 20)) == 130
    go.touch()
    async with served(base) as (after, _):
        assert [(one.agent, one.state) for one in after.board.summaries()] == [("a1", AgentState.PAUSED)]


@pytest.mark.slow
async def test_a_hangup_without_a_terminal_is_nothing_and_with_one_that_has_gone_an_end_in_order(
    base: Base, tmp_path: Path
) -> None:
    """Before, both ended the daemon on the spot: without what `agent.at_daemon_end` says, and without a word."""
    async with serving(base, tmp_path) as daemon:
        daemon.send_signal(signal.SIGHUP)
        assert (await chaperon(base, "ps")).returncode == 0
        daemon.send_signal(signal.SIGTERM)
        assert await anyio.to_thread.run_sync(partial(daemon.wait, 20)) == 0, "it was the first signal that counts"
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "supervisor.cli", "--config", str(tmp_path / "chaperon.yaml"), "serve"]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ(base)) as hung_up:
        os.close(theirs)
        await until(lambda: base.kinds().count("daemon_started") == 2 and base.places.socket.exists())
        os.close(ours)
        hung_up.send_signal(signal.SIGHUP)
        await anyio.to_thread.run_sync(partial(hung_up.wait, 20))
    assert base.kinds()[-1] == "daemon_stopped"


async def test_a_full_collection_looks_at_nothing_that_an_earlier_one_found_alive() -> None:
    answering = anyio.Event()
    answering.set()
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_settle, answering)
            await anyio.wait_all_tasks_blocked()
            kept = [[number] for number in range(5_000)]
            gc.collect()
            assert not any(each is kept for at in range(3) for each in gc.get_objects(generation=at))
            assert gc.get_freeze_count() > len(kept)
            tasks.cancel_scope.cancel()
    finally:
        gc.unfreeze()
    assert _exempt_survivors not in gc.callbacks
