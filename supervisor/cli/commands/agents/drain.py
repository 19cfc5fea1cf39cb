"""The command by which a daemon takes no new tasks, so that it can be ended or looked at in peace."""

import click

from supervisor.cli import common, terminal
from supervisor.cli.words import clean, local


@click.command()
@click.option("--off", is_flag=True, help="Take new tasks again.")
@click.option("--reason", default="", help="What those are told whose tasks are not taken.")
@common.json_option
def drain(off: bool, reason: str, as_json: bool) -> None:
    """Take no new tasks; agents that run go on. Kept over restarts, until --off."""

    def work() -> None:
        daemon = common.daemon()
        state = daemon.post("/v1/drain", {"on": not off, "reason": common.whole_text(reason)})
        if as_json:
            terminal.echo_json(state)
            return
        live = daemon.get("/v1/health")["agents"]
        if not state["on"]:
            terminal.echo("New tasks are taken.")
            return
        why = f": {clean(state['reason'], 1_000)}" if state["reason"] else ""
        terminal.echo(f"No new tasks are taken, by {clean(state['by'], 100)} since {local(state['since'])}{why}.")
        terminal.echo(f"Agents at work: {live:,}. To take tasks again: chaperon drain --off")

    common.run(work)
