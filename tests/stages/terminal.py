"""A terminal in which a person types, by tmux: a shell, and the real CLI in it."""

import os
import shlex
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from tests.support import real_claude_path

SECONDS = 120.0
"""The longest that the screen is waited for; the CLI shows its prompt within 1 s on an idle machine."""

COLUMNS, ROWS = 220, 60

TMUX = shutil.which("tmux")


@dataclass(frozen=True)
class Terminal:
    """One window of a terminal multiplexer with a shell."""

    socket: Path
    window: str

    async def screen(self) -> str:
        """What it shows, with what scrolled away."""
        return await self._tmux("capture-pane", "-p", "-J", "-S", "-", "-t", self.window)

    async def shows(self, text: str) -> str:
        """Return the screen once it has this text."""
        screen = ""
        try:
            with anyio.fail_after(SECONDS):
                while text not in screen:
                    await anyio.sleep(0.05)
                    screen = await self.screen()
        except TimeoutError:
            raise AssertionError(f"{text!r} is not on the screen:\n{screen.strip()}") from None
        return screen

    async def types(self, text: str) -> None:
        """Type a line at a prompt and end it, once the line is on the screen."""
        await self._tmux("send-keys", "-t", self.window, "-l", text)
        await self.shows(text)
        await self.presses("Enter")

    async def presses(self, *keys: str) -> None:
        await self._tmux("send-keys", "-t", self.window, *keys)

    async def starts_claude(self, *arguments: str, command: str = "") -> None:
        """Start the CLI, and wait for its prompt."""
        await self.types(shlex.join([command or str(real_claude_path()), *arguments]))
        await self.shows("to cycle)")

    async def device(self) -> str:
        """The terminal's device, as `pts/3`."""
        return (await self._tmux("display", "-p", "-t", self.window, "#{pane_tty}")).strip().removeprefix("/dev/")

    async def _tmux(self, *arguments: str) -> str:
        return await tmux(self.socket, *arguments)


async def tmux(socket: Path, *arguments: str, check: bool = True) -> str:
    """Run one command of tmux's; returns what it prints. It fails if there is no server, unless that may be."""
    command = [TMUX or "tmux", "-S", str(socket), "-f", "/dev/null", *arguments]
    environ = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
    done = await anyio.run_process(command, env=environ, check=False)
    assert not check or done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@asynccontextmanager
async def terminal(directory: Path, environ: Mapping[str, str]) -> AsyncIterator[Terminal]:
    """A terminal whose shell is in this directory and has these variables alone; ended behind it."""
    with tempfile.TemporaryDirectory(prefix="tmux-", dir="/tmp") as place:  # a socket's path is short
        socket = Path(place) / "s"
        variables = [f"{name}={value}" for name, value in {**environ, "PS1": "$ ", "TERM": "tmux-256color"}.items()]
        shell = shlex.join(["env", "-i", *variables, "bash", "--norc", "--noprofile", "-i"])
        size = ["-x", str(COLUMNS), "-y", str(ROWS)]
        await tmux(socket, "new-session", "-d", *size, "-s", "own", "-c", str(directory), f"exec {shell}")
        try:
            yield Terminal(socket, "own:")
        finally:
            with anyio.CancelScope(shield=True):
                await tmux(socket, "kill-server", check=False)
