"""Commands about agents that run or ran: ps, show, say, pause, resume, stop, redirect."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from shutil import get_terminal_size
from typing import Any

import click

from supervisor.cli import common, terminal
from supervisor.cli.client import RefusedError
from supervisor.cli.view import clean, local

COLUMNS = ("agent", "state", "started", "actions", "blocked", "incidents", "cost", "mem", "cpu", "procs", "task")
ROW = "{agent:<8} {state:<10} {started:<9} {actions:>7} {blocked:>7} {incidents:>9} {cost:>8} {mem:>8} {cpu:>7} {procs:>5}  {task}"

MOST_WAITING = 3
"""Actions of one agent that wait for a person that `ps` shows; the rest is a number."""

TASK_WIDTH = 60
"""Characters of a task that are shown where there is room."""


@click.command()
@common.json_option
def ps(as_json: bool) -> None:
    """List agents, live and ended."""

    def work() -> None:
        daemon = common.daemon()
        agents = daemon.get("/v1/agents")
        if as_json:
            terminal.echo_json([with_task_text(agent) for agent in agents])
            return
        head = ROW.format(**{name: name.upper() for name in COLUMNS})
        width = max(len("TASK"), get_terminal_size((TASK_WIDTH + len(head), 0)).columns - len(head) + len("TASK"))
        terminal.echo(head)
        for agent in agents:
            terminal.echo(_row(agent, min(width, TASK_WIDTH)))
            if agent["unwatched"]:
                terminal.echo(f"{'':<8} nobody watches over it: {clean(agent['why'], 1000)}")
            for line in _waiting(agent):
                terminal.echo(f"{'':<8} {line}")
        with suppress(RefusedError):  # a daemon before an upgrade
            spent = daemon.get("/v1/costs")
            if spent["total_usd"]:
                terminal.echo(f"Cost: ${spent['today_usd']:.2f} today (UTC), ${spent['total_usd']:.2f} in all.")

    common.run(work)


@click.command()
@click.argument("agent")
@common.json_option
def show(agent: str, as_json: bool) -> None:
    """Show what one agent is, did, and met."""

    def work() -> None:
        known = common.daemon().get(common.agent_path(agent))
        if as_json:
            terminal.echo_json(with_task_text(known))
        else:
            terminal.echo("\n".join(_portrait(known)))

    common.run(work)


@click.command()
@click.argument("agent")
@click.argument("text", nargs=-1, required=True)
@common.json_option
def say(agent: str, text: tuple[str, ...], as_json: bool) -> None:
    """Tell AGENT something: into its running turn, or as a new one."""
    _ask(agent, "say", {"text": common.whole_text(" ".join(text))}, as_json=as_json)


@click.command()
@click.argument("agent")
@click.argument("text", nargs=-1, required=True)
@common.json_option
def redirect(agent: str, text: tuple[str, ...], as_json: bool) -> None:
    """Interrupt AGENT at what it does, and give it TEXT to do instead."""
    _ask(agent, "redirect", {"text": common.whole_text(" ".join(text))}, as_json=as_json)


@click.command()
@click.argument("agent")
@common.json_option
def pause(agent: str, as_json: bool) -> None:
    """Hold AGENT at its next tool call, until `chaperon resume`."""
    _ask(agent, "pause", as_json=as_json)


@click.command()
@click.argument("agent")
@common.json_option
def resume(agent: str, as_json: bool) -> None:
    """Let AGENT go on that is paused, or start one again at once that waits to be."""
    _ask(agent, "resume", as_json=as_json)


@click.command()
@click.argument("agent")
@click.option("--force", is_flag=True, help="End all its processes at once instead of asking first.")
@click.option("--reason", default="", help="What the journal says about why.")
@common.json_option
def stop(agent: str, force: bool, reason: str, as_json: bool) -> None:
    """Stop AGENT: interrupt, end of input, SIGTERM, and then every process it has. This returns when the stop has begun."""
    _ask(agent, "stop", {"force": force, "reason": common.whole_text(reason)}, as_json=as_json)


def _ask(agent: str, what: str, body: Mapping[str, Any] | None = None, *, as_json: bool) -> None:
    def work() -> None:
        known = common.daemon().post(f"{common.agent_path(agent)}/{what}", body)
        if as_json:
            terminal.echo_json(with_task_text(known))
        else:
            terminal.echo(f"{known['agent']} is {known['state']}.")

    common.run(work)


def with_task_text(agent: Mapping[str, Any]) -> dict[str, Any]:
    """The facts under their contracted names: `task` is the prompt, and all that is known of the task stands beside it."""
    return {**agent, "task": agent["task"]["prompt"], "task_details": agent["task"]}


def _row(agent: Mapping[str, Any], task_width: int) -> str:
    reviews = agent["reviews"]
    return ROW.format(
        agent=agent["agent"],
        state=agent["state"],
        started=local(agent["started_at"]),
        actions=sum(reviews.values()),
        blocked=reviews.get("block", 0),
        incidents=len(agent["incidents"]),
        cost="-" if agent["cost_usd"] is None else f"${agent['cost_usd']:.2f}",
        mem=f"{agent['memory_mb']:.0f} MiB",
        cpu=f"{agent['cpu_seconds']:.1f} s",
        procs=agent["processes"],
        task=clean(agent["task"]["prompt"], task_width),
    )


def _waiting(agent: Mapping[str, Any]) -> Iterator[str]:
    """What of the agent waits for a person, since when and until when, and how to answer."""
    waiting = agent.get("waiting", ())  # older daemons say nothing of these
    for each in waiting[:MOST_WAITING]:
        times = f"since {local(each['asked_at'])}, denied at {local(each['until'])}"
        yield f"waits for approval ({times}): {clean(each['tool'], 40)} {clean(each['summary'], 100)}"
    if len(waiting) > MOST_WAITING:
        yield f"and {len(waiting) - MOST_WAITING} more: chaperon approvals"
    if waiting:
        which = "--all" if len(waiting) > 1 else ""
        yield f"To answer: chaperon approve {agent['agent']} {which}".rstrip() + ", or chaperon deny"


def _portrait(agent: Mapping[str, Any]) -> list[str]:
    facts = {
        "agent": agent["agent"],
        "state": f"{agent['state']}{', and nobody watches over it' if agent['unwatched'] else ''}: {agent.get('api') or agent['why']}",
        "task": clean(agent["task"]["prompt"]),
        "workspace": _workspace(agent),
        "session": f"{agent['session_id']} ({agent['model'] or 'model not known yet'}, CLI {agent['cli_version'] or '?'})",
        "started": local(agent["started_at"]),
        "ended": local(agent["ended_at"]) if agent["ended_at"] else "-",
        "processes": f"CLI {agent['cli_pid']}, shim {agent['shim_pid']}, held by {agent['containment'] or 'nothing yet'}",
        "tokens": f"{agent['input_tokens']} in, {agent['cached_tokens']} from cache, {agent['output_tokens']} out",
        "context": _context(agent),
        "cost": "not known yet" if agent["cost_usd"] is None else f"${agent['cost_usd']:.4f}",
        "resources": _resources(agent),
        "reviews": _counts(agent["reviews"]),
        "issues": _counts(agent["issues"]),
        "said": ", ".join(f"{name} {became}" for name, became in agent["said"].items()) or "nothing of issues",
        "learned": ", ".join(f"{name} times {factor:g}" for name, factor in agent["factors"].items()) or "nothing",
        "answers": _counts(agent["interventions"]),
        "outcomes": _counts(agent["outcomes"]),
        "incidents": ", ".join(agent["incidents"]) or "none",
    }
    if (level := agent["task"].get("monitoring_level", "normal")) != "normal":
        facts["watched"] = f"closely ({level})"
    if todo := agent.get("todo"):
        left = [item["text"] for item in todo if item["state"] != "completed"]
        facts["to-do"] = (
            f"{len(todo) - len(left)} of {len(todo)} done, by its own list{'; next: ' if left else ''}{'; '.join(left[:3])}"
        )
    if agent.get("expired"):
        facts["expired"] = f"{agent['expired']} actions were not run, for nobody answered in time"
    steps = [
        f"  {step['decision']:<7} {'failed' if step['failed'] else '':<7} {clean(step['tool'], 40)} {clean(step['summary'], 100)}"
        for step in agent["recent"]
    ]
    return [
        *(f"{name:<10} {clean(value, 1000)}" for name, value in facts.items()),
        *_waiting(agent),
        *_why(agent["explained"]),
        "last steps",
        *(steps or ["  none"]),
    ]


def _why(explained: Mapping[str, Any]) -> Iterator[str]:
    """Why the last answer was given and no other, what holds the next one back, and what such answers came to."""
    if last := explained.get("last"):
        yield "why this answer, and not another"
        yield f"  {last['id']} {last['kind']}: {clean(last['reason'], 1000)}"
        yield from (f"  not {kind}: {clean(why, 200)}" for kind, why in last.get("not", {}).items())
    if holds := list(_held_back(explained)):
        yield "before the next answer"
        yield from (f"  {clean(line, 300)}" for line in holds)
    if record := explained.get("record"):
        yield "what such answers came to, in all runs"
        yield from (f"  {_worth(row)}" for row in record)


def _held_back(explained: Mapping[str, Any]) -> Iterator[str]:
    if explained.get("last"):
        yield f"{explained['used']} of {explained['most']} answers were given in this run"
    if rests := explained.get("rests_for_seconds"):
        yield f"the agent is left alone for {rests:.0f} s more"
    if explained.get("under_watch"):
        yield "whether the last one helps is still being seen"
    if explained.get("throttled"):
        yield "its limits are lowered"
    yield from (f"waits for an answer: {sentence}" for sentence in explained.get("waiting", ()))
    yield from (f"a person was asked: {need}" for need in explained.get("asked_a_person", ()))


def _worth(row: Mapping[str, Any]) -> str:
    """One line of the record. Example: `soft_correction for repetition: helped 2 of 3 times (21 to 94 %), 1 unclear`."""
    clear = row["success"] + row["failure"]
    span = f" ({100 * row['low']:.0f} to {100 * row['high']:.0f} %)" if clear else ""
    return f"{row['kind']} for {row['issue']}: helped {row['success']} of {clear} times{span}, {row['unclear']} unclear"


def _workspace(agent: Mapping[str, Any]) -> str:
    branch = f" on branch {agent['branch']}" if agent["branch"] else ""
    closed = f" ({agent['workspace_closed']})" if agent["workspace_closed"] else ""
    return f"{agent['workspace']}{branch}{closed}"


def _resources(agent: Mapping[str, Any]) -> str:
    disk = f", {agent['disk_mb']:.0f} MiB in the workspace" if agent["disk_mb"] else ""
    files = f", {agent['file_operations']} file operations" if agent["file_operations"] else ""
    return (
        f"{agent['memory_mb']:.0f} MiB (peak {agent['peak_memory_mb']:.0f}), {agent['cpu_seconds']:.1f} s of CPU, "
        f"{agent['processes']} processes, {agent['open_files']} open files{disk}{files}"
    )


def _context(agent: Mapping[str, Any]) -> str:
    used, window = agent["context_tokens"], agent["context_window"]
    return f"{used} of {window} tokens ({used / window:.0%})" if window else f"{used} tokens"


def _counts(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in numbers.items()) or "none"
