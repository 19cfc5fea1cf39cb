"""The end of processes that a shim does not end: because it was killed, stopped, or replaced by another.

The kernel kills the CLI with its shim; the tools live on as children of init. A cgroup still holds those that did not
leave it. All carry the mark of their agent, which none can remove (`supervisor.runtime.shim.marks`), and those that did
not clear their environment its nonce; the descendants of these belong to them.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from host.identity import looking
from supervisor.protocol.identity import Identity
from supervisor.runtime.processes import shim_client, shim_events
from supervisor.runtime.processes.identity import (
    NONCE_VARIABLE,
    cli_is_running,
    is_running,
    is_this_boot,
    read_identity,
)
from supervisor.runtime.shim import marks, process_tree

SHIM_PROGRAM = f"/{'/'.join(shim_client.PROGRAM.parts[-4:])}\0"
"""In the command line of every shim, from wherever its version is installed."""


@dataclass(frozen=True, slots=True)
class EndedProcesses:
    """The result of ending an agent's processes."""

    ended: tuple[str, ...]
    """The processes found, as `PID NAME`."""
    left: int
    """How many could not be ended."""
    strays: tuple[str, ...] = ()
    """Processes that may be this agent's or another's: each carries the mark of some agent, a lower one than this
    agent's, and no shim is above it. A process can lower its mark, and so hide its agent. These are left alone."""

    @property
    def found(self) -> bool:
        """Whether any process lived."""
        return bool(self.ended or self.left)

    def __str__(self) -> str:
        """Describe the result, as a part of a sentence."""
        what = (
            f"of the processes it left {len(self.ended)} were ended and {self.left} could not be"
            if self.found
            else "nobody was left"
        )
        if self.strays:
            what += f"; {', '.join(self.strays)} may be of it too, which is not known: they hide whose they are and were left alone"
        return what


def find_leftovers(identity: Identity) -> set[int]:
    """Return the processes of an agent that live although its shim does not; none while the shim lives."""
    return set() if is_running(identity) else _in_group(identity) | _known_again(identity)


def find_held(identity: Identity) -> set[int]:
    """Return the living processes of an agent but its shim, whether that lives or not."""
    tree = process_tree.Tree(identity.shim_pid, identity.cgroup)
    return tree.members() - {identity.shim_pid} if is_running(identity) else find_leftovers(identity)


def end_leftovers(identity: Identity) -> EndedProcesses:
    """End them, looking again until none is found or the time is up. Blocks for some milliseconds, at most 3 s."""
    deadline = process_tree.now() + process_tree.END_SECONDS
    named: dict[int, str] = {}
    while (found := find_leftovers(identity)) and process_tree.now() < deadline:
        named.update({pid: process_tree.name(pid) for pid in found if pid not in named})
        if identity.cgroup:
            process_tree.Tree(None, identity.cgroup).end()
        for pid in _known_again(identity):
            _kill(pid, identity)
        process_tree.pause()
    return EndedProcesses(tuple(f"{pid} {name}" for pid, name in sorted(named.items())), len(found), _strays(identity))


def end_everything(identity: Identity) -> EndedProcesses:
    """End an agent whose shim does not do it: the tree below the shim, the shim, and the rest. Blocks, at most 7 s.

    The tree comes first: below a living shim no process escapes by the end of its parent. That holds for a frozen shim
    as well.
    """
    named: dict[int, str] = {}
    if is_running(identity):
        tree = process_tree.Tree(identity.shim_pid, identity.cgroup)
        named = {pid: process_tree.name(pid) for pid in tree.members()}
        tree.end()
        _kill_shim(identity)
    cleared = end_leftovers(identity)
    left = cleared.left + is_running(identity)
    ended = (*(f"{pid} {name}" for pid, name in sorted(named.items())), *cleared.ended)
    return EndedProcesses(ended, left, cleared.strays)


def survivors(identity: Identity) -> set[int]:
    """Return the living processes of a tree that is reported as ended. The look takes a fraction of a millisecond.

    It checks the CLI itself, its process group, and the control group. Processes that left all of these are found by
    walking from the shim, which did so, or by `find_leftovers` once the shim has gone.
    """
    if not is_this_boot(identity):
        return set()
    found = _in_group(identity)
    if cli_is_running(identity):
        found.add(identity.cli_pid)
    try:
        os.killpg(identity.cli_pid, 0)
    except (ProcessLookupError, PermissionError):
        return found
    return found | {pid for pid in _everybody() if _is_in_process_group(pid, identity.cli_pid)}


def nobody_left(directory: Path, known: Identity | None = None) -> bool:
    """End the leftovers of an agent; return whether none of its processes lives now. Blocks like `end_leftovers`.

    Args:
        directory: The folder of its shim, which has their identity.
        known: The same from the journal, which is believed first.
    """
    identity = known or read_identity(directory)
    return identity is None or (not is_running(identity) and end_leftovers(identity).left == 0)


async def end_by_hand(known: Identity | None, directory: Path) -> EndedProcesses | None:
    """End everything of a launch without its shim; None if its processes are not known.

    Arguments as for `nobody_left`.
    """
    identity = known or await anyio.to_thread.run_sync(read_identity, directory)
    return None if identity is None else await anyio.to_thread.run_sync(end_everything, identity)


async def end_launch(directory: Path, known: Identity | None = None) -> bool:
    """End a launch without a runner, by its shim if that answers; return whether none of its processes lives now.

    Arguments as for `nobody_left`.
    """
    identity = known or await anyio.to_thread.run_sync(read_identity, directory)
    with suppress(shim_client.ShimGoneError, shim_client.ShimSilentError, shim_client.ShimReplacedError, OSError):
        shim = await shim_client.ShimClient.attach(
            directory, await anyio.to_thread.run_sync(_printed, directory), known=identity
        )
        shim.end_tree()
        async for heard in shim.events():
            if isinstance(heard, shim_events.Exited) and heard.record.left == 0:
                break
        shim.close()
    if identity is None:
        return True
    return (await anyio.to_thread.run_sync(end_everything, identity)).left == 0


def _printed(directory: Path) -> int:
    """How much its CLI has printed, in bytes: what the shim need not send again."""
    return (directory / "out.log").stat().st_size


def _in_group(identity: Identity) -> set[int]:
    return process_tree.Tree(None, identity.cgroup).members() if is_this_boot(identity) else set()


def _known_again(identity: Identity) -> set[int]:
    """Return all processes with the mark or the nonce, and all processes below them."""
    known = {pid for pid in _everybody() if _carries(pid, identity)} if is_this_boot(identity) else set()
    family = known.union(*(process_tree.descendants(pid) for pid in known))
    return {pid for pid in family if process_tree.states(pid) - process_tree.GONE}


def _everybody() -> Iterator[int]:
    return (int(name) for name in process_tree.listing("/proc") if name.isdigit())


def _carries(pid: int, identity: Identity) -> bool:
    """Whether a process carries the agent's mark, or its nonce and no other agent's mark."""
    mark = marks.mark_of(pid)
    if mark is None or (mark == identity.mark and mark > 0):
        return mark is not None
    if not identity.nonce or (identity.mark and mark < marks.own()):
        return False
    with looking():
        return f"{NONCE_VARIABLE}={identity.nonce}" in process_tree.read(f"/proc/{pid}/environ").split("\0")


def _strays(identity: Identity) -> tuple[str, ...]:
    if not identity.mark or not is_this_boot(identity):
        return ()
    lower = (pid for pid in _everybody() if (marks.mark_of(pid) or identity.mark) < identity.mark)
    return tuple(
        f"{pid} {process_tree.name(pid)}"
        for pid in lower
        if process_tree.states(pid) - process_tree.GONE and not _is_watched(pid)
    )


def _is_watched(pid: int) -> bool:
    """Whether a shim is above a process, which no process of an agent can be.

    If that is not known, it counts as watched.
    """
    line = process_tree.lineage(pid)
    return line is None or any(
        SHIM_PROGRAM in process_tree.read(f"/proc/{each}/cmdline") and not marks.is_marked(each) for each in line[1:]
    )


def _is_in_process_group(pid: int, group: int) -> bool:
    fields = process_tree.stat_fields(f"/proc/{pid}/stat")
    return bool(fields) and int(fields[2]) == group and fields[0] not in process_tree.GONE


def _kill(pid: int, identity: Identity) -> None:
    """SIGKILL by a handle of the process, taken before it is looked at once more, so that a reused pid is safe."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:  # it has gone
        return
    try:
        family = (pid, *process_tree.ancestors(pid))
        if any(_carries(member, identity) for member in family):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    except OSError:  # it has gone, or is not ours to signal: the next look says which
        return
    finally:
        os.close(handle)


def _kill_shim(identity: Identity) -> None:
    """SIGKILL the shim and wait until it has gone; the same care."""
    try:
        handle = os.pidfd_open(identity.shim_pid)
    except OSError:
        return
    try:
        if is_running(identity):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        deadline = process_tree.now() + process_tree.END_SECONDS
        while is_running(identity) and process_tree.now() < deadline:
            process_tree.pause()
    finally:
        os.close(handle)
