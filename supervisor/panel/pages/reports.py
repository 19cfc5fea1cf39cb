"""The report of the last days, as `chaperon report --html` writes it."""

import htpy as h

from supervisor.panel.pages.layout import PageFrame, page
from supervisor.report.page import ReportLinks, report_body
from supervisor.report.tally import ReportData

SPANS = {1: "a day", 7: "a week", 30: "a month"}
"""Days that a report can be of."""


def report_page(frame: PageFrame, data: ReportData, days: int) -> h.Element:
    """The page."""
    spans = (
        h.a(href=f"/report?days={number}", aria_current="true" if number == days else None)[words]
        for number, words in SPANS.items()
    )
    return page(
        frame,
        "Report",
        h.h1["Report"],
        h.nav(aria_label="Time")[spans],
        report_body(data, ReportLinks(data, "")),
        here="Report",
    )
