"""The differences of two checkpoints, drawn as a tree for a terminal."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from checkpoints.model import Change, Difference

MARKS = {
    Change.ADDED: "+",
    Change.MODIFIED: "~",
    Change.DELETED: "-",
    Change.TYPE_CHANGED: "%",
    Change.MODE_CHANGED: "x",
}
"""The mark before a path in the tree."""


def picture(differences: Iterable[Difference]) -> str:
    """Return a tree of the changed paths, one a line, each with its mark, and a line that counts them.

    Paths are in the notation of `checkpoints.paths`, so a name cannot draw anything else into a terminal.
    """
    changed = sorted(differences, key=lambda one: one.path.split("/"))
    lines = list(_draw([(one.path.split("/"), one) for one in changed], 0))
    return "\n".join([*lines, summary(changed)])


def _draw(rows: list[tuple[list[str], Difference]], depth: int) -> Iterator[str]:
    indent = "  " * depth
    for name, group in groupby(rows, key=lambda row: row[0][0]):
        below = []
        for parts, difference in group:
            if len(parts) == 1:
                yield f"{indent}{MARKS[difference.change]} {name}"
            else:
                below.append((parts[1:], difference))
        if below:
            yield f"{indent}  {name}/"
            yield from _draw(below, depth + 1)


def summary(differences: Iterable[Difference]) -> str:
    """Return how many paths changed in which way. Example: `2 added, 1 deleted`."""
    counts = dict.fromkeys(Change, 0)
    for difference in differences:
        counts[difference.change] += 1
    said = [f"{count:,} {change.value.replace('_', ' ')}" for change, count in counts.items() if count]
    return ", ".join(said) or "nothing changed"
