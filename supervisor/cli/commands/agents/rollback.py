"""The command that goes back to a checkpoint, once what it loses was shown and confirmed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from monitors.contract.errors import ChaperonError
from monitors.contract.wording import counted
from supervisor.cli import common
from supervisor.cli.client import Client
from supervisor.cli.commands.agents import project_rollback
from supervisor.cli.commands.agents.checkpoints import agent_option, checkpoint_path, moment, project_option
from supervisor.cli.output import terminal
from supervisor.cli.output.progress import post_long
from supervisor.cli.output.words import clean, first_of

SHOWN = 40
"""Paths that are listed; `--json` has all."""

MARKS = {"added": ("+", "green"), "modified": ("~", "yellow"), "deleted": ("-", "red")}
"""How a changed path is drawn; changes of type or mode are drawn as modified."""


class UnusualError(ChaperonError):
    """Going back is of unusual size and was not confirmed as such."""


@click.command()
@click.argument("name", metavar="CHECKPOINT")
@agent_option
@project_option
@click.option("--files-only", is_flag=True, help="Leave the conversation as it is.")
@click.option("--fresh", is_flag=True, help="Begin the conversation anew instead of going on from the checkpoint.")
@click.option("--with-branch", is_flag=True, help="Move the branch back as well; its commits are kept under a ref.")
@click.option("--to-new-workspace", is_flag=True, help="Write the files into a new worktree; the agent is left alone.")
@click.option("--say", "text", default="", help="What the agent is told beside the fact.")
@click.option("--dry-run", is_flag=True, help="Only say what would be lost.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--unusual", is_flag=True, help="Confirm a rollback of unusual size.")
@common.json_option
def rollback(
    name: str,
    agent: str,
    project: Path | None,
    to_new_workspace: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    **how: Any,
) -> None:
    """Go back to CHECKPOINT: files, and the conversation of an agent that lives; or a whole project.

    What is there now is kept as a checkpoint first, so that going back to that undoes it.
    """
    if to_new_workspace and (dry_run or any(how.values())):
        raise click.UsageError("--to-new-workspace goes with --agent and --json alone: nothing is lost by it.")

    alone = [agent, to_new_workspace, how["files_only"], how["fresh"], how["text"]]
    if project is not None and any(alone):
        raise click.UsageError("--project goes with --with-branch, --dry-run, --yes, --unusual and --json alone.")
    if project is not None:
        branches, unusual = how["with_branch"], how["unusual"]
        project_rollback.roll_back(
            project, name, with_branches=branches, dry_run=dry_run, yes=yes, unusual=unusual, as_json=as_json
        )
        return
    daemon = common.daemon()
    if to_new_workspace:
        _tell_written(_written(daemon, name, agent), as_json=as_json)
        return
    plan = daemon.post(f"{checkpoint_path(name)}/plan", {"agent": agent, "with_branch": how["with_branch"]})
    if dry_run and as_json:
        terminal.echo_json(plan)
    elif not as_json:
        terminal.echo("\n".join(plan_lines(plan, files_only=how["files_only"], fresh=how["fresh"])))
    if dry_run:
        return
    _confirm(plan, yes=yes, unusual=how["unusual"])
    body = {"checkpoint": name, **how}
    target = f"{common.agent_path(agent or plan['agent'])}/rollback"
    done = post_long(daemon, target, body, "going back to", name)
    if as_json:
        terminal.echo_json(done)
        return
    terminal.echo(
        f"{counted(done['restored'], 'path was', 'paths were')} set back to {done['checkpoint']}. To undo: chaperon rollback {done['undo']}"
    )
    if done["commits_kept_as"]:
        then = plan["target"]["repository"]
        terminal.echo(
            f"Branch {then['branch']} stands on {then['head'][:12]} again. Its commits since are kept: git log {done['commits_kept_as']}"
        )
    if done["session_id"]:
        terminal.echo(f"The conversation goes on in session {done['session_id']}.")


def _written(daemon: Client, name: str, agent: str) -> Mapping[str, Any]:
    target = f"{checkpoint_path(name)}/workspace"
    written: Mapping[str, Any] = post_long(
        daemon,
        target,
        {"agent": agent},
        "writing the checkpoint",
        name,
    )
    return written


def _tell_written(written: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        terminal.echo_json(written)
        return
    terminal.echo(f"{written['checkpoint']} was written to {written['workspace']}, on branch {written['branch']}.")
    for path in written["kept"]:
        terminal.echo(f"Not written: {clean(path)}")
    terminal.echo(f"An agent goes on there with: chaperon run --repo {written['workspace']} PROMPT")


def _confirm(plan: Mapping[str, Any], *, yes: bool, unusual: bool) -> None:
    if plan["unusual"] and not unusual:
        raise UnusualError(f"{plan['unusual']} Nothing was changed.", way_out="Say --unusual as well if that is meant.")
    if not yes:
        common.confirm("Go back?", "Going back was not confirmed")


def plan_lines(plan: Mapping[str, Any], *, files_only: bool = False, fresh: bool = False) -> list[str]:
    """Return the facts that a person should know before the rollback."""
    target = plan["target"]
    lost = [one for one in plan["lost"] if one["change"] != "deleted"]
    back = [one for one in plan["lost"] if one["change"] == "deleted"]
    facts = target["facts"]
    what = "files"
    if plan["live"] and not files_only:
        anew = fresh or begins_anew(plan)
        talk = f"the conversation of {plan['agent']}"
        what = f"files, and {talk} begins anew" if anew else f"files and {talk}"
    lines = [f"Going back to {target['name']} ({moment(facts['at'])}, {facts['reason']}): {what}."]
    if lost:
        lines += [f"Lost here, and kept in a checkpoint ({len(lost)}):", *_listed(lost)]
    if back:
        lines += [f"Comes back ({len(back)}):", *first_of([f"  {clean(one['path'])}" for one in back], SHOWN)]
    if not plan["lost"]:
        lines.append("The files are as they were then.")
    lines += first_of([f"Stays as it is: {clean(one['path'])}: {one['why']}" for one in plan["kept"]], SHOWN)
    return [*lines, *plan["warnings"]]


def begins_anew(plan: Mapping[str, Any]) -> bool:
    """Whether there is nowhere in its conversation to which the agent could go back."""
    facts = plan["target"]["facts"]
    return bool(facts["agent"] != plan["agent"] or not facts["position"]["message_uuid"])


def _listed(changes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Changed paths, one a line, with a mark each."""
    marked = ((MARKS.get(one["change"], MARKS["modified"]), clean(one["path"])) for one in changes)
    return first_of([f"  {click.style(mark, fg=colour)} {path}" for (mark, colour), path in marked], SHOWN)
