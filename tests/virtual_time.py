"""Time by hand: an event loop whose clock jumps to the next deadline instead of waiting for it."""

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio

T = TypeVar("T")


class _Jumping(selectors.DefaultSelector):
    """Waits for nothing: the time that would have been waited is added to the clock."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "nothing will ever happen any more"
            self.now += timeout
        return ready


def run(work: Callable[[Callable[[], float]], Awaitable[T]]) -> T:
    """Run work to its end; it is given the clock, in seconds since its start. It must not use threads."""
    selector = _Jumping()

    def loop() -> asyncio.AbstractEventLoop:
        made = asyncio.SelectorEventLoop(selector)
        made.time = lambda: selector.now  # type: ignore[method-assign]
        return made

    options: dict[str, Any] = {"loop_factory": loop}
    return anyio.run(work, lambda: selector.now, backend_options=options)
