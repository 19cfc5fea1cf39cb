"""Commands by which a person lets an agent do what the reviewer would block: allow, allowances, revoke."""

from collections.abc import Mapping
from typing import Any

import click

from supervisor.cli import common
from supervisor.cli.output import terminal
from supervisor.cli.output.agent_words import with_task_text
from supervisor.cli.output.times import Duration
from supervisor.cli.output.words import clean


@click.command()
@click.argument("agent")
@click.argument("text", required=False)
@click.option("--rule", default="", help="Excuse from this rule; reviews name theirs.")
@click.option("--tool", default="", help="Only for this tool, such as Bash; `host` for a host of a closed sandbox.")
@click.option("--once", is_flag=True, help="For one call; so it is without --for.")
@click.option("--for", "seconds", type=Duration(), help="For a while, such as 10m; with --once for one call within it.")
@common.json_option
def allow(agent: str, text: str | None, rule: str, tool: str, once: bool, seconds: float | None, as_json: bool) -> None:
    """Let AGENT do what the reviewer would block: the command, path or address TEXT, exactly, or what --rule blocks.

    With --tool host, TEXT is a host that its sandbox closes, such as example.org:443; the gateway opens it to the agent
    within two seconds.

    What protects chaperon itself is never allowed, and an agent can allow nothing.
    """
    wanted = {"rule": rule, "tool": tool, "text": common.whole_text(text or ""), "seconds": seconds}
    path = f"{common.agent_path(agent)}/allowances"
    given = common.daemon().post(path, {**wanted, "once": once or seconds is None})
    terminal.answer(given, lambda: _sentence(given), as_json=as_json)


@click.command()
@common.json_option
def allowances(as_json: bool) -> None:
    """List what agents are allowed at this moment beyond the rules."""
    given = common.daemon().get("/v1/allowances")
    terminal.answer(
        given, lambda: "\n".join(map(_sentence, given)) or "Nothing is allowed beyond the rules.", as_json=as_json
    )


@click.command()
@click.argument("agent")
@click.argument("allowance")
@common.json_option
def revoke(agent: str, allowance: str, as_json: bool) -> None:
    """Take an ALLOWANCE of AGENT back, by its id."""
    id_ = common.path_part(allowance, "chaperon allowances")
    known = common.daemon().delete(f"{common.agent_path(agent)}/allowances/{id_}")
    terminal.answer(with_task_text(known), lambda: f"{agent} is not allowed that any more.", as_json=as_json)


def _sentence(one: Mapping[str, Any]) -> str:
    what = " ".join(filter(None, (one["tool"], one["text"] and f"`{clean(one['text'])}`", one["rule"])))
    often = (
        "as often as wanted" if one["uses"] is None else f"{one['uses']} more time" + ("s" if one["uses"] > 1 else "")
    )
    until = "" if one["seconds_left"] is None else f", for {one['seconds_left']:.0f} s"
    return f"{one['agent']} {one['id']}  {what}: {often}{until}, says {one['by']}"
