"""The command that lists the merges of agents' branches, and carries one out once it was shown and confirmed."""

from collections.abc import Iterator, Mapping
from typing import Any

import click

from monitors.contract.wording import counted
from supervisor.cli import common, terminal
from supervisor.cli.tables import Column, table
from supervisor.cli.words import clean

SHOWN = 20
"""Commits and files that are listed; `--json` has more."""

EXCERPT_LINES = 12
"""Lines shown of a conflict."""

OUTPUT_LINES = 15
"""Lines shown of the end of a check's output."""

COLUMNS = (
    Column("AGENT"),
    Column("STATE"),
    Column("MERGE", spare=3),
    Column("COMMITS", right=True, spare=1),
    Column("FILES", right=True, spare=2),
    Column("WHY"),
)

Facts = Mapping[str, Any]
"""A merge, or its plan, as the API has it."""


@click.command()
@click.argument("name", metavar="[TASK|AGENT]", required=False)
@click.option("--into", default="", metavar="BRANCH", help="Another target than the branch the work was begun from.")
@click.option("--dry-run", is_flag=True, help="Only say what would be merged.")
@click.option("--withdraw", is_flag=True, help="Take it off the list instead; the branch stays.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common.json_option
def merge(name: str | None, into: str, dry_run: bool, withdraw: bool, yes: bool, as_json: bool) -> None:
    """List what waits to be merged, or merge the branch of one agent.

    The merge is made beside your checkouts and checked there by the configured command; then the target moves, if it
    did not move meanwhile. A checkout of the target follows if nothing in it is uncommitted, else nothing moves.
    """
    if name is None and (into or dry_run or withdraw or yes):
        raise click.UsageError("Name the task or the agent.")

    def work() -> int:
        daemon = common.daemon()
        if name is None:
            found: list[Facts] = daemon.get("/v1/merges")
            if as_json:
                terminal.echo_json(found)
            else:
                terminal.echo("\n".join(_listed(found)))
            return 0
        path = f"/v1/merges/{common.path_part(name, 'chaperon merge')}"
        if withdraw:
            _tell(daemon.post(f"{path}/withdraw", {}), as_json=as_json)
            return 0
        if dry_run or not yes:
            plan = daemon.post(f"{path}/plan", {"into": into})
            if dry_run and as_json:
                terminal.echo_json(plan)
            elif not as_json:
                terminal.echo("\n".join(_planned(plan)))
            if dry_run:
                return 0
            one = plan["merge"]
            question = f"Merge {clean(one['branch'])} into {clean(one['target'])}?"
            common.confirm(question, f"The merge of {name} was not confirmed")
        done = daemon.post(f"{path}/carry-out", {"into": into}, seconds=None)
        _tell(done, as_json=as_json)
        return 0 if done["phase"] == "merged" else common.FAILED

    common.run(work)


def _tell(done: Facts, *, as_json: bool) -> None:
    if as_json:
        terminal.echo_json(done)
        return
    terminal.echo(f"{clean(done['id'])} is {done['phase']}: {clean(done['why'], 1_000)}")
    if done["phase"] == "merged":
        return
    for line in _conflicts(done["conflicts"]):
        terminal.echo(line)
    check = done["check"]
    if check is not None and check["outcome"] != "passed":
        for line in check["output"].splitlines()[-OUTPUT_LINES:]:
            terminal.echo(f"  {clean(line, 200)}")


def _listed(found: list[Facts]) -> Iterator[str]:
    rows = [
        [
            clean(one["id"]),
            one["phase"],
            f"{clean(one['branch'])} → {clean(one['target'])}",
            str(one["commits"]),
            str(one["files"]),
            clean(one["why"], 100),
        ]
        for one in found
        if one["phase"] not in ("merged", "withdrawn")
    ]
    if rows:
        yield from table(COLUMNS, rows)
    else:
        yield "Nothing waits to be merged."


def _planned(plan: Facts) -> Iterator[str]:
    one = plan["merge"]
    yield (
        f"{counted(one['commits'], 'commit')} of {clean(one['id'])}, {counted(one['files'], 'file')}, "
        f"from {clean(one['branch'])} into {clean(one['target'])} of {clean(one['project'])}"
    )
    for line in plan["log"][:SHOWN]:
        yield f"  {clean(line, 120)}"
    if one["conflicts"]:
        yield f"The two disagree ({one['level']}):"
        yield from _conflicts(one["conflicts"])
    for path in plan["checked_out"]:
        yield f"{clean(path)} has {clean(one['target'])} checked out; its files follow."
    for problem in plan["unfinished"]:
        yield f"{clean(problem)}: nothing will move until that is settled."
    for warning in plan["warnings"]:
        yield clean(warning)
    if plan["uncommitted"]:
        yield f"{counted(plan['uncommitted'], 'path')} of its workspace {'is' if plan['uncommitted'] == 1 else 'are'} not committed, and not in it."


def _conflicts(conflicts: list[Facts]) -> Iterator[str]:
    for one in conflicts[:SHOWN]:
        yield f"  {clean(one['path'])}: {clean(one['what'], 300)}"
        for line in one["excerpt"].splitlines()[:EXCERPT_LINES]:
            yield f"    {clean(line, 120)}"
