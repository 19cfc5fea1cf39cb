"""The relay: a small process that listens for hooks on loopback, and outlives the daemon.

An attached CLI sends its hooks there, without the start of a program. The relay finds out which process of this user
holds the other end, hands the hook to the daemon with that process's number, and waits for a daemon that is away; if
none comes, it answers as the person chose. It decides nothing else. One of its own would not help an agent: the daemon
takes no agent's word about processes.

Standard library only: it runs isolated, without packages.
"""

import fcntl
import hashlib
import http.client
import json
import os
import select
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from supervisor.runtime.attached import relay_settings
from supervisor.runtime.attached.hook import (
    ALL_SECONDS,
    ASK,
    CALL_SECONDS,
    CONTEXT,
    GATE,
    MOST_BREAKS,
    OTHERS_SECONDS,
    POLL_SECONDS,
    SOURCE,
    AwayError,
    HookRefusedError,
    away_text,
    clean,
)
from supervisor.runtime.attached.relay_settings import (
    LOOPBACK,
    MOST_BYTES,
    PORT_TAKEN,
    PROCESS,
    ROUTE,
    RelaySettings,
    words,
)
from supervisor.runtime.shim import process_tree, socket_owner, spawn

MOST_CONNECTIONS = 512
"""Connections at once, each a thread. A CLI keeps one, and one more for each call that it makes at the same time."""

MOST_IDLE = 32
"""Connections to the daemon that are kept for the next hook. A command's hook would else make one of its own each time,
and the daemon looks at the process of each."""

STACK_BYTES = 512 * 1024
"""Stack of a thread; what runs there is ten calls deep."""

UPKEEP_SECONDS = 2.0
"""Between two looks whether the settings are still there."""

LEAVING_SECONDS = 0.05
LEAVING_LOOKS = 200
"""How often and how long a relay that is about to go is waited for: 10 s, five times its own look at the settings."""

CLIS = frozenset({"claude", "node", "bun", "MainThread", "node-MainThread"})
"""Names of processes that are a CLI: its own, and those of what runs its script (measured, 2.1.329 and Node 20 to 24).
A proxy is none: it would be ended in an agent's place."""


class HungUpError(Exception):
    """The CLI no longer waits."""


class DaemonConnection:
    """The connection to the daemon's socket of hooks.

    Args:
        path: The socket.

    Raises:
        OSError: The daemon is not there.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.sock.connect(path)  # without a time limit, so that a full queue is waited for
        except OSError:
            self.sock.close()
            raise

    def ask(self, body: bytes, headers: dict[str, str]) -> None:
        """Send a hook, all of it at once, so that the daemon wakes once."""
        about = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"POST /v1/hooks HTTP/1.1\r\nhost: chaperon\r\n{about}content-length: {len(body)}\r\n\r\n"
        self.sock.sendall(head.encode("latin-1") + body)

    def answer(self) -> tuple[int, bytes, bool]:
        """Read the answer: its status, what it says, and whether the connection serves another hook."""
        with http.client.HTTPResponse(self.sock, method="POST") as response:
            response.begin()
            return response.status, response.read(), not response.will_close

    def close(self) -> None:
        """Hang up."""
        self.sock.close()

    def is_fresh(self) -> bool:
        """Whether the connection can be used: the daemon has not closed it."""
        return not _readable(self.sock)


class Relay(ThreadingHTTPServer):
    """Takes connections, those of this user's processes alone.

    Args:
        folder: The folder of the settings.
        settings: The settings.
        listening: The socket, if it is open already.
    """

    daemon_threads = True
    request_queue_size = 1024
    allow_reuse_address = True

    def __init__(self, folder: Path, settings: RelaySettings, listening: int | None = None) -> None:
        super().__init__((LOOPBACK, settings.port), Handler, bind_and_activate=listening is None)
        if listening is not None:
            self.socket.close()
            self.socket = socket.socket(fileno=listening)
            self.server_address = self.socket.getsockname()
        self.folder = folder
        self.settings = settings
        self.numbers = count(1)
        self.arrived: dict[object, socket_owner.HeldSocket] = {}
        """The other end's socket of each connection that is not served yet, by its address."""
        self.served: set[tuple[int, int]] = set()
        """The CLIs whose hooks came: their numbers and starts."""
        self._places = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._idle: deque[DaemonConnection] = deque(maxlen=MOST_IDLE)
        self._open: set[object] = set()
        self._code = self._seen = _code()
        self._looked_at = process_tree.now()

    def verify_request(self, request: Any, client_address: Any) -> bool:  # noqa: ARG002 - its arguments there
        """Whether a connection is served: it is of this user, and there is a place."""
        found = socket_owner.socket_of(client_address, (LOOPBACK, self.settings.port))
        if found is None or found.uid != os.getuid() or not self._places.acquire(blocking=False):
            return False
        self.arrived[client_address] = found
        return True

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread."""
        self._open.add(request)
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection to its end."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._open.discard(request)
            self._places.release()

    def to_daemon(self) -> DaemonConnection:
        """Return a connection to the daemon, one that another hook left if it can be.

        Raises:
            OSError: The daemon is not there.
        """
        with suppress(IndexError):  # none is left, or another thread was quicker
            while True:
                found = self._idle.pop()
                if found.path == self.settings.socket and found.is_fresh():
                    return found
                found.close()
        return DaemonConnection(self.settings.socket)

    def is_done_with(self, daemon: DaemonConnection) -> None:
        """Keep a connection whose answer was read to its end for the next hook; the oldest one too many is closed."""
        self._idle.append(daemon)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Drop a connection whose other end went away; of anything else tell."""
        error = sys.exception()
        if not isinstance(error, OSError):
            super().handle_error(request, client_address)

    def service_actions(self) -> None:
        """Take up new settings; become the newer program; end if they are gone, and every CLI that was served."""
        if process_tree.now() - self._looked_at < UPKEEP_SECONDS:
            return
        self._looked_at = process_tree.now()
        settings = relay_settings.read(self.folder)
        if settings is not None and settings.port == self.settings.port:
            self.settings = settings
        if self._open:
            return
        if settings is None or settings.port != self.settings.port:
            # A CLI that began while it was attached goes on asking; without an answer no call of it would run.
            self.served = {one for one in list(self.served) if process_tree.start_ticks(one[0]) == one[1]}
            if not self.served:
                self._leave()
            return
        seen, self._seen = self._seen, _code()
        if self._seen and self._seen == seen != self._code:  # whole, and the same at two looks
            os.set_inheritable(self.socket.fileno(), True)
            os.execv(sys.executable, [*words(self.folder), str(self.socket.fileno())])  # noqa: S606 - no shell

    def _leave(self) -> None:
        """End, unless hooks were attached again meanwhile, in the belief that there is a relay."""
        self.socket.close()
        if relay_settings.read(self.folder) is None:
            os._exit(0)
        os.execv(sys.executable, words(self.folder))  # noqa: S606 - no shell


class Handler(BaseHTTPRequestHandler):
    """One connection: hook after hook."""

    server: Relay
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        """Begin."""
        super().setup()
        self._arrived = self.server.arrived.pop(self.client_address)
        self.event = ""
        self._process: tuple[int, int] | None = None

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
        """Log nothing: a relay runs for months."""

    def do_POST(self) -> None:
        """Answer one hook."""
        parts = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.event = parts.path.removeprefix(ROUTE)
        try:
            answer = self._answer(parts.path, asked.get("away", "block"), float(asked.get("wait", CALL_SECONDS)))
        except HungUpError:
            self.close_connection = True
            return
        except Exception as error:  # noqa: BLE001 - whatever failed, the answer is one by which no call runs
            told = str(error) if isinstance(error, HookRefusedError) else repr(error)
            answer = _denied(self.event, f"chaperon refuses this call: {told}")
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(answer)}\r\n"
        proof = f"chaperon-proof: {self.server.settings.proof}\r\n" if self._is_commands() else ""
        close = "connection: close\r\n" if self.close_connection else ""
        self.wfile.write(f"{head}{proof}{close}\r\n".encode() + answer)

    def _token(self) -> str:
        return self.server.settings.subject(self.headers.get("authorization", "").removeprefix("Bearer "))

    def _is_commands(self) -> bool:
        return self._token().startswith("c-")

    def _answer(self, path: str, when_away: str, wait: float) -> bytes:
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > MOST_BYTES or not path.startswith(ROUTE):
            self.close_connection = True  # its body stays unread
            raise HookRefusedError(f"it has {length or 'unknown'} bytes, and {MOST_BYTES} are taken, at {ROUTE}EVENT.")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise HungUpError
        subject = self._token()
        if not subject:
            raise HookRefusedError("its token is none of this user's. chaperon attach writes the right one.")
        process = self._speaker(subject)
        return self._ask(body, process, when_away, wait if self.event == GATE else min(wait, OTHERS_SECONDS))

    def _speaker(self, subject: str) -> tuple[int, int]:
        """Return the number and the start of the CLI that the hook is of, as the kernel has it."""
        if self._process is None:
            holder = socket_owner.first_holder(self._arrived) if self._arrived.inode else 0
            pid = process_tree.program_above(process_tree.lineage(holder) or []) if subject == "c-" else holder
            ticks = process_tree.start_ticks(pid) if pid else 0
            if not ticks:
                raise HookRefusedError("the process that sent it cannot be determined.")
            if subject.startswith("f-") and (name := process_tree.name(pid)) not in CLIS:
                raise HookRefusedError(
                    f"process {pid}, {clean(name)!r}, sent it and is no CLI. If a proxy stands between, "
                    "chaperon attach --by command does without."
                )
            self._process = pid, ticks
        bound = subject.removeprefix("p-")
        if bound != subject and bound != "-".join(map(str, self._process)):
            raise HookRefusedError(f"its token is of process {bound}, and process {self._process[0]} sent it.")
        self.server.served.add(self._process)
        return self._process

    def _ask(self, body: bytes, process: tuple[int, int], when_away: str, wait: float) -> bytes:
        """Return the daemon's answer, however long it takes, or the person's choice if the daemon stays away."""
        headers = {"content-type": "application/json", PROCESS: " ".join(map(str, process))}
        headers[SOURCE] = hashlib.sha256(f"{self._token()} {self.path}".encode()).hexdigest()[:32]
        headers["chaperon-request"] = f"r{os.getpid()}-{next(self.server.numbers)}-{process_tree.now():.6f}".replace(
            ".", "_"
        )
        for name in CONTEXT:
            header = f"x-{name.lower().replace('_', '-')}"
            headers[header] = clean(self.headers.get(header, ""))
        begun = process_tree.now()
        until, breaks = begun + wait, 0
        while True:
            try:
                return self._exchange(body, headers)
            except AwayError as error:
                if error.reached and breaks < MOST_BREAKS:
                    breaks, until = breaks + 1, process_tree.now() + wait
                if process_tree.now() > min(until, begun + ALL_SECONDS):
                    return _away(self.event, when_away, f"{wait:g} s ({error})")
                if _readable(self.connection):
                    raise HungUpError from None
                process_tree.pause(POLL_SECONDS)

    def _exchange(self, body: bytes, headers: dict[str, str]) -> bytes:
        """Ask the daemon once.

        Raises:
            AwayError: It cannot be reached, or went away.
            HookRefusedError: It does not take the hook.
            HungUpError: The CLI no longer waits.
        """
        daemon = None
        try:
            daemon = self.server.to_daemon()
            daemon.ask(body, headers)
            self._await(daemon)
            status, answer, stays = daemon.answer()
        except BaseException as error:
            if daemon is not None:
                daemon.close()  # by which the daemon knows that nobody waits
            if isinstance(error, OSError | http.client.HTTPException):
                raise AwayError(str(error) or type(error).__name__, reached=daemon is not None) from None
            raise
        if status == http.client.OK and stays:
            self.server.is_done_with(daemon)
            return answer
        daemon.close()
        if status == http.client.OK:
            return answer
        if status >= 500:
            raise AwayError(f"it answered {status}", reached=True)
        raise HookRefusedError(answer.decode(errors="replace")[:500])

    def _await(self, daemon: DaemonConnection) -> None:
        """Wait for the daemon's answer, or the CLI's end, or both: a CLI sends nothing meanwhile."""
        look = select.poll()
        look.register(daemon.sock, select.POLLIN)
        look.register(self.connection, select.POLLIN)
        ready = dict(look.poll(ALL_SECONDS * 1000))
        if daemon.sock.fileno() in ready:
            return
        if ready:
            raise HungUpError
        raise TimeoutError("no answer within the hook's time")


def _readable(connection: socket.socket) -> bool:
    look = select.poll()
    look.register(connection, select.POLLIN)
    return bool(look.poll(0))


def _away(event: str, when_away: str, why: str) -> bytes:
    if event == GATE and when_away == "ask":
        return ASK.encode()
    return b"{}" if when_away == "allow" else _denied(event, away_text(why))


def _denied(event: str, why: str) -> bytes:
    """The answer by which a call does not run; of other hooks nothing depends on the answer."""
    if event != GATE:
        return b"{}"
    output = {"hookEventName": GATE, "permissionDecision": "deny", "permissionDecisionReason": why}
    return json.dumps({"hookSpecificOutput": output}).encode()


def _code() -> str:
    """Say which program this is, so that one that is newer is known; empty while it is not there whole."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    try:
        return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest() if files else ""
    except OSError:  # an installation is under way, or it was removed
        return ""


def main(arguments: list[str], ready: Callable[[], object] | None = None) -> int:
    """Listen, and return in the process that was started while one of its own goes on; returns the exit code.

    Args:
        arguments: The folder, and the number of the listening socket if a relay became this one.
        ready: Called once it listens, in the place of going on in a process of its own; for tests.
    """
    folder = Path(arguments[0])
    if ready is None:  # tests go on in this process
        spawn.refuse_tracers()
    lock = os.open(folder / relay_settings.LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    inherited = int(arguments[1]) if len(arguments) > 1 else None
    for look in count():
        settings = relay_settings.read(folder)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if settings is None or _listens(settings.port) or look >= LEAVING_LOOKS:
                return 0  # there is one
        time.sleep(LEAVING_SECONDS)  # one whose settings went, as by `detach`, and which has not noticed yet
    if settings is None:
        return 0
    threading.stack_size(STACK_BYTES)
    try:
        relay = Relay(folder, settings, inherited)
    except OSError as error:
        print(f"Port {settings.port} of {LOOPBACK} cannot be listened at: {error.strerror}.", file=sys.stderr)
        return PORT_TAKEN
    if ready is not None:
        ready()
    elif inherited is None and not _alone(folder):
        return 0
    os.ftruncate(lock, 0)
    os.pwrite(lock, str(os.getpid()).encode(), 0)
    relay.serve_forever(UPKEEP_SECONDS)
    return 0


def _listens(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex((LOOPBACK, port)) == 0


def _alone(folder: Path) -> bool:
    """Go on in a process of its own, a session's leader; returns whether this is it."""
    if os.fork():
        return False
    os.setsid()
    os.chdir(folder)
    empty = os.open(os.devnull, os.O_RDWR)
    log = os.open("relay.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    for number, file in ((0, empty), (1, log), (2, log)):
        os.dup2(file, number)
    return True
