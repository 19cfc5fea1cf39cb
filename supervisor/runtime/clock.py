"""The one place that reads the clocks."""

import time
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from supervisor.protocol.kinds.stamp import EventStamp

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

SETTLING_SECONDS = 3_600.0
"""How long a clock is not trusted for what is lost by it. A machine that starts with a wrong one has it set once there
is a network; chrony and systemd-timesyncd ask again within 17 and 34 minutes at the latest."""


class Clock:
    """The machine's clocks. Events carry what it says; nothing that decides asks it."""

    def wall(self) -> float:
        """Return Unix time in seconds. It may jump, so it is for people only."""
        return time.time()

    def mono(self) -> float:
        """Return seconds on CLOCK_MONOTONIC: it never goes back, and compares only within one boot."""
        return time.monotonic()

    def stamp(self, agent: str) -> EventStamp:
        """Return what an event of now carries: the agent that it is about, empty for the daemon, and both times."""
        return {"agent": agent, "at": self.wall(), "mono": self.mono()}

    def nanos(self) -> int:
        """Return nanoseconds on the finest clock there is, for telling how long something took."""
        return time.perf_counter_ns()

    def offset(self, zone: str) -> int:
        """Return seconds east of UTC of a time zone now.

        For the empty name and for an unknown one they are this machine's own.
        """
        try:
            there = datetime.now(ZoneInfo(zone) if zone else None).astimezone(ZoneInfo(zone) if zone else None)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            there = datetime.now().astimezone()
        return int((there.utcoffset() or timedelta()).total_seconds())

    def boot_id(self) -> str:
        """Return the id of this boot of the machine; readings of `mono` compare only where it is equal.

        Empty if the kernel gives none, which makes every start count as a new boot.
        """
        try:
            return _BOOT_ID.read_text().strip()
        except OSError:
            return ""


class SteadyTime:
    """The time by which something is old enough to be removed: a clock that is set ahead makes nothing old.

    Args:
        clock: The machine's clocks.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock, self._began = clock, clock.mono()
        self._settled: tuple[float, float] | None = None

    def now(self) -> float:
        """Return Unix time, no later than time has passed since the clock was first trusted; until then 0."""
        wall, mono = self._clock.wall(), self._clock.mono()
        if self._settled is None:
            if self.settles_in() > 0:
                return 0.0
            self._settled = wall, mono
        at, since = self._settled
        return min(wall, at + mono - since)

    def settles_in(self) -> float:
        """Return the seconds until the clock is trusted."""
        return max(0.0, self._began + SETTLING_SECONDS - self._clock.mono())
