"""Commands about agents that run or ran: ps, show, say, pause, resume, stop, redirect."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import click

from monitors.contract.wording import counted, dollars
from supervisor.cli import common
from supervisor.cli.client import Client, wait_for
from supervisor.cli.client_errors import RefusedError
from supervisor.cli.following import events
from supervisor.cli.many import Many, control, many_options
from supervisor.cli.output import agent_words, terminal
from supervisor.cli.output.agent_words import with_task_text
from supervisor.cli.output.tables import table
from supervisor.runtime.clock import Clock

PAGE = 200
"""Rows of a table unless more are asked for, as `task list` has them."""


@click.command()
@click.option("--all", "every", is_flag=True, help="Those too that ended long ago.")
@click.option("--label", help="Only those whose task has this label.")
@click.option("--after", metavar="AGENT", help="Only those submitted after it.")
@click.option(
    "--limit", type=click.IntRange(min=1), help=f"How many at most: {PAGE} in a table, and all in JSON, if left out."
)
@common.json_option
def ps(every: bool, label: str | None, after: str | None, limit: int | None, as_json: bool) -> None:
    """List agents, oldest first: those at work, and of the ended ones the latest and those that need a look."""
    asked = {"recent": None if every else "true", "label": label, "after": after, "limit": limit}
    if limit is None and not as_json:
        asked["limit"] = PAGE + 1
    daemon = common.daemon()
    query = {name: value for name, value in asked.items() if value is not None}
    whole = as_json and limit is None
    agents = common.all_agents(daemon, **query) if whole else daemon.get("/v1/agents", **query)
    if as_json:
        terminal.echo_json([with_task_text(agent) for agent in agents])
        return
    more, agents = limit is None and len(agents) > PAGE, agents[: limit or PAGE]
    now = Clock().wall()
    head, *rows = table(agent_words.COLUMNS, [agent_words.row(agent, now) for agent in agents])
    terminal.echo(head)
    for agent, row in zip(agents, rows, strict=True):
        terminal.echo(row)
        for below in agent_words.below_row(agent, now):
            for line in terminal.wrapped(below, 4):
                terminal.echo(line)
    if held_by := agent_words.held_by(head, agents):
        for line in terminal.wrapped(held_by, 0):
            terminal.echo(line)
    if more:
        next_ones = f"the same with --after {agents[-1]['agent']}"
        terminal.echo(f"These are the first {PAGE}. The next ones: {next_ones}. More at once: --limit.", err=True)
    health = daemon.get("/v1/health")
    is_all = label is None and after is None and limit is None and not more
    if is_all and (left_out := health.get("ended", 0) - sum(agent["ended_at"] is not None for agent in agents)):
        terminal.echo(f"{counted(left_out, 'agent')} that ended before: chaperon ps --all")
    for told in common.told_of(health):
        for line in terminal.wrapped(told, 0):
            terminal.echo(line)
    for line in agent_words.in_force(health.get("orders") or {}):
        terminal.echo(line)
    with suppress(RefusedError):  # a daemon before an upgrade
        spent = daemon.get("/v1/costs")
        if spent["total_usd"]:
            terminal.echo(f"Cost: {dollars(spent['today_usd'])} today (UTC), {dollars(spent['total_usd'])} in all.")


@click.command()
@click.argument("agent")
@click.option("--why", is_flag=True, help="Show why it was answered as it was, with the figures.")
@click.option("--timeline", is_flag=True, help="Show what it did, step by step, with the time of each since its start.")
@common.json_option
def show(agent: str, why: bool, timeline: bool, as_json: bool) -> None:
    """Show what one agent is, did, and met."""
    if why and timeline:
        raise click.UsageError("--why and --timeline are two views: ask for one after the other.")
    daemon = common.daemon()
    known = daemon.get(common.agent_path(agent))
    if timeline:
        # Here and not above: the views take a tenth of the time of `ps` to import.
        from supervisor.cli.commands.agents.timeline import timeline_lines, timeline_steps

        steps = timeline_steps(known, events(daemon, wait_for, agent=agent))
        if as_json:
            terminal.echo_json([step.as_json() for step in steps])
        for line in () if as_json else timeline_lines(steps):
            terminal.echo(line)
    elif as_json:
        terminal.echo_json(known["explained"] if why else with_task_text(known))
    elif why:
        terminal.echo("\n".join(agent_words.why(known["explained"], over=known["ended_at"] is not None)))
    else:
        found = agent_words.portrait(known, changes_of(daemon, agent), Clock().wall())
        held = common.held_by_disk(daemon.get("/v1/health")) if known["ended_at"] is None else ""
        terminal.echo("\n".join([*found, *([held] if held else [])]))


def changes_of(daemon: Client, agent: str) -> Any:
    """Return the changes in an agent's workspace; None if it has no checkpoints to compare with."""
    with suppress(RefusedError):
        return daemon.get(f"{common.agent_path(agent)}/changes")
    return None


@click.command()
@click.argument("words", metavar="[AGENT] TEXT", nargs=-1, required=True)
@many_options
@common.json_option
def say(words: tuple[str, ...], many: Many, as_json: bool) -> int | None:
    """Tell AGENT something: into its running turn, or as a new one. For many, all words are the TEXT."""
    agent, text = (None, words) if many else (words[0], words[1:])
    if not text:
        raise click.UsageError(f"Nothing is said to {agent}: the TEXT is missing.")
    body = {"text": common.whole_text(" ".join(text))}
    return control("say", agent, body, many=many, as_json=as_json)


@click.command()
@click.argument("agent")
@click.argument("text", nargs=-1)
@click.option("--task", metavar="TASK", help="A pending stored task instead of words.")
@click.option("--goal", "goals", multiple=True, help="When the new task is done; may be given several times.")
@click.option("--constraint", "constraints", multiple=True, help="What it must keep to; may be given several times.")
@click.option("--expect-path", "expected_paths", multiple=True, help="Glob of what it should touch; several times.")
@click.option("--new-workspace", is_flag=True, help="Have it done in a workspace of its own, by an agent that follows.")
@click.option("--wip-commit", is_flag=True, help="Commit unfinished work on the agent's own branch before.")
@click.option("--request-id", default="", help="Names the request, which is taken once however often it is sent.")
@common.json_option
def redirect(agent: str, text: tuple[str, ...], task: str | None, as_json: bool, **about: Any) -> None:
    """Interrupt AGENT at what it does, and give it another task: TEXT, or one of the store.

    A stored task that it had goes back to the queue. What the old task asked for counts no more: goals, constraints and
    expected paths are those of the new one. With --new-workspace AGENT ends with its work kept, and the agent that is
    named begins elsewhere; a task of the store becomes the first of the queue.
    """
    if bool(text) == (task is not None):
        raise click.UsageError("Say what the agent is to do instead, or name a stored task with --task.")
    words = {"text": common.whole_text(" ".join(text)), "task": task}
    _ask(agent, "redirect", {**words, **about}, as_json=as_json)


@click.command()
@click.argument("agent", required=False)
@many_options
@click.option("--at-turn-end", is_flag=True, help="Let the turn that runs end first.")
@click.option("--reason", default="", help="What the journal and `chaperon ps` say about why.")
@common.json_option
def pause(agent: str | None, many: Many, at_turn_end: bool, reason: str, as_json: bool) -> int | None:
    """Hold AGENT at its next tool call, until `chaperon resume`."""
    said = {"at_turn_end": at_turn_end, "reason": common.whole_text(reason)}
    body = {name: value for name, value in said.items() if value}
    return control("pause", agent, body, many=many, as_json=as_json)


@click.command()
@click.argument("agent", required=False)
@many_options
@common.json_option
def resume(agent: str | None, many: Many, as_json: bool) -> int | None:
    """Let AGENT go on that is paused, or start one again at once that waits to be."""
    return control("resume", agent, {}, many=many, as_json=as_json)


@click.command()
@click.argument("agent", required=False)
@many_options
@click.option("--force", is_flag=True, help="End all processes at once instead of asking first.")
@click.option("--reason", default="", help="What the journal says about why.")
@common.json_option
def stop(agent: str | None, many: Many, force: bool, reason: str, as_json: bool) -> int | None:
    """Stop AGENT: interrupt, end of input, SIGTERM, and then every process it has.

    This returns when the stop has begun.
    """
    body = {"force": force, "reason": common.whole_text(reason)}
    return control("stop", agent, body, many=many, as_json=as_json)


def _ask(agent: str, what: str, body: Mapping[str, Any] | None = None, *, as_json: bool) -> None:
    known = common.daemon().post(f"{common.agent_path(agent)}/{what}", body)
    terminal.answer(with_task_text(known), lambda: f"{known['agent']} is {known['state']}.", as_json=as_json)
