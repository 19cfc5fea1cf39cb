"""Times as people write them: `90s`, `10m`, `08:15`, `2026-11-21`, `2026-11-21T08:15:30`."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from supervisor.runtime.clock import Clock

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}

_DURATION = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)([smhd])")


class Duration(click.ParamType[float]):
    """A time such as `90s`, `10m`, `2h` or `1d`, in seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read it."""
        if isinstance(value, float):
            return value
        found = _DURATION.fullmatch(str(value))
        if found is None or float(found[1]) == 0:
            self.fail(f"{value!r} is no time; write a number and s, m, h or d, as in 10m.", param, ctx)
        return float(found[1]) * _UNITS[found[2]]


class FutureMoment(click.ParamType[float]):
    """A moment ahead, as Unix time: a time of today or else of tomorrow, a date, or both."""

    name = "moment"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read it."""
        if isinstance(value, float):
            return value
        text, now = str(value), datetime.fromtimestamp(Clock().wall(), UTC).astimezone()
        days = [(now + timedelta(days=ahead)).strftime("%Y-%m-%d") for ahead in (0, 1)]
        for spelled in (*(f"{day}T{text}" for day in days), text):
            try:
                moment = datetime.fromisoformat(spelled).astimezone().timestamp()
            except (ValueError, OverflowError, OSError):
                continue
            if moment > now.timestamp():
                return moment
        return self.fail(f"{text!r} is no time in the future; write 07:00, 2026-11-23 or 2026-11-23T07:00.", param, ctx)


class PastMoment(click.ParamType[float]):
    """A moment in the past, as Unix time: so long ago, a time of today, a date, or both."""

    name = "moment"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read it."""
        if isinstance(value, float):
            return value
        text = str(value)
        if found := _DURATION.fullmatch(text):
            return Clock().wall() - float(found[1]) * _UNITS[found[2]]
        today = datetime.fromtimestamp(Clock().wall(), UTC).astimezone().strftime("%Y-%m-%d")
        for spelled in (f"{today}T{text}", text):
            try:
                moment = datetime.fromisoformat(spelled).astimezone().timestamp()
            except (ValueError, OverflowError, OSError):
                continue
            if moment > Clock().wall():
                self.fail(
                    f"{text!r} lies ahead, and nothing has happened there yet; name a moment in the past.", param, ctx
                )
            return moment
        return self.fail(f"{text!r} is no time; write 10m, 08:15, 2026-11-21 or 2026-11-21T08:15.", param, ctx)
