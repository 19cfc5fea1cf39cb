"""Checkpoints of whole projects, as commands ask for them and print them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from monitors.contract.wording import counted
from supervisor.cli import common
from supervisor.cli.output import terminal
from supervisor.cli.output.progress import post_long
from supervisor.cli.output.tables import Column, table
from supervisor.cli.output.words import MADE, clean, first_of, local, when
from supervisor.runtime.clock import Clock

COLUMNS = (
    Column("NAME"),
    Column("WHEN", spare=5),
    Column("MADE", spare=2),
    Column("WORKTREES", spare=1),
    Column("AGENTS", spare=3),
    Column("TASKS", spare=3),
    Column("NOTE", most=80),
)

PATH = "/v1/project-checkpoints"

SHOWN = 40
"""Tasks that are listed; `--json` has all."""


def path_of(name: str) -> str:
    """Return the API's path of a project checkpoint; raises like `common.path_part`."""
    return f"{PATH}/{common.path_part(name, 'chaperon checkpoints --project .')}"


def folder_of(project: Path) -> str:
    """Return a folder as the daemon needs it."""
    return str(project.absolute())


def list_them(project: Path, *, as_json: bool) -> None:
    """Print the checkpoints of a project."""
    found = common.daemon().get(PATH, project=folder_of(project))
    terminal.answer(found, lambda: table(COLUMNS, _rows(found, Clock().wall())), as_json=as_json)


def show(project: Path, name: str, *, as_json: bool) -> None:
    """Print what a project checkpoint holds."""
    one = common.daemon().get(path_of(name), project=folder_of(project))
    terminal.answer(one, lambda: _portrait(one), as_json=as_json)


def make(project: Path, name: str, note: str, *, as_json: bool) -> None:
    """Have one made, and print what it has."""
    body = {"project": folder_of(project), "name": name, "note": note}
    daemon = common.daemon()
    made = post_long(daemon, PATH, body, "keeping the project", body["project"])
    if as_json:
        terminal.echo_json(made)
        return
    parts = [
        counted(len(made["workspaces"]), "worktree"),
        counted(made["branches"], "branch", "branches"),
        counted(made["tasks"] + made["done"], "task"),
        counted(len(made["agents"]), "agent"),
    ]
    terminal.echo(f"{made['name']} holds {made['project']}: {', '.join(parts)}.")
    terminal.echo(f"To go back: chaperon rollback {made['name']} --project {made['project']}")


def forget(project: Path, name: str) -> Mapping[str, Any]:
    """Have one forgotten, and return it."""
    forgotten: Mapping[str, Any] = common.daemon().post(f"{path_of(name)}/forget", {"project": folder_of(project)})
    return forgotten


def _rows(found: Sequence[Mapping[str, Any]], now: float) -> list[list[str]]:
    return [
        [
            one["name"],
            when(one["at"], now),
            MADE.get(one["reason"], one["reason"]),
            str(len(one["workspaces"])),
            ", ".join(one["agents"]) or "-",
            f"{one['done']} of {one['done'] + one['tasks']} done",
            one["note"],
        ]
        for one in found
    ]


def _portrait(one: Mapping[str, Any]) -> list[str]:
    made = f"{local(one['at'], '%Y-%m-%d %H:%M:%S')}, {MADE.get(one['reason'], one['reason'])} ({one['by']})"
    lines = [f"{'name':<10} {one['name']}", f"{'made':<10} {clean(made)}", f"{'project':<10} {clean(one['project'])}"]
    for mark in one["workspaces"]:
        stood = f"{mark['branch'].removeprefix('refs/heads/') or 'no branch'} at {mark['head'][:12] or 'no commit'}"
        lines.append(f"{'worktree':<10} {clean(mark['path'])} on {clean(stood)}, files in {mark['checkpoint']}")
    for mark in one["agents"]:
        what = f"{mark['agent']} {mark['state']}, after {counted(mark['turns'], 'turn')}"
        lines.append(f"{'agent':<10} {clean(what)}{', at ' + mark['task'] if mark['task'] else ''}")
    tasks = [f"{'task':<10} {mark['id']} {mark['state']}: {clean(mark['why'])}" for mark in one["tasks"]]
    lines += first_of(tasks, SHOWN)
    lines.append(f"{'done':<10} {counted(len(one['done']), 'task')}")
    return [*lines, f"{'note':<10} {clean(one['note']) or '-'}"]
