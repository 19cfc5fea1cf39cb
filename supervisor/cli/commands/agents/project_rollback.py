"""Rollbacks of whole projects, as the command asks for them and prints them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from monitors.contract.errors import ChaperonError
from monitors.contract.wording import counted
from supervisor.cli import common
from supervisor.cli.commands.agents.project_checkpoints import SHOWN, folder_of, path_of
from supervisor.cli.output import terminal
from supervisor.cli.output.progress import post_long
from supervisor.cli.output.words import clean, comes_back, first_of, when
from supervisor.runtime.clock import Clock


class UnusualProjectError(ChaperonError):
    """Going back with a project is of unusual size and was not confirmed as such."""


def roll_back(
    project: Path, name: str, *, with_branches: bool, dry_run: bool, yes: bool, unusual: bool, as_json: bool
) -> None:
    """Show what is lost, ask, and go back.

    Raises:
        UnusualProjectError: It is of unusual size, and that was not confirmed.
    """
    daemon, about = common.daemon(), {"project": folder_of(project), "with_branches": with_branches}
    target = f"{path_of(name)}/plan"
    plan = post_long(daemon, target, about, "comparing with the checkpoint", name)
    if dry_run and as_json:
        terminal.echo_json(plan)
    elif not as_json:
        terminal.echo("\n".join(_account(plan)))
    if dry_run:
        return
    if plan["unusual"] and not unusual:
        raise UnusualProjectError(
            f"{plan['unusual']} Nothing was changed.", way_out="Say --unusual as well if that is meant."
        )
    if not yes:
        common.confirm("Go back with the whole project?", "Going back was not confirmed")
    body = {**about, "unusual": unusual, "request_id": uuid4().hex}
    done = post_long(
        daemon,
        f"{path_of(name)}/rollback",
        body,
        "going back to",
        name,
    )
    terminal.answer(done, lambda: _came(done), as_json=as_json)


def _account(plan: Mapping[str, Any]) -> list[str]:
    """Return what a person should know before it."""
    lines = [f"Going back with {plan['project']} to {plan['checkpoint']} ({when(plan['at'], Clock().wall())})."]
    lines += _list("Tasks under way", plan["under_way"])
    lines += _list("Tasks done since", plan["finished"])
    lines += _list("Tasks that change", [f"{id_} will be {state}" for id_, state in plan["tasks"].items()])
    lines += _list("Tasks that stay done", [f"{id_}: it is in {to}" for id_, to in plan["stay_done"].items()])
    lines += _list("Agents that go back and go on", plan["agents_back"])
    lines += _list("Agents that are ended", [f"{agent}: {why}" for agent, why in plan["agents_ended"].items()])
    for one in plan["worktrees"]:
        lines += _list(f"{one['path']}: lost, and kept in a checkpoint", one["lost"], one["count"])
        lines += [f"{clean(one['path'], 500)}: {comes_back(one['back'])}"] if one["back"] else []
        lines += first_of([f"  stays as it is: {clean(each)}" for each in one["kept"]], SHOWN)
    lines += _list("Worktrees that go; their content is kept", plan["closed"])
    lines += _list("Worktrees that come back", plan["made_again"])
    lines += _list("Branches", [_branch(one) for one in plan["branches"]])
    return [*lines, *(clean(each, 500) for each in plan["warnings"])]


def _branch(one: Mapping[str, Any]) -> str:
    lost = counted(one["commits"], "commit")
    if not one["then"]:
        return f"{one['name']} goes, with {lost}"
    if not one["now"]:
        return f"{one['name']} comes back at {one['then'][:12]}"
    return f"{one['name']} goes from {one['now'][:12]} to {one['then'][:12]}, and loses {lost}"


def _list(title: str, found: Sequence[str], count: int = 0) -> list[str]:
    if not found:
        return []
    lines = [f"  {clean(one, 500)}" for one in found]
    return [f"{clean(title, 500)} ({max(count, len(found)):,}):", *first_of(lines, SHOWN, count)]


def _came(done: Mapping[str, Any]) -> list[str]:
    what = [
        counted(done["restored"], "path was", "paths were") + " set back",
        counted(len(done["tasks"]), "task") + " changed",
    ]
    lines = [f"{done['project']} is as in {done['checkpoint']}: {', '.join(what)}."]
    lines += [f"Removed, with its content kept: {clean(path, 500)}" for path in done["closed"]]
    lines += [f"There again: {clean(path, 500)}" for path in done["made_again"]]
    lines += [f"Branch {clean(moved, 500)}" for moved in done["moved"]]
    lines += first_of([f"Stays as it is: {clean(kept, 500)}" for kept in done["kept"]], SHOWN)
    with_branch = " --with-branch" if done["with_branches"] else ""
    return [*lines, f"To undo: chaperon rollback {done['undo']} --project {done['project']}{with_branch}"]
