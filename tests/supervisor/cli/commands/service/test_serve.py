"""`chaperon serve`: what it has Python do with its memory, and its end by one signal, and by a second."""

import gc
import signal
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from supervisor.cli.commands.service.serve import _exempt_survivors, _settle
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from tests.stages.daemon import Base, served, until
from tests.supervisor.runtime.processes.test_hand_stop import chaperon, serving


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
