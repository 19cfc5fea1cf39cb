"""The commands that remove what ended agents left."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from monitors.contract.wording import counted
from supervisor.cli import common
from supervisor.cli.output import terminal
from supervisor.cli.output.progress import post_long
from supervisor.cli.output.times import Duration
from supervisor.cli.output.words import clean
from supervisor.runtime.clock import Clock

Removed = Mapping[str, Any]


@click.command()
@click.argument("agents", metavar="AGENT...", nargs=-1, required=True)
@click.option("--force", is_flag=True, help="Remove them also if something is lost with them.")
@click.option("--dry-run", is_flag=True, help="Only say what would be lost.")
@common.json_option
def rm(agents: tuple[str, ...], force: bool, dry_run: bool, as_json: bool) -> int:
    """Remove what ended AGENTs left: worktree, branch and files; one with which work would be lost stays."""
    return _remove({"agents": list(agents), "force": force, "only_look": dry_run}, as_json=as_json, named=True)


@click.command()
@click.option("--older", type=Duration(), help="Only agents that ended so long ago, as in 2d.")
@click.option("--dry-run", is_flag=True, help="Only say what would be lost.")
@common.json_option
def prune(older: float | None, dry_run: bool, as_json: bool) -> int:
    """Remove what all ended agents left; those with which work would be lost stay and are listed."""
    before = {} if older is None else {"ended_before": Clock().wall() - older}
    return _remove({**before, "only_look": dry_run}, as_json=as_json, named=False)


@click.command()
@click.argument("agent")
@click.option("--branch", is_flag=True, help="Its branch and its workspace go too, if they were made for it.")
@click.option("--force", is_flag=True, help="With --branch: also if work is lost with them.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common.json_option
def forget(agent: str, branch: bool, force: bool, yes: bool, as_json: bool) -> int:
    """Forget all of an ended AGENT: records, output, reports, checkpoints; then look for what is left of it.

    None of it can be brought back.
    """
    wanted = {"branch": branch, "force": force}
    daemon = common.daemon()
    if not yes:
        task = clean(str(daemon.get(common.agent_path(agent))["task"]["prompt"]), 60)
        asked = f"All that was written of {agent} ({task}) will be gone for good. Forget it?"
        common.confirm(asked, f"That {agent} is to be forgotten was not confirmed")
    path = f"{common.agent_path(agent)}/forget"
    done: Removed = post_long(daemon, path, wanted, "forgetting", agent)
    terminal.answer(done, lambda: _sentence(done), as_json=as_json)
    return 0 if done["done"] and not done["left"] else common.FAILED


def _sentence(done: Removed) -> str:
    if not done["done"]:
        return f"{done['agent']}: not forgotten: {clean(done['why'], 1_000)} To do it all the same: --force."
    gone = (
        f"{done['agent']}: forgotten: {counted(done['records'], 'record')} of the journal, "
        f"{counted(done['checkpoints'], 'checkpoint')}, {counted(done['incidents'], 'report')}."
    )
    kept = f" Kept: {clean(', '.join(done['kept']), 1_000)}." if done["kept"] else ""
    left = f" Still named in: {clean(', '.join(done['left']), 1_000)}." if done["left"] else " Nothing is left of it."
    return f"{gone}{kept}{left}"


def _remove(wanted: Mapping[str, Any], *, as_json: bool, named: bool) -> int:
    daemon = common.daemon()
    outcomes: Sequence[Removed] = post_long(
        daemon,
        "/v1/removals",
        wanted,
        "looking at" if wanted["only_look"] else "removing",
        "what ended agents left",
    )
    if as_json:
        terminal.echo_json(outcomes)
    for each in () if as_json else outcomes:
        terminal.echo(_said(each, looked=bool(wanted["only_look"])))
    if not outcomes and not as_json:
        terminal.echo("There is nothing to remove.")
    left = any(not each["done"] for each in outcomes)
    return common.FAILED if named and left and not wanted["only_look"] else 0


def _said(each: Removed, *, looked: bool) -> str:
    lost = clean(" ".join(each["lost"]), 1_000)
    if each["done"]:
        what = ", ".join(each["removed"]) or each["why"] or "there was nothing of it"
        return f"{each['agent']}: removed: {clean(what, 1_000)}.{f' Lost with it: {lost}' if lost else ''}"
    if each["why"]:
        return f"{each['agent']}: not removed: {clean(each['why'].rstrip('.'), 1_000)}."
    if looked:
        return f"{each['agent']}: {lost or 'nothing would be lost.'}"
    return f"{each['agent']}: not removed, since something would be lost: {lost} To remove it all the same: chaperon rm --force {each['agent']}"
