"""Commands about checkpoints: checkpoints, checkpoint, rollback."""

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from supervisor.cli import common
from supervisor.cli.client import Client
from supervisor.cli.view import clean
from supervisor.protocol.errors import ChaperonError, UsageError

SHOWN = 40
"""Paths that are listed; `--json` has all."""

ROW = "{name:<28} {at:<15} {reason:<13} {files:<9} {health:<10} {note}"

MARKS = {"added": ("+", "green"), "modified": ("~", "yellow"), "deleted": ("-", "red")}
"""How a changed path is drawn; changes of type or mode are drawn as modified."""

agent_option = click.option("--agent", default="", help="Whose; needed where it is not plain.")


class UnconfirmedError(UsageError):
    """What loses something was not confirmed."""


class UnusualError(ChaperonError):
    """Going back is of unusual size and was not confirmed as such."""


@click.group(invoke_without_command=True)
@agent_option
@common.json_option
@click.pass_context
def checkpoints(context: click.Context, agent: str, as_json: bool) -> None:
    """List checkpoints; or show one, or draw what changed since."""
    if context.invoked_subcommand is not None:
        return

    async def work() -> None:
        async with common.daemon() as daemon:
            kept = await daemon.get(f"/v1/checkpoints?agent={agent}")
        if as_json:
            common.echo_json(kept["checkpoints"])
        else:
            click.echo(
                ROW.format(name="NAME", at="WHEN", reason="REASON", files="FILES", health="SUCCESS", note="NOTE")
            )
            for one in kept["checkpoints"]:
                click.echo(_row(one))
        for problem in kept["problems"]:
            click.echo(f"chaperon: {problem}", err=True)

    common.run(work)


@checkpoints.command()
@click.argument("name")
@agent_option
@common.json_option
def show(name: str, agent: str, as_json: bool) -> None:
    """Show what a checkpoint holds."""

    async def work() -> None:
        async with common.daemon() as daemon:
            one = await daemon.get(f"/v1/checkpoints/{name}?agent={agent}")
        if as_json:
            common.echo_json(one)
        else:
            click.echo("\n".join(_portrait(one)))

    common.run(work)


@checkpoints.command()
@click.argument("name")
@click.argument("other", default="")
@agent_option
@common.json_option
def diff(name: str, other: str, agent: str, as_json: bool) -> None:
    """Draw what changed from NAME to OTHER, or to the present."""

    async def work() -> None:
        async with common.daemon() as daemon:
            changes = await daemon.get(f"/v1/checkpoints/{name}/diff?other={other}&agent={agent}")
        if as_json:
            common.echo_json(changes)
        else:
            # Here and not above: the checkpoints package is the daemon's, and listing them should not pay for it.
            from checkpoints.model import Change, Difference
            from checkpoints.picture import picture

            click.echo(picture(Difference(one["path"], Change(one["change"])) for one in changes))

    common.run(work)


@checkpoints.command()
@click.option("--repair", is_flag=True, help="Take lost checkpoints back in from their commits.")
@common.json_option
def doctor(repair: bool, as_json: bool) -> None:
    """Read every object of every store, and say what is damaged and which checkpoints that touches."""

    async def work() -> int:
        async with common.daemon() as daemon:
            stores = await daemon.get(f"/v1/checkpoint-stores?repair={'true' if repair else 'false'}")
        if as_json:
            common.echo_json(stores)
        for store in [] if as_json else stores:
            click.echo(f"{store['project']}: {store['checkpoints']} checkpoints, {store['size_bytes']:,} bytes")
            for problem in store["problems"]:
                click.echo(f"  {'repaired: ' if problem['repaired'] else ''}{problem['what']} {problem['way_out']}")
        return common.FAILED if any(_damaged(store) for store in stores) else 0

    common.run(work)


@checkpoints.command()
@click.argument("name")
@agent_option
def forget(name: str, agent: str) -> None:
    """Forget a checkpoint, a named one too. Its files go when the store is packed next."""

    async def work() -> None:
        async with common.daemon() as daemon:
            await daemon.post(f"/v1/checkpoints/{name}/forget", {"agent": agent})
        click.echo(f"{name} is forgotten.")

    common.run(work)


@checkpoints.command()
@click.argument("project", type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(project: Path, yes: bool) -> None:
    """Delete all checkpoints of PROJECT, the folder of its main worktree. No workspace is touched; nothing brings them back."""
    folder = str(project.absolute())

    async def work() -> None:
        if not yes:
            _ask(f"All checkpoints of {folder} will be gone. Delete them?", "Deleting was not confirmed")
        async with common.daemon() as daemon:
            await daemon.post("/v1/checkpoint-stores/delete", {"project": folder}, seconds=None)
        click.echo(f"The checkpoints of {project} are deleted.")

    common.run(work)


@click.command()
@click.argument("name")
@agent_option
@click.option("--note", default="", help="A sentence for whoever reads the list.")
@common.json_option
def checkpoint(name: str, agent: str, note: str, as_json: bool) -> None:
    """Keep the present of an agent's workspace under NAME."""

    async def work() -> None:
        async with common.daemon() as daemon:
            who = agent or _only([one for one in await daemon.get("/v1/agents") if not one["ended_at"]])
            made = await daemon.post(f"/v1/agents/{who}/checkpoints", {"name": name, "note": note})
        if as_json:
            common.echo_json(made)
        else:
            click.echo(f"{made['name']} holds the workspace of {who} ({made['micros'] / 1000:.1f} ms).")

    common.run(work)


@click.command()
@click.argument("name", metavar="CHECKPOINT")
@agent_option
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
    name: str, agent: str, to_new_workspace: bool, dry_run: bool, yes: bool, as_json: bool, **how: Any
) -> None:
    """Go back to CHECKPOINT: files, and the conversation of an agent that lives.

    What is there now is kept as a checkpoint first, so that going back to that undoes it.
    """
    if to_new_workspace and (dry_run or any(how.values())):
        raise click.UsageError("--to-new-workspace goes with --agent and --json alone: nothing is lost by it.")

    async def work() -> None:
        async with common.daemon() as daemon:
            if to_new_workspace:
                _tell_written(await _written(daemon, name, agent), as_json=as_json)
                return
            plan = await daemon.post(f"/v1/checkpoints/{name}/plan", {"agent": agent})
            if dry_run and as_json:
                common.echo_json(plan)
            elif not as_json:
                click.echo("\n".join(_told(plan, how["files_only"])))
            if dry_run:
                return
            _confirm(plan, yes=yes, unusual=how["unusual"])
            body = {"checkpoint": name, **how}
            done = await daemon.post(f"/v1/agents/{agent or plan['agent']}/rollback", body, seconds=None)
        if as_json:
            common.echo_json(done)
            return
        click.echo(
            f"{done['restored']} paths were set back to {done['checkpoint']}. To undo: chaperon rollback {done['undo']}"
        )
        if done["commits_kept_as"]:
            click.echo(f"The commits since are kept under {done['commits_kept_as']}.")
        if done["session_id"]:
            click.echo(f"The conversation goes on in session {done['session_id']}.")

    common.run(work)


async def _written(daemon: Client, name: str, agent: str) -> Mapping[str, Any]:
    written: Mapping[str, Any] = await daemon.post(f"/v1/checkpoints/{name}/workspace", {"agent": agent}, seconds=None)
    return written


def _tell_written(written: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        common.echo_json(written)
        return
    click.echo(f"{written['checkpoint']} was written to {written['workspace']}, on branch {written['branch']}.")
    for path in written["kept"]:
        click.echo(f"Not written: {clean(path)}")
    click.echo(f"An agent goes on there with: chaperon run --repo {written['workspace']} PROMPT")


def _confirm(plan: Mapping[str, Any], *, yes: bool, unusual: bool) -> None:
    if plan["unusual"] and not unusual:
        raise UnusualError(f"{plan['unusual']} Nothing was changed.", way_out="Say --unusual as well if that is meant.")
    if not yes:
        _ask("Go back?", "Going back was not confirmed")


def _ask(question: str, unconfirmed: str) -> None:
    if not sys.stdin.isatty():
        raise UnconfirmedError(
            f"{unconfirmed}, and there is no terminal to ask; nothing was changed.", way_out="Say --yes."
        )
    if not click.confirm(question):
        raise UnconfirmedError("Nothing was changed.")


def _told(plan: Mapping[str, Any], files_only: bool) -> list[str]:
    """What somebody should know before it is done."""
    target = plan["target"]
    lost = [one for one in plan["lost"] if one["change"] != "deleted"]
    back = [one for one in plan["lost"] if one["change"] == "deleted"]
    both = plan["live"] and not files_only
    what = f"files and the conversation of {plan['agent']}" if both else "files"
    lines = [f"Going back to {target['name']} ({_time(target['facts']['at'])}, {target['facts']['reason']}): {what}."]
    if lost:
        lines += [f"Lost here, and kept in a checkpoint ({len(lost)}):", *_listed(lost)]
    if back:
        lines += [f"Comes back ({len(back)}):", *(f"  {one['path']}" for one in back[:SHOWN])]
    if not plan["lost"]:
        lines.append("The files are as they were then.")
    lines += [f"Stays as it is: {one['path']}: {one['why']}" for one in plan["kept"][:SHOWN]]
    return [*lines, *plan["warnings"]]


def _listed(changes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Changed paths, one a line, with a mark each and the counts below."""
    lines = []
    for one in changes[:SHOWN]:
        mark, colour = MARKS.get(one["change"], MARKS["modified"])
        lines.append(f"  {click.style(mark, fg=colour)} {clean(one['path'])}")
    if len(changes) > SHOWN:
        lines.append(f"  … and {len(changes) - SHOWN} more")
    return lines


def _row(one: Mapping[str, Any]) -> str:
    facts = one["facts"]
    rate = facts["health"]["success_rate"]
    return ROW.format(
        name=clean(one["name"], 28),
        at=_time(facts["at"]),
        reason=facts["reason"],
        files=one["tree"][:8],
        health="-" if rate is None else f"{rate:.0%}",
        note=clean(facts["note"], 60),
    ).rstrip()


def _portrait(one: Mapping[str, Any]) -> list[str]:
    facts, stood = one["facts"], one["repository"]
    position = facts["position"]
    rows = {
        "name": one["name"],
        "made": f"{_time(facts['at'])}, {facts['reason']}, at event {facts['seq']}",
        "agent": facts["agent"] or "-",
        "workspace": one["workspace"],
        "files": f"tree {one['tree'][:12]}, commit {one['commit'][:12]}",
        "position": f"{position['session_id'] or '-'} at {position['message_uuid'] or 'its beginning'}",
        "branch": f"{stood['branch'] or 'none'} at {stood['head'][:12] or 'no commit'}",
        "states": ", ".join(f"{name} {state}" for name, state in facts["agent_states"].items()) or "-",
        "note": clean(facts["note"]) or "-",
    }
    skipped = [f"skipped    {clean(path['path'])}: {path['why']}" for path in one["skipped"]]
    return [*(f"{name:<10} {value}" for name, value in rows.items()), *skipped]


def _damaged(store: Mapping[str, Any]) -> bool:
    return any(problem["checkpoints"] and problem["severe"] for problem in store["problems"])


def _only(living: Sequence[Mapping[str, Any]]) -> str:
    if len(living) == 1:
        return str(living[0]["agent"])
    names = ", ".join(str(one["agent"]) for one in living) or "none"
    raise UsageError(f"Which agent is meant is not plain; running: {names}.", way_out="Say --agent.")


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).astimezone().strftime("%m-%d %H:%M:%S")
