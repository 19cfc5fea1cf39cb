"""The command that lists the merges of agents' branches, and carries one out once it was shown and confirmed."""

from collections.abc import Iterator, Mapping
from typing import Any

import click

from monitors.contract.wording import counted
from supervisor.cli import common
from supervisor.cli.client import Client
from supervisor.cli.client_errors import RefusedError
from supervisor.cli.output import terminal
from supervisor.cli.output.progress import post_long
from supervisor.cli.output.tables import Column, table
from supervisor.cli.output.words import clean, first_of

SHOWN = 20
"""Commits and files that are listed; `--json` has more."""

EXCERPT_LINES = 12
"""Lines shown of a conflict."""

OUTPUT_LINES = 15
"""Lines shown of the end of a check's output."""

COLUMNS = (
    Column("AGENT"),
    Column("STATE"),
    Column("MERGE", spare=2),
    Column("COMMITS", right=True, spare=1),
    Column("FILES", right=True),
)

Facts = Mapping[str, Any]
"""A merge, or its plan, as the API has it."""


@click.command()
@click.argument("name", metavar="[TASK|AGENT]", required=False)
@click.option("--all", "every", is_flag=True, help="All that are proposed, one after the other.")
@click.option("--into", default="", metavar="BRANCH", help="Another target than the branch the work was begun from.")
@click.option("--dry-run", is_flag=True, help="Only say what would be merged.")
@click.option("--withdraw", is_flag=True, help="Take it off the list instead; the branch stays.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common.json_option
def merge(name: str | None, every: bool, into: str, dry_run: bool, withdraw: bool, yes: bool, as_json: bool) -> int:
    """List what waits to be merged, or merge the branch of one agent, or all that are proposed.

    The merge is made beside your checkouts and checked there by the configured command; then the target moves, if it
    did not move meanwhile. A checkout of the target follows if nothing in it is uncommitted, else nothing moves.
    """
    if every and (name is not None or into or withdraw):
        raise click.UsageError("--all merges what is proposed, each into its own target: leave NAME and the rest out.")
    if name is None and not every and (into or dry_run or withdraw or yes):
        raise click.UsageError("Name the task or the agent, or say --all.")
    daemon = common.daemon()
    if every:
        return _merge_all(daemon, dry_run=dry_run, yes=yes, as_json=as_json)
    if name is None:
        found: list[Facts] = daemon.get("/v1/merges")
        terminal.answer(found, lambda: _listed(found), as_json=as_json)
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
    done = post_long(
        daemon,
        f"{path}/carry-out",
        {"into": into},
        "merging the branch of",
        name,
    )
    _tell(done, as_json=as_json)
    return 0 if done["phase"] == "merged" else common.FAILED


def _merge_all(daemon: Client, *, dry_run: bool, yes: bool, as_json: bool) -> int:
    """Merge all that are proposed, in the order in which they were; one that fails does not hold the others up."""
    found: list[Facts] = daemon.get("/v1/merges")
    proposed = [one for one in found if one["phase"] == "proposed"]
    parked = sum(one["phase"] == "parked" for one in found)
    say = (lambda _: None) if as_json else terminal.echo
    if parked:
        say(f"Left alone: {counted(parked, 'merge')} that could not be made before. To try one again, name its agent.")
    if not proposed:
        say("No merge is proposed.")
    elif not dry_run:
        say("\n".join(_rows(proposed)))
    if proposed and not dry_run and not yes:
        common.confirm(f"Merge {counted(len(proposed), 'branch', 'branches')}?", "The merges were not confirmed")
    done: list[Facts] = []
    refused = 0
    for one in proposed:
        step = "plan" if dry_run else "carry-out"
        now = {each["id"]: each["phase"] for each in daemon.get("/v1/merges")}.get(one["id"])
        if now != "proposed":  # the checks of those before it may take an hour
            say(f"{clean(one['id'])} is left alone: it is {now} by now.")
            continue
        try:
            done.append(
                daemon.post(f"/v1/merges/{common.path_part(one['id'], 'chaperon merge')}/{step}", {}, seconds=None)
            )
        except RefusedError as error:
            refused += 1
            terminal.echo(f"chaperon: {clean(one['id'])}: {error}", err=True)
            continue
        if dry_run:
            say("\n".join(_planned(done[-1])))
        elif not as_json:
            _tell(done[-1], as_json=False)
    if as_json:
        terminal.echo_json(done)
    return common.FAILED if refused or any(one["phase"] != "merged" for one in done if not dry_run) else 0


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
    waiting = [one for one in found if one["phase"] not in ("merged", "withdrawn")]
    if waiting:
        yield from _rows(waiting)
    else:
        yield "Nothing waits to be merged."


def _rows(found: list[Facts]) -> Iterator[str]:
    """Yield a head and each merge, with its reason below, which may end in the command to give."""
    head, *rows = table(COLUMNS, [_row(one) for one in found])
    yield head
    for row, one in zip(rows, found, strict=True):
        yield row
        yield from terminal.wrapped(clean(one["why"], 1_000), 2)


def _row(one: Facts) -> list[str]:
    return [
        clean(one["id"]),
        one["phase"],
        f"{clean(one['branch'])} → {clean(one['target'])}",
        str(one["commits"]),
        str(one["files"]),
    ]


def _planned(plan: Facts) -> Iterator[str]:
    one = plan["merge"]
    yield (
        f"{counted(one['commits'], 'commit')} of {clean(one['id'])}, {counted(one['files'], 'file')}, "
        f"from {clean(one['branch'])} into {clean(one['target'])} of {clean(one['project'])}"
    )
    yield from first_of([f"  {clean(line, 120)}" for line in plan["log"]], SHOWN, one["commits"])
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
    told = (
        [
            f"  {clean(one['path'])}: {clean(one['what'], 300)}",
            *(f"    {clean(line, 120)}" for line in one["excerpt"].splitlines()[:EXCERPT_LINES]),
        ]
        for one in conflicts
    )
    yield from first_of(["\n".join(lines) for lines in told], SHOWN)
