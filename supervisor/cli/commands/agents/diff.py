"""The command that shows the content of what an agent changed."""

from collections.abc import Iterator, Mapping
from typing import Any

import click

from monitors.contract.wording import counted
from supervisor.cli import common
from supervisor.cli.output import terminal
from supervisor.cli.output.agent_words import shared
from supervisor.cli.output.tables import Column, table
from supervisor.protocol.plain import harmless

COLOURS = {"+": "green", "-": "red", "@": "cyan"}
"""The colour of a line by its first character, on a terminal."""

COLUMNS = (Column("ADDED", right=True), Column("REMOVED", right=True), Column("CHANGE"), Column("FILE"))


@click.command()
@click.argument("agent")
@click.option("--stat", is_flag=True, help="Only the files, with their lines added and removed.")
@click.option("--from", "since", default="", metavar="CHECKPOINT", help="From this checkpoint on, not from the start.")
@common.json_option
def diff(agent: str, stat: bool, since: str, as_json: bool) -> None:
    """Show the content of what AGENT changed since its start: until now, or until its last turn ended."""
    found = common.daemon().get(f"{common.agent_path(agent)}/diff", since=since, patch=str(not stat).lower())
    terminal.answer(found, lambda: _stat(found) if stat else map(_coloured, patch_lines(found)), as_json=as_json)


def _coloured(line: str) -> str:
    return click.style(line, fg=COLOURS.get(line[:1])) if line[:1] in COLOURS and terminal.width() else line


def _stat(found: Mapping[str, Any]) -> Iterator[str]:
    if found["files"]:
        yield from table(COLUMNS, [_row(each) for each in found["files"]])
    yield _total(found)


def _row(each: Mapping[str, Any]) -> list[str]:
    lines = ["-", "-"] if each["binary"] or each["left_out"] else [f"{each['added']:,}", f"{each['removed']:,}"]
    kind = " (binary)" if each["binary"] else ""
    return [*lines, each["change"].replace("_", " "), each["path"] + kind]


def patch_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the patches, and the reasons for those that are not shown."""
    for each in found["files"]:
        patch = harmless(each["patch"])  # colours of the content's own are none of ours
        yield from patch.removesuffix("\n").split("\n") if patch else ()
        if each["left_out"]:
            yield f"{each['path']}: {each['change'].replace('_', ' ')}, not shown: {each['left_out']}"
    if found["more"] or not found["files"] or shared(found):
        yield _total(found)


def _total(found: Mapping[str, Any]) -> str:
    number = len(found["files"]) + found["more"]
    until = f" to checkpoint {found['until']}" if found["until"] else " until now"
    if not number:
        return f"Nothing changed from checkpoint {found['since']}{until}."
    named = f" ({found['more']:,} of them not named)" if found["more"] else ""
    lines = f"{found['added']:,} added, {found['removed']:,} removed"
    changed = f"{counted(number, 'file')} changed{named}{shared(found)}"
    return f"{changed}, lines: {lines}; from checkpoint {found['since']}{until}."
