"""What a daemon took over at its start: told in the journal and to people, with what is missing of it."""

import os
import signal

from supervisor.protocol.events import WorkTakenOver
from supervisor.protocol.words import AgentState
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.service import run_daemon
from tests.stages.daemon import Base, reached, served, until
from tests.support import processes_in

WAITS = "begin()\nwhile True:\n    hear()"


async def lives(base: Base) -> Daemon:
    """Have a daemon leave an agent that lives, and a task that waits."""
    base.cli(WAITS)
    async with run_daemon(base.setup(claims=False)) as daemon:
        await daemon.submit(base.submission(), by="ann")
        await reached(daemon, AgentState.RUNNING)
    return daemon


async def test_what_was_taken_over_whole_is_an_event_and_is_told_to_people_who_look(base: Base) -> None:
    await lives(base)
    async with served(base) as (daemon, client):
        health = (await client.get("/v1/health")).json()
        await daemon.put_down("a1", "the test is over")
    (taken,) = base.events(WorkTakenOver)  # by now the journal is on the disk
    assert taken.missing == ()
    assert (taken.agents["found"], taken.agents["reattached"]) == (1, 1)
    assert taken.summary == "The daemon took over 1 agent of the daemon before: 1 run on; nothing is missing."
    assert health["taken_over"] == taken.summary


async def test_an_agent_that_is_gone_without_a_record_is_named_as_missing(base: Base) -> None:
    daemon = await lives(base)
    summary = daemon.board.summary("a1")
    for pid in (summary.shim_pid, summary.cli_pid):
        os.kill(pid, signal.SIGKILL)
    await until(lambda: processes_in(base.repo) == [])
    async with run_daemon(base.setup()):
        pass
    (taken,) = base.events(WorkTakenOver)
    assert taken.missing == ("how 1 agent ended is not known",)
    assert taken.summary.endswith("how 1 agent ended is not known.")


async def test_a_first_start_takes_nothing_over_and_says_nothing(base: Base) -> None:
    async with served(base) as (_, client):
        assert (await client.get("/v1/health")).json()["taken_over"] == ""
    assert base.events(WorkTakenOver) == []
