"""The process of an attached CLI: found above its hook, known again, watched, held and ended.

It is the CLI's pid with its start time that an agent is bound to: the kernel names the process that connected, and the
CLI is above it. What a program says about itself is not asked.
"""

import os
import re
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

import anyio
import anyio.to_thread

from host.children import ChildCommand, run_child
from host.identity import is_apart
from supervisor.runtime.shim import marks, process_tree

GRACE_SECONDS = 2.0
"""Time in which a CLI that is asked to end gives its terminal back and writes its session file; it takes 0.1 s."""

MARK_SECONDS = 5.0
"""How long the program may take that marks a process of another user; it takes 2 ms."""


class CliTree(process_tree.Tree):
    """The processes below a CLI, and those of its mark, which let themselves be adopted by others.

    Args:
        root: The CLI, which itself is spared.
        mark: The mark; 0 if it has none.
    """

    def __init__(self, root: int, mark: int) -> None:
        super().__init__(root)
        self._top, self._mark = root, mark

    def walked(self) -> set[int]:
        """Everybody below the CLI, and everybody of its mark with all below these."""
        found = super().walked()
        if self._mark:
            own = {self._top, os.getpid()}
            everybody = {int(name) for name in process_tree.listing("/proc") if name.isdigit()} - found - own
            marked = {pid for pid in everybody if marks.mark_of(pid) == self._mark}
            found = found.union(marked, *map(process_tree.descendants, marked)) - own
        return found


@dataclass(frozen=True, slots=True)
class CliProcess:
    """One process, which a reused number never means."""

    pid: int
    start_ticks: int
    """When it started, in clock ticks since boot."""

    @classmethod
    def above(cls, lineage: Sequence[int]) -> Self | None:
        """Return the process whose hook connected: the first above it that is no shell. None if there is none.

        Args:
            lineage: The process that connected, and all above it.
        """
        pid = process_tree.program_above(lineage)
        ticks = process_tree.start_ticks(pid) if pid else 0
        return cls(pid, ticks) if ticks else None

    def is_running(self) -> bool:
        """Whether it still runs. Blocks for some microseconds, as all here that is no coroutine."""
        return process_tree.start_ticks(self.pid) == self.start_ticks

    def terminal(self) -> str:
        """Return its terminal's device, as `pts/3`; empty if it has none."""
        fields = process_tree.stat_fields(f"/proc/{self.pid}/stat")
        number = int(fields[4]) if len(fields) > 4 else 0
        major, minor = os.major(number), os.minor(number)
        if 136 <= major <= 143:  # Unix98 terminals, 256 for each number (devices.txt of the kernel)
            return f"pts/{(major - 136) * 256 + minor}"
        return f"tty{minor}" if major == 4 else ""

    def marked(self) -> int:
        """Mark it and all that it will start as an agent's; return the mark, 0 if it cannot be marked.

        A process of it that lets itself be adopted by another is known by that. One that it started before is not.
        """
        mark = marks.draw()
        if not mark or not self.is_running():
            return 0
        if is_apart():  # the real user has to be that of the other process (prlimit(2))
            words = ["prlimit", f"--pid={self.pid}", f"--locks={mark}:{mark}"]
            with suppress(OSError):
                run_child(
                    ChildCommand(argv=words, environment={"PATH": os.defpath}, seconds=MARK_SECONDS, output_bytes=0)
                )
            return mark if marks.mark_of(self.pid) == mark else 0
        return mark if marks.put_on(self.pid, mark) else 0

    async def gone(self) -> None:
        """Return once it has ended."""
        try:
            handle = os.pidfd_open(self.pid)
        except OSError:
            return
        try:
            if await anyio.to_thread.run_sync(self.is_running):
                await anyio.wait_readable(handle)
        finally:
            os.close(handle)

    def hold(self, mark: int = 0) -> process_tree.TreeOutcome:
        """Freeze the processes below it, and those of its mark. Blocks for some milliseconds.

        The CLI itself goes on: its calls are held at the gate, and a shell that sees its job stopped would take the
        terminal back.
        """
        started = process_tree.now()
        left = CliTree(self.pid, mark).stop(started + process_tree.FREEZE_SECONDS) if self.is_running() else 0
        return process_tree.TreeOutcome(process_tree.since(started), left)

    def let_go(self, mark: int = 0) -> None:
        """Let them go on. Blocks."""
        if self.is_running():
            CliTree(self.pid, mark).thaw()

    def ask_to_end(self) -> None:
        """Send SIGTERM: it gives the terminal back, and writes its session file."""
        if self.is_running():
            process_tree.send(self.pid, signal.SIGTERM)

    async def end(self, mark: int = 0) -> process_tree.TreeOutcome:
        """End it, all below it and all of its mark; of a CLI without a mark, what it let go of is not found."""
        started = process_tree.now()
        tree, sync = CliTree(self.pid, mark), anyio.to_thread.run_sync
        if not await sync(self.is_running):
            tree.root = None  # the number may be another's by now
            return await sync(tree.end) if mark else process_tree.TreeOutcome(0, 0)
        below = await sync(tree.end)
        await sync(self.ask_to_end)
        with anyio.move_on_after(GRACE_SECONDS):
            await self.gone()
        if await sync(self.is_running):
            below = await sync(tree.end)  # with what it began meanwhile
            process_tree.send(self.pid, signal.SIGKILL)
            with anyio.move_on_after(GRACE_SECONDS):
                await self.gone()
        left = below.left + await sync(self.is_running)
        return process_tree.TreeOutcome(process_tree.since(started), left)


def tell_terminal(device: str, text: str) -> bool:
    """Write a line to a terminal; returns whether it took it. Blocks for some microseconds.

    Args:
        device: The terminal, as `pts/3`.
        text: The line. What a terminal could take for a command is made visible.
    """
    line = "".join(char if char.isprintable() else "�" for char in text)
    if not re.fullmatch(r"pts/\d+|tty\d+", device):
        return False
    try:
        # It takes what fits, so that one that is stopped holds nobody up, and it becomes nobody's own terminal.
        handle = os.open(f"/dev/{device}", os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            return os.isatty(handle) and os.write(handle, f"\r\n{line}\r\n".encode(errors="replace")) > 0
        finally:
            os.close(handle)
    except OSError:
        return False
