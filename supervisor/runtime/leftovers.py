"""Lost agents: end what is left of a tree whose shim was killed.

The kernel has killed the CLI with its shim; the tools live on as children of init. A cgroup still holds them. Without
one they are known by the nonce in their environment, and their descendants with them.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from supervisor.runtime import shims, trees
from supervisor.runtime.identity import NONCE_VARIABLE, Identity, is_running, read_identity


@dataclass(frozen=True, slots=True)
class Cleared:
    """What ending a lost agent's processes came to."""

    ended: tuple[str, ...]
    """Who was found, as `PID NAME`."""
    left: int
    """How many could not be ended."""


def find_leftovers(identity: Identity) -> set[int]:
    """Processes of an agent that live although its shim does not; nobody while the shim lives."""
    return set() if is_running(identity) else _in_group(identity) | _with_nonce(identity)


def end_leftovers(identity: Identity) -> Cleared:
    """End them, looking again until nobody is found or the time is up. Blocks for some milliseconds, at most 3 s."""
    deadline = trees.now() + trees.END_SECONDS
    named: dict[int, str] = {}
    while (found := find_leftovers(identity)) and trees.now() < deadline:
        named.update({pid: trees.name(pid) for pid in found if pid not in named})
        if identity.cgroup:
            trees.Tree(None, identity.cgroup).end()
        for pid in _with_nonce(identity):
            _kill(pid, identity)
        trees.pause()
    return Cleared(tuple(f"{pid} {name}" for pid, name in sorted(named.items())), len(found))


def nobody_left(directory: Path) -> bool:
    """End what an agent left, its directory says of whom; whether nobody of it lives now. Blocks like `end_leftovers`."""
    identity = read_identity(directory)
    return identity is None or (not is_running(identity) and end_leftovers(identity).left == 0)


async def end_launch(directory: Path) -> bool:
    """End a launch that no runner watches over, by its shim where that answers; whether nobody of it lives now."""
    with suppress(shims.ShimGoneError, shims.ShimSilentError, OSError):
        shim = await shims.Shim.attach(directory, await anyio.to_thread.run_sync(_printed, directory))
        shim.end_tree()
        async for heard in shim.events():
            if isinstance(heard, shims.Exited) and heard.record.left == 0:
                shim.close()
                return True
        shim.close()
    return await anyio.to_thread.run_sync(nobody_left, directory)


def _printed(directory: Path) -> int:
    """How much its CLI has printed, in bytes: what the shim need not send again."""
    return (directory / "out.log").stat().st_size


def _in_group(identity: Identity) -> set[int]:
    return trees.Tree(None, identity.cgroup).members()


def _with_nonce(identity: Identity) -> set[int]:
    """Everybody whose environment holds the nonce, and everybody below them."""
    marked = {pid for pid in _everybody() if _is_marked(pid, identity)}
    family = marked.union(*(trees.descendants(pid) for pid in marked))
    return {pid for pid in family if trees.states(pid) - trees.GONE}


def _everybody() -> Iterator[int]:
    return (int(name) for name in trees.listing("/proc") if name.isdigit())


def _is_marked(pid: int, identity: Identity) -> bool:
    if not identity.nonce:
        return False
    mark = f"{NONCE_VARIABLE}={identity.nonce}"
    return mark in trees.read(f"/proc/{pid}/environ").split("\0")


def _kill(pid: int, identity: Identity) -> None:
    """SIGKILL by a handle of the process, taken before it is looked at once more, so that a reused pid is safe."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:  # it has gone
        return
    try:
        family = (pid, *trees.ancestors(pid))
        if any(_is_marked(member, identity) for member in family):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    except OSError:  # it has gone, or is not ours to signal: the next look says which
        return
    finally:
        os.close(handle)
