"""Until when a usage limit holds, read from the CLI's own words.

Seen forms: "Claude AI usage limit reached|1760000000" (a Unix time), "You've hit your session limit · resets 3pm
(Europe/Berlin)", "5-hour limit reached ∙ resets 3:30am", "resets Oct 9, 5pm", "Your limit will reset at 7pm (UTC)".
"""

import re
from calendar import timegm
from collections.abc import Callable

Offset = Callable[[str], int]
"""Seconds east of UTC of a named time zone now; of the machine's own for the empty name, and for an unknown one."""

MARGIN_SECONDS = 60
"""Waited beyond the stated time: the stated hour is rounded, and clocks differ."""

DEFAULT_SECONDS = 3_600
"""How long to wait where the text does not say until when: the shortest stated window is five hours, and asking once an
hour costs one refused request each."""

MOST_SECONDS = 8 * 86_400
"""Longest wait believed: the longest window is a week."""

_STAMP = re.compile(r"limit reached\|(?P<at>\d{10})\b")
_CLOCK = re.compile(
    r"resets?(?: at| on)?\s+(?:(?P<month>[A-Z][a-z]{2})[a-z]*\.? (?P<day>\d{1,2}),?(?: at)? )?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s*(?P<half>[ap]m)?\b(?:\s*\((?P<zone>[\w/+-]+)\))?",
    re.IGNORECASE,
)
_MONTHS = {
    name: n
    for n, name in enumerate(["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1)
}


def resets_at(text: str, now: float, offset: Offset) -> float | None:
    """The Unix time, in seconds, from which the session can go on; None if the text does not say.

    Args:
        text: What the CLI said.
        now: Unix time now, in seconds.
        offset: Where the time zones are. Around a change of the clocks the answer may be an hour off.
    """
    if found := _STAMP.search(text):
        return _believed(float(found["at"]), now)
    for found in _CLOCK.finditer(text):
        stated = _stated(found, now, offset)
        if stated is not None and (believed := _believed(stated, now)) is not None:
            return believed
    return None


def wait_seconds(text: str, now: float, offset: Offset, noticed: float | None = None) -> float:
    """Return the seconds to wait: until the stated reset and a minute more, or an hour if none is stated.

    Args:
        text: What the CLI said.
        now: Unix time now, in seconds.
        offset: Where the time zones are.
        noticed: The reset of a notice apart from the text, in Unix seconds, which comes first: it names no time zone.
    """
    at = _believed(noticed, now) if noticed is not None else None
    at = resets_at(text, now, offset) if at is None else at
    return DEFAULT_SECONDS if at is None else max(0.0, at - now) + MARGIN_SECONDS


def _believed(at: float, now: float) -> float | None:
    return at if now - 86_400 <= at <= now + MOST_SECONDS else None


def _stated(found: re.Match[str], now: float, offset: Offset) -> float | None:
    hour, minute = int(found["hour"]), int(found["minute"] or 0)
    half = (found["half"] or "").lower()
    if (half and not 1 <= hour <= 12) or hour > 23 or minute > 59 or not (half or found["minute"]):
        return None
    hour = hour % 12 + (12 if half == "pm" else 0) if half else hour
    east = offset(found["zone"] or "")
    local = now + east
    if found["month"] is None:
        at = local - local % 86_400 + hour * 3_600 + minute * 60
        return (at if at > local else at + 86_400) - east
    month = _MONTHS.get(found["month"].lower())
    if month is None or not 1 <= int(found["day"]) <= 31:
        return None
    year = _year_of(local)
    at = timegm((year, month, int(found["day"]), hour, minute, 0))
    return (at if at > local - 86_400 else timegm((year + 1, month, int(found["day"]), hour, minute, 0))) - east


def _year_of(seconds: float) -> int:
    """The year of a Unix time."""
    year = 1970 + int(seconds // (365.2425 * 86_400))
    while timegm((year + 1, 1, 1, 0, 0, 0)) <= seconds:
        year += 1
    while timegm((year, 1, 1, 0, 0, 0)) > seconds:
        year -= 1
    return year
