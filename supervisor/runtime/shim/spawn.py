"""Start the CLI: its own session, its cgroup, the environment given and nothing else, no descriptors but 0, 1 and 2.

Its input and its output are sockets, not pipes. Every process of the same user can open a pipe again as
/proc/PID/fd/0, so a tool could answer the gate's questions in the daemon's place. A socket cannot be opened so: the
kernel answers ENXIO. Its error output stays a pipe, for programs open /dev/stderr, and it decides nothing.

By fork and exec in the open rather than by `subprocess`: that would cost the shim 1 MB, and cannot enter a cgroup
before the program runs. The shim has one thread, so code may run between the two.

Standard library only: the shim runs this with no packages on its path.
"""

import ctypes
import os
import resource
import signal
import socket
from typing import NamedTuple

from host.identity import become_person, own_files
from supervisor.runtime.shim import marks

NICENESS = 5
"""How much nicer an agent is than the daemon and the shim, which need a hundredth of a processor for it.

Beside 24 busy programs of agents on two cores a decision took 79 ms at the median and 206 at the 99th percentile with
all of them alike, 32 and 112 with 2, and 10 and 57 with 5. It costs nothing while a processor is free. Where the kernel
weighs sessions (autogroups), it counts within the CLI's own session alone.
"""

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
"""From `linux/prctl.h`."""


class StartError(Exception):
    """The program could not be started; the message says at which step and why."""


class SpawnedProgram(NamedTuple):
    """A running program and our ends of what it reads and writes, all non-blocking."""

    pid: int
    stdin: int
    stdout: int
    stderr: int


def prctl(option: int, value: int) -> None:
    """Set a property of this process.

    Raises:
        OSError: The kernel refused it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}, {value}) failed")


def refuse_tracers() -> None:
    """Have programs of the same user neither trace this process nor read its memory, environment and descriptors.

    What it starts is not concerned: the kernel takes it back with each program that is run (execve(2)). Only who may
    trace everybody (CAP_SYS_PTRACE), such as root, still can.
    """
    prctl(PR_SET_DUMPABLE, 0)


class Bounds(NamedTuple):
    """Bounds of the program and all its children."""

    cgroup: str | None = None
    """The control group that it is born in."""
    umask: int = 0o022
    mark: int = 0
    """By which its processes are known again, see `supervisor.runtime.shim.marks`; 0 for none."""
    descriptors: int = 0
    """The soft limit on open files that it gets; 0 leaves ours. Some programs look at each number up to it."""


def start(argv: list[str], cwd: str, env: dict[str, str], bounds: Bounds) -> SpawnedProgram:
    """Start a program with sockets on 0 and 1, and a pipe on 2.

    Raises:
        StartError: It could not be started; nothing of it runs.
    """
    told, tell = os.pipe()
    input_end, feeding = _one_way()
    reading, output_end = _one_way()
    reading_errors, error_end = os.pipe()
    theirs, ours = [input_end, output_end, error_end], [feeding, reading, reading_errors]
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become(argv, cwd, env, bounds, theirs, tell, parent)
    for fd in (*theirs, tell):
        os.close(fd)
    problem = _read_all(told)
    os.close(told)
    if problem:
        os.waitpid(pid, 0)
        for fd in ours:
            os.close(fd)
        raise StartError(problem)
    for fd in ours:
        os.set_blocking(fd, False)
    return SpawnedProgram(pid, *ours)


def _one_way() -> tuple[int, int]:
    """Connect two sockets in one direction, as a pipe is; return the end that reads, and the end that writes."""
    reader, writer = socket.socketpair()
    reader.shutdown(socket.SHUT_WR)
    return reader.detach(), writer.detach()


def _become(
    argv: list[str],
    cwd: str,
    env: dict[str, str],
    bounds: Bounds,
    fds: list[int],
    tell: int,
    parent: int,
) -> None:
    """In the child: turn into the program, or say why not through the pipe and end. Never returns."""
    step = "start"
    try:
        step = "leave the shim's session"
        os.setsid()  # so that a `kill 0` of the CLI does not reach the shim
        if bounds.cgroup is not None:
            step = f"enter the cgroup {bounds.cgroup}"
            enter_cgroup(bounds.cgroup)
        step = "become its user"
        become_person()  # which takes back the next one
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # nobody would answer its hooks: it must not run on unwatched
        if os.getppid() != parent:
            os._exit(127)
        step = "set its limits"
        _limit(bounds)
        _give_way()
        step = "take its input and output"
        tell = _arrange(fds, tell)
        step = f"enter the working directory {cwd!r}"
        os.chdir(cwd)
        os.umask(bounds.umask)
        restore_signals()
        step = f"run {argv[0]!r} (PATH is {env.get('PATH', 'not set')!r})"
        os.execvpe(argv[0], argv, env)  # noqa: S606 - no shell is meant
    except BaseException as error:  # noqa: BLE001 - a child that fails here must never go on as a second shim
        reason = getattr(error, "strerror", None) or repr(error)
        os.write(tell, f"Could not {step}: {reason}.".encode(errors="replace"))
    finally:
        os._exit(127)


def enter_cgroup(cgroup: str) -> None:
    """Move this process into a control group.

    Raises:
        OSError: The group has gone, or takes no process.
    """
    with own_files():
        fd = os.open(f"{cgroup}/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)
        os.write(fd, b"0")
        os.close(fd)


def _limit(bounds: Bounds) -> None:
    if bounds.mark:
        marks.put(bounds.mark)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if bounds.descriptors and (bounds.descriptors <= hard or hard == resource.RLIM_INFINITY):
        resource.setrlimit(resource.RLIMIT_NOFILE, (bounds.descriptors, hard))


def _give_way() -> None:
    """Let the daemon and the shim go first if there is not processor enough for all; what is started inherits it."""
    try:
        os.nice(NICENESS)
    except PermissionError:  # by a filter of system calls: all weigh the same then
        return


def _arrange(fds: list[int], tell: int) -> int:
    """Put what it reads and writes on 0, 1 and 2, the telling pipe on 3, and close the rest; exec closes 3."""
    high = [os.dup(fd) for fd in (*fds, tell)]
    while min(high) < 4:
        high = [os.dup(fd) for fd in high]
    for number, fd in enumerate(high[:3]):
        os.dup2(fd, number, inheritable=True)
    os.dup2(high[3], 3, inheritable=False)
    os.closerange(4, os.sysconf("SC_OPEN_MAX"))
    return 3


def restore_signals() -> None:
    """Reset ignored signals, which must not be inherited from the shim or from Python."""
    for number in signal.valid_signals():
        if number not in (signal.SIGKILL, signal.SIGSTOP) and signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _read_all(fd: int) -> str:
    text = b""
    while part := os.read(fd, 4096):
        text += part
    return text.decode(errors="replace")
