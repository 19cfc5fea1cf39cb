"""An agent's use over time as charts, with its issues and interventions on the same axis."""

from collections.abc import Callable

import htpy as h

from monitors.contract.wording import counted, dollars
from supervisor.cli.output.charts import ChartMark, line_chart
from supervisor.cli.output.words import clean
from supervisor.panel.pages.layout import PageFrame, page
from supervisor.panel.pages.parts import Data, agent_link, empty, moment, path

MOST_MARKS = 40
"""Marks in a chart: more hide the line."""


def use_page(frame: PageFrame, name: str, use: Data) -> h.Element:
    """The page."""
    title = f"Use of {clean(name, 60)}"
    return page(frame, title, h.h1["Use of ", agent_link(name)], use_charts(name, use), here="Board")


def use_charts(name: str, use: Data) -> h.Fragment:
    """The charts, and what they mark."""
    points = use["points"]
    told = [one for one in use["marks"] if one["kind"] != "state"][-MOST_MARKS:]
    marks = [ChartMark(float(one["at"]), f"{one['kind']}: {clean(one['text'], 100)}") for one in told]

    def chart(title: str, key: str, spell: Callable[[float], str], most: float | None = None) -> h.Node:
        values = [(float(one["at"]), float(one[key] or 0)) for one in points]
        return line_chart(title, values, spell, marks=marks, most=most)

    made = [
        chart("Cost", "cost_usd", dollars),
        chart("Tokens", "tokens", lambda value: f"{value:,.0f}"),
        chart("Context", "context", lambda value: f"{value:,.0f} tokens", use["context_window"]),
        chart("Memory", "memory_mb", lambda value: f"{value:,.0f} MiB"),
        chart("Processes", "processes", lambda value: counted(int(value), "process", "processes")),
    ]
    shown = [one for one in made if one is not None]
    return h.fragment[
        h.div(class_="charts")[shown] if shown else empty("Nothing was measured yet."),
        h.details[
            h.summary[f"{counted(len(told), 'mark')}: issues and interventions"],
            h.ul(class_="paths")[
                (
                    h.li[
                        moment(one["at"]),
                        " ",
                        h.a(href=f"{path('agents', name)}?before={int(one['n']) + 1}#e{int(one['n'])}")[
                            f"{one['kind']}: {clean(one['text'], 100)}"
                        ],
                    ]
                    for one in told
                )
            ],
        ]
        if told
        else None,
    ]
