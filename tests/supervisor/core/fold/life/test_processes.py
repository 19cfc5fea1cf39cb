"""What is known of the processes of one launch."""

from typing import Any

from supervisor.core.fold.life.processes import Processes
from supervisor.protocol import events

STAMP: dict[str, Any] = {"agent": "a1", "at": 0.0, "mono": 0.0}


def test_an_end_stays_until_the_next_launch_takes_its_place() -> None:
    processes, ended = Processes(), events.AgentExited(**STAMP, code=1, signal=None)
    processes.remember(events.AgentLaunched(**STAMP, shim_pid=1, cli_pid=2, containment="", number=1))
    processes.remember(events.LineReceived(**STAMP, end=70, frame={}))
    processes.remember(ended)
    assert (processes.launched, processes.offset, processes.ending) == (True, 70, ended)
    processes.forget()
    assert (processes.launched, processes.offset, processes.ending) == (False, 0, None)


def test_one_that_was_never_started_is_unborn_until_it_is() -> None:
    processes = Processes()
    processes.remember(events.AgentAdopted(**STAMP, outcome="launched"))
    assert processes.unborn
    processes.remember(events.AgentLaunched(**STAMP, shim_pid=1, cli_pid=2, containment="", number=1))
    assert not processes.unborn
