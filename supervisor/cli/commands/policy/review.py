"""Commands about reviews without a run: review, explain, rules. No daemon is needed.

What they do is in `reviewing`, which is loaded as they run: their usage needs none of it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import get_args

import click

from monitors.contract.words import Profile
from supervisor.cli import common


def about(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say where an action is judged."""
    profile = click.option(
        "--profile",
        type=click.Choice(get_args(Profile)),
        default=None,
        help="strict: nothing is in a workspace, and nothing is reversible. container: the machine is thrown away, and files "
        "with it. Without it: container if sandbox.profile says so, else standard.",
    )
    place = click.Path(path_type=Path)
    workspace = click.option(
        "--workspace",
        "--repo",
        type=place,
        help="The agent's workspace. For typed commands the git worktree around the current directory, if there is one.",
    )
    home_ = click.option("--home", "home_", type=place, help="The agent's home directory; this user's by default.")
    return profile(workspace(home_(command)))


@click.command()
@about
@click.option("--jsonl", is_flag=True, help="Read and write one JSON object a line.")
def review(profile: Profile | None, workspace: Path | None, home_: Path | None, jsonl: bool) -> None:
    """Review actions from standard input: a shell command a line, or with --jsonl an object a line.

    An object is {"command": …} or {"tool": …, "input": {…}}, with optional cwd, workspace and id; answers come in
    order. They are those of the gate for an agent that has done nothing yet: facts of a run are not known here.
    """
    from supervisor.cli.commands.policy import reviewing

    reviewing.review_input(profile, workspace, home_, jsonl=jsonl)


@click.command(name="explain")
@click.argument("command")
@about
@common.json_option
def explain_command(
    command: str, profile: Profile | None, workspace: Path | None, home_: Path | None, as_json: bool
) -> None:
    """Show how the review of a shell COMMAND comes about: stage by stage, with times.

    It is the review that an agent would get in this workspace as its first call.
    """
    from supervisor.cli.commands.policy import reviewing

    reviewing.explain_one(command, profile, workspace, home_, as_json=as_json)


@click.command()
@click.option("--test", "test_", is_flag=True, help="Check every rule against its own examples.")
@click.option("--match", "command", help="Show only the rules that match this shell command.")
@common.json_option
def rules(test_: bool, command: str | None, as_json: bool) -> int:
    """List what the reviewer knows, or test it: your own rules and those of plugins first, as they are asked first."""
    from supervisor.cli.commands.policy import reviewing

    return reviewing.list_rules(command, checks=test_, as_json=as_json)
