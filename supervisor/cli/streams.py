"""Commands that follow: tail for the journal, incidents for the incident log."""

from collections.abc import Iterable, Iterator
from typing import Any

import click

from supervisor.cli import common, terminal, view
from supervisor.cli.client import Client
from supervisor.cli.export import INCIDENTS, JOURNAL, exported
from supervisor.cli.following import Output, Told, events, follow_events, follow_incidents, last_events, told
from supervisor.cli.times import Moment

follow_option = click.option("-f", "--follow", is_flag=True, help="Wait for more until interrupted.")

last_option = click.option(
    "-n", "--last", type=click.IntRange(min=0), help="Begin with the last so many lines; 0 with what comes next."
)

since_option = click.option("--since", type=Moment(), help="Begin there: 10m, 08:15, 2026-11-21 or 2026-11-21T08:15.")

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

    With -f it goes on when the daemon is started again, and ends when nobody reads what it prints.
    """

    def work() -> None:
        query = {**({"agent": agent} if agent else {}), **({"since": since} if since is not None else {})}
        found = _chosen(common.daemon(), follow, last, after, query, for_people=not (as_json or export))
        if export:
            _export(found, JOURNAL)
            return
        for one in found:
            if as_json:
                terminal.echo_line(one.line)
            else:
                for line in view.shown(one.record, names=True):
                    terminal.echo(line)

    common.run(work)


def _chosen(
    daemon: Client, follow: bool, last: int | None, after: int, query: dict[str, Any], *, for_people: bool
) -> Iterator[Told]:
    """The events that are wanted, and those to come where they are followed."""
    output = Output()
    if last is not None:
        counts = _lines_of if for_people else _one
        kept, after = last_events(daemon, last, output.wait, counts, **query)
        yield from kept
    if follow:
        yield from follow_events(daemon, after, wait=output.wait, pause=output.pause, **query)
    elif last is None:
        yield from events(daemon, output.wait, after=after, **query)


def _lines_of(one: Told) -> int:
    return len(view.shown(one.record))


def _one(_: Told) -> int:
    return 1


@click.command()
@follow_option
@last_option
@since_option
@common.json_option
@export_option
def incidents(follow: bool, last: int | None, since: float | None, as_json: bool, export: bool) -> None:
    """Print the incident log: what is worth a person's eye, with the way out."""

    def work() -> None:
        output, daemon = Output(), common.daemon()
        found = list(told(daemon.lines("/v1/incidents", wait=output.wait)))
        begin = 0 if last is None else max(0, len(found) - last)
        chosen: Iterable[Told] = found[begin:]
        if follow:
            chosen = follow_incidents(daemon, wait=output.wait, pause=output.pause, skip=begin)
        chosen = (one for one in chosen if since is None or float(one.record.get("at", 0.0)) >= since)
        if export:
            _export(chosen, INCIDENTS)
            return
        for one in chosen:
            if as_json:
                terminal.echo_line(one.line)
            else:
                terminal.echo(_incident(one.record))

    common.run(work)


def _export(found: Iterable[Told], columns: tuple[str, ...]) -> None:
    for line in exported(found, columns, common.configuration().config.audit.export_format):
        terminal.echo(line)


def _incident(incident: Any) -> str:
    time = view.local(incident["at"], "%Y-%m-%d %H:%M:%S")
    severity = click.style(f"{incident['severity']:<8}", fg=view.COLOURS[incident["severity"]])
    head = f"{time} {severity} {incident['agent'] or 'daemon':<6} {incident['type']}: {view.clean(incident['summary'], 400)}"
    way_out = incident.get("way_out")
    return f"{head}\n{'':>20}{click.style(view.clean(way_out, 400), dim=True)}" if way_out else head
