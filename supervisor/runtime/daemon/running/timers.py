"""Named timers: `fire` is called with the name once the time has come, unless it was started again or stopped."""

from collections.abc import Callable

import anyio
from anyio.abc import TaskGroup


class Timers:
    """The timers of one agent.

    Args:
        tasks: Where waiting happens; its end is the end of every timer.
        fire: Called in the event loop with the name of a timer that ran out.
    """

    def __init__(self, tasks: TaskGroup, fire: Callable[[str], object]) -> None:
        self._tasks = tasks
        self._fire = fire
        self._scopes: dict[str, anyio.CancelScope] = {}

    def start(self, name: str, after_seconds: float) -> None:
        """Start the timer, or start it again from now."""
        self.stop(name)
        scope = self._scopes[name] = anyio.CancelScope()
        self._tasks.start_soon(self._wait, name, after_seconds, scope, name=f"timer {name}")

    def stop(self, name: str) -> None:
        """Cancel the timer; nothing happens if there is none."""
        if scope := self._scopes.pop(name, None):
            scope.cancel()

    async def _wait(self, name: str, after_seconds: float, scope: anyio.CancelScope) -> None:
        with scope:
            await anyio.sleep(after_seconds)
        if not scope.cancelled_caught and self._scopes.get(name) is scope:
            del self._scopes[name]
            self._fire(name)
