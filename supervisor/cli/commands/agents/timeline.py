"""The timeline of an agent: each step with its time since the start, and how long it took until the next one."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from math import log2
from typing import Any

from click import style

from monitors.contract.wording import duration
from supervisor.cli.following import StreamLine
from supervisor.cli.output import terminal
from supervisor.cli.output.event_lines import ViewLine
from supervisor.cli.output.view import View

BAR = 8
"""Characters of the longest bar: 2 ** 8 s, some four minutes; each character is twice as long as the one before."""

LABEL = 34
"""Columns before the text of a step."""


@dataclass(frozen=True, slots=True)
class TimelineStep:
    """A step of an agent."""

    at: float
    """Unix time in seconds."""
    after_seconds: float
    """Since the agent's start."""
    took_seconds: float
    """Until the next step."""
    lines: tuple[ViewLine, ...]

    def as_json(self) -> dict[str, Any]:
        """The same as data: of a line, the word that it begins with and its text."""
        lines = [{"mark": line.mark, "text": line.text} for line in self.lines]
        return {**asdict(self), "lines": lines}


def timeline_steps(agent: Mapping[str, Any], lines: Iterable[StreamLine]) -> Iterator[TimelineStep]:
    """Yield the steps of an agent, in the words of `chaperon tail`."""
    view, start = View(), float(agent["started_at"])
    held: tuple[float, list[ViewLine]] | None = None
    for one in lines:
        told = view.view_lines(one.record)
        if not told:
            continue
        at = float(one.record.get("at") or start)
        if held is not None:
            yield _step(held, start, at)
        held = at, told
    if held is not None:
        yield _step(held, start, held[0])


def timeline_lines(steps: Iterable[TimelineStep]) -> Iterator[str]:
    """Yield the steps for a terminal, with a bar for how long each took."""
    for step in steps:
        took = step.took_seconds
        bar = "█" * min(BAR, int(log2(took + 1)) + (took >= 1))
        for number, line in enumerate(step.lines):
            when = "" if number else f"+{duration(step.after_seconds)}"
            mark = style(f"{line.mark:<8}", fg=line.colour, bold=line.bold)
            before = f"{when:>14} {'' if number else bar:<{BAR}} {mark} "
            first, *rest = terminal.wrapped(line.text, LABEL) or [""]
            yield before + first.strip()
            yield from rest


def _step(held: tuple[float, list[ViewLine]], start: float, until: float) -> TimelineStep:
    at, lines = held
    return TimelineStep(at, max(0.0, at - start), max(0.0, until - at), tuple(lines))
