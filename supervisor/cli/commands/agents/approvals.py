"""Commands about what waits for a person: approvals, approve, deny, recover."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from monitors.contract.errors import NotFoundError, UsageError
from supervisor.cli import asking, common
from supervisor.cli.client_errors import RefusedError
from supervisor.cli.output import terminal
from supervisor.cli.output.agent_words import with_task_text
from supervisor.cli.output.words import clean, local, rest_of_call, short_ids, what


@click.command()
@common.json_option
def approvals(as_json: bool) -> None:
    """List the actions that wait for a person, and hosts that closed sandboxes refused."""
    waiting = common.daemon().get("/v1/approvals")
    if as_json:
        terminal.echo_json(waiting)
        return
    if not waiting:
        terminal.echo("Nothing waits for a person.")
    _show(waiting)


@click.command()
@click.argument("agent", required=False)
@click.argument("request", required=False)
@click.option("--all", "every", is_flag=True, help="All that wait: of AGENT, or of all agents.")
@click.option("--reason", "--note", "note", default="", help="What the model is told with the answer.")
@common.json_option
def approve(agent: str | None, request: str | None, every: bool, note: str, as_json: bool) -> None:
    """Let an action of AGENT that waits run; REQUEST, or how it begins, says which.

    Without REQUEST what waits is shown, and asked about. A host is opened to the agent for an hour.
    """
    _answer(ApprovalSelection(agent, request, every), note, granted=True, as_json=as_json)


@click.command()
@click.argument("agent", required=False)
@click.argument("request", required=False)
@click.option("--all", "every", is_flag=True, help="All that wait: of AGENT, or of all agents.")
@click.option("--reason", "--note", "note", default="", help="What the model is told with the answer.")
@common.json_option
def deny(agent: str | None, request: str | None, every: bool, note: str, as_json: bool) -> None:
    """Turn an action of AGENT that waits down; REQUEST, or how it begins, says which.

    Without REQUEST what waits is shown, and asked about.
    """
    _answer(ApprovalSelection(agent, request, every), note, granted=False, as_json=as_json)


@click.command()
@click.argument("incident")
@click.argument("option", required=False)
@common.json_option
def recover(incident: str, option: str | None, as_json: bool) -> None:
    """List the ways back from a stop, or carry one out: the OPTION."""
    path = f"/v1/incidents/{common.path_part(incident, 'chaperon incidents')}/recovery"
    daemon = common.daemon()
    found = daemon.get(path) if option is None else daemon.post(path, {"option": option})
    if as_json:
        terminal.echo_json(found)
    elif option is None:
        for row in found:
            terminal.echo(f"{row['description']}\n  {row['command'] or '-'}")
            if row.get("taken"):
                terminal.echo(f"  taken already, {row['taken']}")
            for left in row.get("clean_up", "").splitlines():
                terminal.echo(f"  left behind: {left}")
    else:
        terminal.echo(found["says"])


@dataclass(frozen=True, slots=True)
class ApprovalSelection:
    """The selection of waiting actions for a reply."""

    agent: str | None
    request: str | None
    """A request's id, or how it begins; None and empty are no choice."""
    every: bool

    def chosen(self, waiting: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return them, of all that wait.

        Raises:
            NotFoundError: None of these waits.
            UsageError: It does not say which.
        """
        if self.request and self.every:
            raise UsageError("A request and --all do not go together; nothing was answered.", way_out="Leave one out.")
        if self.agent is None and not self.every:
            raise UsageError("Nothing was answered: say whose action.", way_out="Name the agent, or say --all.")
        found = [each for each in waiting if self.agent in (None, each["agent"])]
        there = bool(found)
        found = [each for each in found if str(each["request_id"]).startswith(self.request or "")]
        if not found:
            which = f" {self.request!r}" if self.request else ""
            whose = f" of agent {self.agent!r}" if self.agent else ""
            text = f" A text for the model is said with --reason {shlex.quote(self.request or '')}." if there else ""
            raise NotFoundError(
                f"No action{which}{whose} waits for a person; nothing was answered.",
                way_out=f"chaperon approvals lists all.{text}",
            )
        if len(found) > 1 and not self.every:
            raise UsageError(
                f"{len(found)} actions of agent {self.agent!r} wait; nothing was answered.",
                way_out=f"Say which: {_ids(found)}; or --all. chaperon approvals shows them.",
            )
        return found


def _answer(wanted: ApprovalSelection, note: str, *, granted: bool, as_json: bool) -> None:
    daemon = common.daemon()
    chosen = wanted.chosen(daemon.get("/v1/approvals"))
    if not wanted.request:
        _confirm(chosen, granted=granted)
    for each in chosen:
        path = (
            f"{common.agent_path(each['agent'])}/approvals/{common.path_part(each['request_id'], 'chaperon approvals')}"
        )
        try:
            known = daemon.post(path, {"granted": granted, "note": common.whole_text(note)})
        except RefusedError as error:
            if len(chosen) == 1:
                raise
            terminal.echo(f"chaperon: {error}", err=True)  # somebody else answered meanwhile, or its time was over
            continue
        if as_json:
            terminal.echo_json(with_task_text(known))
        else:
            told = "may go on with it" if granted else "was turned down"
            terminal.echo(f"{each['agent']} {told}: {each['tool']} {what(each['input'])}")


def _confirm(chosen: Sequence[Mapping[str, Any]], *, granted: bool) -> None:
    """Show what was not chosen by its id and ask about it: what waits now need not be what was shown before.

    Raises:
        UnconfirmedError: The answer is no, or there is no terminal to ask.
    """
    fd = asking.terminal_to_ask()
    if fd is None:
        these = "which action is meant" if len(chosen) == 1 else "which actions are meant"
        raise common.UnconfirmedError(
            f"It was not said {these}, and there is no terminal to ask; nothing was answered.",
            way_out=f"Say it by its id: {_ids(chosen)}. chaperon approvals shows what waits.",
        )
    _show(chosen, err=True)
    asking.forget_typed(fd)
    which = "it" if len(chosen) == 1 else f"these {len(chosen)}"
    common.confirm(f"Let {which} run?" if granted else f"Turn {which} down?", "This was not confirmed")


def _show(waiting: Sequence[Mapping[str, Any]], *, err: bool = False) -> None:
    for each, id_ in zip(waiting, short_ids([str(each["request_id"]) for each in waiting]), strict=True):
        terminal.echo("\n".join(_waiting(each, id_)), err=err)


def _ids(waiting: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(short_ids([str(each["request_id"]) for each in waiting]))


def _waiting(each: Mapping[str, Any], id_: str) -> list[str]:
    ends = local(each["asked_at"] + each["deadline_seconds"])
    return [
        f"{each['agent']} {id_}  until {ends}  {each['tool']} {what(each['input'])}",
        *(f"    | {line}" for line in rest_of_call(each["tool"], each["input"])),
        f"    {clean(each['why'])}",
    ]
