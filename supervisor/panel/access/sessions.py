"""One-time links, and the sessions of browsers that they begin.

Sessions live in memory and end with the panel. All times are monotonic: a clock that jumps ends and prolongs none.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

LINK_SECONDS = 600.0
"""How long a link is good: time to copy it to another device, and less than a terminal's scrollback is kept."""

MOST_SESSIONS = 32
"""Browsers at once; the oldest session ends for another."""

SESSION_SECONDS = 7 * 86_400.0
"""How long a session lasts: a browser that slept over a weekend need not sign in again."""

RANDOM_BYTES = 32
"""Of codes, cookies and tokens: 256 bits, more than can be guessed."""


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """A browser that signed in."""

    cookie: str
    token: str
    """The token that each action must carry, against requests forged from elsewhere."""
    began: float
    """Monotonic seconds."""


@dataclass(slots=True)
class Sessions:
    """Codes that were given out and sessions that were begun.

    Args:
        now: Monotonic seconds.
    """

    now: Callable[[], float]
    _codes: dict[str, float] = field(default_factory=dict)
    _sessions: dict[str, BrowserSession] = field(default_factory=dict)

    def new_code(self) -> str:
        """Return a code that begins one session."""
        code = secrets.token_urlsafe(RANDOM_BYTES)
        self._codes = {one: at for one, at in self._codes.items() if self.now() - at < LINK_SECONDS}
        self._codes[code] = self.now()
        return code

    def begin(self, code: str) -> BrowserSession | None:
        """Begin a session and use the code up; None if the code is not good, or not any more."""
        given = next((one for one in self._codes if secrets.compare_digest(one.encode(), code.encode())), None)
        if given is None or self.now() - self._codes.pop(given) >= LINK_SECONDS:
            return None
        made = BrowserSession(secrets.token_urlsafe(RANDOM_BYTES), secrets.token_urlsafe(RANDOM_BYTES), self.now())
        self._sessions[made.cookie] = made
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.pop(next(iter(self._sessions)))
        return made

    def of(self, cookie: str) -> BrowserSession | None:
        """Return the session of a cookie; None if it has none."""
        found = self._sessions.get(cookie)
        if found is not None and self.now() - found.began >= SESSION_SECONDS:
            self.end(cookie)
            return None
        return found

    def end(self, cookie: str) -> None:
        """End a session."""
        self._sessions.pop(cookie, None)
