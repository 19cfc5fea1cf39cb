"""Waits of foreign code in a worker thread, cut by a signal: such code may wait for ever, and hold the interpreter.

libgit2 opens what stands at a path of a repository without a look. An agent can put a named pipe there, or hold a lease
on a file (fcntl(2)): then the open waits, and pygit2 lets no other Python code run meanwhile. A signal whose handler
does nothing ends such a wait with `EINTR`, which libgit2 gives back as an error. Python itself repeats a call that a
signal cut (PEP 475), and reading a plain file is not cut (signal(7)), so nothing else notices.
"""

import ctypes
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

CUT_SECONDS = 0.2
"""After this time, and then each time that it has passed again, a wait is cut.

What libgit2 opens is meant to be plain files, which wait for a disk alone, and that is not cut. Meanwhile no review is
answered."""

_SIGNAL = signal.SIGRTMAX - 1
"""The signal: one of those that mean nothing by themselves (signal(7))."""
_SIGEV_THREAD_ID = 4
"""Have the signal go to one thread (sigevent(3type), linux/signal.h)."""


class _SignalEvent(ctypes.Structure):
    """The part of `struct sigevent` that is read, and what else belongs to its 64 bytes."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("thread", ctypes.c_int),
        ("rest", ctypes.c_char * 44),
    )


class _Timing(ctypes.Structure):
    """`struct itimerspec`: the interval and the time until the first expiry, each in seconds and nanoseconds."""

    _fields_ = tuple((name, ctypes.c_long) for name in ("every", "every_ns", "first", "first_ns"))


_RUNS = _Timing(0, round(CUT_SECONDS * 1e9), 0, round(CUT_SECONDS * 1e9))
_STANDS = _Timing()


class _ThreadTimer:
    """A timer that signals the thread that made it; it goes with the thread."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._id = ctypes.c_void_p()
        wanted = _SignalEvent(signal=_SIGNAL, notify=_SIGEV_THREAD_ID, thread=threading.get_native_id())
        monotonic = 1  # CLOCK_MONOTONIC (linux/time.h)
        if self._libc.timer_create(monotonic, ctypes.byref(wanted), ctypes.byref(self._id)):
            code = ctypes.get_errno()
            raise OSError(code, f"no timer could be made: {os.strerror(code)}")
        self.nested = 0

    def set(self, timing: _Timing) -> None:
        self._libc.timer_settime(self._id, 0, ctypes.byref(timing), None)

    def __del__(self) -> None:
        if self._id.value is not None:
            self._libc.timer_delete(self._id)


class _OfThread(threading.local):
    timer: _ThreadTimer | None = None


_of_thread = _OfThread()
_ready = threading.Lock()
_handled: list[int] = []
"""The process in which the handler is set; a program that this one becomes or starts has none."""


@contextmanager
def waits_cut() -> Iterator[None]:
    """Cut what this thread waits for in foreign code within the block, again and again."""
    timer = _of_thread.timer
    if timer is None:
        _handle()
        try:
            timer = _of_thread.timer = _ThreadTimer()
        except OSError:  # RLIMIT_SIGPENDING bounds timers as well: the work is done without
            yield
            return
    timer.nested += 1
    timer.set(_RUNS)
    try:
        yield
    finally:
        timer.nested -= 1
        if not timer.nested:
            timer.set(_STANDS)


def _handle() -> None:
    """Have a function of the C library that does nothing handle the signal, and no call be repeated by the kernel.

    A handler of Python's would wake the event loop each time.
    """
    with _ready:
        if _handled != [os.getpid()]:
            libc = ctypes.CDLL(None)
            libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
            libc.signal.restype = ctypes.c_void_p
            libc.signal(_SIGNAL, ctypes.cast(libc.abs, ctypes.c_void_p))
            libc.siginterrupt(_SIGNAL, 1)
            _handled[:] = [os.getpid()]
