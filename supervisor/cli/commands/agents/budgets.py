"""The command that shows what of the day's budgets is spent, by account, and who waits for a usage limit."""

from collections.abc import Iterator, Mapping
from typing import Any

import click

from monitors.contract.wording import dollars
from supervisor.cli import common
from supervisor.cli.output import terminal
from supervisor.cli.output.words import clean, local


@click.command()
@common.json_option
def budgets(as_json: bool) -> None:
    """Show today's spending by account, what is left of budgets, and which agents wait for a usage limit.

    An account is named by the place of its credential. Budgets are set in the section `resources` of the configuration.
    """
    known = common.daemon().get("/v1/budgets")
    terminal.answer(known, lambda: budget_lines(known), as_json=as_json)


def budget_lines(known: Mapping[str, Any]) -> Iterator[str]:
    """Return what is shown, line by line."""
    for one in known["accounts"]:
        in_force = ", which pays for agents that start now" if one["in_force"] else ""
        yield f"account {clean(one['account'])}{in_force}"
        yield f"  today {dollars(one['cost_usd'])} and {one['tokens']:,} tokens, {one['agents']} agents at work"
        if one.get("passed_over"):
            yield f"  passed over: {clean(one['passed_over'])}"
        for notice in one["notices"]:
            yield f"  {clean(notice)}"
    for one in known["budgets"]:
        yield f"{clean(one['what'])}: {one['sentence']}{', used up' if one['used_up'] else ''}"
    if not known["budgets"]:
        yield "No budget is set: see resources in the configuration."
    for place, one in enumerate(known["waiting"], 1):
        when = "goes on in its turn" if one["due"] else f"waits until {local(one['until'], '%Y-%m-%d %H:%M')}"
        yield f"turn {place}: {clean(one['agent'])}, priority {one['priority']}, {when}"
    if known["holds"]:
        yield f"No stored task is begun: {clean(known['holds'])}"
