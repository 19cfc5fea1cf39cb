"""The process of an attached CLI: found above its hook, known again, watched, held and ended.

It is the CLI's pid with its start time that an agent is bound to: the kernel names the process that connected, and the
CLI is above it. What a program says about itself is not asked.
"""

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import anyio
import anyio.to_thread

from supervisor.runtime.shim import marks, process_tree

GRACE_SECONDS = 2.0
"""Time in which a CLI that is asked to end gives its terminal back and writes its session file; it takes 0.1 s."""


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
        return mark if mark and self.is_running() and marks.put_on(self.pid, mark) else 0

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

    def hold(self) -> process_tree.TreeOutcome:
        """Freeze the processes below it. Blocks for some milliseconds.

        The CLI itself goes on: its calls are held at the gate, and a shell that sees its job stopped would take the
        terminal back.
        """
        started = process_tree.now()
        left = process_tree.Tree(self.pid).stop(started + process_tree.FREEZE_SECONDS) if self.is_running() else 0
        return process_tree.TreeOutcome(process_tree.since(started), left)

    def let_go(self) -> None:
        """Let the processes below it go on. Blocks."""
        if self.is_running():
            process_tree.Tree(self.pid).thaw()

    def ask_to_end(self) -> None:
        """Send SIGTERM: it gives the terminal back, and writes its session file."""
        if self.is_running():
            process_tree.send(self.pid, signal.SIGTERM)

    async def end(self) -> process_tree.TreeOutcome:
        """End it and all below it; what it started and let go of is not found."""
        started = process_tree.now()
        tree, sync = process_tree.Tree(self.pid), anyio.to_thread.run_sync
        if not await sync(self.is_running):
            return process_tree.TreeOutcome(0, 0)
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
