"""The mark of an agent's processes: a hard limit that each child inherits and that no ordinary process can raise again.

An agent's program can change its environment, its session, its parent and, if it may write there, its control group.
It cannot raise a hard limit (setrlimit(2)): lowered before the CLI runs, the limit distinguishes each later process of
the agent from all others. The limit is that on file locks, which Linux has not looked at since 2.4.25 (getrlimit(2)). A
process with CAP_SYS_RESOURCE, as root has it, can raise it: then the other signs of an agent's processes are left.

Standard library only: the shim runs this with no packages on its path.
"""

import os
import resource

from supervisor.runtime.shim import process_tree

LIMIT = 10
"""RLIMIT_LOCKS of `asm-generic/resource.h`, the same for every architecture; Python's `resource` has no name for it."""

HIGHEST = 2**62
"""The number for "unlimited", so that a daemon that is itself an agent's process can mark below its own mark."""

LEAST = 2**20
"""The lowest limit of our own that leaves room for marks: below it two agents could well draw the same."""

LINE = "Max file locks"
"""How `/proc/PID/limits` begins the line of this limit: the name, the soft limit, the hard limit, the unit."""


def draw() -> int:
    """Return a mark for a new agent; 0 if our own limit is too low for a mark below it.

    The numbers lie in the second quarter of our range, so that there is as much room again below each mark.
    """
    ours = own()
    return ours // 4 + int.from_bytes(os.urandom(8)) % (ours // 4) if ours >= LEAST else 0


def own() -> int:
    """Our own hard limit."""
    hard = resource.getrlimit(LIMIT)[1]
    return HIGHEST if hard == resource.RLIM_INFINITY else min(hard, HIGHEST)


def put(mark: int) -> None:
    """Mark this process and all that it will start."""
    resource.setrlimit(LIMIT, (mark, mark))


def put_on(pid: int, mark: int) -> bool:
    """Mark another process of this user, and all that it will start; return whether it carries the mark now."""
    try:
        resource.prlimit(pid, LIMIT, (mark, mark))
    except (OSError, ValueError):  # it has gone, is another user's, or carries a lower mark
        return False
    return True


def mark_of(pid: int) -> int | None:
    """Return a process's hard limit, `HIGHEST` if it has none; None if the process has gone."""
    line = next((line for line in process_tree.read(f"/proc/{pid}/limits").splitlines() if line.startswith(LINE)), None)
    if line is None:
        return None
    hard = line.removeprefix(LINE).split()[1]
    return min(int(hard), HIGHEST) if hard.isdecimal() else HIGHEST


def is_marked(pid: int) -> bool:
    """Whether a process carries the mark of some agent: its limit is lower than ours.

    One that has gone counts as marked.
    """
    return (mark_of(pid) or 0) < own()
