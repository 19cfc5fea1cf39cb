"""The command by which a daemon takes no new tasks, so that it can be ended or looked at in peace."""

from pathlib import Path

import click

from supervisor.cli import common
from supervisor.cli.many import Many
from supervisor.cli.output import terminal
from supervisor.cli.output.agent_words import of_which, options_for
from supervisor.cli.output.words import clean, local


@click.command()
@click.option("--off", is_flag=True, help="Take new tasks again.")
@click.option(
    "--repo",
    type=click.Path(exists=False, file_okay=False, path_type=Path),
    help="Only tasks of the repository of this directory.",
)
@click.option("--label", help="Only tasks with this label.")
@click.option("--reason", default="", help="What those are told whose tasks are not taken.")
@common.json_option
def drain(off: bool, repo: Path | None, label: str | None, reason: str, as_json: bool) -> None:
    """Take no new tasks, or none of some; agents that run go on. Kept over restarts, until --off."""
    many = Many(repo is None and label is None, repo, label)
    daemon = common.daemon()
    state = daemon.post("/v1/drain", {"on": not off, "reason": common.whole_text(reason), **many.body()})
    if as_json:
        terminal.echo_json(state)
        return
    live = daemon.get("/v1/health")["agents"]
    if not state["on"]:
        terminal.echo("New tasks are taken.")
        return
    options = "" if not (state["repository"] or state["label"]) else f" {options_for(state)}"
    why = f": {clean(state['reason'], 1_000)}" if state["reason"] else ""
    terminal.echo(
        f"{clean(f'No new tasks{of_which(state)}', 500)} are taken, by {clean(state['by'], 100)} since {local(state['since'])}{why}."
    )
    terminal.echo(f"Agents at work: {live:,}. To take tasks again: chaperon drain --off{options}")
