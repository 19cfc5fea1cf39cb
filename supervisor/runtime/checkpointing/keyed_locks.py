"""A lock for each of many things that come and go, so that work on one does not wait for work on another."""

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

import anyio


class KeyedLocks:
    """Locks by key. A lock that is neither held nor awaited takes no room. Used from one event loop."""

    def __init__(self) -> None:
        self._locks: dict[Hashable, tuple[anyio.Lock, int]] = {}

    def __len__(self) -> int:
        """Return how many are held."""
        return len(self._locks)

    @asynccontextmanager
    async def of(self, key: Hashable) -> AsyncIterator[None]:
        """Hold the lock of this key in the block."""
        lock, users = self._locks.get(key, (anyio.Lock(fast_acquire=True), 0))
        self._locks[key] = lock, users + 1
        try:
            async with lock:
                yield
        finally:
            users = self._locks[key][1] - 1
            if users:
                self._locks[key] = lock, users
            else:
                del self._locks[key]
