"""The commands about stored tasks: add, list, show, edit, cancel, retry and reorder."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from supervisor.cli import common
from supervisor.cli.output import terminal
from supervisor.cli.output.tables import Column, table
from supervisor.cli.output.words import clean, when
from supervisor.cli.task_options import body_of, task_options
from supervisor.protocol.tasks import TaskState
from supervisor.runtime.clock import Clock

SENTENCE = 1_000
"""Characters of a reason that are shown, in one line; a check's output can be part of it. `--json` has all."""

PAGE = 200
"""Rows of a table unless more are asked for: four screens. The daemon, the terminal and its reader are spared the
others: ten thousand rows are 5 MB."""

COLUMNS = (
    Column("TASK"),
    Column("STATE"),
    Column("PRIO", right=True, spare=2),
    Column("AGENT", spare=4, most=32),
    Column("REPOSITORY", spare=1, most=40),
    Column("SINCE", spare=3),
    Column("PROMPT"),
)

ADD_SECONDS = 120.0
"""How long the answer to an addition may take: ten thousand tasks take seconds, and each repository is looked at."""

_STORED = (
    click.option("--priority", type=int, help="Higher ones are claimed first; 0 by default."),
    click.option("--depends-on", "depends_on", multiple=True, metavar="TASK", help="A task that must be done before."),
    click.option("--verify", help="Command that must succeed in the workspace before the task is done."),
    click.option(
        "--merge", type=click.Choice(["off", "propose", "auto"]), help="The fate of its branch when it is done."
    ),
    click.option("--target", help="The branch that it is merged into; the repository's own by default."),
    click.option("--retries", type=click.IntRange(min=0, max=100), help="Attempts that follow on one that failed."),
    click.option("--workspace", type=click.Choice(["in-place", "new"]), help="Where it is worked on; new by default."),
    click.option("--name-prefix", help="What its agents' names begin with."),
)


def _stored_options(command: Any) -> Any:
    for option in reversed(_STORED):
        command = option(command)
    return task_options(command)


@click.group()
def task() -> None:
    """Add, list, show and steer stored tasks, which agents claim one after the other."""


@task.command()
@click.argument("prompt")
@click.option("--repo", type=click.Path(path_type=Path), default=".", help="A directory in a git worktree; here.")
@click.option("--request-id", default="", help="Names the request, which adds its task once however often it is sent.")
@_stored_options
@common.json_option
def add(prompt: str, repo: Path, request_id: str, as_json: bool, **about: Any) -> None:
    """Add a task: PROMPT, to be done in a repository by the next agent; `-` reads it from standard input."""
    if prompt == "-":
        prompt = sys.stdin.buffer.read().decode(errors="replace")
    wanted = {
        "prompt": common.whole_text(prompt),
        "repository": common.sendable(repo.absolute()),
        **body_of(about, "limits"),
    }
    body = {"tasks": [wanted], "request_id": common.whole_text(request_id)}
    daemon = common.daemon()
    common.tell_not_in_force(daemon)
    added = daemon.post("/v1/tasks", body, seconds=ADD_SECONDS)
    terminal.answer(added["tasks"][0], lambda: added["tasks"][0]["task"], as_json=as_json)


@task.command(name="list")
@click.option("--state", multiple=True, type=click.Choice([str(one) for one in TaskState]), help="Only those in it.")
@click.option("--open", "only_open", is_flag=True, help="Only those that are not over.")
@click.option("--label", help="Only those with this label.")
@click.option("--repo", type=click.Path(path_type=Path), help="Only those of the worktree of this directory.")
@click.option("--after", metavar="TASK", help="Only those added after it.")
@click.option(
    "--limit", type=click.IntRange(min=1), help=f"How many at most: {PAGE} in a table, and all in JSON, if left out."
)
@common.json_option
def list_command(
    state: tuple[str, ...],
    only_open: bool,
    label: str | None,
    repo: Path | None,
    after: str | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """List stored tasks, oldest first."""
    states = [*state, *(str(one) for one in TaskState if only_open and not one.over)]
    repository = common.sendable(repo.absolute()) if repo else None
    query = {"state": states or None, "label": label, "repository": repository, "after": after, "limit": limit}
    if limit is None and not as_json:
        query["limit"] = PAGE + 1
    given = {name: value for name, value in query.items() if value is not None}
    rows = common.daemon().get("/v1/tasks", **given)
    if as_json:
        terminal.echo_json(rows)
        return
    if not rows:
        some = states or label or repo or query["after"]
        terminal.echo("There is no such task." if some else "There is no stored task: chaperon task add.")
        return
    now = Clock().wall()
    shown = rows if limit is not None else rows[:PAGE]
    terminal.echo("\n".join(table(COLUMNS, [_cells(row, now) for row in shown])))
    if len(rows) > len(shown):
        after = f"the same with --after {shown[-1]['task']}"
        terminal.echo(f"These are the first {PAGE}. The next ones: {after}. More at once: --limit.", err=True)


def _cells(row: Mapping[str, Any], now: float) -> list[str]:
    return [
        row["task"],
        row["state"],
        str(row["priority"]),
        row["agent"] or "",
        row["repository"],
        when(row["changed_at"], now),
        row["prompt"],
    ]


@task.command()
@click.argument("id_", metavar="TASK")
@common.json_option
def show(id_: str, as_json: bool) -> None:
    """Show one task: its state with who and why, its runs, and its history."""
    _tell(common.daemon().get(_path(id_)), as_json)


@task.command()
@click.argument("id_", metavar="TASK")
@click.option("--prompt", help="Another prompt.")
@_stored_options
@common.json_option
def edit(id_: str, as_json: bool, **about: Any) -> None:
    """Change TASK in what is given. An agent that works on it goes on with what it was told."""
    change = body_of(about, "limits") | ({"priority": about["priority"]} if about["priority"] is not None else {})
    _ask(id_, "edit", change, as_json=as_json)


@task.command()
@click.argument("id_", metavar="TASK")
@click.option("--reason", default="", help="What the history says about why.")
@common.json_option
def cancel(id_: str, reason: str, as_json: bool) -> None:
    """Take TASK back. An agent that works on it is ended; its work is kept."""
    _ask(id_, "cancel", {"reason": common.whole_text(reason)}, as_json=as_json)


@task.command()
@click.argument("id_", metavar="TASK")
@common.json_option
def retry(id_: str, as_json: bool) -> None:
    """Have TASK tried again that failed, was parked or cancelled, or that waits for another attempt."""
    _ask(id_, "retry", {}, as_json=as_json)


@task.command()
@click.argument("id_", metavar="TASK")
@click.option("--first", "place", flag_value="first", help="Before all others, with the priority of the first.")
@click.option("--last", "place", flag_value="last", help="Behind all others of its priority.")
@click.option("--before", metavar="OTHER", help="Just before another pending task, with its priority.")
@common.json_option
def reorder(id_: str, place: str | None, before: str | None, as_json: bool) -> None:
    """Give a pending TASK another place in the queue."""
    if (place is None) == (before is None):
        raise click.UsageError("Say one of --first, --last and --before OTHER.")
    _ask(id_, "reorder", {"place": place or "before", "before": common.whole_text(before or "")}, as_json=as_json)


def _path(id_: str) -> str:
    return f"/v1/tasks/{common.path_part(id_, 'chaperon task list')}"


def _ask(id_: str, what: str, body: Mapping[str, Any], *, as_json: bool) -> None:
    known = common.daemon().post(f"{_path(id_)}/{what}", body)
    terminal.answer(
        known, lambda: f"{known['task']} is {known['state']}: {clean(known['why'], SENTENCE)}", as_json=as_json
    )


def _tell(known: Mapping[str, Any], as_json: bool) -> None:
    terminal.answer(known, lambda: portrait(known), as_json=as_json)


def portrait(known: Mapping[str, Any]) -> Iterator[str]:
    """The lines of `chaperon task show`."""
    spec, now, merge = known["spec"], Clock().wall(), known.get("merge")
    yield f"{known['task']} is {known['state']}: {clean(known['why'], SENTENCE)} (by {known['by']}, {when(known['changed_at'], now)})"
    yield f"  prompt      {' '.join(known['prompt'].split())}"
    yield f"  repository  {known['repository']}"
    rows = {
        "held back": known["held_back"],
        "its merge": clean(f"{merge['id']} is {merge['phase']}: {merge['why']}", SENTENCE) if merge else "",
        "priority": known["priority"],
        "depends on": _words(known["depends_on"]),
        "waits for": _words(known["waits_for"]),
        "needed by": _words(known["needed_by"]),
        "goals": _words(spec["goals"]),
        "constraints": _words(spec["constraints"]),
        "paths": _words(spec["expected_paths"]),
        "verify": spec["verify"],
        "merge": spec["merge"],
        "target": spec["target"],
        "labels": _words(known["labels"]),
    }
    yield from (f"  {name:<11} {value}" for name, value in rows.items() if value)
    for run in known["runs"]:
        end = f"{run['outcome']}: {clean(run['why'], SENTENCE)}" if run["outcome"] else "has it now"
        yield f"  run         {run['run_id']} by {run['agent']}, {when(run['began_at'], now)}: {end}"
    for entry in known["history"]:
        yield f"  {when(entry['at'], now):<11} {entry['state']:<9} {clean(entry['why'], SENTENCE)} (by {entry['by']})"


def _words(values: Sequence[str]) -> str:
    return ", ".join(values)
