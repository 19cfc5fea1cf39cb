"""The commands that play scenarios to the real CLI: rehearse, and demo, which is one of them."""

from pathlib import Path

import click

from supervisor.cli import common
from supervisor.cli.output import terminal


@click.command()
@click.argument("scenario", type=click.Path(path_type=Path))
@click.option("--keep", is_flag=True, help="Keep the scratch directory, and say where it is.")
@common.json_option
def rehearse(scenario: Path, keep: bool, as_json: bool) -> int:
    """Play SCENARIO (a file, or the name of one that comes with chaperon) to the real CLI and check what it expects.

    A scripted model on loopback answers the CLI; no account is reached. Exit code 0 where everything is as expected.
    That of a fleet has several CLIs, stored tasks, and a daemon that may be killed.
    """
    terminal.begin("loading the daemon")
    # Here and not above: the daemon takes most of a second to load, which `--help` need not pay.
    from supervisor.cli.commands.policy.rehearsing import run_rehearsal

    return run_rehearsal(str(scenario), keep, as_json)


@click.command()
@click.option("--keep", is_flag=True, help="Keep the scratch directory, and say where it is.")
def demo(keep: bool) -> int:
    """Watch chaperon at work: a real CLI is warned, corrected, blocked and stopped. Needs nothing configured."""
    terminal.echo("A real Claude CLI in a scratch repository, a scripted model on loopback, and chaperon between them.")
    from supervisor.cli.commands.policy.rehearsing import run_rehearsal  # as above

    return run_rehearsal("demo", keep, False)
