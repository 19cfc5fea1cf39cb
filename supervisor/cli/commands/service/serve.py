"""The command that is the daemon."""

import gc
import os
import signal
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import click

from supervisor.cli import common
from supervisor.cli.output import terminal

if TYPE_CHECKING:
    from supervisor.runtime.services.systemd import Notifier


ASK_SECONDS = 10
"""Between two requests for time while the daemon starts; each asks for three times as much."""


@click.command()
@click.option("--gateway", is_flag=True, help="Run the gateway alone, as a service of its own, which the daemon uses.")
@click.option(
    "--for", "person", metavar="USER", help="Keep apart from agents, which run as this user; see chaperon-apart@."
)
def serve(gateway: bool, person: str | None) -> int | None:
    """Run the daemon in the foreground.

    Ctrl+C, SIGTERM or the end of its terminal end it in order: agents live on and wait at their next tool call until a
    daemon is back. A second Ctrl+C ends it at once, which loses nothing either. Where another daemon is here already,
    it exits with 75. SIGHUP is not needed: a configuration that changes is taken as it does.
    """
    if person is not None:
        from supervisor.runtime.services.apart_start import keep_apart

        keep_apart(person, os.environ)
    if not gateway:
        return anyio.run(_serve_alone)
    from supervisor.runtime.gateway.program import stay

    stay(common.here().gateway)
    return None


OLDEST_GENERATION = 2
"""The number of the objects that survived two collections."""

WHOLE_COLLECTION_SECONDS = 3600.0
"""Between two collections of all objects: what an agent leaves that refers to itself is some 100 KB."""


async def _serve_alone() -> int | None:
    from supervisor.runtime.journal.lock import StateDirectoryTakenError
    from supervisor.runtime.socket.listening import SocketTakenError

    code = None
    try:
        await _serve()
    except* (StateDirectoryTakenError, SocketTakenError) as errors:
        code = common.complain(errors, common.TAKEN)
    return code


async def _serve() -> None:
    terminal.begin("loading the daemon")
    gc.disable()  # until `_settle`: what a start makes stays, and looking through it for garbage is a tenth of the start
    # Here and not above: what serves takes half a second to import, which no other command should pay.
    from checkpoints.git.library import load_libgit2
    from host.allocator import share_arenas

    share_arenas()
    load_libgit2()
    from supervisor.runtime.log import log, start_log
    from supervisor.runtime.preflight import what_will_not_work
    from supervisor.runtime.service import Setup, run_daemon
    from supervisor.runtime.services.heartbeat import beat, listening_socket
    from supervisor.runtime.services.systemd import Notifier
    from supervisor.runtime.shim.spawn import refuse_tracers

    refuse_tracers()
    loaded = common.configuration()
    terminal.begun()  # from here on the log has the terminal
    start_log(loaded.config.audit.log_level)
    log.info("starting, state in %s", common.here().state)
    for flaw in await anyio.to_thread.run_sync(what_will_not_work, loaded, os.environ):
        log.warning("%s", flaw)
    notifier = Notifier.from_environment(os.environ)
    setup = Setup(
        loaded.config, common.here(), listening=listening_socket(os.environ), source=common.configuration_source()
    )
    asked = anyio.Event()
    has_terminal = _has_terminal()
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_on_signals, signals, asked, has_terminal, name="signals")
            starting = anyio.CancelScope()
            tasks.start_soon(_ask_for_time, notifier, starting, name="start")
            async with run_daemon(setup) as daemon:
                starting.cancel()
                log.info("ready on %s, state in %s", setup.places.socket, setup.places.state)
                notifier.ready(str(daemon.runners.adopted))
                async with anyio.create_task_group() as beating:
                    beating.start_soon(beat, daemon.unwatched, daemon.journal, notifier, os.environ, name="heartbeat")
                    beating.start_soon(_settle, daemon.answering, name="settle")
                    await asked.wait()
                    beating.cancel_scope.cancel()
                notifier.stopping()
                log.info("ending; %d agents live on and wait for the next daemon", sum(1 for _ in daemon.board.live()))
            tasks.cancel_scope.cancel()


async def _settle(answering: anyio.Event) -> None:
    """Exempt the objects of the start from garbage collection, and later those that a collection found alive.

    No call is reviewed during a collection, and one of all objects took 60 ms after the start, and 200 ms with 400
    agents. It is made once an hour, since what is exempt may become garbage.
    """
    await answering.wait()
    gc.freeze()
    gc.enable()
    gc.callbacks.append(_exempt_survivors)
    try:
        while True:
            await anyio.sleep(WHOLE_COLLECTION_SECONDS)
            gc.unfreeze()
            gc.collect()
    finally:
        gc.callbacks.remove(_exempt_survivors)


def _exempt_survivors(phase: str, about: dict[str, int]) -> None:
    """Exempt what a collection of the oldest generation found alive: the next one looks at what came since."""
    if phase == "stop" and about["generation"] == OLDEST_GENERATION:
        gc.freeze()


async def _ask_for_time(notifier: "Notifier", starting: anyio.CancelScope) -> None:
    """Extend the service manager's start timeout while the start goes on.

    A long journal, or much output of agents meanwhile, takes time.
    """
    with starting:
        while True:
            notifier.extend(3 * ASK_SECONDS * 1_000_000)
            await anyio.sleep(ASK_SECONDS)


async def _on_signals(signals: AsyncIterator[signal.Signals], asked: anyio.Event, has_terminal: bool) -> None:
    """The first signal asks for an end in order; the second does not wait for it.

    SIGHUP is one if the terminal has gone. By others it is sent to daemons that read their configuration by it.
    """
    from supervisor.runtime.log import log

    async for number in signals:
        hung_up = has_terminal and not _has_terminal()
        if number is signal.SIGHUP and not hung_up:
            log.info("SIGHUP: nothing to do, since a configuration that changes is taken as it does")
        elif asked.is_set() and number is not signal.SIGHUP:
            os._exit(common.INTERRUPTED)
        else:
            asked.set()


def _has_terminal() -> bool:
    """Whether one of input, output and errors is a terminal that is still there."""
    return any(os.isatty(number) for number in range(3))
