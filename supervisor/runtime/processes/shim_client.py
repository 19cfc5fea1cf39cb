r"""The daemon's side of the shims: start one, find one again, and speak with it.

    shim = await Shim.launch(spec)                  # or: await Shim.attach(directory, offset)
    shim.send_line("prompt:1", b'{"type":"user",…}\n')
    async for event in shim.events():
        match event: case Output(offset, data): …

A shim's directory serves one launch: its files are the record of one CLI from start to end.
"""

import base64
import json
import os
import secrets
import select
import socket
import sys
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import anyio
import anyio.to_thread

from host.durable import write_new
from host.plain_files import open_plain, read_up_to
from monitors.contract.errors import ChaperonError
from supervisor.protocol.identity import Identity
from supervisor.runtime.processes.identity import NONCE_VARIABLE, checked, is_running, read_identity
from supervisor.runtime.processes.shim_events import (
    ShimEvent,
    decode,
)
from supervisor.runtime.protection.outputs import SEAL_NAME, OutputSeal
from supervisor.runtime.shim import marks, process_tree, wire
from supervisor.runtime.shim.credentials import peer_of

PROGRAM = Path(__file__).parents[1] / "shim/program.py"

HELLO_SECONDS = 10.0
"""How long a shim may take until it speaks. It takes 40 ms here, most of it Python's start; a machine that starts fifty
agents at once on two cores takes seconds."""

GOES_SECONDS = 5.0
"""How long a shim whose socket is closed may take to be gone: on a busy machine more than a second."""

POLL_SECONDS = 0.02
"""Between two looks whether it has."""

MOST_TAIL_BYTES = 2_000
"""How much of the end of the shim's own log an error shows."""

RECEIVE_BYTES = 262_144
"""Most taken from the socket at once: a little over what the kernel holds for a Unix socket by default."""


class LaunchError(ChaperonError):
    """The CLI could not be started; nothing of it runs."""


class ShimGoneError(ChaperonError):
    """Nobody listens in this directory: the agent has ended, with an exit record or without."""


class ShimReplacedError(ChaperonError):
    """The shim lives and cannot be reached: its socket was taken away, or another process answers there."""


class ShimSilentError(ChaperonError):
    """The shim lives and does not speak with us: it is held up, or takes us for a process of its agent."""


# ── what is asked ─────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class ShimSpec:
    """The program to start, and its directory."""

    agent: str
    """The agent's name, for the exit record and messages."""
    directory: Path
    """The folder of the shim's files; made if it does not exist. One directory serves one launch."""
    argv: Sequence[str]
    """The CLI and its arguments; a name without a slash is looked up on the PATH of `env`."""
    cwd: Path
    """The CLI's working directory."""
    env: Mapping[str, str]
    """The CLI's whole environment; only `CHAPERON_AGENT_NONCE` is added, by which its processes are known again."""
    launcher: Sequence[str] = ()
    """A program with arguments that runs the CLI, such as a sandbox; nothing starts the CLI directly."""
    cgroup: Path | None = None
    """The cgroup that the CLI is born in. The shim itself stays outside."""
    descriptors: int = 0
    """The CLI's soft limit on open files; 0 leaves the daemon's own."""
    ends_with_daemon: bool = False
    """Whether the shim ends the agent once its daemon has gone, because no other daemon will ever come."""
    sandbox: str = ""
    """The sandbox that the launcher makes, with its profile, for people; empty for none."""
    seal: OutputSeal | None = None
    """Seals what the CLI prints; None leaves it in the clear."""


# ── a connection ──────────────────────────────────────────────────────────────────────────────────────────────────────


class ShimClient:
    """A conversation with one shim. Ending it leaves the agent alone.

    The sending methods never block: bytes that the socket does not take at once are sent while `events` is iterated.
    """

    def __init__(self, connection: socket.socket, directory: Path) -> None:
        """Take over a connected socket; `launch` and `attach` make these."""
        connection.setblocking(False)
        self.directory = directory
        self.pid = 0
        """The shim's."""
        self.cli_pid = 0
        self.containment = ""
        """`cgroup:PATH` or `subreaper`."""
        self.identity: Identity | None = None
        """Identity of its processes; None for a shim of an older chaperon."""
        self._connection = connection
        self._frames = wire.Frames()
        self._received: deque[tuple[int, bytes]] = deque()
        self._unsent = bytearray()
        # Waiting for two things at once in one task: a poll set is itself readable when one of its members is ready.
        self._ready = select.epoll()
        self._ready.register(connection, select.EPOLLIN)

    @classmethod
    async def launch(cls, spec: ShimSpec) -> Self:
        """Start the agent's shim and CLI. The shim is a child of init, and outlives us.

        A CLI that starts and then ends at once is no launch error: `Exited` follows, with the end of its error output.

        Raises:
            LaunchError: The program or the working directory is missing or may not be used, the directory was used
                before, or the shim did not speak in time. Nothing runs.
        """
        given = await anyio.to_thread.run_sync(_prepare, spec)
        ours, theirs = socket.socketpair()
        shim = cls(ours, spec.directory)
        try:
            try:
                with theirs:
                    await _start(spec, theirs, given)
            finally:
                os.close(given)
            await shim._begin(0, 0)
        except BaseException:
            shim.end_tree()  # should it come up late, or the caller not have waited for it
            shim.close()
            raise
        return shim

    @classmethod
    async def attach(
        cls, directory: Path, offset: int, errors: int | None = None, known: Identity | None = None
    ) -> Self:
        """Find a living shim again, and continue reading after the last byte that was handled.

        Args:
            directory: The launch's.
            offset: Position at which its output is continued.
            errors: The same of its error output; None: it is not wanted.
            known: Identity of its processes, from the journal; left out, that in the directory is used.

        Raises:
            ShimGoneError: No process listens. `read_exit_record` says how the agent ended, if it did; without a record
                it was lost, and `leftovers.end_leftovers` clears up.
            ShimSilentError: The shim lives and does not answer. The agent is not lost: ask again.
            ShimReplacedError: The shim lives, and another process answers in its place, or none does: its socket was
                taken away. `leftovers.end_everything` ends its agent, which can no longer be watched.
        """
        identity = known or await anyio.to_thread.run_sync(read_identity, directory)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        shim = cls(connection, directory)
        try:
            with _short(directory) as path:
                connection.connect(f"{path}/shim.sock")
            await anyio.to_thread.run_sync(_refuse_another, connection, directory, identity)
            await shim._begin(offset, errors)
        except (OSError, LaunchError) as error:
            shim.close()
            raise await anyio.to_thread.run_sync(_unreachable, directory, identity, error) from error
        except BaseException:
            shim.close()
            raise
        return shim

    def send_line(self, key: str, line: bytes) -> None:
        """Pass a line, its newline included, to the CLI.

        `Accepted` follows; a line of the same key is not written again.
        """
        self._ask(op="line", key=key, line=base64.b64encode(line).decode())

    def close_input(self) -> None:
        """Close the CLI's input behind the lines sent before."""
        self._ask(op="close_input")

    def terminate(self) -> None:
        """Send SIGTERM to the CLI."""
        self._ask(op="terminate")

    def freeze(self, id_: str) -> None:
        """Freeze every process of the agent. `Frozen` follows, or a fault of kind `NOT_FROZEN`, with this id."""
        self._ask(op="freeze", id=id_)

    def thaw(self) -> None:
        """Let a frozen agent go on."""
        self._ask(op="thaw")

    def end_tree(self) -> None:
        """Kill every process of the agent. `TreeKilled` follows, then `Exited`."""
        self._ask(op="end_tree")

    def give_up(self) -> None:
        """End an agent that is no longer watched, because we failed."""
        self.end_tree()

    async def events(self) -> AsyncIterator[ShimEvent]:
        """Yield the shim's events, in order; one reader at a time.

        Ends when the shim closes: after `Exited`, or without it if the shim was killed, another daemon attached, or
        this one took nothing for long after the end. Then `read_exit_record` and `read_rest` have the missing part.
        """
        while (received := await self._next()) is not None:
            event = decode(*received)
            if event is not None:
                yield event

    def close(self) -> None:
        """End the conversation; the agent goes on. Twice is as good as once."""
        if self._ready.closed:
            return
        anyio.notify_closing(self._ready)
        self._ready.close()
        self._connection.close()

    # ── within ──

    async def _begin(self, offset: int, errors: int | None) -> None:
        self._ask(op="attach", offset=offset, errors=errors)
        try:
            with anyio.fail_after(HELLO_SECONDS):
                kind, payload = await self._next() or (0, b"")
        except TimeoutError:
            raise LaunchError(
                f"The process that holds the CLI said nothing for {HELLO_SECONDS:g} s ({self.directory})."
            ) from None
        if kind == wire.EXITED:
            raise LaunchError(f"The CLI was not started. {json.loads(payload)['error']}")
        if kind != wire.HELLO:
            log = await anyio.to_thread.run_sync(_tail, self.directory / "shim.log")
            raise LaunchError(f"The process that holds the CLI ended before it spoke. Its log ends: {log!r}.")
        hello = json.loads(payload)
        self.pid, self.cli_pid, self.containment = hello["shim_pid"], hello["cli_pid"], hello["containment"]
        self.identity = checked(hello.get("identity"))

    def _ask(self, **command: Any) -> None:
        if self._ready.closed:
            return
        self._unsent += json.dumps(command).encode() + b"\n"
        self._send()

    def _send(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: self._connection.send(self._unsent)]
        except BlockingIOError:
            pass
        except OSError:  # the shim closed; reading will come to the end of what it said
            self._unsent.clear()
        writing = select.EPOLLOUT if self._unsent else 0
        self._ready.modify(self._connection, select.EPOLLIN | writing)

    async def _next(self) -> tuple[int, bytes] | None:
        while not self._received and not self._ready.closed:
            if self._unsent:
                self._send()
            if self._receive():  # what is there already is taken without two rounds of a busy loop
                continue
            try:
                await anyio.wait_readable(self._ready)
            except anyio.ClosedResourceError:
                break
        return self._received.popleft() if self._received else None

    def _receive(self) -> bool:
        """Take what the shim has said, if it has; whether it had, or has closed."""
        try:
            data = self._connection.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if data:
            self._received.extend(self._frames.feed(data))
        else:
            self.close()
        return True


def _refuse_another(connection: socket.socket, directory: Path, identity: Identity | None) -> None:
    """Refuse a listener that is not the shim.

    A program of the agent can rename the socket and bind its own.
    """
    who = peer_of(connection)
    if who.uid != os.geteuid() or (identity is not None and who.pid != identity.shim_pid):
        name = process_tree.name(who.pid) or "which has ended"
        wanted = (
            f", in the place of process {identity.shim_pid}, which holds the agent's CLI"
            if identity is not None
            else ""
        )
        raise ShimReplacedError(f"Process {who.pid} ({name}) of user {who.uid} listens in {directory}{wanted}.")
    if identity is not None and not is_running(identity):
        raise ConnectionRefusedError("it ended as it was connected to")


def _unreachable(
    directory: Path, identity: Identity | None, why: Exception
) -> ShimGoneError | ShimSilentError | ShimReplacedError:
    ended = (directory / "exit.json").exists()  # then all there is to know is in the files
    no_socket = isinstance(why, FileNotFoundError | ConnectionRefusedError)
    deadline = process_tree.now() + GOES_SECONDS
    while no_socket and not ended and identity is not None and is_running(identity) and process_tree.now() < deadline:
        process_tree.pause(POLL_SECONDS)  # of one that was killed the socket closes first
    if identity is None or ended or not is_running(identity):
        return ShimGoneError(f"No process that holds a CLI listens in {directory}: {why}")
    if no_socket:
        return ShimReplacedError(
            f"Process {identity.shim_pid}, which holds the CLI of agent {identity.agent!r}, lives, and its socket in {directory} "
            "was taken away."
        )
    return ShimSilentError(
        f"Process {identity.shim_pid}, which holds the CLI of agent {identity.agent!r}, does not answer: {why}",
        way_out="The agent goes on; look into shim.log, or try again.",
    )


# ── starting ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _prepare(spec: ShimSpec) -> int:
    """Make the directory; return a descriptor of what to start, in memory alone: the environment holds keys."""
    identity, ended = read_identity(spec.directory), (spec.directory / "exit.json").exists()
    if identity is not None or ended:
        state = "still runs there" if identity is not None and is_running(identity) and not ended else "ended there"
        raise LaunchError(
            f"Agent {spec.agent!r} was not started: {spec.directory} belongs to an earlier launch, which {state}.",
            way_out="Give each launch a directory of its own.",
        )
    env = {NONCE_VARIABLE: secrets.token_hex(16), **spec.env}
    text = json.dumps(
        {
            "agent": spec.agent,
            "launcher": list(spec.launcher),
            "argv": list(spec.argv),
            "cwd": str(spec.cwd),
            "env": env,
            "cgroup": str(spec.cgroup) if spec.cgroup else None,
            "mark": marks.draw(),
            "descriptors": spec.descriptors,
            "ends_with_daemon": spec.ends_with_daemon,
            "sandbox": spec.sandbox,
            "seal": spec.seal.key.hex() if spec.seal else "",
        }
    )
    try:
        spec.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        (spec.directory / "shim.sock").unlink(missing_ok=True)
        path = spec.directory / "spec.json"
        path.unlink(missing_ok=True)
        if spec.seal is not None:
            write_new(spec.directory / SEAL_NAME, spec.seal.salt.encode())
        write_new(path, b"{}")
        return _in_memory(text.encode())
    except OSError as error:
        raise LaunchError(f"Agent {spec.agent!r} was not started: {error}.") from error


def _in_memory(data: bytes) -> int:
    """Return a descriptor from which this is read, and which no file has."""
    fd = os.memfd_create("spec", os.MFD_CLOEXEC)
    try:
        os.truncate(fd, len(data))
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.lseek(fd, 0, os.SEEK_SET)
    except BaseException:
        os.close(fd)
        raise
    return fd


async def _start(spec: ShimSpec, connection: socket.socket, given: int) -> None:
    """Start the shim, which leaves us at once: its first process ends, and the second is init's."""
    command = [sys.executable, "-I", "-S", "-E", str(PROGRAM), str(spec.directory), str(given)]
    log = os.open(spec.directory / "shim.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        with anyio.CancelScope(shield=True):  # a shim that was started must not be left half known
            await anyio.run_process(
                command,
                stdin=connection.fileno(),
                stdout=log,
                stderr=log,
                env={},
                check=False,
                start_new_session=True,
                pass_fds=(given,),
            )
    except OSError as error:
        raise LaunchError(
            f"The process that holds the CLI of agent {spec.agent!r} was not started: {error}."
        ) from error
    finally:
        os.close(log)


@contextmanager
def _short(directory: Path) -> Iterator[str]:
    """A path to the directory of a few bytes, because a Unix socket's may have 107 at most."""
    fd = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{fd}"
    finally:
        os.close(fd)


def _tail(path: Path) -> str:
    """The end of a small text file, or nothing."""
    try:
        with open_plain(path) as fd:
            os.lseek(fd, max(0, os.fstat(fd).st_size - MOST_TAIL_BYTES), os.SEEK_SET)
            return read_up_to(fd, MOST_TAIL_BYTES).decode(errors="replace")
    except OSError:
        return ""
