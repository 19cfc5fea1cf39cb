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


CONFIGURED = """
agent: {cgroups: auto}
reviewer: {risk_threshold: 0.5, rules: [{name: own.apply, match: [terraform apply], why: changes production}]}
rules: [{name: own.no-make, tool: Bash, match: '^make', decision: block, reason: Use ninja.}]
interventions: {auto_rollback: false}
"""
"""A configuration as people have it. Its model is loaded whole, however little is set: 200 ms, by the first command that
meets it. The others read what that one kept."""

WITH_CONFIGURATION = ("explain", "rules", "ps", "doctor")
"""Commands that are measured beside it as well."""


def first_output_seconds(base: Path, *arguments: str) -> float:
    """The seconds until a command wrote something, to standard output or to standard error."""
    taken = []
    for _ in range(ROUNDS):
        began = perf_counter()
        with subprocess.Popen(
            [*CHAPERON, *arguments],
            env=environment(base),
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
            (base / "chaperon.yaml").write_text(CONFIGURED)
            (base / "chaperon.yaml").chmod(0o600)
            named = ("--config", str(base / "chaperon.yaml"))
            configured = {name: first_output_seconds(base, *named, name, *ASKS[name]) for name in WITH_CONFIGURATION}
            usage = {name: first_output_seconds(base, *name.split(), "--help") for name in usages}
    slowest = max(usage, key=lambda name: usage[name])
    return [
        *(
            Figure(f"first output of `chaperon {name}`", seconds * 1e3, "ms", AIM_MILLISECONDS)
            for name, seconds in asked.items()
        ),
        *(
            Figure(f"first output of `chaperon {name}`, with a configuration", seconds * 1e3, "ms", AIM_MILLISECONDS)
            for name, seconds in configured.items()
        ),
        Figure(
            f"first output of `--help`, the slowest of {len(usage)} other commands (`{slowest}`)",
            usage[slowest] * 1e3,
            "ms",
            AIM_MILLISECONDS,
        ),
    ]


if __name__ == "__main__":
    print(*main(), sep="\n")
