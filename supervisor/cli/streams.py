"""Commands that follow: tail for the journal, incidents for the incident log."""

from collections.abc import AsyncIterator

import click
import orjson

from supervisor.cli import common, view
from supervisor.cli.export import INCIDENTS, JOURNAL, exported

follow_option = click.option("-f", "--follow", is_flag=True, help="Wait for more until interrupted.")

export_option = click.option(
    "--export", is_flag=True, help="Print for other programs: JSON lines or CSV, as `audit.export_format` says."
)


@click.command()
@follow_option
@click.option("-n", "--after", default=0, help="Begin behind this event; -1 begins with what comes next.")
@click.option("--agent", help="Only this agent's events.")
@common.json_option
@export_option
def tail(follow: bool, after: int, agent: str | None, as_json: bool, export: bool) -> None:
    """Print the journal: for people, or with --json line by line as it is."""

    async def work() -> None:
        async with common.daemon() as daemon:
            query = {"after": after, "follow": follow, **({"agent": agent} if agent else {})}
            lines = daemon.lines("/v1/events", **query)
            await (_export(lines, JOURNAL) if export else _print(lines, as_json))

    common.run(work)


async def _print(records: AsyncIterator[bytes], as_json: bool) -> None:
    async for record in records:
        if as_json:
            click.echo(record)
        else:
            for line in view.lines(orjson.loads(record), names=True):
                click.echo(line)


@click.command()
@follow_option
@common.json_option
@export_option
def incidents(follow: bool, as_json: bool, export: bool) -> None:
    """Print the incident log: what is worth a person's eye, with the way out."""

    async def work() -> None:
        async with common.daemon() as daemon:
            lines = daemon.lines("/v1/incidents", follow=follow)
            if export:
                await _export(lines, INCIDENTS)
                return
            async for line in lines:
                click.echo(line if as_json else _incident(line))

    common.run(work)


async def _export(lines: AsyncIterator[bytes], columns: tuple[str, ...]) -> None:
    async for line in exported(lines, columns, common.configuration().config.audit.export_format):
        click.echo(line)


def _incident(line: bytes) -> str:
    incident = orjson.loads(line)
    time = view.local(incident["at"], "%Y-%m-%d %H:%M:%S")
    severity = click.style(f"{incident['severity']:<8}", fg=view.COLOURS[incident["severity"]])
    head = f"{time} {severity} {incident['agent'] or 'daemon':<6} {incident['type']}: {view.clean(incident['summary'], 400)}"
    way_out = incident.get("way_out")
    return f"{head}\n{'':>20}{click.style(view.clean(way_out, 400), dim=True)}" if way_out else head
