"""Controls that are given to one agent by name, to all, or to those of a repository: options, requests, answers."""

import os
import pwd
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast
from uuid import uuid4

import click

from monitors.contract.errors import UsageError
from supervisor.cli import common
from supervisor.cli.client import ANSWER_SECONDS
from supervisor.cli.client_errors import DaemonGoneError, NoDaemonError
from supervisor.cli.output import terminal
from supervisor.cli.output.agent_words import of_which, options_for, with_task_text
from supervisor.cli.output.tables import Column, table

F = TypeVar("F", bound=Callable[..., Any])

FORCED_SECONDS = 5.0
"""How long a daemon may take to answer a stop by force before agents are ended without it. One that works takes
milliseconds."""

COLUMNS = (Column("AGENT"), Column("STATE"), Column("ASKED"), Column("WHAT"))


@dataclass(frozen=True, slots=True)
class Many:
    """The agents that are meant, if they are not one by its name: all, or those of a repository, a label or both."""

    every: bool = False
    repo: Path | None = None
    label: str | None = None
    request_id: str = ""
    """Id of the request, for one agent too; empty: none was given."""

    def __bool__(self) -> bool:
        """Whether many are meant at all."""
        return self.every or self.repo is not None or self.label is not None

    def body(self) -> dict[str, str]:
        """Return the fields of the API that say so; raises click.BadParameter for a path that is no UTF-8."""
        where = {} if self.repo is None else {"repository": common.sendable(self.repo.absolute())}
        return {**where, **({} if self.label is None else {"label": common.whole_text(self.label)})}


def many_options(command: F) -> F:
    """Add the options by which many agents are meant; the command is handed them as `many`."""

    @wraps(command)
    def asked(every: bool, repo: Path | None, label: str | None, request_id: str, **about: Any) -> Any:
        return command(many=Many(every, repo, label, request_id), **about)

    for option in (
        click.option("--all", "every", is_flag=True, help="All agents; a pause also holds those that start meanwhile."),
        click.option(
            "--repo",
            type=click.Path(exists=False, file_okay=False, path_type=Path),
            help="All agents of the repository of this directory.",
        ),
        click.option("--label", help="All agents with this label; with --repo those of that repository."),
        click.option("--request-id", default="", help="An id of this request: given twice, it is carried out once."),
    ):
        asked = option(asked)
    return cast("F", asked)


def control(
    what: str,
    agent: str | None,
    body: Mapping[str, Any],
    *,
    many: Many,
    as_json: bool,
) -> int | None:
    """Run a control's command: for one agent by name, or for many."""
    if not many:
        if agent is None:
            raise UsageError(
                "No agent was named; nothing was done.",
                way_out="Name one, or say --all, --repo DIR or --label LABEL.",
            )
        _ask_one(agent, what, body, many.request_id, as_json=as_json)
        return None
    if agent is not None:
        raise UsageError(f"{agent!r} and all agents cannot both be meant; nothing was done.", way_out="Say one.")
    return _order(what, body, many, as_json=as_json)


def _ask_one(agent: str, what: str, body: Mapping[str, Any], request_id: str, *, as_json: bool) -> None:
    named = {"request_id": request_id} if request_id else {}  # older daemons know no ids
    told = {**body, **named} or None
    known = common.daemon().post(f"{common.agent_path(agent)}/{what}", told)
    if as_json:
        terminal.echo_json(with_task_text(known))
        return
    pending = known.get("pause") if what == "pause" and known["state"] != "paused" else None
    after = ", and is held later" if pending else ", and gets the message" if what == "say" else ""
    terminal.echo(f"{known['agent']} is {known['state']}{after}.")


def _order(what: str, body: Mapping[str, Any], many: Many, *, as_json: bool) -> int:
    force = what == "stop" and bool(body.get("force"))
    order = {**body, **many.body(), "request_id": many.request_id or uuid4().hex[:12]}
    try:
        given = common.daemon().post(f"/v1/orders/{what}", order, seconds=FORCED_SECONDS if force else ANSWER_SECONDS)
    except (NoDaemonError, DaemonGoneError) as error:
        if not force or not many.every:
            raise
        return _stop_by_hand(error.what, str(body.get("reason", "")), as_json=as_json)
    rows, whom = given["agents"], of_which(given)
    if as_json:
        terminal.echo_json(rows)
        return 0
    found = _drawn(rows) if rows else [f"No agent{whom} is at work."]
    terminal.echo("\n".join(found))
    if what == "pause":
        terminal.echo(
            f"Agents that start meanwhile are held at their first call. To go on: chaperon resume {options_for(given)}"
        )
    return 0


def _drawn(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return table(COLUMNS, [[row["agent"], row["state"], "yes" if row["done"] else "no", row["what"]] for row in rows])


def _stop_by_hand(why: str, reason: str, *, as_json: bool) -> int:
    """End all agents without the daemon; the exit code."""
    # Here and not above: it reads the process table, which other commands do not pay for.
    from supervisor.runtime.processes.hand_stop import HandStop, stop_by_hand

    terminal.echo(f"chaperon: {why} Agents are ended without it, by its records on the disk.", err=True)
    stop = HandStop(pwd.getpwuid(os.geteuid()).pw_name, reason)
    ended = list(stop_by_hand(common.here().agents, stop))
    rows = [
        {
            "agent": each.agent,
            "state": "stopped" if not each.left else "stopping",
            "done": not each.left,
            "what": f"ended {each.ended:,}, left {each.left:,} of its processes",
        }
        for each in ended
    ]
    if as_json:
        terminal.echo_json(rows)
    elif rows:
        terminal.echo("\n".join(_drawn(rows)))
    else:
        terminal.echo("No process of an agent lives.")
    return common.FAILED if any(each.left for each in ended) else 0
