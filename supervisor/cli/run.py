"""The command that submits a task and follows it, with the daemon that is there or one of its own for that long."""

import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import click
import orjson

from supervisor.cli import common, view
from supervisor.cli.client import Client, NoDaemonError, RefusedError, connect
from supervisor.protocol.words import AgentState


@click.command(name="run")
@click.argument("prompt")
@click.option(
    "--repo", type=click.Path(path_type=Path), default=".", help="A directory in a git worktree; here by default."
)
@click.option("--name", help="What the agent is called; a1, a2 and so on by default.")
@click.option(
    "--goal", "goals", multiple=True, help="When the task is done; may be given several times, most important first."
)
@click.option(
    "--constraint", "constraints", multiple=True, help="What the agent must keep to; may be given several times."
)
@click.option(
    "--expect-path", "expected_paths", multiple=True, help="Glob of what the task should touch; several times."
)
@click.option("--model", help="The model to use; the CLI's own by default.")
@click.option("--keep-open", is_flag=True, help="Let the agent wait to be told more after its turn.")
@click.option("--detach", is_flag=True, help="Submit, print the agent's name, and leave; needs a daemon.")
@common.json_option
def run_command(prompt: str, repo: Path, detach: bool, as_json: bool, **about: Any) -> None:
    """Have PROMPT done in a repository by a new agent, and follow it; `-` reads the prompt from standard input.

    With no daemon about, it serves itself for as long as the run lasts. Ctrl+C stops the agent, step by step; a second
    one ends all its processes at once. The exit code is 0 where the agent ended well and 1 where not.
    """
    if prompt == "-":
        prompt = sys.stdin.read()
    wanted = {"prompt": prompt, "repository": str(repo.absolute()), **{k: v for k, v in about.items() if v}}

    async def work() -> int:
        async with AsyncExitStack() as stack:
            daemon = await stack.enter_async_context(_daemon(detach))
            agent = (await daemon.post("/v1/agents", wanted))["agent"]
            if detach:
                click.echo(agent)
                return 0
            return await follow(daemon, agent, as_json)

    common.run(work)


@asynccontextmanager
async def _daemon(must_be_there: bool) -> AsyncIterator[Client]:
    """The daemon that listens, or one of our own."""
    try:
        async with common.daemon() as client:
            yield client
            return
    except NoDaemonError:
        if must_be_there:
            raise
    # What serves takes half a second to import, which nobody who has a daemon should pay.
    from supervisor.runtime.log import start_log
    from supervisor.runtime.service import Setup, run_daemon

    loaded = common.configuration()
    start_log("warn")
    async with run_daemon(Setup(loaded.config, common.here())), connect(common.here().socket) as client:
        yield client


async def follow(daemon: Client, agent: str, as_json: bool) -> int:
    """Print what an agent does until it has ended; the exit code."""
    ended = AgentState.LOST
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_stop_on_signals, daemon, agent, name="signals")
        async for line in daemon.lines("/v1/events", agent=agent, follow=True):
            record = orjson.loads(line)
            _print(line, record, as_json)
            if record["kind"] == "state_changed" and AgentState(record["after"]).ended:
                ended = AgentState(record["after"])
                break
        tasks.cancel_scope.cancel()
    for line in [line async for line in daemon.lines("/v1/events", agent=agent, after=record["n"])]:
        _print(line, orjson.loads(line), as_json)
    return 0 if ended is AgentState.DONE else common.FAILED


def _print(line: bytes, record: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(line)
        return
    for text in view.lines(record):
        click.echo(text)


async def _stop_on_signals(daemon: Client, agent: str) -> None:
    """The first signal stops the agent in order; each further one at once."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        force = False
        async for _ in signals:
            how = "at once" if force else "in order; Ctrl+C again ends it at once"
            click.echo(f"chaperon: stopping agent {agent} {how}.", err=True)
            try:
                await daemon.post(f"/v1/agents/{agent}/stop", {"force": force, "reason": "Ctrl+C"})
            except RefusedError as error:
                click.echo(f"chaperon: {error}", err=True)
            force = True
