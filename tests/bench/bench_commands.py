"""How soon each command says something: from its start to the first byte of its output, the interpreter's start included.

usage: python -m tests.bench --only commands

A daemon answers that has one agent, which has ended. Commands are run as people type them, where nothing is configured and
beside a configuration. Of those that want a terminal, or all that the daemon has, the usage is asked for, which loads what
they load before they act.
"""

import os
import select
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
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

TYPED = {
    "allow": ("{agent}", "make"), "allowances": (), "approvals": (), "approve": ("{agent}",), "attach": ("--print",),
    "autopilot": (), "budgets": (), "checkpoint": ("one", "--agent", "{agent}"), "checkpoints": (), "dashboard": (),
    "deny": ("{agent}",), "detach": ("--print",), "diff": ("{agent}",), "discoveries": (), "doctor": (), "drain": ("--off",),
    "exec": ("--", "claude", "--version"), "explain": ("git push --force",), "incidents": (), "incidents --export": (),
    "keys": (), "merge": (), "notify": (), "outcome": (), "panel": ("--port", "0"), "pause": ("{agent}",), "prune": ("--dry-run",),
    "ps": (), "recover": ("none",), "redirect": ("{agent}", "Read"), "rehearse": ("demo",), "replay": ("{state}/journal",),
    "report": (), "resume": ("{agent}",), "revoke": ("{agent}", "w-1"), "rm": ("{agent}", "--dry-run"), "rollback": ("one", "--dry-run"),
    "rules": (), "run": ("Look", "--detach"), "say": ("{agent}", "Look"), "serve": (), "show": ("{agent}",),
    "stop": ("{agent}",), "tail": (), "tail --export": (), "task list": (), "task show": ("none",), "top": (), "trust": (),
}  # fmt: skip
"""Commands with their arguments. Those that steer are refused, since the agent has ended; `serve` finds a daemon."""


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


def first_output_seconds(base: Path, *arguments: str) -> float:
    """The seconds until a command wrote something on its terminal."""
    taken = []
    for _ in range(ROUNDS):
        ours, its = os.openpty()
        began = perf_counter()
        with subprocess.Popen(
            [*CHAPERON, *arguments],
            env={**environment(base), "PATH": f"{base}:{os.environ['PATH']}", "TERM": "xterm"},
            cwd=base / "r0",
            stdin=its,
            stdout=its,
            stderr=its,
        ) as process:
            os.close(its)
            select.select([ours], [], [])
            taken.append(perf_counter() - began)
            process.terminate()
            with suppress(OSError):  # the end of the other side
                while os.read(ours, 65_536):
                    pass
        os.close(ours)
    return middle(taken)


def main() -> list[Figure]:
    """Measure."""
    usages = sorted(set(leaves(chaperon, click.Context(chaperon))) - set(TYPED))
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
            told = {
                name: (*name.split(), *(one.format(agent=agent, state=base / "state") for one in given))
                for name, given in TYPED.items()
            }
            asked = {name: first_output_seconds(base, *words) for name, words in told.items()}
            users = base / "home" / ".config" / "chaperon"
            users.mkdir(parents=True, exist_ok=True)
            (users / "chaperon.yaml").write_text(CONFIGURED)
            (users / "chaperon.yaml").chmod(0o600)
            first = first_output_seconds(base, "keys")
            configured = {name: first_output_seconds(base, *words) for name, words in told.items()}
            daemon.post("/v1/orders/stop", {"force": True})
            anyio.run(over, daemon)  # what `run` started
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
        Figure("first output of the first command beside a new configuration", first * 1e3, "ms"),
        Figure(
            f"first output of `--help`, the slowest of {len(usage)} other commands (`{slowest}`)",
            usage[slowest] * 1e3,
            "ms",
            AIM_MILLISECONDS,
        ),
    ]


if __name__ == "__main__":
    print(*main(), sep="\n")
