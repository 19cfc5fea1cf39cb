"""A daemon as a process of its own, which goes back to a checkpoint and kills itself at a chosen point of it.

usage: python -m tests.kill.rollback_daemon BASE POINT

POINT is `write:TEXT` (before the journal's write that has the text), `wrote:TEXT` (behind it), `step:NAME` (before the
step of that name of the restore), or `never`. Each start goes on where the journal says that the one before was.
"""

import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio

from checkpoints.restore.restore import Restorer
from host.durable import RealDisk
from supervisor.config.model import Agent, Config
from supervisor.config.paths import StatePaths
from supervisor.protocol import events
from supervisor.protocol.records import decode
from supervisor.protocol.rollbacks import RollbackRequest
from supervisor.protocol.words import AgentState
from supervisor.runtime.checkpointing import manager
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.daemon.submission import Submission
from supervisor.runtime.service import Setup, run_daemon
from supervisor.runtime.services.people.rollbacks import roll_back

E = TypeVar("E", bound=events.Event)

STAND_IN = Path(__file__).parents[1] / "stages" / "turns.py"


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class DeadlyDisk(RealDisk):
    """Is the death of the process at the first write to a journal segment that has a text."""

    def __init__(self, when: str, text: bytes) -> None:
        self.when, self.text = when, text

    def write(self, fd: int, data: bytes | memoryview) -> int:
        fatal = self.text in bytes(data)
        if fatal and self.when == "write":
            die()
        written = super().write(fd, data)
        if fatal and self.when == "wrote":
            die()
        return written


async def first(daemon: Daemon, kind: type[E], count: int = 1) -> E:
    """The event of this kind, the `count`-th, which may be still to come."""
    async for line in daemon.journal.follow(0, live=True):
        event = decode(line.data).event
        if isinstance(event, kind):
            count -= 1
            if not count:
                return event
    raise AssertionError("the journal ended")


def has(daemon: Daemon, kind: type[events.Event]) -> bool:
    return any(isinstance(record.event, kind) for record in daemon.journal.read(0))


async def turns(daemon: Daemon, count: int) -> None:
    """Wait until so many turns ended and the workspace was captured after the last."""
    seen = 0
    async for line in daemon.journal.follow(0, live=True):
        event = decode(line.data).event
        seen += isinstance(event, events.CheckpointMade) and event.reason == "turn"
        if seen == count:
            return


async def main(base: Path, point: str) -> None:
    when, _, text = point.partition(":")
    if when == "step":
        deadly = partial(Restorer, step=lambda name: die() if name == text else None)
        setattr(manager, "Restorer", deadly)  # noqa: B010 - the checker knows the class, not what stands for it here
    places = StatePaths(state=base / "state", runtime=base / "run")
    environ = {"PATH": os.environ["PATH"], "HOME": str(base / "home")}
    config = Config(agent=Agent(command=str(base / "claude")))
    disk = DeadlyDisk(when, text.encode()) if when in ("write", "wrote") else RealDisk()
    async with run_daemon(Setup(config, places, environ, disk=disk)) as daemon:
        if not daemon.board.summaries():
            wanted = Submission(
                prompt="do: echo one > one.txt", repository=str(base / "repo"), name="a1", keep_open=True
            )
            await daemon.submit(wanted, by="test")
        await turns(daemon, 1)
        if not has(daemon, events.SayRequested):
            harm = "do: rm -rf src; echo bad > bad.txt"
            await daemon.request(events.SayRequested(**daemon.stamp("a1"), id="s1", text=harm, by="test"))
        await turns(daemon, 2)
        made = [record.event for record in daemon.journal.read(0) if isinstance(record.event, events.CheckpointMade)]
        target = next(event.name for event in made if event.reason == "turn")
        if not has(daemon, events.RollbackRequested):
            await roll_back(daemon, "a1", RollbackRequest(checkpoint=target, text="mind the gap"), by="test")
        await first(daemon, events.CheckpointRestored)
        await first(daemon, events.AgentLaunched, 2)
        await turns(daemon, 3)
        await daemon.request(events.StopRequested(**daemon.stamp("a1"), by="test", force=True))
        async for line in daemon.journal.follow(0, live=True):
            event = decode(line.data).event
            if isinstance(event, events.StateChanged) and event.after is AgentState.STOPPED:
                break


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), sys.argv[2])
