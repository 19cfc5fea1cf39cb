"""The timeline of an agent: a row for each event that says something to people, in the words of `chaperon tail`."""

from collections.abc import Iterable
from typing import NamedTuple

import htpy as h

from supervisor.cli.output.event_lines import ViewLine
from supervisor.cli.output.view import View
from supervisor.panel.pages.parts import Data, block, moment


class TimelineRow(NamedTuple):
    """A row of a timeline."""

    n: int
    """The number of its event."""
    html: h.Element


def timeline_rows(records: Iterable[Data], view: View) -> list[TimelineRow]:
    """Return the rows of events, in their order.

    Args:
        records: Events of one agent, in order.
        view: Remembers what was told of it.
    """
    return [
        TimelineRow(int(record["n"]), row(record, lines)) for record in records if (lines := view.view_lines(record))
    ]


def row(record: Data, lines: list[ViewLine]) -> h.Element:
    """Return the row of an event."""
    return h.li(id=f"e{record['n']}", class_="row", tabindex="-1")[
        moment(record.get("at")),
        h.div[([_line(line) for line in lines], _more(record))],
    ]


def _line(line: ViewLine) -> h.Element:
    return h.p(class_="line dim" if line.dim else "line")[
        h.span(class_=f"mark c-{line.colour}")[line.mark] if line.mark else None, h.span(class_="text")[line.text]
    ]


def _more(record: Data) -> h.Node:
    """Return the whole of a reviewed call, folded up."""
    action, review = record.get("action"), record.get("review")
    if record.get("kind") != "review_made" or not isinstance(action, dict) or not isinstance(review, dict):
        return None
    effects = [one for one in review.get("side_effects") or () if isinstance(one, dict)]
    return h.details[
        h.summary["the whole call"],
        block(action.get("input")),
        h.p[str(review.get("reasoning", ""))[:4_000]],
        h.ul[(h.li[_effect(one)] for one in effects)] if effects else None,
    ]


def _effect(one: Data) -> str:
    return f"{one.get('type')} ({one.get('severity')}): {one.get('details')}"[:1_000]
