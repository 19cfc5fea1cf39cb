"""The command that submits a task and follows it, with the daemon that is there or one of its own for that long."""

import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import click
import orjson

from supervisor.cli import common, view
from supervisor.cli.client import Client, DaemonGoneError, NoDaemonError, RefusedError, connect
from supervisor.protocol.errors import ChaperonError
from supervisor.protocol.words import AgentState

if TYPE_CHECKING:
    from supervisor.core.summary import Summary

SUBMIT_SECONDS = 3_600.0
"""How long the answer to a submission may take: a new workspace may have a set-up program that fetches and builds."""

GIVE_UP_SECONDS = 1.0
"""How long a submission goes on after a signal: an answer that is about to come names the agent that is to be stopped,
and only setting a workspace up takes longer."""

Wanted = dict[str, Any]
"""The body of a submission."""


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
@click.option("--max-cost", "max_cost_usd", type=float, help="What it may cost, in US dollars, before it is ended.")
@click.option("--keep-open", is_flag=True, help="Let the agent wait to be told more after its turn.")
@click.option(
    "--workspace",
    type=click.Choice(["in-place", "new"]),
    help="Where it works: in the repository's worktree as it is, or in a new one on a branch of its own.",
)
@click.option("--base", help="The commit that a new workspace starts from; HEAD by default.")
@click.option("--detach", is_flag=True, help="Submit, print the agent's name, and leave; needs a daemon.")
@common.json_option
def run_command(prompt: str, repo: Path, detach: bool, as_json: bool, **about: Any) -> None:
    """Have PROMPT done in a repository by a new agent, and follow it; `-` reads the prompt from standard input.

    With no daemon about, it serves itself for as long as the run lasts. Ctrl+C stops the agent, step by step; a second
    one ends all its processes at once. The exit code is 0 where the agent ended well and 1 where not.
    """
    if prompt == "-":
        prompt = sys.stdin.buffer.read().decode(errors="replace")
    wanted = {
        "prompt": common.whole_text(prompt),
        "repository": _sendable(repo.absolute()),
        **{k: v for k, v in about.items() if v},
    }

    async def work() -> int:
        async with AsyncExitStack() as stack:
            try:
                daemon = await stack.enter_async_context(common.daemon())
            except NoDaemonError:
                if detach:
                    raise
            else:
                return await _detached(daemon, wanted) if detach else await _attended(daemon, wanted, as_json)
        return await _by_ourselves(wanted, as_json)

    common.run(work)


def _sendable(path: Path) -> str:
    try:
        path_text = str(path)
        path_text.encode()
    except UnicodeEncodeError:
        raise click.BadParameter(f"{path!r} is not UTF-8, and only such paths can be told to the daemon.") from None
    return path_text


async def _detached(daemon: Client, wanted: Wanted) -> int:
    click.echo((await daemon.post("/v1/agents", wanted, seconds=SUBMIT_SECONDS))["agent"])
    return 0


async def _by_ourselves(wanted: Wanted, as_json: bool) -> int:
    """Serve for as long as the run lasts, and leave no agent of it behind, however it ends."""
    # What serves takes half a second to import, which nobody who has a daemon should pay.
    from supervisor.runtime.log import start_log
    from supervisor.runtime.service import Setup, run_daemon

    loaded = common.configuration()
    start_log("warn")
    begun: list[str] = []
    async with run_daemon(Setup(loaded.config, common.here())) as daemon:
        _tell_of_earlier(daemon.board.at_work())
        try:
            async with connect(common.here().socket) as client:
                return await _attended(client, wanted, as_json, begun.append)
        finally:
            for agent in begun:
                await daemon.put_down(agent, "the run that it belonged to has ended")


def _tell_of_earlier(alive: Iterable["Summary"]) -> None:
    """Name the agents that an earlier daemon, or a run that was killed, left alive: they go on beside this run."""
    for one in alive:
        click.echo(
            f"chaperon: Agent {one.agent} of an earlier run is still alive ({one.state}, in {one.workspace}). It goes on while "
            f"this run lasts, and then waits for the next daemon. What it does: chaperon tail -f --agent {one.agent}. "
            f"To end it, from another terminal: chaperon stop {one.agent}",
            err=True,
        )


async def _attended(
    daemon: Client, wanted: Wanted, as_json: bool, begun: Callable[[str], object] = lambda _agent: None
) -> int:
    """Submit the task and follow it; from before the first moment, signals stop the agent instead of ending us."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        pressed, summary = await _submitted(daemon, wanted, signals)
        if summary is None:
            click.echo(
                "chaperon: given up before an agent was started. What was set up for it is ended and removed.", err=True
            )
            return common.INTERRUPTED
        begun(summary["agent"])
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_stop_on_signals, signals, daemon, summary["agent"], pressed, name="signals")
            code = await follow(daemon, summary["agent"], summary["first_event"] - 1, as_json)
            tasks.cancel_scope.cancel()
    return code


async def _submitted(
    daemon: Client, wanted: Wanted, signals: AsyncIterator[signal.Signals]
) -> tuple[bool, dict[str, Any] | None]:
    """Submit the task; whether a signal came meanwhile, and the answer: none where the signal took the task back."""
    pressed, answer, failed = False, None, None

    async def give_up() -> None:
        nonlocal pressed
        await anext(signals)
        pressed = True
        await anyio.sleep(GIVE_UP_SECONDS)
        tasks.cancel_scope.cancel()  # this hangs up, by which the daemon knows

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(give_up, name="give up on a signal")
        try:
            answer = await daemon.post("/v1/agents", wanted, seconds=SUBMIT_SECONDS)
        except ChaperonError as error:  # raised behind the group, which would wrap it
            failed = error
        tasks.cancel_scope.cancel()
    if failed is not None:
        raise failed
    return pressed, answer


async def follow(daemon: Client, agent: str, after: int, as_json: bool) -> int:
    """Print what an agent does, from an event on, until it has ended; the exit code."""
    last, ended, closing = after, None, False
    with suppress(DaemonGoneError):  # told below, with how to go on
        async for line in daemon.lines("/v1/events", agent=agent, after=after, follow=True):
            record = orjson.loads(line)
            last = record["n"]
            _print(line, record, as_json)
            if record["kind"] == "task_submitted":
                closing = bool(record["branch"])
            if record["kind"] == "workspace_closed":
                closing = False
            if record["kind"] == "state_changed" and AgentState(record["after"]).ended:
                ended = AgentState(record["after"])
            if ended is not None and not closing:
                break
    if ended is None:
        click.echo(
            f"chaperon: The daemon ended. Agent {agent} lives on and waits for it at its next tool call. Start it again "
            f"(chaperon serve, or its service), and see the agent with: chaperon tail -f --agent {agent} -n {last}",
            err=True,
        )
        return common.NO_DAEMON
    async for line in daemon.lines("/v1/events", agent=agent, after=last):
        _print(line, orjson.loads(line), as_json)
    return 0 if ended is AgentState.DONE else common.FAILED


def _print(line: bytes, record: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(line)
        return
    for text in view.lines(record):
        click.echo(text)


async def _stop_on_signals(signals: AsyncIterator[signal.Signals], daemon: Client, agent: str, pressed: bool) -> None:
    """The first signal, which may have come already, stops the agent in order; each further one at once."""
    if pressed:
        await _stop(daemon, agent, force=False)
    async for _ in signals:
        await _stop(daemon, agent, force=pressed)
        pressed = True


async def _stop(daemon: Client, agent: str, *, force: bool) -> None:
    how = "at once" if force else "in order; Ctrl+C again ends it at once"
    click.echo(f"chaperon: stopping agent {agent} {how}.", err=True)
    try:
        await daemon.post(f"{common.agent_path(agent)}/stop", {"force": force, "reason": "Ctrl+C"})
    except (RefusedError, DaemonGoneError) as error:
        click.echo(f"chaperon: {error}", err=True)
