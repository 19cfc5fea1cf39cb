"""Usage of an agent's process tree: one sample, by what /proc says, or by the cgroup's own files if there are any.

Processes come and go during a sample. One that ends meanwhile counts with the values read so far, and the usage of
ended processes stays in the sum: used processor time and bytes never fall.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from host.identity import looking
from supervisor.runtime.shim import process_tree

MIB = 1024 * 1024

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
"""The units of /proc/PID/stat."""

MAX_FILES = 200_000
"""Most files of a workspace that are measured. A larger workspace is reported with the size of that many, so that a
sample stays short."""

SKIPPED = frozenset({".git"})
"""Directories that are not the agent's work."""


@dataclass(frozen=True, slots=True)
class Figures:
    """One look at a process tree; the fields are those of `ResourcesSampled`."""

    memory_mb: float
    cpu_seconds: float
    processes: int
    open_files: int
    io_bytes: int
    disk_mb: float


@dataclass(slots=True)
class _Used:
    """Usage of one process, at the last sample."""

    cpu_seconds: float = 0.0
    io_bytes: int = 0


@dataclass(slots=True)
class _Look:
    """Sums of a sample."""

    memory: int = 0
    processes: int = 0
    open_files: int = 0
    used: dict[tuple[int, int], _Used] = field(default_factory=dict)


class Sampler:
    """Looks at one agent's tree, again and again. Remembers what ended processes had used."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], _Used] = {}
        self._ended = _Used()

    def sample(
        self,
        root_pid: int,
        cgroup: Path | None = None,
        workspace: Path | None = None,
        *,
        spare_root: bool = False,
        table: Mapping[int, list[int]] | None = None,
    ) -> Figures:
        """Look once. A tree that is gone gives no memory and no processes, and what it had used.

        Args:
            root_pid: The process at the root: the shim or the CLI. Its descendants are found by their parents, so that
                those adopted by init are missed; a cgroup has them all.
            cgroup: Its control group, if it has one of its own.
            workspace: The directory whose size is wanted; None gives 0. It takes about a second for 100,000 files, so
                a caller asks for it seldom.
            spare_root: Whether the root is left out, as a shim is: it is none of the agent's.
            table: Everybody's children, as looked up once for a whole pass; None looks here.
        """
        look = _Look()
        for pid in _processes(root_pid, cgroup, table):
            if not (spare_root and pid == root_pid):
                _add(look, pid)
        self._remember(look)
        memory = _number(cgroup, "memory.current")
        cpu = sum(used.cpu_seconds for used in look.used.values()) + self._ended.cpu_seconds
        in_group = _cpu_of_group(cgroup)
        return Figures(
            memory_mb=round((look.memory if memory is None else memory) / MIB, 3),
            cpu_seconds=round(cpu if in_group is None else max(cpu, in_group), 3),
            processes=look.processes,
            open_files=look.open_files,
            io_bytes=sum(used.io_bytes for used in look.used.values()) + self._ended.io_bytes,
            disk_mb=round(size_of(workspace) / MIB, 3) if workspace else 0.0,
        )

    def _remember(self, look: _Look) -> None:
        for key, used in self._known.items():
            if key not in look.used:
                self._ended.cpu_seconds += used.cpu_seconds
                self._ended.io_bytes += used.io_bytes
        self._known = look.used


def _processes(root_pid: int, cgroup: Path | None, table: Mapping[int, list[int]] | None) -> list[int]:
    """The processes of the group, or else the root and its descendants."""
    listed = _text(cgroup, "cgroup.procs")
    pids = [int(word) for word in listed.split() if word.isdigit()] if listed is not None else []
    return pids or [root_pid, *process_tree.descendants(root_pid, table)]


def _add(look: _Look, pid: int) -> None:
    """Add one process; values that cannot be read, because it is gone or another user's, are left out."""
    fields = process_tree.stat_fields(f"/proc/{pid}/stat")
    if not fields or fields[0] in process_tree.GONE:
        return
    used = look.used.setdefault((pid, int(fields[19])), _Used())
    look.processes += 1
    look.memory += int(fields[21]) * PAGE_BYTES
    used.cpu_seconds = (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND
    with looking():
        used.io_bytes = _io_bytes(pid)
        look.open_files += len(process_tree.listing(f"/proc/{pid}/fd"))


def _io_bytes(pid: int) -> int:
    """Bytes read and written through system calls; the disk may have seen fewer."""
    words = process_tree.read(f"/proc/{pid}/io").split()
    counters = dict(zip(words[::2], words[1::2], strict=False))
    return int(counters.get("rchar:", 0)) + int(counters.get("wchar:", 0))


def _text(cgroup: Path | None, name: str) -> str | None:
    """The content of a control file, or None if there is none: no group, no such controller, or the group is gone."""
    if cgroup is None:
        return None
    try:
        return (cgroup / name).read_text()
    except OSError:
        return None


def _number(cgroup: Path | None, name: str) -> int | None:
    text = (_text(cgroup, name) or "").strip()
    return int(text) if text.isdigit() else None


def _cpu_of_group(cgroup: Path | None) -> float | None:
    """Processor time of the group, of ended processes too, in seconds."""
    for line in (_text(cgroup, "cpu.stat") or "").splitlines():
        name, _, value = line.partition(" ")
        if name == "usage_usec" and value.strip().isdigit():
            return int(value) / 1_000_000
    return None


def size_of(directory: Path) -> int:
    """Return the bytes of the files below a directory.

    Links are not followed, git's own files are left out, and vanished files are not counted.
    """
    total = files = 0
    waiting = [str(directory)]
    while waiting and files < MAX_FILES:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in SKIPPED:
                            waiting.append(entry.path)
                        continue
                    files += 1
                    try:
                        total += entry.stat(follow_symlinks=False).st_size
                    except OSError:
                        continue
        except OSError:
            continue
    return total
