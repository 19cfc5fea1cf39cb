"""Commands by which a person lets an agent do what the reviewer would block: allow, allowances, revoke."""

import re
from collections.abc import Mapping
from typing import Any

import click

from supervisor.cli import common
from supervisor.cli.agents import with_task_text
from supervisor.cli.view import clean

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


class Duration(click.ParamType[float]):
    """A time such as `90s`, `10m`, `2h` or `1d`, in seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read it."""
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)([smhd])", str(value))
        if found is None or float(found[1]) == 0:
            self.fail(f"{value!r} is no time; write a number and s, m, h or d, as in 10m.", param, ctx)
        return float(found[1]) * _UNITS[found[2]]


@click.command()
@click.argument("agent")
@click.argument("text", required=False)
@click.option("--rule", default="", help="Excuse from this rule; reviews name theirs.")
@click.option("--tool", default="", help="Only for this tool, such as Bash.")
@click.option("--once", is_flag=True, help="For one call; what is meant where --for is not given.")
@click.option("--for", "seconds", type=Duration(), help="For a while, such as 10m; with --once for one call within it.")
@common.json_option
def allow(agent: str, text: str | None, rule: str, tool: str, once: bool, seconds: float | None, as_json: bool) -> None:
    """Let AGENT do what the reviewer would block: the command, path or address TEXT, exactly, or what --rule blocks.

    What protects chaperon itself is never allowed, and an agent can allow nothing.
    """

    async def work() -> None:
        wanted = {"rule": rule, "tool": tool, "text": common.whole_text(text or ""), "seconds": seconds}
        async with common.daemon() as daemon:
            path = f"{common.agent_path(agent)}/allowances"
            given = await daemon.post(path, {**wanted, "once": once or seconds is None})
        if as_json:
            common.echo_json(given)
        else:
            click.echo(_told(given))

    common.run(work)


@click.command()
@common.json_option
def allowances(as_json: bool) -> None:
    """List what agents are allowed at this moment beyond the rules."""

    async def work() -> None:
        async with common.daemon() as daemon:
            given = await daemon.get("/v1/allowances")
        if as_json:
            common.echo_json(given)
            return
        click.echo("\n".join(map(_told, given)) or "Nothing is allowed beyond the rules.")

    common.run(work)


@click.command()
@click.argument("agent")
@click.argument("allowance")
@common.json_option
def revoke(agent: str, allowance: str, as_json: bool) -> None:
    """Take an ALLOWANCE of AGENT back, by its id."""

    async def work() -> None:
        async with common.daemon() as daemon:
            id_ = common.path_part(allowance, "chaperon allowances")
            known = await daemon.delete(f"{common.agent_path(agent)}/allowances/{id_}")
        if as_json:
            common.echo_json(with_task_text(known))
        else:
            click.echo(f"{agent} is not allowed that any more.")

    common.run(work)


def _told(one: Mapping[str, Any]) -> str:
    what = " ".join(filter(None, (one["tool"], one["text"] and f"`{clean(one['text'])}`", one["rule"])))
    often = (
        "as often as wanted" if one["uses"] is None else f"{one['uses']} more time" + ("s" if one["uses"] > 1 else "")
    )
    until = "" if one["seconds_left"] is None else f", for {one['seconds_left']:.0f} s"
    return f"{one['agent']} {one['id']}  {what}: {often}{until}, says {one['by']}"
