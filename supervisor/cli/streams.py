"""Commands that follow: tail for the journal, incidents for the incident log."""

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import click

from monitors.contract import anyjson
from monitors.contract.errors import NotFoundError
from monitors.contract.progress import Report
from supervisor.cli import common
from supervisor.cli.client import Client
from supervisor.cli.commands.service.export import INCIDENTS, JOURNAL, Export
from supervisor.cli.following import (
    Lines,
    OutputWatch,
    StreamLine,
    events,
    follow_events,
    follow_incidents,
    last_lines,
    readable,
)
from supervisor.cli.output import terminal
from supervisor.cli.output.incident_words import portrait
from supervisor.cli.output.progress import shown
from supervisor.cli.output.times import PastMoment
from supervisor.cli.output.view import View
from supervisor.cli.output.words import COLOURS, clean, local

follow_option = click.option("-f", "--follow", is_flag=True, help="Wait for more until interrupted.")

last_option = click.option(
    "-n", "--last", type=click.IntRange(min=0), help="Begin with the last so many lines; 0 with what comes next."
)

since_option = click.option(
    "--since", type=PastMoment(), help="Begin there: 10m, 08:15, 2026-11-21 or 2026-11-21T08:15."
)

export_option = click.option(
    "--export", is_flag=True, help="Print for other programs: JSON lines or CSV, as `audit.export_format` says."
)


@click.command()
@follow_option
@last_option
@since_option
@click.option("--after", type=click.IntRange(min=0), default=0, help="Begin behind the event of this number.")
@click.option("--agent", help="Only this agent's events.")
@common.json_option
@export_option
def tail(
    follow: bool, last: int | None, since: float | None, after: int, agent: str | None, as_json: bool, export: bool
) -> None:
    """Print the journal: for people, or with --json line by line as it is.

    With -f it goes on when the daemon is started again, and ends when the reader of its output goes.
    """
    wanted: dict[str, Any] = {"agent": agent, "since": since}
    query = {name: value for name, value in wanted.items() if value is not None}
    daemon, output, begin = common.daemon(), OutputWatch(), after
    views: list[View] = []

    def for_people() -> Lines:
        views.append(View(names=True, width=terminal.width()))
        return lambda one: views[-1].lines(one.record)

    make = _maker(as_json, export, JOURNAL, for_people)
    lines = make()
    if last is not None:
        kept, begin, lines = last_lines(daemon, last, output.wait, make, **query)
        _print(kept)
    if follow:
        for one in follow_events(daemon, begin, wait=output.wait, pause=output.pause, **query):
            _print(lines(one))
    elif last is None:
        # A terminal that shows the records has no line to spare.
        quiet = not export or sys.stdout.isatty()
        end = 0 if quiet else int(daemon.get("/v1/health")["last_event"])
        with shown("exporting", "", "event", quiet=quiet) as report:
            for one in events(daemon, output.wait, after=begin, **query):
                _print(lines(one))
                report(int(one.record.get("n", 0)) - begin, max(1, end - begin))
    _print(views[-1].rest() if views else [])


@click.command()
@click.argument("incident", required=False)
@follow_option
@last_option
@since_option
@common.json_option
@export_option
def incidents(
    incident: str | None, follow: bool, last: int | None, since: float | None, as_json: bool, export: bool
) -> None:
    """Print the incident log: what is worth a person's eye, with the way out; or the full report of one INCIDENT."""
    if incident is not None and (follow or last is not None or since is not None or export):
        raise click.UsageError("The report of one incident goes with --json alone.")
    output, daemon = OutputWatch(), common.daemon()
    silent = not export or sys.stdout.isatty()
    with shown("reading", "", "incident", quiet=silent) as report:
        found = list(_counted(readable(daemon.lines("/v1/incidents", wait=output.wait)), report, None))
    if incident is not None:
        _tell_one(daemon, incident, found, as_json)
        return
    begin = 0 if last is None else max(0, len(found) - last)
    chosen: Iterable[StreamLine] = found[begin:]
    if follow:
        chosen = follow_incidents(daemon, wait=output.wait, pause=output.pause, skip=begin)
    lines = _maker(as_json, export, INCIDENTS, lambda: _incident)()
    quiet = not (as_json or export or follow or last == 0)
    with shown("exporting", "", "incident", quiet=silent or follow) as report:
        for one in _counted(chosen, report, len(found) - begin):
            if since is None or float(one.record.get("at") or 0.0) >= since:
                quiet = False
                _print(lines(one))
    if quiet:
        terminal.echo("There is no incident.")


def _counted(records: Iterable[StreamLine], report: Report, total: int | None) -> Iterator[StreamLine]:
    """Pass records on, and say how many came."""
    for done, one in enumerate(records, 1):
        yield one
        report(done, total)


def _maker(
    as_json: bool, export: bool, columns: tuple[str, ...], for_people: Callable[[], Lines]
) -> Callable[[], Lines]:
    """Return a function that makes lines of records, in the wanted form; the head of a table is printed now."""
    if export:
        exporting = Export(columns, common.setting("audit.export_format"))
        _print(exporting.head())
        return lambda: exporting.lines
    if as_json:
        return lambda: lambda one: [anyjson.legible(one.line).decode()]
    return for_people


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        terminal.echo(line)


def _incident(one: StreamLine) -> list[str]:
    """One line of the log for people, with the way out below it. Whoever wrote the line may have left out anything."""
    incident = one.record
    severity = clean(incident.get("severity", ""), 8)
    about = f"{clean(incident.get('agent') or 'daemon', 32):<6} {clean(incident.get('type', ''), 60)}"
    time = local(incident.get("at", 0.0), "%Y-%m-%d %H:%M:%S")
    head = f"{time} {click.style(f'{severity:<8}', fg=COLOURS.get(severity, 'white'))} {about}"
    lines = [head, *_indented(incident.get("summary")), *_indented(incident.get("way_out"), dim=True)]
    report = f"chaperon incidents {clean(incident.get('id', ''), 200)}" if incident.get("report") else ""
    return [*lines, *_indented(report, dim=True)]


def _indented(text: object, *, dim: bool = False) -> list[str]:
    return [click.style(line, dim=True) if dim else line for line in terminal.wrapped(clean(text or "", 2_000), 20)]


def _tell_one(daemon: Client, incident: str, found: Iterable[StreamLine], as_json: bool) -> None:
    """Print the full report of an incident, or its line if it has none.

    Raises:
        NotFoundError: There is no such incident.
    """
    one = next((each for each in found if each.record.get("id") == incident), None)
    if one is None:
        raise NotFoundError(f"There is no incident {incident!r}.", way_out="chaperon incidents --json has their ids.")
    if not one.record.get("report"):
        if as_json:
            terminal.echo_json(one.record)
        else:
            _print(
                [*_incident(one), *_indented(f"event {one.record.get('seq')}: chaperon tail --after {_before(one)}")]
            )
        return
    report = daemon.get(f"/v1/incidents/{common.path_part(incident, 'chaperon incidents')}")
    if as_json:
        terminal.echo_json(report)
    else:
        _print(portrait(report))


def _before(one: StreamLine) -> int:
    seq = one.record.get("seq")
    return max(0, seq - 1) if isinstance(seq, int) else 0
