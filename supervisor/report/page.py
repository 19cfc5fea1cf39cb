"""A report as HTML, with charts: a file of its own that needs nothing else, or a page of the panel."""

from collections.abc import Iterable, Sequence

import htpy as h

from monitors.contract.wording import dollars
from supervisor.cli.charts import bar_chart
from supervisor.cli.html_file import html_file
from supervisor.cli.words import clean, local
from supervisor.report.markdown import FORM, headline
from supervisor.report.tally import ReportData


def as_html(data: ReportData) -> str:
    """Return a whole file."""
    title = f"Report from {local(data.tally.since, FORM)} to {local(data.tally.until, FORM)}"
    return html_file(title, report_body(data))


def report_body(data: ReportData) -> h.Fragment:
    """The content of a report."""
    return h.fragment[
        h.p[headline(data)],
        bar_chart("Cost by day of UTC, in US dollars", [(day[5:], cost, dollars(cost)) for day, cost in data.days()]),
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
