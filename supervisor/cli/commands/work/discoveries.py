"""The command to look at facts that agents noted for others, and to take one back."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from supervisor.cli import common
from supervisor.cli.output import terminal
from supervisor.cli.output.words import clean, local

LONGEST = 500
"""Characters of a discovery that are shown: all that the daemon keeps."""


@click.command()
@click.option("--repo", type=click.Path(path_type=Path), help="Only what concerns the repository of this directory.")
@click.option("--forget", metavar="ID", help="Take a discovery back: no agent is told it any more.")
@common.json_option
def discoveries(repo: Path | None, forget: str | None, as_json: bool) -> None:
    """List the facts that agents noted for others, oldest first.

    An agent notes one by a line of a reply that begins with `[discovery: repository]`; it is told so if it works beside
    others. Agents that start later are told what concerns their task, as information and no instruction.
    """
    daemon = common.daemon()
    if forget is not None:
        taken = daemon.delete(f"/v1/discoveries/{common.path_part(forget, 'chaperon discoveries')}")
        shown, said = taken, f"No agent is told it any more: {clean(taken['text'], LONGEST)}"
    else:
        shown = daemon.get("/v1/discoveries", repository=str(repo.absolute()) if repo else "")
        said = "\n".join(map(_line, shown)) or "No agent has noted a fact for others."
    terminal.answer(shown, lambda: said, as_json=as_json)


def _line(one: Mapping[str, Any]) -> str:
    where = (
        "everywhere"
        if one["scope"] == "all"
        else clean(one["project"] if one["scope"] == "repository" else one["task"])
    )
    return f"{one['id']}  {local(one['at'], '%Y-%m-%d %H:%M')}  {clean(one['agent'])}, for {where}: {clean(one['text'], LONGEST)}"
