"""The daemon's side of the gateway: starts the process, opens a socket for each agent, and keeps both there."""

import json
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import anyio.to_thread
from anyio.streams.buffered import BufferedByteReceiveStream

from monitors.contract.errors import ChaperonError
from supervisor.runtime.gateway.counts import remove_others
from supervisor.runtime.gateway.door import CONTROL, token_of
from supervisor.runtime.gateway.messages import (
    LONGEST_LINE,
    SOCKET,
    FailedLogin,
    GatewaySettings,
    GrantedHost,
    ModelUse,
    Opened,
    Reached,
    Refused,
    line,
    settings_line,
)
from supervisor.runtime.log import log

START_SECONDS = 20.0
"""How long the process may take until it listens; it takes 0.3 s, and more on a machine that starts much at once."""

POLL_SECONDS = 0.02
"""Between two looks whether it listens."""

ANSWER_SECONDS = 20.0
"""How long an answer may take."""

ENDING_SECONDS = 2.0
"""The same once the daemon ends: what a gateway that hangs has seen is taken in by the next daemon, and the service
manager kills one that ends too slowly."""

LOOK_SECONDS = 2.0
"""Between two looks at what agents used, and whether the process is there: so long an agent's call waits for a process
that was killed."""

PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from pathlib import Path; "
    "from supervisor.runtime.gateway.program import main; main(Path(sys.argv[2]))"
)

PASSED_ON = (
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "PATH",
    "HOME",
    "CREDENTIALS_DIRECTORY",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_DATA_HOME",
)
"""Variables of the daemon that the process gets: whom to trust, and what a command for the credential may need."""


class GatewayError(ChaperonError):
    """The gateway cannot be had; no agent is started that needs it."""


class EarlierGatewayError(GatewayError):
    """The gateway that is there is of an earlier version, and cannot do what is asked."""


class GatewayClient:
    """The gateway of one daemon.

    Args:
        settings: Makes the settings; raises if there is no credential.
        folder: The folder of its sockets.
        environ: The daemon's environment.
        live: Names the agents that have not ended.
        granted: Returns the hosts that a person opened for an agent alone.
        sockets: The folder of agents' sockets, if it is another one.
    """

    def __init__(
        self,
        settings: Callable[[], GatewaySettings],
        folder: Path,
        environ: Mapping[str, str],
        live: Callable[[], Collection[str]],
        granted: Callable[[str], Sequence[GrantedHost]] = lambda _: (),
        sockets: Path | None = None,
    ) -> None:
        self._granted = granted
        self._settings = settings
        self._folder = folder
        self._sockets = sockets or folder
        self._environ = environ
        self._live = live
        self._opened: dict[str, Opened] = {}
        self._stream: anyio.abc.SocketStream | None = None
        self._lines: BufferedByteReceiveStream | None = None
        self._asking = anyio.Lock()
        self._taken: Callable[[Collection[str]], object] = lambda _: None
        self._refused: Callable[[Refused], object] = lambda _: None
        self._reached: Callable[[Reached], object] = lambda _: None
        self._failed: Callable[[FailedLogin], object] = lambda _: None
        self._due = anyio.Event()
        self._takes: Collection[str] = ()
        self._answer_seconds = ANSWER_SECONDS
        self._waiting: anyio.CancelScope | None = None
        """The wait for an answer, while there is one."""
        self._is_silent = False
        """Whether the last answer did not come in time."""
        self._renewed = True
        """Whether the settings are not those that the process has."""
        self.needed = anyio.Event()
        """Set once agents are to reach the model through it; until then nothing is done."""
        self.spent: dict[str, ModelUse] = {}
        """Use of the model by each agent that has a socket, as the gateway saw it."""

    def folder_of(self, agent: str) -> Path:
        """Return the folder of an agent's socket, of a short name."""
        return self._sockets / sha256(agent.encode()).hexdigest()[:8]

    def socket_of(self, agent: str) -> Path:
        """Return an agent's socket."""
        return self.folder_of(agent) / SOCKET

    async def open(self, agent: str, most_tokens: int | None = None) -> Path:
        """Give an agent a socket; return its folder. The process is started if it is not there.

        Raises:
            GatewayError: It cannot be had.
            ChaperonError: There is no credential.
        """
        self.needed.set()
        folder = self.folder_of(agent)
        await anyio.to_thread.run_sync(_make_folder, folder)
        opened = Opened(agent, str(folder), most_tokens)
        async with self._asking:
            await self._reach()
            await self._open(opened)
            self._opened[agent] = opened
        return folder

    def renew(self, settings: Callable[[], GatewaySettings]) -> None:
        """Have other settings count, for agents that run too, at once."""
        self._settings, self._renewed = settings, True
        self.needed.set()
        self.hurry()

    def hurry(self) -> None:
        """Have the process told now what changed, and not within seconds."""
        self._due.set()

    def ending(self) -> None:
        """Wait for no answer for long from now on, since the daemon ends."""
        self._answer_seconds = ENDING_SECONDS
        if self._waiting is not None:
            self._waiting.deadline = min(self._waiting.deadline, anyio.current_time() + ENDING_SECONDS)

    async def run(
        self,
        refused: Callable[[Refused], object],
        reached: Callable[[Reached], object] = lambda _: None,
        taken: Callable[[Collection[str]], object] = lambda _: None,
        failed: Callable[[FailedLogin], object] = lambda _: None,
    ) -> None:
        """Keep the process there for the agents that live, from when it is needed, until cancelled.

        Args:
            refused: Takes in each refusal.
            reached: Takes in each host that an agent was connected to.
            taken: Told of the agents whose calls are paid by the credential in force from now on.
            failed: Takes in each failed login.
        """
        await self.needed.wait()
        self._taken, self._refused, self._reached, self._failed = taken, refused, reached, failed
        try:
            live = {self.folder_of(agent).name for agent in (*self._live(), *self._opened)}
            await anyio.to_thread.run_sync(remove_others, self._folder, live)
            for agent in self._live():
                if await anyio.to_thread.run_sync(self.folder_of(agent).is_dir):
                    with suppress(ChaperonError):
                        await self.open(agent)
            taken(tuple(self._opened))
            while True:
                with anyio.move_on_after(LOOK_SECONDS):
                    await self._due.wait()
                self._due = anyio.Event()
                try:
                    await self._look()
                except ChaperonError as error:
                    log.error("the gateway: %s", error)
        finally:
            with anyio.CancelScope(shield=True):
                await self._leave()

    async def _look(self) -> None:
        if not self._opened:
            return
        async with self._asking:
            await self._reach()
            await self._take_in_and_close()

    async def _take_in_and_close(self) -> None:
        """Take in what the process saw, and close the sockets of agents that had ended before."""
        live = set(self._live())  # before the process is asked: what an agent did up to its end is in the answer
        ended = [each for each in self._opened if each not in live]
        granted = {agent: [asdict(each) for each in self._granted(agent)] for agent in self._opened}
        left = True
        while left:
            seen = await self._ask(line("look", {"granted": granted}))
            granted = {}
            self.spent = {agent: ModelUse(**spent) for agent, spent in seen["spent"].items()}
            hosts = {(agent, what): host for agent, what, host in seen.get("hosts", ())}
            for each in seen["refused"]:
                self._refused(Refused(**each, host=hosts.get((each["agent"], each["what"]), "")))
            for each in seen.get("reached", ()):  # a gateway of before knows of none
                self._reached(Reached(**each))
            for each in seen.get("failed", ()):
                self._failed(FailedLogin(**each))
            left = seen.get("more", False)
        for agent in ended:
            await self._ask(line("close", {"agent": agent}))
            opened = self._opened.pop(agent)
            await anyio.to_thread.run_sync(_remove_folder, Path(opened.folder))

    async def _leave(self) -> None:
        """Look a last time, close the sockets of ended agents, and the connection; those that live are served on."""
        async with self._asking:
            with suppress(GatewayError), anyio.move_on_after(self._answer_seconds):
                has_more = self._opened and not self._is_silent
                token = await anyio.to_thread.run_sync(token_of, self._folder) if has_more else ""
                if self._stream is not None or (token and await self._connected(token)):
                    await self._take_in_and_close()
            await self._drop()

    # ── the process ──

    async def _reach(self) -> None:
        """Connect, and say what holds if the process does not know it; all that is open is opened anew then."""
        if self._stream is not None and not self._renewed:
            return
        self._renewed = False
        try:
            settings = await anyio.to_thread.run_sync(self._settings)
            if self._stream is None:
                await self._connect()
            self._check_that_it_takes(settings)
            await self._ask(settings_line(settings))
            for opened in self._opened.values():
                await self._open(opened)
        except EarlierGatewayError:
            self._renewed = True
            await self._take_in_and_close()
            if not self._opened:  # it ends once no daemon holds it, and the next one is of this version
                await self._drop()
            raise
        except BaseException:
            self._renewed = True
            raise
        self._taken(tuple(self._opened))

    def _check_that_it_takes(self, settings: GatewaySettings) -> None:
        if settings.credential.kind == "login" and "login" not in self._takes:
            raise EarlierGatewayError(
                "The gateway that serves agents is of an earlier version, and cannot refresh a login of `claude`.",
                way_out="It ends with these agents; the next one can. Until then, set agent.credential to a key.",
            )

    async def _connect(self) -> None:
        """Connect, starting the process if it is not there."""
        token = await anyio.to_thread.run_sync(token_of, self._folder)
        if not await self._connected(token):
            await self._start(token)
            if not await self._connected_in_time(token):
                raise GatewayError(
                    "The gateway, which holds the credential of agents, did not start.",
                    way_out=f"See {self._folder / 'log'}.",
                )

    async def _connected_in_time(self, token: str) -> bool:
        """Connect as soon as the process listens."""
        with anyio.move_on_after(START_SECONDS):
            while True:
                if await self._connected(token):
                    return True
                await anyio.sleep(POLL_SECONDS)
        return False

    async def _connected(self, token: str) -> bool:
        try:
            directory = os.open(self._folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                stream = await anyio.connect_unix(f"/proc/self/fd/{directory}/{CONTROL}")
            finally:
                os.close(directory)
        except OSError:
            return False
        self._stream, self._lines = stream, BufferedByteReceiveStream(stream)
        try:
            hello = await self._ask(line("daemon", {"token": token}))
        except GatewayError:
            return False
        self._takes = hello.get("takes", ())
        return True

    async def _start(self, token: str) -> None:
        command = [sys.executable, "-I", "-c", PROGRAM, json.dumps(sys.path), str(self._folder)]
        environ = {name: self._environ[name] for name in PASSED_ON if name in self._environ}
        errors = await anyio.to_thread.run_sync(_open_log, self._folder / "log")
        try:
            with anyio.CancelScope(shield=True):
                await anyio.run_process(
                    command, input=f"{token}\n".encode(), stdout=errors, stderr=errors, env=environ, check=False
                )
        except OSError as error:
            raise GatewayError(f"The gateway could not be started: {error}.") from error
        finally:
            os.close(errors)

    async def _open(self, opened: Opened) -> None:
        answer = await self._ask(line("open", asdict(opened)))
        if answer["do"] != "done":
            raise GatewayError(f"The gateway could not listen for agent {opened.agent!r}: {answer.get('why')}.")

    async def _ask(self, words: bytes) -> dict[str, Any]:
        """Ask, and take the answer in whatever is cancelled meanwhile: left unread, it would be the next one's."""
        assert self._stream is not None
        assert self._lines is not None
        try:
            with anyio.fail_after(self._answer_seconds, shield=True) as self._waiting:
                await self._stream.send(words)
                answer: dict[str, Any] = json.loads(await self._lines.receive_until(b"\n", LONGEST_LINE))
            self._is_silent = False
        except (
            OSError,
            ValueError,
            anyio.IncompleteRead,
            anyio.DelimiterNotFound,
            anyio.BrokenResourceError,
            anyio.ClosedResourceError,
        ) as error:
            self._is_silent = isinstance(error, TimeoutError)
            await self._drop()
            raise GatewayError(f"The gateway does not answer: {error!r}.", way_out="It is started again.") from error
        finally:
            self._waiting = None
        return answer

    async def _drop(self) -> None:
        if self._stream is not None:
            await anyio.aclose_forcefully(self._stream)
        self._stream = self._lines = None


def _make_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _remove_folder(folder: Path) -> None:
    with suppress(OSError):
        (folder / SOCKET).unlink(missing_ok=True)
        folder.rmdir()


def _open_log(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
