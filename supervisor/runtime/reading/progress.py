"""How far the files have come, as the daemon tells it, and waiting for more of it."""

import anyio

from supervisor.runtime.reading.jobs import FileProgress


class Follower:
    """The progress that followers wait for. Used from one event loop."""

    def __init__(self) -> None:
        self._now = FileProgress(0, 0)
        self._changed = anyio.Event()

    @property
    def written(self) -> int:
        """Number of the last record that is written."""
        return self._now.written

    @property
    def incidents(self) -> int:
        """How often the incident log grew."""
        return self._now.incidents

    @property
    def over(self) -> bool:
        """Whether nothing follows."""
        return self._now.over

    def tell(self, now: FileProgress) -> None:
        """Wake all who wait; they look whether it is what they wait for."""
        self._now = now
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    async def change(self) -> None:
        """Wait for the next change; returns at once if nothing follows."""
        if not self.over:
            await self._changed.wait()

    async def reach(self, n: int) -> None:
        """Wait until a record is written, or nothing follows."""
        while self.written < n and not self.over:
            await self._changed.wait()
