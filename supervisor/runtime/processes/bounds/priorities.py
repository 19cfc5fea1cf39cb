"""Lower priorities and bounds for a tree's processes, if no control group keeps limits; each can be taken back.

nice and the I/O class decide the order if there is not enough for all; the OOM score decides which process the kernel
ends first; RLIMIT_DATA bounds the memory of one process. The CLI itself gets no bound: a CLI that cannot allocate dies,
and the run with it. Its tools get an error that they can report to the model.
"""

import os
import resource
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from supervisor.runtime.shim.process_tree import Tree
from supervisor.runtime.shim.spawn import NICENESS

LEAST_NICE, MOST_NICE = NICENESS + 1, 19
"""Values of nice for shares of nearly one, which is lower than every agent is, and of nearly nothing."""

IO_CLASS, IO_LEVEL = psutil.IOPRIO_CLASS_BE, 7
"""Last among the ordinary; the idle class could starve for good beside a busy neighbour."""

OOM_SCORE = 500
"""Added to a process's score when the kernel looks for one to end: half of all memory, before the daemon and the
shim."""


@dataclass(frozen=True, slots=True)
class _Before:
    """The earlier values of a process."""

    nice: int
    io: tuple[int, int]
    oom: int
    data: tuple[int, int]


class Priorities:
    """Those of one tree.

    Args:
        tree: Its processes.
        unbounded: Processes that get no bound on memory.
    """

    def __init__(self, tree: Tree, unbounded: frozenset[int]) -> None:
        self._tree = tree
        self._unbounded = unbounded
        self._before: dict[tuple[int, float], _Before] = {}

    def lower(self, share: float, memory_bytes: int | None) -> int:
        """Lower those of every process that is there now; new ones are found by the next call. Blocks for milliseconds.

        Args:
            share: Processor time that the tree is left, 0 to 1.
            memory_bytes: What a single process may allocate; None bounds nothing.

        Returns:
            How many processes were looked after.
        """
        done = 0
        for process in self._processes():
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied, OSError):
                key = (process.pid, process.create_time())
                before = self._before.get(key) or _read(process)
                self._before[key] = before
                _set(process, _lowered(before, share, None if process.pid in self._unbounded else memory_bytes))
                done += 1
        return done

    def restore(self) -> None:
        """Give every process back what it had; children got theirs from their parents and lose it as those do."""
        usual = next(iter(self._before.values()), None)
        for process in self._processes():
            if usual is None:
                break
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied, OSError):
                _set(process, self._before.get((process.pid, process.create_time()), usual))
        self._before.clear()

    def _processes(self) -> list[psutil.Process]:
        found = []
        for pid in sorted(self._tree.members()):
            with suppress(psutil.NoSuchProcess):
                found.append(psutil.Process(pid))
        return found


def can_be_undone() -> bool:
    """Whether this user may raise a nice value again that it lowered."""
    return os.geteuid() == 0


def _read(process: psutil.Process) -> _Before:
    io = process.ionice()
    return _Before(
        nice=process.nice(),
        io=(int(io.ioclass), int(io.value)),
        oom=int(Path(f"/proc/{process.pid}/oom_score_adj").read_text()),
        data=process.rlimit(resource.RLIMIT_DATA),
    )


def _lowered(before: _Before, share: float, memory_bytes: int | None) -> _Before:
    nice, io = before.nice, before.io
    if share < 1:
        nice = max(before.nice, LEAST_NICE + round((MOST_NICE - LEAST_NICE) * (1 - share)))
        io = (int(IO_CLASS), IO_LEVEL)
    soft, hard = before.data
    bounds = [value for value in (soft, hard, memory_bytes) if value is not None and value != resource.RLIM_INFINITY]
    data = (min(bounds) if memory_bytes is not None else soft, hard)
    return _Before(nice, io, max(before.oom, OOM_SCORE), data)


def _set(process: psutil.Process, wanted: _Before) -> None:
    if can_be_undone():
        process.nice(wanted.nice)
    ioclass, level = wanted.io
    process.ionice(ioclass, level if ioclass in (psutil.IOPRIO_CLASS_BE, psutil.IOPRIO_CLASS_RT) else 0)
    Path(f"/proc/{process.pid}/oom_score_adj").write_text(str(wanted.oom))
    process.rlimit(resource.RLIMIT_DATA, wanted.data)
