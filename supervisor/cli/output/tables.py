"""Tables that fit their contents and the terminal."""

from collections.abc import Sequence
from typing import NamedTuple

from supervisor.cli.output import terminal
from supervisor.cli.output.words import clean

UNBOUNDED = 10_000
"""Characters of a line that only a program reads."""

LEAST = 12
"""Characters that the last column keeps before others are left out."""


class Column(NamedTuple):
    """One column."""

    title: str
    right: bool = False
    """Whether its values end at the same place, as numbers do."""
    spare: int = 0
    """From 1: how soon it is left out if there is no room, the lowest first; 0 stays."""
    most: int = UNBOUNDED
    """Characters that its values have at most."""


def width_of_output() -> int:
    """Characters that a line may have: the terminal's; as many as there are in a pipe."""
    return terminal.width() or UNBOUNDED


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None = None) -> list[str]:
    """Return the rows under a head, one a line.

    Each column is as wide as its longest value, and the last one is cut to fit.

    Args:
        columns: From left to right.
        rows: A value for each column.
        width: Characters that a line may have; if left out, those of the output.
    """
    width = width_of_output() if width is None else width
    bounds = [column.most for column in columns]
    titles = [column.title for column in columns]
    cleaned = [_Cleaned(most) for most in bounds]
    cells = [titles, *([known[value] for value, known in zip(row, cleaned, strict=True)] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    kept = list(range(len(columns)))
    for place in sorted((p for p in kept if columns[p].spare), key=lambda place: columns[place].spare):
        if _needed(kept, widths) > width:
            kept.remove(place)
    widths[-1] = min(widths[-1], max(LEAST, width - sum(widths[place] + 2 for place in kept[:-1])))
    return [_line(columns, row, kept, widths) for row in cells]


class _Cleaned(dict[str, str]):
    """Values of one column, cleaned once each: most columns of a long table repeat a few."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __missing__(self, value: str) -> str:
        made = self[value] = clean(value, self._most)
        return made


def _needed(kept: Sequence[int], widths: Sequence[int]) -> int:
    """Characters that the columns need with the last one at its least."""
    return sum(widths[place] + 2 for place in kept[:-1]) + min(LEAST, widths[kept[-1]])


def _line(columns: Sequence[Column], row: Sequence[str], kept: Sequence[int], widths: Sequence[int]) -> str:
    made = []
    for place in kept:
        value, most = row[place], max(1, widths[place])
        value = value if len(value) <= most else clean(value, most)
        made.append(value.rjust(widths[place]) if columns[place].right else value.ljust(widths[place]))
    return "  ".join(made).rstrip()
