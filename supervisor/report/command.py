"""The command that makes a report."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from monitors.contract.errors import ChaperonError
from supervisor.cli import common, following
from supervisor.cli.client import Client, wait_for
from supervisor.cli.output import terminal
from supervisor.cli.output.progress import shown
from supervisor.cli.output.times import PastMoment
from supervisor.report.markdown import as_markdown
from supervisor.report.tally import ReportData, ReportTally
from supervisor.runtime.clock import Clock

DAY, WEEK = 86_400.0, 7 * 86_400.0


class ReportFileError(ChaperonError):
    """The report cannot be made, or written."""


@click.command()
@click.option("--week", is_flag=True, help="Of the last seven days, and not of the last one.")
@click.option("--since", type=PastMoment(), help="Begin there: 10m, 08:15, 2026-11-21 or 2026-11-21T08:15.")
@click.option("--label", help="Count only agents whose task has this label.")
@click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write it there, as one HTML file."
)
@click.option("--markdown", is_flag=True, help="Print Markdown, which is what is printed anyway.")
@common.json_option
def report(
    week: bool, since: float | None, label: str | None, html: Path | None, markdown: bool, as_json: bool
) -> None:
    """Say what agents did, what was stopped, what it cost, and which rules fire and are never right."""
    if week and since is not None:
        raise click.UsageError("--week and --since do not go together: say one of them.")
    if html is not None and (markdown or as_json):
        raise click.UsageError("--html goes with neither --markdown nor --json: make one report after the other.")
    now = Clock().wall()
    data = gather(common.daemon(), now - (WEEK if week else DAY) if since is None else since, now, label)
    if as_json:
        terminal.echo_json(_json(data))
    elif html is None:
        terminal.echo(as_markdown(data), nl=False)
    else:
        _write(html, data)


def gather(daemon: Client, since: float, until: float, label: str | None = None) -> ReportData:
    """Read the journal of a time, and what the daemon says beside it; raises like `Client.get`.

    Args:
        daemon: Has both.
        since: Begin of the time, in Unix seconds.
        until: Its end.
        label: Count only agents whose task has it; their cost is put on the days on which they began.
    """
    tally = ReportTally(since, until)
    query = {} if label is None else {"label": label}
    known = {str(one["agent"]): one for one in common.all_agents(daemon, **query)}
    end, first = int(daemon.get("/v1/health")["last_event"]), 0
    with shown("reading", "", "event") as report:
        for line in following.events(daemon, wait_for, since=since):
            if label is None or line.record.get("agent") in known:
                tally.take(line.record)
            n = int(line.record.get("n", 0))
            first = first or n
            report(n - first + 1, max(n, end) - first + 1)
    costs = daemon.get("/v1/costs")["by_day"] if label is None else _by_begin(known.values())
    return ReportData(tally, known, costs)


def _by_begin(agents: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for one in agents:
        day = datetime.fromtimestamp(one["started_at"], UTC).date().isoformat()
        found[day] = found.get(day, 0.0) + (one.get("cost_usd") or 0.0)
    return found


def _write(path: Path, data: ReportData) -> None:
    try:
        from supervisor.cli.output.html_file import write_html
        from supervisor.report.page import as_html
    except ImportError as error:
        raise ReportFileError(
            "A report as HTML needs a package that is not installed; nothing was written.",
            way_out="Install chaperon with its extra [panel], or print Markdown: chaperon report",
        ) from error
    write_html(path, as_html(data, _panel()))
    terminal.echo(f"The report is in {path}.")


def _panel() -> str:
    """Return the address of the panel, for links; empty if none is configured, or if that cannot be read."""
    try:
        return str(common.setting("notify.panel"))
    except ChaperonError:  # the report needs nothing of it
        return ""


def _json(data: ReportData) -> dict[str, Any]:
    tally = data.tally
    return {
        "since": tally.since,
        "until": tally.until,
        "events": tally.events,
        "cost_usd": data.cost,
        "decisions": dict(tally.decisions),
        "agents": {
            name: {"calls": dict(one.calls), "interventions": dict(one.interventions), "incidents": one.incidents}
            for name, one, _ in data.rows()
        },
        "stops": [{"at": at, "agent": agent, "why": why, "incident": id_} for at, agent, why, id_ in tally.stops],
        "rules": {
            name: {
                "decisions": dict(one.decisions),
                "asked": one.asked,
                "granted": one.granted,
                "denied": one.denied,
                "allowed": one.allowed,
            }
            for name, one in data.rules()
        },
        "patterns": {name: {"raised": one.raised, "outcomes": dict(one.outcomes)} for name, one in data.patterns()},
        "never_right": data.never_right(),
    }
