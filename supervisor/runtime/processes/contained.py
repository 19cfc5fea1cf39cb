"""A program that is run for an agent to its own end, held as the agent is.

The program is of the user's choosing, but what it runs was written by the agent: tests, a build file. So it gets a
control group and a mark of its own, under which the daemon's socket refuses it as an agent's process, and it is started
through the agent's launcher, which may be a sandbox. Once it has ended, or its time is over, all that it left is ended,
also what forked away.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import anyio
import anyio.to_thread
import orjson

from host.children import ChildCommand, ChildResult, run_child_async
from host.durable import is_temporary, replace_file
from host.identity import as_own
from supervisor.protocol.identity import Identity
from supervisor.runtime.processes.identity import checked
from supervisor.runtime.processes.leftovers import EndedProcesses, end_leftovers
from supervisor.runtime.shim import enter as program
from supervisor.runtime.shim import marks, process_tree

ENTER = Path(program.__file__)
"""The program that becomes the program that is wanted."""

NOBODY = 2**31 - 1
"""A process id that no process has: the kernel's greatest is 2^22 (proc(5), pid_max). A run has no shim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainedCommand:
    """A program and its bounds."""

    name: str
    """Names the run on this machine. Example: `verify:a1`."""
    argv: Sequence[str]
    folder: str
    environment: Mapping[str, str]
    """All of it."""
    seconds: float
    """It is ended after this time, with all that it started."""
    output_bytes: int
    """Kept of the end of its output."""
    cgroup: Path | None = None
    """The control group that it is born in; None if this machine has none."""


@dataclass(frozen=True, slots=True)
class ContainedResult:
    """How a program ended."""

    child: ChildResult
    left: EndedProcesses
    """The processes that outlived it and were ended then."""


async def run_contained(command: ContainedCommand, notes: Path) -> ContainedResult:
    """Run a program to its end and end all that it left, also if this is cancelled.

    Args:
        command: The program.
        notes: The folder where its processes are noted while it runs, for `end_noted` after a crash.

    Raises:
        OSError: The note could not be written, or the program not be started.
    """
    note = notes / f"{command.name}.json"
    identity = await anyio.to_thread.run_sync(_note, note, command)
    argv = [sys.executable, "-I", "-S", "-E", str(ENTER), str(command.cgroup or ""), str(identity.mark)]
    child = ChildCommand(
        argv=[*argv, command.folder, *command.argv],
        environment=command.environment,
        seconds=command.seconds,
        output_bytes=command.output_bytes,
        keep="end",
        users=as_own,
    )
    try:
        done = await run_child_async(child)
    finally:
        with anyio.CancelScope(shield=True):
            left = await anyio.to_thread.run_sync(_end, note, identity)
    return ContainedResult(done, left)


def end_noted(notes: Path) -> list[str]:
    """End what programs left that a daemon before this one was running; the names of the runs. Blocks.

    Raises:
        OSError: The folder cannot be read.
    """
    names = []
    for note in sorted(notes.glob("*.json")) if notes.is_dir() else ():
        if is_temporary(note.name):
            continue
        try:
            identity = checked(orjson.loads(note.read_bytes()))
        except ValueError:
            identity = None
        if identity is not None:
            end_leftovers(identity)
        note.unlink(missing_ok=True)
        names.append(note.stem)
    return names


def _identity(command: ContainedCommand) -> Identity:
    boot = process_tree.read("/proc/sys/kernel/random/boot_id").strip()
    group = None if command.cgroup is None else str(command.cgroup)
    return Identity(command.name, None, group, boot, NOBODY, 1, NOBODY, 1, 0.0, marks.draw())


def _note(note: Path, command: ContainedCommand) -> Identity:
    """Write down by what the processes of a run are known; returns it."""
    identity = _identity(command)
    note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(note, orjson.dumps(asdict(identity)))
    return identity


def _end(note: Path, identity: Identity) -> EndedProcesses:
    cleared = end_leftovers(identity)
    note.unlink(missing_ok=True)
    return cleared
