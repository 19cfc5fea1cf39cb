"""Reviews in another process: what fails there is a block."""

import os
import signal
from pathlib import Path

import anyio
import pytest

from monitors.contract.actions import Action, ReviewContext
from monitors.contract.words import Decision
from supervisor.protocol import events
from supervisor.protocol.commands import ReviewElsewhere
from supervisor.runtime.clock import Clock
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.daemon.running import deferred_reviews
from supervisor.runtime.daemon.running.deferred_reviews import Ask, DeferredReviews
from tests.stages.daemon import Base, served
from tests.stages.read_forked import _as_a_program  # noqa: F401 - a fixture
from tests.supervisor.runtime.reading.test_reader import reading_processes


async def reader_of(daemon: Daemon) -> Ask:
    """The daemon's own, once its socket is served."""
    await daemon.answering.wait()
    found = daemon.deferred_reviews._ask
    assert found is not None
    return found


async def arrived(ask: Ask | None, action: Action, context: ReviewContext) -> events.ReviewArrived:
    """Have one review made."""
    happened: list[events.AnyEvent] = []
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            reviews = DeferredReviews(Clock(), tasks, happened.append)
            if ask is not None:
                reviews.ask(ask)
            reviews.make("a1", ReviewElsewhere("r1", action, context))
    (event,) = happened
    assert isinstance(event, events.ReviewArrived)
    assert (event.agent, event.request_id) == ("a1", "r1")
    return event


async def test_where_no_process_comes_the_call_is_blocked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferred_reviews, "ANSWER_SECONDS", 0.1)
    event = await arrived(None, Action("Bash", {"command": "ls"}), ReviewContext())
    assert (event.review.decision, event.review.rule) == (Decision.BLOCK, "chaperon.reviewer-failed")


async def test_a_process_that_dies_or_does_not_answer_is_a_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(Base(tmp_path)) as (daemon, _):
        reader = await reader_of(daemon)
        await arrived(reader, Action("Bash", {"command": "ls"}), ReviewContext())
        (process,) = reading_processes()
        process.suspend()
        monkeypatch.setattr(deferred_reviews, "ANSWER_SECONDS", 0.2)
        late = await arrived(reader, Action("Bash", {"command": "ls"}), ReviewContext())
        monkeypatch.undo()
        assert late.review.decision is Decision.BLOCK
        async with anyio.create_task_group() as tasks:

            async def kill() -> None:
                os.kill(process.pid, signal.SIGKILL)

            tasks.start_soon(kill)
            dead = await arrived(reader, Action("Bash", {"command": "ls"}), ReviewContext())
        assert dead.review.decision in (Decision.BLOCK, Decision.ALLOW)  # the next process may have taken the job
