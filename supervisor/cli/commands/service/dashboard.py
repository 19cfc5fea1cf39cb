"""The command that prints the dashboard for Grafana."""

import importlib.resources

import click

from supervisor.cli.output import terminal


@click.command()
def dashboard() -> None:
    """Print a dashboard for Grafana that draws chaperon's metrics.

    To use it: `chaperon dashboard > chaperon.json`, and import the file in Grafana, whose data source is a Prometheus
    that reads `metrics.listen`, such as 127.0.0.1:9464.
    """
    text = importlib.resources.files("supervisor.runtime").joinpath("dashboards/chaperon.json").read_text("utf-8")
    terminal.echo(text.rstrip("\n"))
