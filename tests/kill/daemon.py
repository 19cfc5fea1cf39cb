"""A daemon as a process of its own, which kills itself at a chosen write to the journal.

usage: python -m tests.kill.daemon BASE KILL_AT SHARE     (0 never kills; SHARE of the fatal write's bytes land first)

It submits the task where nobody did, waits until every agent has ended, prints what it adopted, and ends in order.
"""

import json
import os
import signal
import sys
from pathlib import Path

import anyio

from host.durable import RealDisk
from supervisor.config.model import Agent, Audit, Config
from supervisor.config.paths import StatePaths
from supervisor.runtime.daemon.submission import Submission
from supervisor.runtime.service import Setup, run_daemon

STAND_IN = Path(__file__).parents[1] / "stages" / "stand_in.py"


class DeadlyDisk(RealDisk):
    """Counts writes to journal segments, and is the death of the process at one of them."""

    def __init__(self, kill_at: int, share: float) -> None:
        self.left = kill_at
        self.share = share
        self.segments: set[int] = set()

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        fd = super().open(path, flags, mode)
        (self.segments.add if path.parent.name == "journal" else self.segments.discard)(fd)
        return fd

    def write(self, fd: int, data: bytes | memoryview) -> int:
        if fd in self.segments and self.left:
            self.left -= 1
            if not self.left:
                os.write(fd, bytes(data)[: int(len(data) * self.share)])
                os.kill(os.getpid(), signal.SIGKILL)
        return super().write(fd, data)


def audit_of(base: Path) -> Audit:
    """Records as they are, since what was printed is compared; masked and encrypted where the test made a key."""
    key = base / "key"
    return Audit(encrypt=True, key=f"file:{key}") if key.exists() else Audit(store="full")


async def main(base: Path, kill_at: int, share: float) -> None:
    places = StatePaths(state=base / "state", runtime=base / "run")
    config = Config(agent=Agent(command=str(base / "claude")), audit=audit_of(base))
    model = {name: os.environ[name] for name in os.environ if name.startswith(("ANTHROPIC_", "CLAUDE_", "DISABLE_"))}
    environ = {"PATH": os.environ["PATH"], "HOME": str(base / "home"), **model}
    async with run_daemon(Setup(config, places, environ, disk=DeadlyDisk(kill_at, share))) as daemon:
        if not daemon.board.summaries():
            await daemon.submit(Submission(prompt="go", repository=str(base / "repo"), name="a1"), by="test")
        n = daemon.journal.last
        while any(daemon.board.live()):
            n += 1
            await daemon.journal.written(n)
        sys.stdout.write(json.dumps(daemon.runners.adopted.counts()) + "\n")


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
