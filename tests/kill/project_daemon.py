"""A daemon as a process of its own, whose project goes back, and which kills itself at a chosen point of that.

usage: python -m tests.kill.project_daemon BASE POINT [returning]

POINT is `write:TEXT` (before the journal's write that has the text), `wrote:TEXT` (behind it), `step:NAME` (before the
step of that name of a restore), `after:NAME` (behind a call of that name), or `never`. Only what follows the request
counts, or, with `returning`, what follows the failure of a rollback that cannot be completed. Each start goes on where
the one before was, and the last one prints what it found.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from checkpoints import project_refs
from checkpoints.restore.restore import Restorer
from checkpoints.worktrees import ProjectWorktrees
from host.durable import RealDisk
from monitors.contract.errors import ChaperonError
from supervisor.protocol.words import AgentState
from supervisor.runtime.checkpointing import manager
from supervisor.runtime.checkpointing.manager import CheckpointManager
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.projects import worktree_files
from supervisor.runtime.projects.rollback import ProjectNotRestoredError
from tests.stages.daemon import Base, reached, until
from tests.supervisor.runtime.projects.test_rollback import REQUEST, all_of, begun, gone_on, project, state

ARMED: list[str] = []
"""Has the point from the request on."""


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def at(point: str) -> None:
    """Be killed here if this is the point."""
    if point in ARMED:
        die()


class DeadlyDisk(RealDisk):
    """Is the death of the process at a write to the journal that has a text."""

    def write(self, fd: int, data: bytes | memoryview) -> int:
        point = next((one for one in ARMED if one.startswith(("write:", "wrote:"))), "")
        fatal = bool(point) and point.partition(":")[2].encode() in bytes(data)
        if fatal and point.startswith("write:"):
            die()
        written = super().write(fd, data)
        if fatal:
            die()
        return written


def arm_calls() -> None:
    """Have calls that change files and branches be points."""

    def deadly(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def done(*given: Any, **named: Any) -> Any:
            result = call(*given, **named)
            at(f"after:{name}")
            return result

        return done

    for name in ("set_branches", "set_head", "hold"):
        setattr(project_refs, name, deadly(name, getattr(project_refs, name)))
    for name in ("discard", "make_again"):
        setattr(ProjectWorktrees, name, deadly(name, getattr(ProjectWorktrees, name)))
    making = ProjectWorktrees.__init__
    step = lambda name: at(f"step:{name}")  # noqa: E731 - one line of an argument
    ProjectWorktrees.__init__ = lambda self, *given: making(self, *given, step=step)  # type: ignore[method-assign]
    for module in (manager, worktree_files):
        vars(module)["Restorer"] = partial(Restorer, step=step)


async def play(daemon: Daemon, base: Base, point: str) -> None:
    notes = base.root / "notes.json"
    if not notes.exists():
        first = await begun(daemon, base)
        before = await all_of(base, first)
        second = await gone_on(daemon, base)
        notes.write_text(json.dumps([str(first), str(second), before]))
    first, second, before = json.loads(notes.read_text())
    ARMED.append(point)
    done = await daemon.project_work.rollbacks.roll_back(str(base.repo), REQUEST, "ann", "r1")
    await until(lambda: daemon.board.summary("a1").launches == 2)
    await reached(daemon, AgentState.IDLE, "a1")
    found = {
        "as it was": json.loads(json.dumps(await all_of(base, Path(first)))) == before,
        "closed": not Path(second).exists(),
        "tasks": [state(daemon, "t-then"), state(daemon, "t-since")],
        "merges": sorted({one.phase for one in daemon.board.merges.all()}),
        "ended": daemon.board.summary("a2").state,
        "undo": daemon.board.projects.get(str(base.repo), done.undo) is not None,
    }
    sys.stdout.write(json.dumps(found))


async def play_return(daemon: Daemon, base: Base, point: str) -> None:
    """Have a rollback fail in the middle, so that what it did is undone."""
    notes, at_ = base.root / "notes.json", str(base.repo)
    if not notes.exists():
        first = await begun(daemon, base)
        second = await gone_on(daemon, base)
        notes.write_text(json.dumps([str(first), str(second), await all_of(base, first, second)]))
    first, second, after = json.loads(notes.read_text())
    set_back, marker = worktree_files.set_back, base.root / "failed"

    async def failing(manager: CheckpointManager, workspace: str, *more: Any) -> Any:
        if workspace == first and not marker.exists():
            marker.touch()
            ARMED.append(point)
            raise ChaperonError("The disk is on fire.")
        return await set_back(manager, workspace, *more)

    worktree_files.set_back = failing  # type: ignore[assignment]
    error = ""
    try:
        await daemon.project_work.rollbacks.roll_back(at_, REQUEST, "ann", "r1")
    except ProjectNotRestoredError as caught:
        error = str(caught)
    found = {
        "as it was": json.loads(json.dumps(await all_of(base, Path(first), Path(second)))) == after,
        "tasks": [state(daemon, "t-then"), state(daemon, "t-since")],
        "merges": sorted({one.phase for one in daemon.board.merges.all()}),
        "said": "The disk is on fire. All of it was put back." in error,
        "launches": daemon.board.summary("a1").launches,
    }
    sys.stdout.write(json.dumps(found))


async def main(root: Path, point: str, returning: str = "") -> None:
    arm_calls()
    base = Base(root)
    async with project(base, disk=DeadlyDisk()) as daemon:
        await (play_return if returning else play)(daemon, base, point)


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), sys.argv[2], "".join(sys.argv[3:4]))
