"""Charts as SVG, without scripts: bars, and lines over time. It needs htpy, which comes with the extra [panel].

Each chart has its figures in words for those who do not see it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

import htpy as h

from monitors.contract.wording import duration
from supervisor.cli.output.words import clean

WIDTH, HEIGHT = 800, 150
"""Of a chart of bars, in its own units."""

LABEL, PHONE_LABEL = 40, 80
"""Width of a label, and of one on a phone, in units of a chart of bars: five letters of 11 or 25 units."""

LINE_WIDTH, LINE_HEIGHT = 300, 100
"""Of a chart of a line, in its own units: two stand beside one another."""

EDGE = 18
"""Room above and below the line for its figures."""

SPELLED = 1_000
"""Characters of the words of a chart."""


@dataclass(frozen=True, slots=True)
class ChartMark:
    """A moment that a chart marks."""

    at: float
    text: str


def bar_chart(title: str, bars: Sequence[tuple[str, float, str]]) -> h.Node:
    """Return a chart of bars: name, value, and the value in words; nothing if every value is 0."""
    top = max((value for _, value, _ in bars), default=0.0)
    if top <= 0:
        return None
    step = WIDTH / len(bars)
    tall = HEIGHT - 56
    every = ceil(LABEL / step)
    on_phones = every * ceil(PHONE_LABEL / step / every)
    spelled = "; ".join(f"{name}: {words}" for name, value, words in bars if value)
    drawn = h.svg(
        class_="chart bars",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        width="100%",
        role="img",
        aria_label=f"{title}: {clean(spelled, SPELLED)}",
    )[
        (
            (
                h.rect(
                    class_="bar",
                    x=f"{at * step + step * 0.1:.1f}",
                    y=f"{HEIGHT - 26 - value / top * tall:.1f}",
                    width=f"{step * 0.8:.1f}",
                    height=f"{value / top * tall:.1f}",
                )[h.title[f"{name}: {words}"]],
                h.text(
                    x=f"{at * step + step / 2:.1f}",
                    y=str(HEIGHT - 4),
                    text_anchor="middle",
                    class_="wide" if at % on_phones else None,
                )[name]
                if at % every == 0
                else None,
                h.text(
                    x=f"{at * step + step / 2:.1f}",
                    y=f"{HEIGHT - 30 - value / top * tall:.1f}",
                    text_anchor="middle",
                    class_="wide" if step < PHONE_LABEL else None,
                )[words]
                if value and step > 40
                else None,
            )
            for at, (name, value, words) in enumerate(bars)
        )
    ]
    return h.figure(class_="figure")[h.figcaption[title], drawn]


def line_chart(
    title: str,
    points: Sequence[tuple[float, float]],
    spell: Callable[[float], str],
    *,
    marks: Sequence[ChartMark] = (),
    most: float | None = None,
) -> h.Node:
    """Return a chart of a value over time, in steps: a value holds until the next point.

    Args:
        title: What it shows.
        points: Unix time in seconds and the value, oldest first.
        spell: A value in words, with its unit.
        marks: Moments that are marked in it.
        most: The value's limit, at which a line is drawn if it is near; None for none.

    Returns:
        The chart; nothing without two points of which one is above 0.
    """
    if len(points) < 2 or max(value for _, value in points) <= 0:
        return None
    begin, end = points[0][0], max(points[-1][0], points[0][0] + 1.0)
    top = max(value for _, value in points)
    limit = most if most is not None and most <= 2 * top else None
    top = max(top, limit or 0.0)

    def x(at: float) -> str:
        return f"{(min(max(at, begin), end) - begin) / (end - begin) * LINE_WIDTH:.1f}"

    def y(value: float) -> str:
        return f"{LINE_HEIGHT - EDGE - value / top * (LINE_HEIGHT - 2 * EDGE):.1f}"

    way = [f"M{x(points[0][0])} {y(points[0][1])}", *(f"H{x(at)}V{y(value)}" for at, value in points[1:])]
    line = "".join(way)
    floor = LINE_HEIGHT - EDGE
    last = spell(points[-1][1])
    highest = spell(max(value for _, value in points))
    return h.figure(class_="figure")[
        h.figcaption[title, " ", h.b[last]],
        h.svg(
            class_="chart",
            viewBox=f"0 0 {LINE_WIDTH} {LINE_HEIGHT}",
            width="100%",
            role="img",
            aria_label=clean(f"{title}: {last} at last, at most {highest}, over {duration(end - begin)}", SPELLED),
        )[
            h.path(class_="area", d=f"{line}V{floor}H{x(begin)}Z"),
            h.line(class_="grid", x1="0", x2=str(LINE_WIDTH), y1=str(floor), y2=str(floor)),
            h.line(class_="limit", x1="0", x2=str(LINE_WIDTH), y1=y(limit), y2=y(limit))[
                h.title[f"the limit, {spell(limit)}"]
            ]
            if limit
            else None,
            (
                h.line(class_="mark", x1=x(mark.at), x2=x(mark.at), y1=str(EDGE), y2=str(floor))[
                    h.title[clean(f"{mark.text}, after {duration(max(0.0, mark.at - begin))}", 200)]
                ]
                for mark in marks
                if begin <= mark.at <= end
            ),
            h.path(class_="line", d=line),
            h.text(x="2", y=str(EDGE - 5))[f"at most {highest}"],
            h.text(x="2", y=str(LINE_HEIGHT - 4))["0 s"],
            h.text(x=str(LINE_WIDTH - 2), y=str(LINE_HEIGHT - 4), text_anchor="end")[duration(end - begin)],
        ],
    ]
