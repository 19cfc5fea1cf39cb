"""A report as HTML, with charts: a file of its own that needs nothing else, or a page of the panel."""

from collections.abc import Iterable, Sequence

import htpy as h

from monitors.contract.wording import dollars
from supervisor.cli.words import clean, local
from supervisor.protocol.plain import harmless
from supervisor.report.markdown import FORM, headline
from supervisor.report.tally import ReportData

STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 1100px; margin: 24px auto; padding: 0 16px; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: 6px 12px 6px 0; border-bottom: 1px solid #8885; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; } code { font-size: 13px; }
.chart .bar { fill: #2f8f75; } .chart text { font-size: 11px; fill: currentColor; } .scroll { overflow-x: auto; }
"""
"""The style of the file; it holds no text of others."""

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""The file loads nothing, and runs nothing."""

WIDTH, HEIGHT = 800, 140
"""Of a chart, in its own units."""


def as_html(data: ReportData) -> str:
    """Return a whole file."""
    title = f"Report from {local(data.tally.since, FORM)} to {local(data.tally.until, FORM)}"
    made = h.html(lang="en")[
        h.head[
            h.meta(charset="utf-8"),
            h.meta(http_equiv="Content-Security-Policy", content=POLICY),
            h.meta(name="viewport", content="width=device-width, initial-scale=1"),
            h.title[f"{title} · chaperon"],
            h.style[STYLE],
        ],
        h.body[h.h1[title], report_body(data)],
    ]
    return harmless(str(made))


def report_body(data: ReportData) -> h.Fragment:
    """The content of a report."""
    return h.fragment[
        h.p[headline(data)],
        _chart("Cost by day of UTC, in US dollars", [(day[5:], cost, dollars(cost)) for day, cost in data.days()]),
        h.h2["Never right"] if data.never_right() else None,
        h.ul[(h.li[clean(sentence, 300)] for sentence in data.never_right())] if data.never_right() else None,
        h.h2["Agents"],
        _table(
            ("Agent", "State", "#Calls", "#Blocked", "#Interventions", "#Incidents", "#Cost in all", "Task"),
            (
                (
                    clean(name, 60),
                    str(known.get("state", "")),
                    f"{one.calls.total():,}",
                    f"{one.calls['block']:,}",
                    f"{one.interventions.total():,}",
                    f"{one.incidents:,}",
                    dollars(known["cost_usd"]) if known.get("cost_usd") else "-",
                    clean((known.get("task") or {}).get("prompt", ""), 200),
                )
                for name, one, known in data.rows()
            ),
        ),
        h.h2["Stopped"],
        _table(
            ("When", "Agent", "Why", "Incident"),
            (
                (local(at, FORM), clean(agent, 60), clean(why, 300), clean(id_))
                for at, agent, why, id_ in data.tally.stops
            ),
        ),
        h.h2["Rules that fired"],
        rules_table(data),
        h.h2["Issues"],
        _table(
            ("Pattern", "#Raised", "#Confirmed", "#False alarms"),
            (
                (clean(name), f"{one.raised:,}", f"{one.outcomes['confirmed']:,}", f"{one.outcomes['false_alarm']:,}")
                for name, one in data.patterns()
            ),
        ),
    ]


def rules_table(data: ReportData) -> h.Node:
    """The rules that fired, with what people said to them."""
    return _table(
        ("Rule", "#Blocked", "#Changed", "#Warned", "#Asked", "#Overruled", "Agents", "Example"),
        (
            (
                clean(name),
                *(f"{rule.decisions[decision]:,}" for decision in ("block", "modify", "warn")),
                f"{rule.asked:,}",
                f"{rule.overruled:,}",
                clean(", ".join(sorted(rule.agents)), 200),
                h.code[rule.examples[0]] if rule.examples else "",
            )
            for name, rule in data.rules()
        ),
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[h.Node]]) -> h.Node:
    """Return a table; a column whose name begins with `#` has numbers."""
    made = list(rows)
    if not made:
        return h.p["None."]
    kinds = ["number" if name.startswith("#") else None for name in head]
    return h.div(class_="scroll", tabindex="0", role="region", aria_label=f"Table by {head[0].lower()}")[
        h.table[
            h.thead[
                h.tr[(h.th(scope="col", class_=kind)[name.lstrip("#")] for name, kind in zip(head, kinds, strict=True))]
            ],
            h.tbody[(h.tr[(h.td(class_=kind)[cell] for cell, kind in zip(row, kinds, strict=True))] for row in made)],
        ]
    ]


def _chart(title: str, bars: Sequence[tuple[str, float, str]]) -> h.Node:
    """Return a chart of bars: name, value, and the value in words."""
    top = max((value for _, value, _ in bars), default=0.0)
    if top <= 0:
        return None
    step = WIDTH / len(bars)
    tall = HEIGHT - 40
    every = max(1, len(bars) // 16)
    spelled = "; ".join(f"{name}: {words}" for name, value, words in bars if value)
    return h.svg(
        class_="chart",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        width="100%",
        role="img",
        aria_label=f"{title}: {clean(spelled, 1_000)}",
    )[
        (
            (
                h.rect(
                    class_="bar",
                    x=f"{at * step + step * 0.1:.1f}",
                    y=f"{HEIGHT - 20 - value / top * tall:.1f}",
                    width=f"{step * 0.8:.1f}",
                    height=f"{value / top * tall:.1f}",
                )[h.title[f"{name}: {words}"]],
                h.text(x=f"{at * step + step / 2:.1f}", y=str(HEIGHT - 4), text_anchor="middle")[name]
                if at % every == 0
                else None,
                h.text(
                    x=f"{at * step + step / 2:.1f}", y=f"{HEIGHT - 24 - value / top * tall:.1f}", text_anchor="middle"
                )[words]
                if value and step > 40
                else None,
            )
            for at, (name, value, words) in enumerate(bars)
        )
    ]
