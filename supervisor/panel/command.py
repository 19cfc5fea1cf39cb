"""The command that serves the panel."""

import os
import pwd
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import click

from monitors.contract.errors import ChaperonError
from supervisor.cli.output import terminal

if TYPE_CHECKING:
    from supervisor.cli.client import Client
    from supervisor.panel.access.sessions import Sessions

PORT = 8765
"""The port of the panel, which no registered service of loopback has in wide use."""


class NoExtraError(ChaperonError):
    """The packages of the panel are not installed."""


@click.command()
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(0, 65_535), help="Of loopback; 0 for any.")
@click.option("--read-only", is_flag=True, help="Show everything and do nothing.")
@click.option(
    "--name", "names", multiple=True, help="A further name with its port by which a proxy is asked for the panel."
)
@click.option(
    "--link-file", type=click.Path(path_type=Path), help="Write the link there, and another one at each SIGUSR1."
)
@click.option("--socket", "path", type=click.Path(path_type=Path), help="The daemon's socket, if it is forwarded.")
def panel(port: int, read_only: bool, names: tuple[str, ...], link_file: Path | None, path: Path | None) -> None:
    """Serve the panel for browsers on this machine, and print a link that signs in, once.

    It is a client of the daemon like each command: it has no rights of its own, and the daemon runs without it. Press
    Enter for another link, Ctrl+C to end it.
    """
    terminal.begin("loading the panel")
    try:
        import htpy  # noqa: F401 - whether it is there
    except ImportError as error:
        raise NoExtraError(
            "The panel needs packages that are not installed; nothing was started.",
            way_out="Install chaperon with its extra [panel], as its README has it for [claude].",
        ) from error
    anyio.run(_serve, port, read_only, names, link_file, path)


async def _serve(port: int, read_only: bool, names: tuple[str, ...], link_file: Path | None, path: Path | None) -> None:
    # Here and not above: these take a quarter of a second to import, which `--help` need not pay.
    from supervisor.panel.access.door import Address
    from supervisor.panel.access.serving import listen, serve
    from supervisor.panel.access.sessions import Sessions
    from supervisor.panel.app import Panel
    from supervisor.panel.feed import Feed
    from supervisor.panel.link import PanelLink
    from supervisor.panel.trials import Trials
    from supervisor.runtime.clock import Clock

    link = PanelLink(lambda: _connect(path))
    listening = listen(port)
    with listening:
        sessions = Sessions(Clock().mono)
        place = Address(listening.getsockname()[1], names)
        feed = Feed(link)
        trials = Trials(link)
        app = Panel(link, feed, trials, sessions, place, read_only=read_only).app()
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(feed.run, name="journal")
                tasks.start_soon(trials.run, name="trials")
                tasks.start_soon(serve, app, listening, link, _complain, name="serve")
                if link_file is None:
                    tasks.start_soon(_links, sessions, place.port, name="links")
                else:
                    tasks.start_soon(_links_to, link_file, sessions, place.port, name="links")
                await anext(signals)
                tasks.cancel_scope.cancel()


def _complain(text: str) -> None:
    terminal.echo(f"chaperon: {text}", err=True)


async def _links(sessions: "Sessions", port: int) -> None:
    """Print a link, and another each time that Enter is pressed."""
    while True:
        terminal.echo(f"Open this once, within 10 minutes: {_link(sessions, port)}")
        sys.stdout.flush()
        if not sys.stdin.isatty():
            return
        if not await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True):
            return


def _link(sessions: "Sessions", port: int) -> str:
    return f"http://127.0.0.1:{port}/#{sessions.new_code()}"


async def _links_to(path: Path, sessions: "Sessions", port: int) -> None:
    """Write a link to a file of its user alone, and another each time that SIGUSR1 comes, as for a service."""
    with anyio.open_signal_receiver(signal.SIGUSR1) as signals:
        if await anyio.to_thread.run_sync(_write, path, _link(sessions, port)):
            terminal.echo(
                f"The link that signs in, once and within 10 minutes, is in {path}; SIGUSR1 has another one written."
            )
            sys.stdout.flush()
        async for _ in signals:
            await anyio.to_thread.run_sync(_write, path, _link(sessions, port))


def _write(path: Path, link: str) -> bool:
    """Put a link into a file that is new, so that nothing which stands there is written through."""
    made = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        made.unlink(missing_ok=True)
        with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as file:
            file.write(f"{link}\n")
        made.replace(path)
    except OSError as error:
        _complain(f"The link could not be written to {path}: {error}. Mend that, then send SIGUSR1 for another one.")
        return False
    return True


def _connect(path: Path | None) -> "Client":
    from supervisor.cli.client import connect
    from supervisor.config.paths import sockets_to_try

    uid = os.geteuid()
    return connect(*((path,) if path else sockets_to_try(os.environ, uid, pwd.getpwuid(uid).pw_name)))
