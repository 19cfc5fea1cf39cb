"""Meters of one resource: its usage, its growth from look to look, and the time until its limit at this pace."""

from dataclasses import dataclass

from monitors.contract.wording import counted, dollars, duration
from monitors.streaks import MAX_EVIDENCE

LOOKS = 4
"""Looks over which the pace of growth is measured, and the least that growth lasts before it counts. Growth reaches the
threshold of 0.8 at five fold: after four looks at 1.71 times each, after ten at 1.2."""

STEPS_OF_A_SLOPE = 5
"""Steps over which the pace is measured that is projected to the limit."""


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """A resource that is watched."""

    name: str
    unit: str
    floor: float
    """Growth to less than this, in a look, means nothing."""

    def amount(self, value: float) -> str:
        """So much of it, with its unit. Examples: `$0.52`, `1,200 MiB`, `5 min 10 s`."""
        match self.name:
            case "cost":
                return dollars(value)
            case "memory" | "disk":
                return f"{value:,.0f} MiB"
            case "run time" | "time per step":
                return duration(value)
            case "tokens":
                return counted(round(value), "token")
        return f"{value:,.0f}"


KINDS = {
    kind.name: kind
    for kind in (
        ResourceKind("memory", "MiB", 1024),
        ResourceKind("processes", "processes", 40),
        ResourceKind("open files", "open files", 500),
        ResourceKind("disk", "MiB in the workspace", 2048),
        ResourceKind("tokens", "fresh tokens in 10 replies", 300_000),
        ResourceKind("file operations", "files written or deleted in 10 steps", 60),
        ResourceKind("time per step", "s a step", 60),
        ResourceKind("calls", "calls a minute", 60),
        ResourceKind("run time", "s", float("inf")),
        ResourceKind("cost", "US dollars", float("inf")),
    )
}
"""Floors are well above what real runs have: a CLI with a build beside it holds about 1 GiB in 10 to 20 processes."""


@dataclass(slots=True)
class GrowthMeter:
    """The looks at one resource."""

    kind: ResourceKind
    limit: float | None = None
    used: float = 0.0
    """Present or total usage; compared with the limit."""
    marked_used: float = 0.0
    marked_step: int = 0
    slope: float = 0.0
    """Growth for each step, since the mark before the last."""
    growth: float = 0.0
    """1 minus first over last, from where each look began to be so many times the one before; else 0."""
    first: float = 0.0
    """The look at which the growth began that still goes on."""
    growing: int = 0
    """Looks since then."""
    looks: tuple[float, ...] = ()
    """The last ones, oldest first; a deque would hold 0.7 KB for them, and each agent has ten meters."""
    evidence: tuple[int, ...] = ()
    """The events of the last looks."""
    pending: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        """Count towards the next look."""
        self.pending += value
        self.count += 1

    def look(self, value: float, seq: int, rate: float) -> None:
        """Finish a look, and see whether each is so many times the one before."""
        self.looks = (*self.looks, value)[-LOOKS:]
        self.evidence = (*self.evidence, seq)[-MAX_EVIDENCE:]
        self.pending, self.count = 0.0, 0
        before = self.looks[-2] if len(self.looks) > 1 else 0.0
        if before <= 0 or value < rate * before:
            self.first, self.growing = value, 0
        else:
            self.growing += 1
        counts = self.growing >= LOOKS - 1 and value >= self.kind.floor
        self.growth = 1 - self.first / value if counts else 0.0

    def pace(self) -> float:
        """How many times the look before it each of the last looks was, on average; 1 for no growth."""
        if not self.growth:
            return 1.0
        return float((self.looks[-1] / self.looks[0]) ** (1 / (LOOKS - 1)))

    def use(self, used: float, step: int) -> None:
        """Note what is used now, and how fast it grows."""
        self.used = used
        if step - self.marked_step >= STEPS_OF_A_SLOPE:
            self.slope = (used - self.marked_used) / (step - self.marked_step)
            self.marked_step, self.marked_used = step, used

    def pressure(self) -> float:
        """The share of the limit that is used; 0 without a limit."""
        return self.used / self.limit if self.limit else 0.0

    def steps_left(self) -> int | None:
        """Steps until the limit at the present pace; None if there is no limit or no growth."""
        if not self.limit or self.slope <= 0:
            return None
        return max(0, int((self.limit - self.used) / self.slope))
