"""Text of others as commands show it: in one line, bounded, with times of the wall here. Pure but for the time zone.

A call that a person answers is shown whole.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any

from monitors.contract import anyjson
from monitors.contract.subjects import subject_of
from monitors.contract.wording import counted
from supervisor.protocol.plain import harmless

WIDTH = 160
"""Characters of what an agent says or does that are shown; the journal has all of it."""

MOST_OF_CALL = 8_000
"""Characters of a call that waits for a person, above which the rest is named instead: four screens of a terminal."""

_NOT_DONE = {"Bash": ("description", "timeout")}
"""Fields of a tool's input that change nothing of what the call does."""

COLOURS = {
    "allow": "green", "warn": "yellow", "modify": "cyan", "block": "red",
    "low": "white", "medium": "yellow", "high": "red", "critical": "bright_red",
}  # fmt: skip

MADE = {
    "start": "at the start",
    "turn": "after a turn",
    "risky_action": "before a risk",
    "tests_passed": "tests passed",
    "periodic": "after some tasks",
    "unattended": "as it was left alone",
    "person": "by a person",
    "undo": "before going back",
}
"""Why a checkpoint was made, of a workspace or of a project, in the words of a list."""


def clean(text: object, width: int = WIDTH) -> str:
    """The text in one line, without control characters, shortened."""
    whole = str(text)
    part = whole[: 4 * width + 100]
    if not part.isprintable():  # character by character it takes ten times as long, and most texts need it not
        part = "".join(c if c.isprintable() else " " for c in part)
    line = " ".join(part.split())
    return line if len(line) <= width and len(whole) <= 4 * width + 100 else line[: width - 1] + "…"


def first_of(lines: Sequence[str], most: int, count: int = 0) -> list[str]:
    """Return the first lines of a list, and a last one that says how many are left out.

    Args:
        lines: One thing each.
        most: Things that are shown.
        count: All that there are, if some have no line.
    """
    left_out = max(count, len(lines)) - min(most, len(lines))
    return [*lines[:most], *([f"  … and {left_out:,} more"] if left_out else [])]


def comes_back(count: int) -> str:
    """Say how many paths come back that were removed since."""
    return f"{counted(count, 'path')} {'comes' if count == 1 else 'come'} back"


def local(at: float, form: str = "%H:%M:%S") -> str:
    """A Unix time as a clock on the wall here shows it; one that no clock can show as it is."""
    here = _here(at)
    return clean(at, 20) if here is None else here.strftime(form)


def when(at: float, now: float) -> str:
    """Return the same with the date, if it is not today's. Examples: `08:15:30`, `11-21 08:15`, `2025-11-21`."""
    here = _here(at)
    if here is None:
        return clean(at, 20)
    if here.date() == _day(now):
        return here.strftime("%H:%M:%S")
    return here.strftime("%m-%d %H:%M" if abs(now - at) < timedelta(days=300).total_seconds() else "%Y-%m-%d")


def _here(at: float) -> datetime | None:
    """Return a Unix time in the time zone here; None if no clock can show it."""
    try:
        return datetime.fromtimestamp(at, UTC).astimezone()
    except (TypeError, ValueError, OverflowError, OSError):
        return None


@lru_cache(maxsize=8)
def _day(now: float) -> date | None:
    """Return the day here at a Unix time: that of now, for each row of a table."""
    here = _here(now)
    return here.date() if here is not None else None


def what(given: Any) -> str:
    """Return the main field of a tool's input: its command, file, pattern, address or prompt.

    A line break is drawn, for it ends a command of the shell, and a space does not.
    """
    if not isinstance(given, Mapping):
        return ""
    return clean(str(subject_of(given) or given or "").strip().replace("\n", " ⏎ "))


def short_ids(ids: Sequence[str]) -> list[str]:
    """Return the beginnings of the ids that tell them apart, of eight characters at least."""
    return [next((id_[:end] for end in range(8, len(id_)) if _alone(id_[:end], ids)), id_) for id_ in ids]


def _alone(beginning: str, ids: Sequence[str]) -> bool:
    return sum(id_.startswith(beginning) for id_ in ids) == 1


def rest_of_call(tool: str, given: Any) -> list[str]:
    """Return all fields of a call in lines, for a person who answers it; none if `what` has all that it does."""
    if not isinstance(given, Mapping):
        return []
    acts = [str(value) for name, value in given.items() if name not in _NOT_DONE.get(tool, ())]
    if acts in ([], [what(given)]):
        return []
    texts = {
        clean(name): value if isinstance(value, str) else str(anyjson.pretty(value), "utf-8")
        for name, value in given.items()
    }
    whole = "\n".join(f"{name}: {text}".rstrip("\n").replace("\n", "\n  ") for name, text in texts.items())
    left = len(whole) - MOST_OF_CALL
    lines = harmless(whole[:MOST_OF_CALL]).split("\n")
    said = f"… and {counted(left, 'more character')}, not shown here: chaperon approvals --json"
    return [*lines, said] if left > 0 else lines
