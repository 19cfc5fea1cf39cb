"""The relay: a small process that listens for hooks on loopback, and outlives the daemon.

An attached CLI sends its hooks there, without the start of a program. The relay finds out which process of this user
holds the other end, hands the hook to the daemon with that process's number, and waits for a daemon that is away; if
none comes, it answers as the person chose. It decides nothing else. One of its own would not help an agent: the daemon
takes no agent's word about processes.

Standard library only: it runs isolated, without packages.
"""

import fcntl
import hashlib
import json
import os
import select
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from host import identity
from supervisor.runtime.attached import relay_settings
from supervisor.runtime.attached.connections import DaemonConnection, DaemonConnections, is_readable
from supervisor.runtime.attached.hook import (
    ALL_SECONDS,
    ASK,
    CALL_SECONDS,
    CONTEXT,
    EVENT,
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
from supervisor.runtime.attached.http_messages import Head, HttpError, Messages
from supervisor.runtime.attached.relay_settings import (
    HELD,
    LOOPBACK,
    MOST_BYTES,
    PORT_TAKEN,
    PROCESS,
    QUEUE,
    ROUTE,
    RelaySettings,
    words,
)
from supervisor.runtime.shim import process_tree, socket_owner, spawn

MOST_CONNECTIONS = 512
"""Connections at once, each a thread. A CLI keeps one, and one more for each call that it makes at the same time."""

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


CONTEXT_FIELDS = tuple(f"x-{name.lower().replace('_', '-')}" for name in CONTEXT)

OK = 200


class HungUpError(Exception):
    """The CLI no longer waits."""


class Relay(ThreadingTCPServer):
    """Takes connections, those of this user's processes alone.

    Args:
        folder: The folder of the settings.
        settings: The settings.
        listening: The socket, if it is open already.
    """

    daemon_threads = True
    request_queue_size = QUEUE
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
        self.to_daemon = DaemonConnections()
        self._open: set[object] = set()
        self._code = self._seen = _code()
        self._looked_at = process_tree.now()

    def verify_request(self, request: Any, client_address: Any) -> bool:  # noqa: ARG002 - its arguments there
        """Whether a connection is served: it is of this user, and there is a place."""
        found = socket_owner.socket_of(client_address, (LOOPBACK, self.settings.port))
        if found is None or found.uid != os.geteuid() or not self._places.acquire(blocking=False):
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
        relay_settings.end_if_unused(self.folder, lambda pid, ticks: process_tree.start_ticks(pid) == ticks)
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


class Hook:
    """The address of a hook, taken apart.

    Args:
        head: The request.
    """

    def __init__(self, head: Head) -> None:
        self.head = head
        method, self.target, _ = head.first
        parts = urlsplit(self.target)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.is_one = method == "POST" and parts.path.startswith(ROUTE)
        self.event = parts.path.removeprefix(ROUTE)
        self.when_away = asked.get("away", "block")
        self._wait = asked.get("wait", "")

    @property
    def wait(self) -> float:
        """How long a daemon that is away is waited for, in seconds.

        Raises:
            ValueError: It is no number.
        """
        wait = float(self._wait or CALL_SECONDS)
        return wait if self.event == GATE else min(wait, OTHERS_SECONDS)


class Handler(BaseRequestHandler):
    """One connection: hook after hook."""

    server: Relay
    request: socket.socket

    def setup(self) -> None:
        """Begin."""
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._arrived = self.server.arrived.pop(self.client_address)
        self._messages = Messages(self.request)
        self._process: tuple[int, int] | None = None
        self._known: tuple[RelaySettings | None, str, str] = None, "", ""
        """The token that came last, and its subject: a connection sends the same one each time."""

    def handle(self) -> None:
        """Answer one hook after another."""
        with suppress(EOFError):  # it hung up within one
            while self._serve_one():
                pass

    def _serve_one(self) -> bool:
        """Answer one hook; returns whether the connection serves another."""
        try:
            head = self._messages.head()
        except HttpError as error:
            self._send("400 Bad Request", str(error).encode(), {"connection": "close"})
            return False
        if head is None:
            return False
        hook = Hook(head)
        stays = not head.closes and 0 <= head.length <= MOST_BYTES  # or else its body stays unread
        try:
            answer = self._answer(hook)
        except HungUpError:
            return False
        except Exception as error:  # noqa: BLE001 - whatever failed, the answer is one by which no call runs
            told = str(error) if isinstance(error, HookRefusedError) else repr(error)
            answer = _denied(hook.event, f"chaperon refuses this call: {told}")
        about = {"content-type": "application/json"}
        if self._subject(head).startswith("c-"):
            about["chaperon-proof"] = self.server.settings.proof
        self._send("200 OK", answer, about if stays else {**about, "connection": "close"})
        return stays

    def _send(self, status: str, body: bytes, about: dict[str, str]) -> None:
        fields = "".join(f"{name}: {value}\r\n" for name, value in about.items())
        self.request.sendall(f"HTTP/1.1 {status}\r\n{fields}content-length: {len(body)}\r\n\r\n".encode() + body)

    def _subject(self, head: Head) -> str:
        token = head.fields.get("authorization", "").removeprefix("Bearer ")
        settings = self.server.settings
        if (settings, token) != self._known[:2]:
            self._known = settings, token, settings.subject(token)
        return self._known[2]

    def _answer(self, hook: "Hook") -> bytes:
        length = hook.head.length
        if not 0 <= length <= MOST_BYTES or not hook.is_one:
            raise HookRefusedError(
                f"it has {'unknown' if length < 0 else length} bytes, and {MOST_BYTES} are taken, by POST at {ROUTE}EVENT."
            )
        try:
            body = self._messages.body(length)
        except EOFError:
            raise HungUpError from None
        if not (subject := self._subject(hook.head)):
            raise HookRefusedError("its token is none of this user's. chaperon attach writes the right one.")
        return self._ask(hook, body, self._speaker(subject))

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

    def _ask(self, hook: "Hook", body: bytes, process: tuple[int, int]) -> bytes:
        """Return the daemon's answer, however long it takes, or the person's choice if the daemon stays away."""
        fields, wait = hook.head.fields, hook.wait
        token = fields.get("authorization", "").removeprefix("Bearer ")
        asked = f"r{os.getpid()}-{next(self.server.numbers)}-{process_tree.now():.6f}".replace(".", "_")
        headers = {
            "content-type": "application/json",
            PROCESS: " ".join(map(str, process)),
            SOURCE: hashlib.sha256(f"{token} {hook.target}".encode()).hexdigest()[:32],
            "chaperon-request": asked,
            EVENT: clean(hook.event),
        }
        for name in CONTEXT_FIELDS:
            headers[name] = clean(fields.get(name, ""))
        begun = process_tree.now()
        until, breaks = begun + wait, 0
        while True:
            try:
                return self._exchange(body, headers)
            except AwayError as error:
                if error.reached and breaks < MOST_BREAKS:
                    breaks, until = breaks + 1, process_tree.now() + wait
                if process_tree.now() > min(until, begun + ALL_SECONDS):
                    return _away(hook.event, hook.when_away, f"{wait:g} s ({error})")
                if is_readable(self.request):
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
            daemon = self.server.to_daemon.take(self.server.settings.socket)
            daemon.ask(body, headers)
            self._await(daemon)
            status, answer, stays = daemon.answer()
        except BaseException as error:
            if daemon is not None:
                daemon.close()  # by which the daemon knows that nobody waits
            if isinstance(error, OSError | EOFError | HttpError):
                raise AwayError(str(error) or type(error).__name__, reached=daemon is not None) from None
            raise
        if status == OK and stays:
            self.server.to_daemon.keep(daemon)
            return answer
        daemon.close()
        if status == OK:
            return answer
        if status >= 500:
            raise AwayError(f"it answered {status}", reached=True)
        raise HookRefusedError(answer.decode(errors="replace")[:500])

    def _await(self, daemon: DaemonConnection) -> None:
        """Wait for the daemon's answer, or the CLI's end, or both: a CLI sends nothing meanwhile."""
        look = select.poll()
        look.register(daemon.sock, select.POLLIN)
        look.register(self.request, select.POLLIN)
        ready = dict(look.poll(ALL_SECONDS * 1000))
        if daemon.sock.fileno() in ready:
            return
        if ready:
            raise HungUpError
        raise TimeoutError("no answer within the hook's time")


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
        arguments: The folder, and the number of the listening socket if a relay became this one; behind `HELD`, if the
            daemon holds it.
        ready: Called once it listens, in the place of going on in a process of its own; for tests.
    """
    folder = Path(arguments[0])
    if ready is None:  # tests go on in this process
        identity.keep()
        spawn.refuse_tracers()
    lock = os.open(folder / relay_settings.LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    given = arguments[1] if len(arguments) > 1 else ""
    inherited = int(given.removeprefix(HELD)) if given else None
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
    elif (inherited is None or given.startswith(HELD)) and not _alone(folder):
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
