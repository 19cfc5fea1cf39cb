"""Functions run in a process of their own, which is ended if it takes too long.

libgit2 works through files of an agent's in one piece, and pygit2 lets no other Python code run meanwhile. Two texts of
a million lines that agree in little are compared for a minute. A file of a terabyte that takes no room is hashed for an
hour. In a process of its own, such work holds up the one who asked for it alone.

A process is kept for the next function, since its start and its imports take a fifth of a second.
"""

import atexit
import json
import os
import pickle
import select
import selectors
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

from host import identity
from host.cut_waits import waits_cut

P = ParamSpec("P")
T = TypeVar("T")

_PROGRAM = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from host.apart import serve; serve()"

APART_SECONDS = 120.0
"""Time after which the work is given up: twice what a merge of the largest text takes that a model is shown, two
megabytes, if its lines agree as little as lines can."""

ORPHAN_SECONDS = round(APART_SECONDS) + 10
"""Time after which a process ends itself in the midst of work: a caller that lives has ended it before."""

IDLE_SECONDS = 30.0
"""Time without work after which a process ends: what it imported takes some 50 MB."""

MOST_KEPT = 2
"""Processes that are kept without work: merges of two projects at once are rare."""

_MOST_BYTES = 256 * 1024 * 1024
"""Most of a result: the names of a million changed files."""
_NICENESS = 5
"""As that of the reading process: reviews come first if there is not enough processor time."""
_LENGTH = struct.Struct("!Q")
"""Stands before each request and each result: how many bytes it has."""
_PIECE_BYTES = 65_536
_TAKEN = b"+"
"""Stands before a result, and is written as soon as the request was read: the work may have begun from there on."""


class ApartError(OSError):
    """Work in a process of its own came to no result: it took too long, or was ended."""


class _EndedIdleError(ApartError):
    """A process ended before it took the work up: it had none for too long, or was ended meanwhile."""


class _Apart:
    """A process for one function after the other. It ends with the pipe of its requests."""

    def __init__(self) -> None:
        self.serves = _setting()
        self.process = start_process()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._takes, self._gives = self.process.stdin, self.process.stdout
        threading.Thread(target=self.process.wait, name="sees a process apart end", daemon=True).start()
        os.set_blocking(self._takes.fileno(), False)

    def ask(self, request: bytes, seconds: float) -> bytes:
        """Return the result.

        Raises:
            ApartError: The process ended, or the time passed; it is of no more use.
            _EndedIdleError: It ended before it took the work up.
        """
        until = _now() + seconds
        left = memoryview(_LENGTH.pack(len(request)) + request)
        answer = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(self._gives, selectors.EVENT_READ)
            selector.register(self._takes, selectors.EVENT_WRITE)
            head = len(_TAKEN) + _LENGTH.size
            while len(answer) < head or len(answer) < head + _LENGTH.unpack_from(answer, len(_TAKEN))[0]:
                ready = selector.select(max(0.0, until - _now()))
                if not ready:
                    raise ApartError(f"took longer than {seconds:g} s")
                for key, _ in ready:
                    if key.fileobj is self._takes:
                        left = left[self._write(left) :]
                        if not left:
                            selector.unregister(self._takes)
                    elif piece := os.read(self._gives.fileno(), _PIECE_BYTES):
                        answer += piece
                    else:
                        ended = ApartError if answer else _EndedIdleError
                        raise ended(f"ended with {self.process.wait()}")
                if len(answer) > _MOST_BYTES:
                    raise ApartError(f"came to more than {_MOST_BYTES:,} bytes")
        return bytes(answer[head:])

    def _write(self, data: memoryview) -> int:
        try:
            return os.write(self._takes.fileno(), data[:_PIECE_BYTES])
        except BrokenPipeError:  # it has ended, which its own pipe says too
            return len(data)

    def is_ready(self) -> bool:
        """Return whether it runs, and has what counts now."""
        return self.process.poll() is None and self.serves == _setting()

    def end(self) -> None:
        """End it at once, with what it started."""
        if self.process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self._takes.close()
        self._gives.close()
        self.process.wait()


def start_process() -> subprocess.Popen[bytes]:
    """Start a process that takes requests on its standard input, in a session of its own."""
    users: dict[str, Any] = {**identity.with_state()}
    return subprocess.Popen(
        [sys.executable, "-I", "-c", _PROGRAM, json.dumps(sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        bufsize=0,
        **users,
    )


_kept: list[_Apart] = []
_keeping = threading.Lock()


def _setting() -> tuple[Any, ...]:
    """Return what a process is started with."""
    return dict(os.environ), list(sys.path)


def run_apart(work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Run a function as `run_apart_within` does, for `APART_SECONDS` at most."""
    return run_apart_within(APART_SECONDS, work, *arguments, **named)


def run_apart_within(seconds: float, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Run a function in a process of its own and return its result; what it raises is raised here. Blocks.

    Args:
        seconds: Time after which it is given up; at most `APART_SECONDS`.
        work: A function of a module; arguments and result can be pickled.
        arguments: Its arguments.
        named: Its named arguments.

    Raises:
        ApartError: It came to no result.
    """
    request = pickle.dumps((work, arguments, named))
    try:
        try:
            answer = _asked(_take(), request, seconds)
        except _EndedIdleError:
            answer = _asked(_Apart(), request, seconds)
    except ApartError as error:
        what = work.__name__.replace("_", " ").strip()
        raise ApartError(f"{what} {error} in a process of its own, and was given up") from None
    raised, value = pickle.loads(answer)  # noqa: S301 - written by this very program
    if raised:
        raise value
    result: T = value
    return result


def _asked(process: _Apart, request: bytes, seconds: float) -> bytes:
    kept = False
    try:
        answer = process.ask(request, seconds)
        kept = _keep(process)
    finally:
        if not kept:
            process.end()
    return answer


def _now() -> float:
    return time.monotonic()  # noqa: TID251 - the time that is left of a deadline, which nobody is told


def _take() -> _Apart:
    while True:
        with _keeping:
            process = _kept.pop() if _kept else None
        if process is None:
            return _Apart()
        if process.is_ready():
            return process
        process.end()


def _keep(process: _Apart) -> bool:
    """Whether it is kept for the next function."""
    with _keeping:
        kept = len(_kept) < MOST_KEPT
        if kept:
            _kept.append(process)
    return kept


def _end_kept() -> None:
    while _kept:
        _kept.pop().end()


def _forget_kept() -> None:
    """Leave to a process those that it keeps, in a copy of it."""
    for process in _kept:
        process.process.returncode = 0
    _kept.clear()


def serve() -> None:
    """Do what standard input asks for and write results to standard output: the other side of `run_apart`."""
    requests, results = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a function prints is no result
    os.nice(_NICENESS)
    while select.select([requests], [], [], IDLE_SECONDS)[0] and (head := requests.read(_LENGTH.size)):
        request = requests.read(*_LENGTH.unpack(head))
        results.write(_TAKEN)
        results.flush()
        work, arguments, named = pickle.loads(request)  # noqa: S301 - written by this very program
        signal.alarm(ORPHAN_SECONDS)  # by the kernel: what is waited for lets no Python code run
        try:
            with waits_cut():  # what waits for an agent's pipe would be given up only after `APART_SECONDS`
                outcome = False, work(*arguments, **named)
        except Exception as error:  # noqa: BLE001 - raised again by who asked
            outcome = True, error
        signal.alarm(0)
        answer = _pickled(*outcome)
        results.write(_LENGTH.pack(len(answer)) + answer)
        results.flush()


def _pickled(raised: bool, value: object) -> bytes:
    """Return an outcome as bytes; an error that cannot be, as libgit2's cannot, comes as one that has its words."""
    try:
        return pickle.dumps((raised, value))
    except (pickle.PicklingError, TypeError, AttributeError):
        if not raised:
            raise
        return pickle.dumps((True, ApartError(f"{type(value).__name__}: {value}")))


atexit.register(_end_kept)
os.register_at_fork(after_in_child=_forget_kept)
