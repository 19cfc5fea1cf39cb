"""A report as Markdown. Text of others is escaped, so that it cannot become a heading, a link or a picture."""

import re
from collections.abc import Iterable, Iterator, Sequence

from monitors.contract.wording import counted, dollars
from supervisor.cli.output.words import clean, local
from supervisor.report.tally import ReportData

ACTIVE = re.compile(
    r"([\\`*\[\]<>|~&@]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.|^[#+\-=]|(?<=^\d)[.)])", re.IGNORECASE
)
"""Characters that Markdown gives a meaning at their place (CommonMark 0.31, 2.4 to 6), and those by which addresses
become links. Others stay as they are: a report is read in a terminal too."""

FORM = "%Y-%m-%d %H:%M"


def as_markdown(data: ReportData) -> str:
    """Return the report."""
    return "\n".join(_lines(data)) + "\n"


def plain(text: object, most: int = 120) -> str:
    """A text of others that means nothing in Markdown."""
    return ACTIVE.sub(r"\\\1", clean(text, most))


def headline(data: ReportData) -> str:
    """The report in a sentence."""
    tally, decisions = data.tally, data.tally.decisions
    return (
        f"{counted(len(data.rows()), 'agent')} made {counted(decisions.total(), 'call')}: {decisions['block']:,} blocked, "
        f"{decisions['modify']:,} changed, {decisions['warn']:,} warned of. {counted(len(tally.stops), 'emergency stop')}. "
        f"{dollars(data.cost)} spent (days of UTC)."
    )


def _lines(data: ReportData) -> Iterator[str]:
    tally = data.tally
    yield f"# Report from {local(tally.since, FORM)} to {local(tally.until, FORM)}"
    yield ""
    yield headline(data)
    rows = (
        [
            plain(name, 60),
            str(known.get("state", "")),
            f"{one.calls.total():,}",
            f"{one.calls['block']:,}",
            f"{one.interventions.total():,}",
            f"{one.incidents:,}",
            dollars(known["cost_usd"]) if known.get("cost_usd") else "-",
            plain((known.get("task") or {}).get("prompt", "")),
        ]
        for name, one, known in data.rows()
    )
    yield from _table(
        "Agents", ("agent", "state", "calls", "blocked", "interventions", "incidents", "cost in all", "task"), rows
    )
    stops = ([local(at, FORM), plain(agent, 60), plain(why, 300), plain(id_)] for at, agent, why, id_ in tally.stops)
    yield from _table("Stopped", ("when", "agent", "why", "incident"), stops)
    rules = (
        [
            plain(name),
            *(f"{rule.decisions[decision]:,}" for decision in ("block", "modify", "warn")),
            f"{rule.asked:,}",
            f"{rule.overruled:,}",
            plain(rule.examples[0]) if rule.examples else "",
        ]
        for name, rule in data.rules()
    )
    yield from _table(
        "Rules that fired", ("rule", "blocked", "changed", "warned", "asked", "overruled", "example"), rules
    )
    patterns = (
        [plain(name), f"{one.raised:,}", f"{one.outcomes['confirmed']:,}", f"{one.outcomes['false_alarm']:,}"]
        for name, one in data.patterns()
    )
    yield from _table("Issues", ("pattern", "raised", "confirmed", "false alarms"), patterns)
    yield from _table(
        "Cost by day of UTC", ("day", "cost"), ([day, dollars(cost)] for day, cost in data.days() if cost)
    )
    if never := data.never_right():
        yield from ("", "## Never right", "", *(f"- {plain(sentence, 300)}" for sentence in never))


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    made = [f"| {' | '.join(row)} |" for row in rows]
    yield from ("", f"## {title}", "")
    if made:
        yield from (f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *made)
    else:
        yield "None."
