"""Commands about what waits for a person: approvals, approve, deny, recover."""

from collections.abc import Mapping
from typing import Any

import click

from supervisor.cli import common, terminal
from supervisor.cli.agents import with_task_text
from supervisor.cli.client import Client
from supervisor.cli.view import clean, local, what
from supervisor.protocol.errors import NotFoundError, UsageError


@click.command()
@common.json_option
def approvals(as_json: bool) -> None:
    """List the actions that wait for a person."""

    def work() -> None:
        waiting = common.daemon().get("/v1/approvals")
        if as_json:
            terminal.echo_json(waiting)
            return
        if not waiting:
            terminal.echo("Nothing waits for a person.")
        for each in waiting:
            terminal.echo("\n".join(_waiting(each)))

    common.run(work)


@click.command()
@click.argument("agent")
@click.argument("request", required=False)
@click.option("--note", default="", help="What the model is told with the answer.")
@common.json_option
def approve(agent: str, request: str | None, note: str, as_json: bool) -> None:
    """Let an action of AGENT that waits run; REQUEST says which, where several wait."""
    _answer(agent, request, note, granted=True, as_json=as_json)


@click.command()
@click.argument("agent")
@click.argument("request", required=False)
@click.option("--note", default="", help="What the model is told with the answer.")
@common.json_option
def deny(agent: str, request: str | None, note: str, as_json: bool) -> None:
    """Turn an action of AGENT that waits down; REQUEST says which, where several wait."""
    _answer(agent, request, note, granted=False, as_json=as_json)


@click.command()
@click.argument("incident")
@click.argument("option", required=False)
@common.json_option
def recover(incident: str, option: str | None, as_json: bool) -> None:
    """List the ways back from a stop, or carry one out: the OPTION."""

    def work() -> None:
        path = f"/v1/incidents/{common.path_part(incident, 'chaperon incidents')}/recovery"
        daemon = common.daemon()
        found = daemon.get(path) if option is None else daemon.post(path, {"option": option})
        if as_json:
            terminal.echo_json(found)
        elif option is None:
            for row in found:
                terminal.echo(f"{row['description']}\n  {row['command'] or '-'}")
                for left in row.get("clean_up", "").splitlines():
                    terminal.echo(f"  left behind: {left}")
        else:
            terminal.echo(found["says"])

    common.run(work)


def _answer(agent: str, request: str | None, note: str, *, granted: bool, as_json: bool) -> None:
    def work() -> None:
        daemon = common.daemon()
        id_ = request or _only_one(daemon, agent)
        path = f"{common.agent_path(agent)}/approvals/{common.path_part(id_, 'chaperon approvals')}"
        known = daemon.post(path, {"granted": granted, "note": common.whole_text(note)})
        if as_json:
            terminal.echo_json(with_task_text(known))
        else:
            terminal.echo(f"{agent} may go on with it." if granted else f"{agent} was turned down.")

    common.run(work)


def _only_one(daemon: Client, agent: str) -> str:
    """The request that waits, where there is just one.

    Raises:
        NotFoundError: None waits.
        UsageError: Several wait.
    """
    waiting = [str(each["request_id"]) for each in daemon.get("/v1/approvals") if each["agent"] == agent]
    if not waiting:
        raise NotFoundError(
            f"No action of agent {agent!r} waits for a person.", way_out="chaperon approvals lists all."
        )
    if len(waiting) > 1:
        raise UsageError(
            f"{len(waiting)} actions of agent {agent!r} wait; nothing was answered.",
            way_out=f"Say which: {', '.join(waiting)}. chaperon approvals shows them.",
        )
    return waiting[0]


def _waiting(each: Mapping[str, Any]) -> list[str]:
    ends = local(each["asked_at"] + each["deadline_seconds"])
    return [
        f"{each['agent']} {each['request_id']}  until {ends}  {each['tool']} {what(each['input'])}",
        f"    {clean(each['why'])}",
    ]
