"""A report as HTML, with charts: a file of its own that needs nothing else, or a page of the panel."""

from collections.abc import Iterable, Sequence
from urllib.parse import quote

import htpy as h

from monitors.contract.wording import dollars
from supervisor.cli.output.charts import bar_chart
from supervisor.cli.output.html_file import html_file, html_table
from supervisor.cli.output.words import clean, local
from supervisor.report.markdown import FORM, headline
from supervisor.report.tally import ReportData

MOST_NAMES = 12
"""Agents that a rule's row names."""


class ReportLinks:
    """Targets of the links of a report.

    Args:
        data: The report.
        panel: The address of the panel, empty for that of the page itself; None if there is no panel to lead to.
    """

    def __init__(self, data: ReportData, panel: str | None) -> None:
        self.panel = panel
        self._known = {name for name, _, known in data.rows() if known or panel is None}

    def agent(self, name: str) -> h.Node:
        """An agent's name, as a link to its page, or to its row in this report."""
        if name not in self._known:
            return clean(name, 60)
        target = f"#{anchor(name)}" if self.panel is None else f"{self.panel}/agents/{_quoted(name)}"
        return h.a(href=target)[clean(name, 60)]

    def agents(self, names: Iterable[str]) -> h.Node:
        """Several agents' names."""
        several = sorted(names)
        shown = several[:MOST_NAMES]
        more = f" and {len(several) - len(shown):,} more" if len(several) > len(shown) else ""
        return h.fragment[((", " if at else "", self.agent(name)) for at, name in enumerate(shown)), more]

    def incident(self, id_: str) -> h.Node:
        """An incident's id, as a link to its page."""
        if self.panel is None or not id_:
            return clean(id_)
        return h.a(href=f"{self.panel}/incidents/{_quoted(id_)}")[clean(id_)]


def anchor(name: str) -> str:
    """Return the id of an agent's row; quoted, it holds no blank and no markup."""
    return f"agent-{_quoted(name)}"


def _quoted(name: str) -> str:
    return quote(name, safe="", errors="replace")


def as_html(data: ReportData, panel: str = "") -> str:
    """Return a whole file.

    Args:
        data: The report.
        panel: The address of the panel, to which agents and incidents then are links; empty for none.
    """
    title = f"Report from {local(data.tally.since, FORM)} to {local(data.tally.until, FORM)}"
    return html_file(title, report_body(data, ReportLinks(data, panel.rstrip("/") or None)))


def report_body(data: ReportData, links: ReportLinks) -> h.Fragment:
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
                    h.span(id=anchor(name))[links.agent(name) if links.panel is not None else clean(name, 60)],
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
                (local(at, FORM), links.agent(agent), clean(why, 300), links.incident(id_))
                for at, agent, why, id_ in data.tally.stops
            ),
        ),
        h.h2["Rules that fired"],
        rules_table(data, links),
        h.h2["Issues"],
        _table(
            ("Pattern", "#Raised", "#Confirmed", "#False alarms"),
            (
                (clean(name), f"{one.raised:,}", f"{one.outcomes['confirmed']:,}", f"{one.outcomes['false_alarm']:,}")
                for name, one in data.patterns()
            ),
        ),
    ]


def rules_table(data: ReportData, links: ReportLinks) -> h.Node:
    """The rules that fired, with what people said to them."""
    return _table(
        ("Rule", "#Blocked", "#Changed", "#Warned", "#Asked", "#Overruled", "Agents", "Example"),
        (
            (
                clean(name),
                *(f"{rule.decisions[decision]:,}" for decision in ("block", "modify", "warn")),
                f"{rule.asked:,}",
                f"{rule.overruled:,}",
                links.agents(rule.agents),
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
    body = (h.tr[(h.td(class_=kind)[cell] for cell, kind in zip(row, kinds, strict=True))] for row in made)
    return html_table(f"Table by {head[0].lower()}", head, body)
