"""The rate of requests: those that only read wait their turn, and those that act do not.

A client that reads in a loop gets as many answers as there are, and each takes the loop that answers the gate a
millisecond.
"""

from collections.abc import Callable

import anyio
from starlette.types import ASGIApp, Receive, Scope, Send

QUESTIONS_A_SECOND = 100.0
"""That are let through in the long run: at a millisecond each, a tenth of the loop's time."""

AT_ONCE = 50
"""That are let through at once after a pause: a page of a dashboard, or a script that looks at fifty agents."""

ONLY_ASKS = frozenset({("POST", "/v1/review")})
"""Requests that change nothing although their method may."""


class Turnstile:
    """Lets through so many a second, in the order in which they came.

    Args:
        mono: Gives the time, in seconds on a clock that is never set.
        a_second: Number in the long run.
        at_once: Number after a pause.
    """

    def __init__(self, mono: Callable[[], float], a_second: float = QUESTIONS_A_SECOND, at_once: int = AT_ONCE) -> None:
        self._mono, self._a_second, self._at_once = mono, a_second, float(at_once)
        self._left = float(at_once)
        self._looked_at = mono()
        self._turn = anyio.Lock()

    async def enter(self) -> None:
        """Wait for one's turn."""
        async with self._turn:
            self._fill()
            if self._left < 1:
                await anyio.sleep((1 - self._left) / self._a_second)
                self._fill()
            self._left -= 1

    def charge(self, more: float) -> None:
        """Count a request that went through as so many more; those behind it wait for that."""
        self._left -= more

    def _fill(self) -> None:
        now = self._mono()
        self._left = min(self._at_once, self._left + (now - self._looked_at) * self._a_second)
        self._looked_at = now


class QuestionsInTurn:
    """Middleware by which requests that only ask wait at a turnstile.

    Args:
        app: Answers them.
        turnstile: Where.
    """

    def __init__(self, app: ASGIApp, turnstile: Turnstile) -> None:
        self._app, self._turnstile = app, turnstile

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and _only_asks(scope["method"], scope["path"]):
            await self._turnstile.enter()
        await self._app(scope, receive, send)


def _only_asks(method: str, path: str) -> bool:
    return method in ("GET", "HEAD") or (method, path) in ONLY_ASKS
