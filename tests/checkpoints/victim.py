"""A process that is killed at each step of a capture, a restore or the life of a workspace, and what is found after each.

Run as `python -m tests.checkpoints.victim ACTION FOLDER`. For each step it makes a fresh workspace and store, forks a
child that kills itself with SIGKILL right before that step, then looks at what is left as a new daemon would. It prints
one line a step, as JSON, until a child lived through all of its steps.
"""

import contextlib
import itertools
import json
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkpoints.errors import CheckpointError, RestoreFailedError
from checkpoints.git.sealed_pack import CLEAR
from checkpoints.restore import apply
from checkpoints.restore import restore as restoring
from checkpoints.restore.restore import Restorer
from checkpoints.store.packing import pack
from checkpoints.store.restore_journal import interrupted
from checkpoints.store.store import Store
from checkpoints.store.wal import SIZES
from checkpoints.workspace import rename_noreplace
from checkpoints.workspace.capture import Capturer
from checkpoints.worktrees import ProjectWorktrees
from tests.checkpoints.support import MOMENT, SEALS, git, shape

SEALED = "--sealed" in sys.argv


def opened(state: Path, workspace: Path) -> Store:
    return Store(state, workspace, SEALS if SEALED else CLEAR)


def become_sealed(workspace: Path, state: Path, killer: "Killer") -> None:
    """Pack a store that has been open until now."""
    shutil.rmtree(state)
    store = Store(state, workspace)
    capturer = Capturer(store, workspace)
    for text in ("third", "fourth", "fifth"):
        (workspace / "sub/3").write_text(text)
        capturer.capture(MOMENT)
    capturer.close()
    store.close()
    store = opened(state, workspace)
    killer.at_each_change()
    pack(store)


def arrange(folder: Path) -> tuple[Path, Path]:
    """Return a workspace and the folder of its store, which has a first checkpoint of it."""
    workspace, state = folder / "work", folder / "state"
    (workspace / "sub/deep").mkdir(parents=True)
    for number in range(4):
        (workspace / f"sub/{number}").write_text(f"first {number}")
    (workspace / "sub/deep/file").write_text("deep")
    (workspace / "flip").write_text("a file")
    store = opened(state, workspace)
    capturer = Capturer(store, workspace)
    capturer.capture(MOMENT)
    capturer.close()
    store.close()
    return workspace, state


def change(workspace: Path) -> None:
    """Make changes of each kind."""
    (workspace / "sub/0").write_text("second")
    (workspace / "sub/1").chmod(0o755)
    (workspace / "sub/2").unlink()
    (workspace / "sub/deep/file").unlink()
    (workspace / "sub/deep").rmdir()
    (workspace / "flip").unlink()
    (workspace / "flip").mkdir()
    (workspace / "flip/inner").write_text("inner")
    (workspace / "new").symlink_to("sub/0")


PATCH = pytest.MonkeyPatch()

CHANGES = (
    "fchmod", "fdatasync", "fsync", "ftruncate", "mkdir", "pwrite", "rename", "replace", "rmdir", "symlink", "unlink",
    "write",
)  # fmt: skip
"""Calls of `os` that change what is on the disk, or what is sure to be."""


class Killer:
    """Counts steps, and kills the process before one of them."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, *_: object) -> None:
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1

    def at_each_change(self) -> None:
        """Make every call of this process that changes the disk a step."""
        for name in CHANGES:
            PATCH.setattr(os, name, self._before(getattr(os, name)))
        open_, create = os.open, self._before(os.open)
        PATCH.setattr(
            os,
            "open",
            lambda path, flags, *how, **more: (create if flags & os.O_CREAT else open_)(path, flags, *how, **more),
        )
        PATCH.setattr(apply, "move", self._before(rename_noreplace.move))
        PATCH.setattr(restoring, "sync_filesystem", self._before(lambda _: None))

    def _before(self, act: Callable[..., Any]) -> Callable[..., Any]:
        def kill_or_act(*words: Any, **more: Any) -> Any:
            self()
            return act(*words, **more)

        return kill_or_act


def capture(workspace: Path, state: Path, killer: Killer) -> None:
    killer.at_each_change()
    store = opened(state, workspace)
    capturer = Capturer(store, workspace)
    capturer.capture(MOMENT)
    (workspace / "sub/3").write_text("third")
    capturer.capture(MOMENT)
    store.settle()


def capture_much(workspace: Path, state: Path, killer: Killer) -> None:
    """So much that it is synced in its own place instead of going through the log."""
    store = opened(state, workspace)
    capturer = Capturer(store, workspace)
    killer.at_each_change()
    capturer.capture(MOMENT)
    (workspace / "much").write_bytes(random.Random(0).randbytes(1_200_000))
    capturer.capture(MOMENT)


def make_store(workspace: Path, state: Path, killer: Killer) -> None:
    """Make a store where none is, and the first checkpoint in it."""
    shutil.rmtree(state)
    killer.at_each_change()
    store = opened(state, workspace)
    Capturer(store, workspace).capture(MOMENT)


def grow(workspace: Path, state: Path, killer: Killer) -> None:
    """More than the log that a store begins with holds, so that it becomes larger."""
    store = opened(state, workspace)
    capturer = Capturer(store, workspace)
    killer.at_each_change()
    capturer.capture(MOMENT)
    (workspace / "much").write_bytes(random.Random(0).randbytes(100_000))
    capturer.capture(MOMENT)
    assert (state / "wal").stat().st_size == SIZES[1]


def open_again(workspace: Path, state: Path, killer: Killer) -> None:
    """Open a store whose last owner ended before it settled."""
    store = opened(state, workspace)
    Capturer(store, workspace).capture(MOMENT)
    store.lose()
    killer.at_each_change()
    opened(state, workspace)


def maintain(workspace: Path, state: Path, killer: Killer) -> None:
    """Drop, and pack."""
    store = opened(state, workspace)
    capturer = Capturer(store, workspace)
    capturer.capture(MOMENT)
    (workspace / "sub/3").write_text("third")
    capturer.capture(MOMENT)
    killer.at_each_change()
    store.drop([store.checkpoints[1].name])
    pack(store)


def restore(workspace: Path, state: Path, killer: Killer) -> None:
    store = opened(state, workspace)
    restorer = Restorer(Capturer(store, workspace))
    killer.at_each_change()
    restorer.restore(restorer.plan(store.checkpoints[0], MOMENT), confirmed=True, unusual_confirmed=True)


IN_THE_WAY = {"sub/2": ("file", b"in the way")}


def restore_and_return(workspace: Path, state: Path, killer: Killer) -> None:
    """A file appears where one is to be put, so all is put back."""
    store = opened(state, workspace)

    def stand_in_the_way(step: str) -> None:
        if step == "put":
            (workspace / "sub/2").write_text("in the way")

    restorer = Restorer(Capturer(store, workspace), step=stand_in_the_way)
    plan = restorer.plan(store.checkpoints[0], MOMENT)
    killer.at_each_change()
    try:
        restorer.restore(plan, confirmed=True, unusual_confirmed=True)
    except RestoreFailedError:
        return
    raise SystemExit("nothing was in the way")


ACTIONS = {
    act.__name__: act
    for act in (
        make_store,
        capture,
        capture_much,
        grow,
        open_again,
        maintain,
        become_sealed,
        restore,
        restore_and_return,
    )
}


def killed_at(step: int, act: Callable[[Path, Path, Killer], None], workspace: Path, state: Path) -> bool:
    """Act in a child, and return whether it was killed."""
    child = os.fork()
    if child == 0:
        act(workspace, state, Killer(step))
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if not os.WIFSIGNALED(status) and os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit("the child failed by itself")
    return os.WIFSIGNALED(status)


def look(workspace: Path, state: Path, before: dict[str, object], first: dict[str, object]) -> dict[str, object]:
    """Return what a new daemon finds, after it recovered."""
    store = opened(state, workspace)
    pending = interrupted(store)
    capturer = Capturer(store, workspace)
    recovered = None
    with contextlib.suppress(RestoreFailedError):  # it could not be completed, and returned everything
        recovered = Restorer(capturer).recover()
    now = shape(workspace)
    broken = []
    for checkpoint in store.checkpoints:
        copy = Path(f"{workspace}-{checkpoint.name}")
        try:
            write_out(store, bytes.fromhex(checkpoint.tree), copy)
        except CheckpointError as error:
            broken.append(str(error))
    latest = shape(Path(f"{workspace}-{store.checkpoints[-1].name}")) if store.checkpoints else {}
    again = capturer.capture(MOMENT, scrub=True)
    write_out(store, bytes.fromhex(again.tree), Path(f"{workspace}-again"))
    return {
        "checkpoints": len(store.checkpoints) - 1,
        "pending": len(pending),
        "completed": recovered is not None,
        "is_before": now in (before, before | IN_THE_WAY),
        "is_first": now == first,
        "latest_is_before": latest == before,
        "captured_again": shape(Path(f"{workspace}-again")) == now,
        "broken": broken,
    }


def write_out(store: Store, tree: bytes, folder: Path) -> None:
    """Write a tree's files plainly, as the test's own idea of what it holds."""
    folder.mkdir(exist_ok=True)
    for name, entry in store.tree(tree).items():
        path = folder / os.fsdecode(name)
        if entry.is_folder:
            write_out(store, entry.id, path)
        elif entry.mode == 0o120000:
            path.symlink_to(os.fsdecode(store.read(entry.id)[1]))
        else:
            path.write_bytes(store.read(entry.id)[1])
            path.chmod(entry.mode & 0o777)


def make_and_remove(project: Path, folder: Path, step: Killer) -> None:
    workspaces = ProjectWorktrees(project, folder, step=step)
    workspaces.create("a1")
    workspaces.remove("a1")


def kill_workspaces(folder: Path) -> None:
    """Kill at each step of making and removing a workspace, and let the next process remove what was left."""
    for number in itertools.count():
        project, kept = folder / str(number) / "work", folder / str(number) / "agents"
        project.mkdir(parents=True)
        git(project, "init", "-q", "-b", "main")
        (project / "file").write_text("text")
        git(project, "add", "-A")
        git(project, "commit", "-qm", "first")
        killed = killed_at(number, make_and_remove, project, kept)
        again = ProjectWorktrees(project, kept)
        found = [str(one.state) for one in again.all()]
        for one in again.all():
            again.remove(one.name)
        left = [*(place.name for place in kept.iterdir()), *git(project, "branch", "--list", "chaperon/*").split()]
        worktrees = len(git(project, "worktree", "list").splitlines())
        again.create("a1")
        sys.stdout.write(json.dumps({"killed": killed, "found": found, "left": left, "worktrees": worktrees}) + "\n")
        if not killed:
            return


def main(action: str, folder: Path) -> None:
    """Kill at each step. A kill takes nothing that was written, synced or not, so syncs only count."""
    for name in ("fsync", "fdatasync"):
        PATCH.setattr(os, name, lambda _: None)
    if action == "workspaces":
        kill_workspaces(folder)
        return
    act = ACTIONS[action]
    step = 0
    while True:
        workspace, state = arrange(folder / str(step))
        first = shape(workspace)
        change(workspace)
        before = shape(workspace)
        killed = killed_at(step, act, workspace, state)
        found = look(workspace, state, dict(before), dict(first))
        sys.stdout.write(json.dumps({"step": step, "killed": killed, **found}) + "\n")
        sys.stdout.flush()
        if not killed:
            os._exit(0)
        step += 1


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
