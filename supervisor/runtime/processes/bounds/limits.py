"""Limits put in force on an agent's real processes.

If the kernel can keep limits (a delegated control group), it does. Otherwise the tree gets lower priorities and bounds
on the memory of single processes, and is frozen for a part of each half second, which any user may do to their own
processes.
"""

import os
from collections.abc import Callable
from typing import Protocol

import anyio
import anyio.to_thread

from interventions.decisions import LimitsInForce
from supervisor.runtime.processes.bounds.cgroups import Ceiling, group_in
from supervisor.runtime.processes.bounds.priorities import Priorities
from supervisor.runtime.shim.process_tree import Tree

PERIOD_SECONDS = 0.5
"""One period of running and freezing. The tree is frozen for nine tenths of it at most, at the least share of 0.1: a
person who types, and a server that waits for a client, do not take that for dead."""

RENEW_SECONDS = 2.0
"""How soon a process that was born under limits gets them too, where they do not go from parent to child."""

NO_LIMIT_BYTES = 1 << 60
"""The value written when a memory limit ends: more than any machine has."""


FREEZE_ID = "limits"
"""The id of every freeze that keeps a limit: they are only distinguished from those of a stop or a rollback."""


class Stoppable(Protocol):
    """The interface of a shim that is used here."""

    pid: int
    cli_pid: int
    containment: str

    def freeze(self, id_: str) -> None:
        """Freeze the tree; the answer carries the id."""
        ...

    def thaw(self) -> None:
        """Let it go on."""
        ...


class Enforcer:
    """Keeps one agent's tree within limits.

    Args:
        shim: The tree's shim.
        limit: Sets a ceiling on the tree's control group and returns the names of files that could not be set.
        answers_due: Whether the CLI waits for something from us: then it does nothing, and is never frozen.
    """

    def __init__(
        self, shim: Stoppable, limit: Callable[[Ceiling], tuple[str, ...]], answers_due: Callable[[], bool]
    ) -> None:
        self._shim = shim
        self._limit = limit
        self._answers_due = answers_due
        self._priorities = Priorities(Tree(shim.pid, group_in(shim.containment)), frozenset({shim.cli_pid}))
        self._share = 1.0
        self._memory_bytes: int | None = None
        self._over = False
        self._still = False
        self._changed = anyio.Event()

    async def apply(self, limits: LimitsInForce, usual: int | None) -> None:
        """Put limits in force, or end them; the last call counts.

        Args:
            limits: What holds from here on.
            usual: The memory limit of the task, in MiB, which alone needs no lower priority.
        """
        most, share = limits.limits.max_memory_mb, limits.cpu_share
        cores = share * (os.cpu_count() or 1)
        ceiling = Ceiling(memory_high_bytes=most * 2**20 if most else NO_LIMIT_BYTES, cpu_cores=cores)
        missing = await anyio.to_thread.run_sync(self._limit, ceiling)
        self._share = share if "cpu.max" in missing else 1.0
        tightened = most is not None and most != usual
        self._memory_bytes = most * 2**20 if most and tightened and "memory.high" in missing else None
        if self._share < 1 or self._memory_bytes:
            await anyio.to_thread.run_sync(self._priorities.lower, self._share, self._memory_bytes)
        else:
            await anyio.to_thread.run_sync(self._priorities.restore)
        self._wake()

    async def run(self) -> None:
        """Freeze and let go in turns, and look after new processes, while limits ask for it; until cancelled."""
        renewed = 0.0
        while True:
            while self._over or (self._share >= 1 and self._memory_bytes is None):
                await self._changed.wait()
            await self._run_a_while()
            await self._stand_still_a_while()
            if anyio.current_time() - renewed > RENEW_SECONDS:
                renewed = anyio.current_time()
                await anyio.to_thread.run_sync(self._priorities.lower, self._share, self._memory_bytes)

    def answering(self) -> None:
        """Something is sent to the CLI: let it go on at once."""
        self._thaw()
        self._wake()

    def stand_back(self, *, thaw: bool) -> None:
        """The agent is being ended, and freezing is no more for us.

        Args:
            thaw: Whether the tree must be able to end by itself.
        """
        self._over = True
        if thaw:
            self._thaw()
        self._still = False
        self._wake()

    def go_on(self) -> None:
        """The agent goes on after all: freezing is for us again."""
        self._over = False
        self._wake()

    def reattached(self, shim: Stoppable) -> None:
        """The connection to the shim was made anew; what the old one still had to answer will not be answered."""
        if self._still:
            shim.thaw()
        self._shim, self._still = shim, False

    def is_own(self, id_: str) -> bool:
        """Whether the answer to the freeze of this id belongs to the enforcer, and to no one else.

        A shim of an older version names no id: its answer is ours unless the agent is being ended or rolled back.
        """
        return id_ == FREEZE_ID or (not id_ and self._share < 1 and not self._over)

    async def _run_a_while(self) -> None:
        await anyio.sleep(PERIOD_SECONDS * self._share)

    async def _stand_still_a_while(self) -> None:
        if self._share >= 1 or self._over or self._answers_due():
            return
        self._still = True
        self._shim.freeze(FREEZE_ID)
        with anyio.move_on_after(PERIOD_SECONDS * (1 - self._share)):
            await self._changed.wait()
        self._thaw()

    def _thaw(self) -> None:
        if self._still:
            self._still = False
            self._shim.thaw()

    def _wake(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
