"""The command that says what became of issues, and shows what was learned from that."""

from collections.abc import Mapping
from typing import Any

import click

from supervisor.cli import common
from supervisor.cli.output import terminal
from supervisor.cli.output.tables import Column, table
from supervisor.cli.output.words import clean

COLUMNS = (
    Column("PATTERN"),
    Column("FACTOR", right=True),
    Column("CONFIRMED", right=True, spare=1),
    Column("FALSE ALARMS", right=True, spare=2),
    Column("MISSED", right=True, spare=3),
    Column("LAST"),
)

FIELDS = ("factor", "confirmed", "false_alarms", "missed")


@click.command()
@click.argument("agent", required=False)
@click.argument("pattern", required=False)
@click.argument("became", required=False, type=click.Choice(["confirmed", "false_alarm", "missed"]))
@click.option("--note", default="", help="What the journal says with it.")
@click.option("--undo", metavar="PATTERN", help="Take the last adjustment of a pattern back.")
@common.json_option
def outcome(
    agent: str | None, pattern: str | None, became: str | None, note: str, undo: str | None, as_json: bool
) -> None:
    """Say what became of an issue: PATTERN of AGENT was confirmed, a false_alarm, or missed.

    Each pattern of an agent counts once: what is said later replaces what was said before.

    With nothing but the command, what was learned of each pattern is listed. Thresholds follow only where
    `patterns.learning.enabled` says so, and only for tasks that are submitted afterwards.
    """
    if undo is not None and agent is not None:
        raise click.UsageError("--undo goes alone: it is about a pattern in all runs, and not about one agent.")
    if agent is not None and became is None:
        raise click.UsageError("Name the pattern, and what became of it: confirmed, false_alarm or missed.")
    daemon = common.daemon()
    if undo is not None:
        found = [daemon.post(f"/v1/outcomes/{common.path_part(undo, 'chaperon outcome')}/undo")]
    elif agent is None:
        found = daemon.get("/v1/outcomes")
    else:
        said = {"pattern": pattern, "outcome": became, "note": common.whole_text(note)}
        found = [daemon.post(f"{common.agent_path(agent)}/outcomes", said)]
    terminal.answer(found, lambda: _table(found), as_json=as_json)


def _table(lessons: list[Mapping[str, Any]]) -> list[str]:
    if not lessons:
        return ["Nothing was said of any issue yet."]
    rows = [[one["pattern"], *(f"{one[name]:g}" for name in FIELDS), _last(one["last"])] for one in lessons]
    return table(COLUMNS, rows)


def _last(adjustment: Mapping[str, Any] | None) -> str:
    if adjustment is None:
        return "-"
    return clean(f"{adjustment['before']:g} → {adjustment['after']:g}, because {adjustment['because']}")
