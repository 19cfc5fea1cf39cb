"""The command that runs recorded sessions through today's reviewer, detectors and controller, offline."""

from pathlib import Path
from typing import Any

import click

from supervisor.cli import common
from supervisor.cli.output import terminal


@click.command(name="replay")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--timeline", is_flag=True, help="Print what happened in each session, step by step.")
@click.option("--here", is_flag=True, help="Look links and files up as they are on this machine now.")
@click.option(
    "--policy",
    type=click.Choice(["then", "today"]),
    default="then",
    help="Review a journal's calls by the policy that counted then, where it was kept, or by today's.",
)
@click.option(
    "--against",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Try the keys of this configuration file: name each call that they decide otherwise than those of today.",
)
@click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a report with charts there."
)
@click.option("--progress", is_flag=True, help="Say how far it is with --json too, on standard error.")
@click.option("--all", "show_all", is_flag=True, help="List healthy sessions in the table too.")
@common.json_option
def replay_command(**options: Any) -> int:
    """Run recorded sessions through reviewer and detectors, and report the findings and responses of a live run.

    PATHS are transcripts (`~/.claude/projects`), recorded stream-json, output files of agents, or the journal; of a
    directory, every .jsonl file below it; of a state directory, its journal alone. With --json, one object a session
    and a last one with the totals.

    Calls are reviewed as they stand: targets of links and contents of files at the time are not known, unless --here
    has them looked up as they are now. Missing facts are named, and so is each call of a journal whose decision would
    differ now.
    """
    if options["timeline"] and options["as_json"]:
        raise click.UsageError("--timeline is for people; --json has the issues and their events.")
    terminal.begin("loading the rules")
    # Here and not above: the reviewer and all detectors take most of a second to load, which `--help` need not pay.
    from supervisor.cli.commands.policy.replaying import run_replay

    return run_replay(**options)
