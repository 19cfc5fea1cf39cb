"""Process trees: find, freeze and end every process of an agent, whatever session or group it made for itself.

Two ways, and if there is a cgroup both are used: a cgroup v2 directory holds the processes born in it, and the walk
finds the descendants of a child subreaper, to which every orphan of the tree returns. The walk also catches a process
that moved itself out of the cgroup.

Standard library only: the shim runs this with no packages on its path. Nothing here reaps; a zombie counts as gone.
"""

import errno
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from host.identity import own_files

FREEZE_SECONDS = 1.0
"""Longest wait until all are frozen. The kernel takes 0.3 ms for a cgroup and 2 ms for a walk over 20 processes; a
process in an uninterruptible read can take as long as its disk, and is reported instead of waited for."""

END_SECONDS = 3.0
"""Longest wait for the end of all. 20 processes take 25 ms; a large heap takes some 100 ms a gigabyte to give back."""

POLL_SECONDS = 0.0003
"""Pause between two looks. cgroup.events can be polled, but the kernel holds its notices back for up to 10 ms."""

LINEAGE_WALKS = 20
"""Attempts to read a lineage that changes meanwhile. Each new attempt takes another end of a process within some
tens of microseconds; a lineage that still changes then is changed on purpose."""

LONGEST_LINEAGE = 1_000
"""Generations that are followed. A shell in a shell in a shell makes tens."""

GONE_ERRORS = frozenset({errno.ENOENT, errno.ESRCH, errno.ENODEV, errno.EACCES, errno.EPERM, errno.EINVAL})
"""`/proc` says the first two of a process, a removed cgroup ENODEV; EINVAL is the environment of a zombie."""

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ash", "busybox", "fish", "ksh"})
"""The programs between a CLI and its hook: it starts commands by `/bin/sh -c` (measured, 2.1.329)."""

GONE = frozenset("ZX")
STILL = frozenset("TtZX")


class TreeOutcome(NamedTuple):
    """The result of freezing or ending."""

    micros: int
    """From the call to the last process still, or gone, in microseconds."""
    left: int
    """Processes that were not, when the time was up."""


def now() -> float:
    """Monotonic seconds."""
    return time.monotonic()  # noqa: TID251 - the shim has no packages, so no clock of ours


def pause(seconds: float = POLL_SECONDS) -> None:
    """Give the kernel a moment."""
    time.sleep(seconds)


# ── what /proc says ───────────────────────────────────────────────────────────────────────────────────────────────────


def expect_gone(error: OSError) -> None:
    """Pass over the errors of a process or group that has gone, or is not ours to look at.

    Raises:
        OSError: It is any other: out of descriptors or memory, for one, and then an empty answer would be wrong.
    """
    if error.errno not in GONE_ERRORS:
        raise error


def read(path: str) -> str:
    """The text of a kernel file, or nothing if the process or group has gone."""
    text = b""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        expect_gone(error)
        return ""
    try:
        while part := os.read(fd, 65536):
            text += part
    except OSError as error:
        expect_gone(error)
    finally:
        os.close(fd)
    return text.decode(errors="replace")


def listing(path: str) -> list[str]:
    """Return the names in a directory, or none if it has gone."""
    try:
        return os.listdir(path)  # noqa: PTH208 - pathlib would cost the shim 1 MB
    except OSError as error:
        expect_gone(error)
        return []


def stat_fields(path: str) -> list[str]:
    """The fields of a `stat` file from the state on; the name before it may hold spaces and parentheses."""
    return read(path).rpartition(")")[2].split()


def parent(pid: int) -> int:
    """The parent's pid, or 0 if the process has gone."""
    fields = stat_fields(f"/proc/{pid}/stat")
    return int(fields[1]) if fields else 0


def start_ticks(pid: int) -> int:
    """When the process started, in clock ticks since boot, or 0 if it has gone; with the pid it names one process."""
    fields = stat_fields(f"/proc/{pid}/stat")
    return int(fields[19]) if fields and fields[0] not in GONE else 0


def states(pid: int) -> set[str]:
    """The states of all threads: a leader can be a zombie while its threads run."""
    found = (stat_fields(f"/proc/{pid}/task/{tid}/stat") for tid in listing(f"/proc/{pid}/task"))
    return {fields[0] for fields in found if fields}


def name(pid: int) -> str:
    """The process's short name."""
    return read(f"/proc/{pid}/comm").strip()


def children(pid: int) -> list[int]:
    """The children of all threads of a process."""
    return [
        int(child) for tid in listing(f"/proc/{pid}/task") for child in read(f"/proc/{pid}/task/{tid}/children").split()
    ]


def all_children() -> dict[int, list[int]]:
    """Everybody's children, by a look at every process."""
    table: dict[int, list[int]] = {}
    for entry in listing("/proc"):
        if entry.isdigit():
            table.setdefault(parent(int(entry)), []).append(int(entry))
    return table


def descendants(root: int, table: Mapping[int, list[int]] | None = None) -> set[int]:
    """Every process below this one, itself not counted; zombies are.

    A process that forks meanwhile can be missed: callers look again until no new one is found.

    Args:
        root: The process.
        table: Everybody's children, if they were looked up for many at once; None looks here.
    """
    known = table is None and has_children_files()
    if table is None:
        table = {} if known else all_children()
    found: set[int] = set()
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        fresh = [child for child in (children(pid) if known else table.get(pid, [])) if child not in found]
        found.update(fresh)
        waiting.extend(fresh)
    return found


def has_children_files() -> bool:
    """Whether the kernel lists children by thread (CONFIG_PROC_CHILDREN), which spares a look at every process."""
    return os.path.exists(f"/proc/{os.getpid()}/task/{os.getpid()}/children")  # noqa: PTH110 - as above


def ancestors(pid: int) -> Iterator[int]:
    """The parent, its parent, and so on, to the first process of this pid namespace."""
    while (pid := parent(pid)) > 0:
        yield pid


def lineage(pid: int) -> list[int] | None:
    """The process and all above it, up to the first of this pid namespace; None if that cannot be followed.

    One on the way up can end between two looks, and those below it then have another parent: the walk begins again.
    """
    for _ in range(LINEAGE_WALKS):
        line = [pid]
        while len(line) < LONGEST_LINEAGE and (fields := stat_fields(f"/proc/{line[-1]}/stat")):
            if (above := int(fields[1])) == 0:
                return line
            line.append(above)
    return None


def program_above(line: Sequence[int]) -> int:
    """Return the first process above that of a lineage which is no shell; 0 if there is none."""
    for pid in line[1:]:
        found = name(pid)
        if pid <= 1 or not found:
            return 0
        if found not in SHELLS:
            return pid
    return 0


def send(pid: int, number: int) -> None:
    """Signal a process; one that has gone, or that is not ours to signal, is left to the caller's next look."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


# ── a tree ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Tree:
    """The processes below a subreaper, and those in a cgroup.

    Args:
        root: Pid of the subreaper, which itself is spared; None if it has gone and only the cgroup is left.
        cgroup: The cgroup v2 directory, or None.
    """

    def __init__(self, root: int | None, cgroup: str | None = None) -> None:
        self.root = root
        self.cgroup = cgroup

    def members(self) -> set[int]:
        """Everybody in the tree who lives, by both ways of finding them."""
        return {pid for pid in self.walked() | self.grouped() if states(pid) - GONE}

    def walked(self) -> set[int]:
        """Everybody below the root."""
        return descendants(self.root) if self.root else set()

    def grouped(self) -> set[int]:
        """Everybody in the cgroup and in the cgroups below it."""
        found: set[int] = set()
        waiting = [self.cgroup] if self.cgroup else []
        while waiting:
            directory = waiting.pop()
            found.update(int(pid) for pid in read(f"{directory}/cgroup.procs").split() if pid != "0")
            waiting.extend(f"{directory}/{entry}" for entry in listing(directory) if "." not in entry)
        return found

    def holds(self, pid: int) -> bool:
        """Whether a process belongs to the tree.

        One that has gone, or whose parents cannot be followed, counts as its.
        """
        line = lineage(pid)
        return line is None or self.root in line[1:] or pid in self.grouped()

    def freeze(self) -> TreeOutcome:
        """Freeze all: the cgroup at once, then the others by SIGSTOP."""
        started = now()
        frozen = (
            self.cgroup is not None
            and write(f"{self.cgroup}/cgroup.freeze", "1")
            and await_event(f"{self.cgroup}/cgroup.events", "frozen 1", started + FREEZE_SECONDS / 2)
        )
        left = self.stop(started + FREEZE_SECONDS, spare_group=frozen)
        return TreeOutcome(since(started), left)

    def stop(self, deadline: float, *, spare_group: bool = False) -> int:
        """Send SIGSTOP until a look finds all stopped and none new; return how many were not.

        Only an unseen process can fork once all seen ones are stopped, so the look that finds none is the last.
        """
        seen: set[int] = set()
        while True:
            everybody = self.walked() - self.grouped() if spare_group else self.walked() | self.grouped()
            fresh = everybody - seen
            for pid in fresh:
                send(pid, signal.SIGSTOP)
            seen |= fresh
            if fresh and now() < deadline:
                continue
            moving = [pid for pid in seen if states(pid) - STILL]
            if not moving or now() > deadline:
                return len(moving)
            pause()

    def thaw(self) -> None:
        """Let all go on. A process that had stopped by itself goes on too: nothing tells the two apart."""
        for pid in self.walked():
            send(pid, signal.SIGCONT)
        if self.cgroup:
            write(f"{self.cgroup}/cgroup.freeze", "0")

    def end(self) -> TreeOutcome:
        """Kill all: the cgroup at once, then the rest, stopped first so that none outruns the kill by forking."""
        started = now()
        deadline = started + END_SECONDS
        if self.cgroup and write(f"{self.cgroup}/cgroup.kill", "1"):
            await_event(f"{self.cgroup}/cgroup.events", "populated 0", started + END_SECONDS / 2)
        if self.members():
            self.stop(started + FREEZE_SECONDS)
        while (left := self.members()) and now() < deadline:
            for pid in left:
                send(pid, signal.SIGKILL)
            pause()
        return TreeOutcome(since(started), len(left))


def since(started: float) -> int:
    """Microseconds since then."""
    return int((now() - started) * 1_000_000)


def write(path: str, text: str) -> bool:
    """Write to a kernel file; False if the group has gone or does not take it."""
    try:
        with own_files():
            fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.write(fd, text.encode()) > 0
    except OSError:
        return False
    finally:
        os.close(fd)


def await_event(path: str, line: str, deadline: float) -> bool:
    """Look at a cgroup's events until one reads so; False if the group has gone or the time is up."""
    while text := read(path):
        if line in text:
            return True
        if now() > deadline:
            return False
        pause()
    return False
