"""The panel's one follower of the journal: pages wait here for the next event.

Events say only that something changed: what is shown is asked of the daemon anew, at a pace that leaves it most of its
time. So ten browsers cost the daemon one stream, and a browser that sleeps costs nothing.
"""

import asyncio
import os
import select
import socket
from contextlib import suppress

import anyio
import anyio.to_thread

from monitors.contract.errors import ChaperonError
from supervisor.panel.link import PanelLink, decoded

MERGE_STEP = "merge_changed"
"""The kind of the events by which merges go on."""

RETRY_SECONDS = 0.5
"""Between two looks for a daemon that is away."""


class Feed:
    """The journal's progress.

    Args:
        link: The daemon.
    """

    def __init__(self, link: PanelLink) -> None:
        self._link = link
        self.version = 0
        """Grows with each change of anything below."""
        self.last = 0
        """The number of the last event; 0 before any is known."""
        self.away = ""
        """Why the daemon cannot be asked; empty if it can."""
        self._changed: dict[str, int] = {}
        self._merged = 0
        self._tick = asyncio.Event()
        self._told = False

    def changed(self, agent: str) -> int:
        """The number of the last event that was about an agent, since the panel runs; 0 if there was none."""
        return self._changed.get(agent, 0)

    @property
    def merged(self) -> int:
        """The number of the last step of a merge, since the panel runs; 0 if there was none."""
        return self._merged

    def changed_after(self, n: int) -> set[str]:
        """The agents that events behind a number were about; the name is empty for events about none."""
        return {agent for agent, last in list(self._changed.items()) if last > n}

    async def newer(self, version: int) -> None:
        """Wait until something is newer than a version."""
        while self.version <= version:
            await self._tick.wait()

    async def run(self) -> None:
        """Follow the journal until cancelled, over restarts of the daemon."""
        while True:
            woken, wake = os.pipe()
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._once, woken, tasks.cancel_scope, name="journal")
                    try:
                        await anyio.sleep_forever()
                    finally:
                        os.close(wake)  # by which the thread wakes
            finally:
                os.close(woken)
            await anyio.sleep(RETRY_SECONDS)

    async def _once(self, woken: int, over: anyio.CancelScope) -> None:
        loop = asyncio.get_running_loop()
        try:
            there = int((await self._link.get("/v1/health"))["last_event"])
            self.last = min(self.last or there, there)  # what came while the daemon was away is read too
            self._say("")
            await anyio.to_thread.run_sync(self._follow, woken, loop, limiter=anyio.CapacityLimiter(1))
        except ChaperonError as error:
            self._say(str(error))
        over.cancel()

    def _follow(self, woken: int, loop: asyncio.AbstractEventLoop) -> None:
        """Read the stream in a thread until it ends, or until it is woken."""

        def wait(connection: socket.socket, _seconds: float | None) -> None:
            poll = select.poll()
            poll.register(connection, select.POLLIN)
            poll.register(woken, select.POLLIN)
            if woken in dict(poll.poll()):
                raise _OverError

        with suppress(_OverError):
            lines = self._link.client().lines("/v1/events", wait=wait, after=self.last, follow=True)
            for record in decoded(lines):
                self._changed[str(record.get("agent", ""))] = self.last = int(record.get("n", self.last))
                if record.get("kind") == MERGE_STEP:
                    self._merged = self.last
                if not self._told:  # many events, one tick
                    self._told = True
                    loop.call_soon_threadsafe(self._advance)

    def _say(self, away: str) -> None:
        if away != self.away or self.version == 0:
            self.away = away
            self._advance()

    def _advance(self) -> None:
        self._told = False
        self.version += 1
        tick, self._tick = self._tick, asyncio.Event()
        tick.set()


class _OverError(Exception):
    """The panel ends."""
