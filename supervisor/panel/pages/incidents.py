"""Incidents: the log of them, and the report of a stop with the ways to go on as buttons."""

from collections.abc import Sequence

import htpy as h

from supervisor.cli.output import incident_words
from supervisor.cli.output.words import clean
from supervisor.panel.pages.layout import PageFrame, page
from supervisor.panel.pages.parts import Data, agent_link, ask, badge, empty, facts, moment, path

MOST_ROWS = 500
"""Incidents that the list shows, the latest; `chaperon incidents` has all."""

SENTENCE = 1_000
"""Characters of a sentence that are shown."""


def incidents_page(frame: PageFrame, found: Sequence[Data]) -> h.Element:
    """The log, the latest first."""
    latest = list(reversed(found))[:MOST_ROWS]
    return page(
        frame,
        "Incidents",
        h.h1["Incidents"],
        h.ol(class_="timeline")[(_row(one) for one in latest)] if latest else empty("There is none."),
        here="Incidents",
    )


def _row(one: Data) -> h.Element:
    target = path("incidents", str(one.get("id", "")))
    severity = clean(one.get("severity", ""), 20)
    return h.li(class_="row", tabindex="-1", data_open=target if one.get("report") else None)[
        moment(one.get("at"), "%m-%d %H:%M"),
        h.div[
            h.p[
                badge(severity),
                " ",
                agent_link(str(one["agent"])) if one.get("agent") else None,
                " ",
                h.a(href=target)[clean(one.get("type", ""), 60)]
                if one.get("report")
                else clean(one.get("type", ""), 60),
            ],
            h.p[clean(one.get("summary", ""), SENTENCE)],
            h.p(class_="muted")[clean(one.get("way_out", ""), SENTENCE)] if one.get("way_out") else None,
        ],
    ]


def incident_page(frame: PageFrame, report: Data, options: Sequence[Data]) -> h.Element:
    """The report of a stop.

    Args:
        frame: Of this request.
        report: As it was written.
        options: Ways to go on, as they are possible now.
    """
    id_ = str(report.get("incident", ""))
    rows = ((name.capitalize(), value) for name, value in incident_words.facts(report).items())
    return page(
        frame,
        f"Incident {clean(id_, 40)}",
        h.h1[incident_words.summary(report)],
        h.p[agent_link(str(report["agent"]))] if report.get("agent") else None,
        h.h2["Ways to go on"],
        h.ul(class_="options")[(_option(id_, one) for one in options)] if options else empty("None is known."),
        h.h2["Facts"],
        facts(rows),
        [
            (h.h2[title.capitalize()], h.ul[(h.li[line] for line in lines)])
            for title, lines in incident_words.sections(report).items()
            if lines
        ],
        here="Incidents",
    )


def line_page(frame: PageFrame, one: Data) -> h.Element:
    """An incident that has no report, as only stops have one, and not for ever: its line of the log."""
    return page(
        frame,
        f"Incident {clean(one.get('id', ''), 40)}",
        h.h1[clean(one.get("type", ""), 60)],
        h.ol(class_="timeline")[_row({**one, "report": ""})],
        h.p[h.a(href="/incidents")["All incidents"]],
        here="Incidents",
    )


def _option(incident: str, one: Data) -> h.Element:
    name = str(one.get("option", ""))
    label = clean(name.replace("_", " ").replace("-", " ").capitalize(), 60)
    target = path("incidents", incident, "recovery")
    question = clean(one.get("description", ""), SENTENCE)
    button = ask(f"{label}…", "confirm", target, title=label, body={"option": name}, question=question)
    return h.li[
        clean(one.get("description", ""), SENTENCE),
        [
            h.p(class_="muted")[clean(f"left behind: {left}", SENTENCE)]
            for left in str(one.get("clean_up", "")).splitlines()
        ],
        h.p(class_="muted")[f"Taken already, {clean(one['taken'], 200)}"] if one.get("taken") else None,
        h.div(class_="buttons")[button] if one.get("command") and name else h.p(class_="muted")["Not possible here."],
    ]
