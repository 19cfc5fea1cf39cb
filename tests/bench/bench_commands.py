"""How soon each command says something: from its start to the first byte of its output, the interpreter's start included.

usage: python -m tests.bench --only commands

A daemon answers that has one agent, which has ended. Commands that only ask are run as people type them; of those that change
something, run for long or want a terminal, the usage is asked for, which loads what they load before they act.
"""

import os
import select
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import anyio
import click

from supervisor.cli.__main__ import main as chaperon
from supervisor.cli.client import connect
from tests.bench.bench_fleet import over, prepare, start
from tests.bench.bench_start import CHAPERON, environment, serving
from tests.bench.figures import Figure, middle

ROUNDS = 3

AIM_MILLISECONDS = 200.0
"""What a person takes for at once."""

ASKS = {
    "allowances": (), "approvals": (), "budgets": (), "checkpoints": (), "dashboard": (),
    "diff": ("{agent}",), "discoveries": (), "doctor": (), "explain": ("git push --force",),
    "incidents": (), "ps": (), "report": (), "rules": (), "show": ("{agent}",), "tail": (), "task list": (),
}  # fmt: skip
"""Commands that only ask, with their arguments."""


def leaves(command: click.Command, context: click.Context, name: str = "") -> Iterator[str]:
    """The names of all commands that act."""
    if not isinstance(command, click.Group):
        yield name
        return
    for each in command.list_commands(context):
        found = command.get_command(context, each)
        assert found is not None
        yield from leaves(found, click.Context(found, parent=context, info_name=each), f"{name} {each}".strip())


CONFIGURED = {"CHAPERON_REVIEWER__RISK_THRESHOLD": "0.5"}
"""A configuration of one key: its model is loaded whole, however little is set."""


def first_output_seconds(base: Path, *arguments: str, **more: str) -> float:
    """The seconds until a command wrote something, to standard output or to standard error; `more` is its environment's."""
    taken = []
    for _ in range(ROUNDS):
        began = perf_counter()
        with subprocess.Popen(
            [*CHAPERON, *arguments],
            env={**environment(base), **more},
            cwd=base / "r0",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            assert process.stdout is not None
            select.select([process.stdout], [], [])
            taken.append(perf_counter() - began)
            process.stdout.read()
    return middle(taken)


def main() -> list[Figure]:
    """Measure."""
    usages = sorted(set(leaves(chaperon, click.Context(chaperon))) - set(ASKS))
    with tempfile.TemporaryDirectory(prefix="chaperon-bench-") as place:
        base = Path(place)
        repositories = prepare(base, 1, 3, 0.0)
        with serving(base, CHAPERON_AGENT__COMMAND=str(base / "claude")):
            daemon = connect(base / "run" / "chaperon.sock")

            async def play() -> str:
                await start(daemon, repositories)
                os.close(os.open(base / "gate", os.O_WRONLY))
                await over(daemon)
                return str(daemon.get("/v1/agents")[0]["agent"])

            agent = anyio.run(play)
            asked = {
                name: first_output_seconds(base, *name.split(), *(one.format(agent=agent) for one in given))
                for name, given in ASKS.items()
            }
            configured = first_output_seconds(base, "explain", *ASKS["explain"], **CONFIGURED)
            usage = {name: first_output_seconds(base, *name.split(), "--help") for name in usages}
    slowest = max(usage, key=lambda name: usage[name])
    return [
        *(
            Figure(f"first output of `chaperon {name}`", seconds * 1e3, "ms", AIM_MILLISECONDS)
            for name, seconds in asked.items()
        ),
        Figure("first output of `chaperon explain`, with a configuration", configured * 1e3, "ms", AIM_MILLISECONDS),
        Figure(
            f"first output of `--help`, the slowest of {len(usage)} other commands (`{slowest}`)",
            usage[slowest] * 1e3,
            "ms",
            AIM_MILLISECONDS,
        ),
    ]


if __name__ == "__main__":
    print(*main(), sep="\n")
