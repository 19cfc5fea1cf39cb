"""What a benchmark measured, and how it compares with what was aimed at."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One number."""

    what: str
    value: float
    unit: str
    aim: float | None = None
    more_is_better: bool = False

    @property
    def of_aim(self) -> float | None:
        """The share of what was allowed that was used: 1 or less is as aimed."""
        if self.aim is None:
            return None
        used, allowed = (self.aim, self.value) if self.more_is_better else (self.value, self.aim)
        return used / allowed if allowed else used

    def cells(self) -> tuple[str, str, str, str]:
        """What it says in a table."""
        at = "at least" if self.more_is_better else "at most"
        aim = "" if self.aim is None else f"{at} {number(self.aim)} {self.unit}".rstrip()
        share = self.of_aim
        return self.what, f"{number(self.value)} {self.unit}".rstrip(), aim, "" if share is None else f"{share:.2f}"


def number(value: float) -> str:
    """Three digits that count, and no more."""
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


HEAD = ("figure", "measured", "aim", "of aim")


def table(figures: Sequence[Figure]) -> str:
    """All of them, a line each; `of aim` is 1 or less where a figure is as aimed."""
    rows = [HEAD, *(figure.cells() for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def markdown(figures: Sequence[Figure]) -> str:
    """The same for a document."""
    rows = [HEAD, ("---",) * 4, *(figure.cells() for figure in figures)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def percentile(values: Iterable[float], share: float) -> float:
    """The value below which this share of all is, by the nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def middle(values: Iterable[float]) -> float:
    """The median."""
    return statistics.median(values)
