"""The command by which a person leaves the agents alone for a while."""

from collections.abc import Mapping
from typing import Any

import click

from monitors.contract.wording import dollars
from supervisor.cli import common
from supervisor.cli.output import terminal
from supervisor.cli.output.times import Duration, FutureMoment
from supervisor.cli.output.words import clean, local
from supervisor.runtime.clock import Clock

CHECKPOINT_SECONDS = 600.0
"""How long the answer may take: each project is captured before."""

ENDED = {"time": "its end was reached", "budget": "its budget was spent", "person": "a person ended it"}


@click.command()
@click.option("--for", "seconds", type=Duration(), help="How long: 90m, 8h or 1d.")
@click.option("--until", type=FutureMoment(), help="Until then: 07:00, 2026-11-23 or 2026-11-23T07:00.")
@click.option(
    "--max-cost", type=common.FiniteRange(min=0, min_open=True), help="What all agents may cost, in US dollars."
)
@click.option("--reason", default="", help="What the journal says about why.")
@click.option("--request-id", default="", help="An id of this request: given twice, it begins one.")
@click.option("--off", is_flag=True, help="End it, since you are there again; agents go on.")
@common.json_option
def autopilot(
    seconds: float | None,
    until: float | None,
    max_cost: float | None,
    reason: str,
    request_id: str,
    off: bool,
    as_json: bool,
) -> None:
    """Leave the agents alone until an end or a budget; with no option, show how it stands.

    Each project is kept as a checkpoint before. At the end, or once the budget is spent, no new task is claimed, all
    agents are held as their turns end, you are told, and a report is written. `chaperon resume --all` has them go on.
    """
    if seconds is not None and until is not None:
        raise click.UsageError("--for and --until do not go together: say one of them.")
    wanted = seconds is not None or until is not None or max_cost is not None
    if off and wanted:
        raise click.UsageError("--off ends the autopilot and goes with neither an end nor a budget.")
    daemon = common.daemon()
    if off:
        state = daemon.post("/v1/autopilot/end")
    elif wanted:
        end = Clock().wall() + seconds if seconds is not None else until
        about = {"reason": common.whole_text(reason), "request_id": common.whole_text(request_id)}
        body = {"until": end, "max_cost_usd": max_cost, **about}
        state = daemon.post("/v1/autopilot", body, seconds=CHECKPOINT_SECONDS)
    else:
        state = daemon.get("/v1/autopilot")
    terminal.answer(state, lambda: _lines(state), as_json=as_json)


def _lines(state: Mapping[str, Any]) -> list[str]:
    if not state["on"]:
        if state["ended"] is None:
            return ["There is no autopilot. To begin one: chaperon autopilot --for 8h --max-cost 20"]
        said = [f"The last autopilot is over: {ENDED[state['ended']]}. It cost {dollars(state['spent_usd'])}."]
        return [*said, f"Its report: {clean(state['report'], 1_000)}"] if state["report"] else said
    until = f", until {local(state['until'])}" if state["until"] is not None else ""
    most = f" of {dollars(state['max_cost_usd'])}" if state["max_cost_usd"] is not None else ""
    why = f": {clean(state['reason'], 1_000)}" if state["reason"] else ""
    return [
        f"Autopilot by {clean(state['by'], 100)} since {local(state['since'])}{until}{why}.",
        f"Spent in it: {dollars(state['spent_usd'])}{most}. To end it: chaperon autopilot --off",
        *(f"Checkpoint before it: {clean(one, 1_000)}" for one in state["checkpoints"]),
    ]
