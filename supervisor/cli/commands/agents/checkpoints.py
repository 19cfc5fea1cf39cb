"""Commands that keep checkpoints: checkpoints with its own commands, and checkpoint."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from monitors.contract.errors import UsageError
from monitors.contract.wording import counted, duration, size
from supervisor.cli import common
from supervisor.cli.commands.agents import project_checkpoints
from supervisor.cli.output import terminal
from supervisor.cli.output.progress import post_long
from supervisor.cli.output.tables import Column, table
from supervisor.cli.output.words import MADE, clean, local, when
from supervisor.runtime.clock import Clock

COLUMNS = (
    Column("NAME"),
    Column("WHEN", spare=5),
    Column("AGENT", spare=4),
    Column("MADE", spare=2),
    Column("FILES", spare=1),
    Column("PROJECT", spare=3),
    Column("NOTE", most=80),
)

agent_option = click.option(
    "--agent", default="", help="Whose; needed where several agents have one of that name, or several run."
)


project_option = click.option(
    "--project",
    type=click.Path(path_type=Path),
    help="A folder of a repository: what is meant is the checkpoint of all its worktrees, branches, tasks and agents.",
)


@click.group(invoke_without_command=True)
@agent_option
@project_option
@common.json_option
@click.pass_context
def checkpoints(context: click.Context, agent: str, project: Path | None, as_json: bool) -> None:
    """List checkpoints; or, with a command of its own, show one, compare, examine, forget."""
    if context.invoked_subcommand is not None:
        return
    if project is not None:
        project_checkpoints.list_them(project, as_json=as_json)
        return
    kept = common.daemon().get("/v1/checkpoints", agent=agent)
    terminal.answer(
        kept["checkpoints"], lambda: table(COLUMNS, _rows(kept["checkpoints"], Clock().wall())), as_json=as_json
    )
    for problem in kept["problems"]:
        terminal.echo(f"chaperon: {problem}", err=True)


@checkpoints.command()
@click.argument("name")
@agent_option
@project_option
@common.json_option
def show(name: str, agent: str, project: Path | None, as_json: bool) -> None:
    """Show what a checkpoint holds."""
    if project is not None:
        project_checkpoints.show(project, name, as_json=as_json)
        return
    one = common.daemon().get(checkpoint_path(name), agent=agent)
    terminal.answer(one, lambda: _portrait(one), as_json=as_json)


@checkpoints.command()
@click.argument("name")
@click.argument("other", default="")
@agent_option
@common.json_option
def diff(name: str, other: str, agent: str, as_json: bool) -> None:
    """Draw what changed from NAME to OTHER, or to the present."""
    daemon = common.daemon()
    changes = daemon.get(f"{checkpoint_path(name)}/diff", other=other, agent=agent)
    if as_json:
        terminal.echo_json(changes)
    else:
        # Here and not above: the checkpoints package is the daemon's, and listing them should not pay for it.
        from checkpoints.model import Change, Difference
        from checkpoints.restore.diff_tree import picture

        terminal.echo(picture(Difference(one["path"], Change(one["change"])) for one in changes))


@checkpoints.command()
@click.option("--repair", is_flag=True, help="Take lost checkpoints back in from their commits.")
@common.json_option
def doctor(repair: bool, as_json: bool) -> int:
    """Read every object of every store, and say what is damaged and which checkpoints that touches."""
    stores = common.daemon().get("/v1/checkpoint-stores", repair=repair)
    if as_json:
        terminal.echo_json(stores)
    for store in [] if as_json else stores:
        terminal.echo(f"{store['project']}: {counted(store['checkpoints'], 'checkpoint')}, {size(store['size_bytes'])}")
        for problem in store["problems"]:
            terminal.echo(f"  {'repaired: ' if problem['repaired'] else ''}{problem['what']} {problem['way_out']}")
    return common.FAILED if any(_damaged(store) for store in stores) else 0


@checkpoints.command()
@click.argument("name")
@agent_option
@project_option
@common.json_option
def forget(name: str, agent: str, project: Path | None, as_json: bool) -> None:
    """Forget a checkpoint, a named one too. Its files go when the store is packed next."""
    if project is not None:
        forgotten = project_checkpoints.forget(project, name)
    else:
        forgotten = common.daemon().post(f"{checkpoint_path(name)}/forget", {"agent": agent})
    terminal.answer(forgotten, lambda: f"{name} is forgotten.", as_json=as_json)


@checkpoints.command()
@click.argument("project", type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask.")
@common.json_option
def delete(project: Path, yes: bool, as_json: bool) -> None:
    """Delete all checkpoints of PROJECT, the folder of its main worktree.

    No workspace is touched, and the checkpoints cannot be brought back.
    """
    folder = str(project.absolute())
    if not yes:
        common.confirm(f"All checkpoints of {folder} will be gone. Delete them?", "Deleting was not confirmed")
    daemon, body = common.daemon(), {"project": folder}
    deleted = post_long(
        daemon,
        "/v1/checkpoint-stores/delete",
        body,
        "deleting the checkpoints of",
        folder,
    )
    terminal.answer(deleted, lambda: f"The checkpoints of {project} are deleted.", as_json=as_json)


@click.command()
@click.argument("name")
@agent_option
@project_option
@click.option("--note", default="", help="A sentence for whoever reads the list.")
@common.json_option
def checkpoint(name: str, agent: str, project: Path | None, note: str, as_json: bool) -> None:
    """Keep the present of an agent's workspace, or of a whole project, under NAME."""
    if project is not None and agent:
        raise click.UsageError("--project is for all agents of a repository, and goes without --agent.")
    if project is not None:
        project_checkpoints.make(project, name, common.whole_text(note), as_json=as_json)
        return
    daemon = common.daemon()
    who = agent or _only([one for one in daemon.get("/v1/agents", recent="true") if not one["ended_at"]])
    target, body = f"{common.agent_path(who)}/checkpoints", {"name": name, "note": common.whole_text(note)}
    made = post_long(daemon, target, body, "keeping the workspace of", who)
    terminal.answer(
        made,
        lambda: f"{made['name']} holds the workspace of {who} ({duration(made['micros'] / 1e6)}).",
        as_json=as_json,
    )


def checkpoint_path(name: str) -> str:
    """Return the API's path of a checkpoint; raises like `common.path_part`."""
    return f"/v1/checkpoints/{common.path_part(name, 'chaperon checkpoints')}"


def _rows(found: Sequence[Mapping[str, Any]], now: float) -> list[list[str]]:
    """Return a row for each; equal files are recognised by the checkpoint before of the same workspace."""
    before: dict[str, str] = {}
    rows = []
    for one in found:
        facts, workspace = one["facts"], one["workspace"]
        files = "first" if workspace not in before else "as before" if before[workspace] == one["tree"] else "changed"
        before[workspace] = one["tree"]
        reason = MADE.get(facts["reason"], facts["reason"])
        project = Path(one.get("project") or workspace).name
        rows.append([one["name"], when(facts["at"], now), facts["agent"] or "-", reason, files, project, facts["note"]])
    return rows


def _portrait(one: Mapping[str, Any]) -> list[str]:
    facts, stood = one["facts"], one["repository"]
    position = facts["position"]
    rows = {
        "name": one["name"],
        "made": f"{local(facts['at'], '%Y-%m-%d %H:%M:%S')}, {MADE.get(facts['reason'], facts['reason'])}, at event {facts['seq']}",
        "project": one.get("project") or "-",
        "agent": facts["agent"] or "-",
        "workspace": one["workspace"],
        "files": f"tree {one['tree'][:12]}, commit {one['commit'][:12]}",
        "position": f"{position['session_id'] or '-'} at {position['message_uuid'] or 'its beginning'}",
        "branch": f"{stood['branch'] or 'none'} at {stood['head'][:12] or 'no commit'}",
        "states": ", ".join(f"{name} {state}" for name, state in facts["agent_states"].items()) or "-",
        "health": _health(facts["health"]),
        "note": facts["note"] or "-",
    }
    skipped = [f"skipped    {clean(path['path'])}: {path['why']}" for path in one["skipped"]]
    return [*(f"{name:<10} {clean(value, 500)}" for name, value in rows.items()), *skipped]


def _health(health: Mapping[str, Any]) -> str:
    """How the run stood. Example: `80 % of the last calls succeeded, no error for 5 min 10 s`."""
    rate, calm = health.get("success_rate"), health.get("seconds_without_errors")
    told = [
        "" if rate is None else f"{rate:.0%} of the last calls succeeded",
        "" if calm is None else f"no error for {duration(calm)}",
    ]
    return ", ".join(filter(None, told)) or "-"


def _damaged(store: Mapping[str, Any]) -> bool:
    return any(problem["checkpoints"] and problem["severe"] for problem in store["problems"])


def _only(living: Sequence[Mapping[str, Any]]) -> str:
    if len(living) == 1:
        return str(living[0]["agent"])
    names = ", ".join(str(one["agent"]) for one in living) or "none"
    raise UsageError(
        f"Not exactly one agent runs ({names}), so it must be named; nothing was done.",
        way_out="Say --agent NAME; chaperon ps lists them.",
    )


def moment(at: float) -> str:
    """A time as sentences about checkpoints have it."""
    return when(at, Clock().wall())
