"""The timeline of an agent for a terminal: each step with its time since the start, and a bar for how long it took."""

from collections.abc import Iterable, Iterator, Mapping
from math import log2
from typing import Any

from click import style

from monitors.contract.wording import duration
from supervisor.cli import terminal
from supervisor.cli.commands.agents.view import View, ViewLine
from supervisor.cli.following import StreamLine

BAR = 8
"""Characters of the longest bar: 2 ** 8 s, some four minutes; each character is twice as long as the one before."""

LABEL = 34
"""Columns before the text of a step."""


def timeline_lines(agent: Mapping[str, Any], lines: Iterable[StreamLine]) -> Iterator[str]:
    """Yield the lines: when, how long until the next step, and the step in the words of `chaperon tail`."""
    view, start = View(), float(agent["started_at"])
    held: tuple[float, list[ViewLine]] | None = None
    for one in lines:
        told = view.told(one.record)
        if not told:
            continue
        at = float(one.record.get("at") or start)
        if held is not None:
            yield from _step(held, start, at)
        held = at, told
    if held is not None:
        yield from _step(held, start, held[0])


def _step(held: tuple[float, list[ViewLine]], start: float, until: float) -> Iterator[str]:
    at, lines = held
    took = max(0.0, until - at)
    bar = "█" * min(BAR, int(log2(took + 1)) + (took >= 1))
    for number, line in enumerate(lines):
        when = "" if number else f"+{duration(max(0.0, at - start))}"
        mark = style(f"{line.mark:<8}", fg=line.colour, bold=line.bold)
        before = f"{when:>14} {'' if number else bar:<{BAR}} {mark} "
        first, *rest = terminal.wrapped(line.text, LABEL) or [""]
        yield before + first.strip()
        yield from rest
