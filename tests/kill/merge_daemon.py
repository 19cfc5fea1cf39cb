"""A daemon that merges one agent's branch and is killed at a point: `python -m tests.kill.merge_daemon FOLDER POINT`."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import anyio

from supervisor.protocol.merges import Merge, MergePhase
from supervisor.runtime.merging import merge_work, target
from tests.stages.daemon import Base, ended, served

WORKS = """\
import subprocess
begin()
open("made.txt", "w").write("made")
open("file.txt", "w").write("changed")
subprocess.run("git add -A && git -c user.name=A -c user.email=a@x commit -qm work", shell=True, check=True)
done()
hear()
"""

CHECK = "test -e made.txt"

POINTS = (
    *(f"step {phase}" for phase in ("proposed", "queued", "merging", "verifying", "moving", "merged")),
    "files set",
    "moved",
)
"""Points of a merge: a step of it is in the journal, files of the person's checkout are set, the target has moved."""


def config(root: Path) -> dict[str, Any]:
    return {"workspaces": {"folder": str(root / "workspaces")}, "verify": CHECK}


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_at(point: str) -> None:
    """Have this process be killed there."""
    step, files, move = merge_work.MergeWork.step, target._set_files, target.move

    async def stepped(self: merge_work.MergeWork, merge: Merge) -> Merge:
        done = await step(self, merge)
        if point == f"step {merge.phase}":
            die()
        return done

    def set_files(*arguments: Any, **named: Any) -> None:
        files(*arguments, **named)
        if point == "files set":
            die()

    def moved(*arguments: Any, **named: Any) -> Any:
        done = move(*arguments, **named)
        if point == "moved":
            die()
        return done

    merge_work.MergeWork.step = stepped  # type: ignore[method-assign]
    target._set_files = set_files
    target.move = moved


async def main(root: Path, point: str) -> None:
    base = Base(root)
    base.config = config(root)
    base.cli(WORKS)
    kill_at(point)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(workspace="new"), by="ann")
        await ended(daemon)
        assert daemon.board.merges.find("a1").phase is MergePhase.PROPOSED
        await daemon.merging.carry_out("a1", "ann")


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), sys.argv[2])
