"""The last step into a sandbox: closes the process in for good, and then becomes the program.

    python -I -S -E entry.py [OPTION...] -- PROGRAM [ARGUMENT...]

Options, made by `supervisor.runtime.sandbox.landlock`: `--filter HEX`, a program for seccomp in hexadecimal; `--files`,
only paths of `--read PATH` may be read, and of `--write PATH` read and written; `--scoped`, processes outside can be
signalled or traced no more; `--processes N`, how many there may be; `--proxy PYTHON ENTRY SOCKET`, connections to a
port of the loopback are led to the gateway's socket. What cannot be done runs nothing.

`entry.c` is the same program for machines that have a compiler; this one is for others. Standard library only, and this
file alone: inside the sandbox there is nothing else of chaperon.
"""

import ctypes
import os
import resource
import signal
import stat
import struct
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""Calls of Landlock; the numbers are the same on every architecture."""

PR_SET_SECCOMP, SECCOMP_MODE_FILTER, PR_SET_NO_NEW_PRIVS = 22, 2, 38
"""From `linux/prctl.h` and `linux/seccomp.h`."""

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REFER, TRUNCATE, IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
"""Accesses to files of `linux/landlock.h`; between them are the ways of making and removing."""

BEFORE_REFER = REFER - 1
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE
"""Accesses that a rule about a file that is no folder can have."""

SCOPE_ABSTRACT_SOCKETS, SCOPE_SIGNALS = 1, 2
"""From `linux/landlock.h`: both hold for what is outside of the domain."""

PR_CAPBSET_DROP, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 24, 47, 4
"""From `linux/prctl.h`."""

CAPABILITIES = 64
"""Numbers that a capability can have; Linux 6.18 has 41."""

PROXY_PORT = 3128
"""Port of the proxy inside, on a loopback that is the agent's own."""

INSTRUCTION = 8
"""Bytes of an instruction of a filter."""

LISTENING = 3
"""The descriptor by which the proxy of `entry.c` gets its port."""

PIECE_BYTES = 65_536
FULL_SECONDS = 0.1
"""Between two tries of the proxy to take a connection, while it has no descriptors left."""

NOT_STARTED = 126
"""The exit code of shells for a program that is there and could not be started."""

_LIBC = ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """Return the version of Landlock of this kernel; 0 if it has none, or it was switched off."""
    return max(0, int(_LIBC.syscall(CREATE_RULESET, None, 0, 1)))


def handled(version: int) -> int:
    """Return the accesses to files that a version of Landlock knows, which rules then must grant."""
    known = BEFORE_REFER
    for least, access in ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEVICE)):
        known |= access if version >= least else 0
    return known


class EntryOptions:
    """The words before `--`, and the program behind it.

    Raises:
        ValueError: They are not words of these options.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.flags: set[str] = set()
        self.values: dict[str, list[str]] = {"--filter": [], "--processes": [], "--read": [], "--write": []}
        self.proxy: Sequence[str] = ()
        left = list(words)
        while left and (word := left.pop(0)) != "--":
            if word in ("--files", "--scoped"):
                self.flags.add(word)
            elif word in self.values and left:
                self.values[word].append(left.pop(0))
            elif word == "--proxy" and len(left) > 2:
                self.proxy = left[:3]
                del left[:3]
            else:
                raise ValueError("an option is not known")
        if not left:
            raise ValueError("no program is named")
        self.program = left


def restrict(options: EntryOptions) -> None:
    """Close this process in; all that it starts is closed in with it.

    Raises:
        OSError: The kernel does not do it. What was done until then stays.
    """
    _drop_capabilities()
    for most in options.values["--processes"]:
        _bound_processes(int(most))
    _call(_LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    scopes = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS if "--scoped" in options.flags else 0
    files = handled(abi()) if "--files" in options.flags else 0
    if files or scopes:
        _landlock(options, files, scopes)
    for encoded in options.values["--filter"]:
        _seccomp(encoded)


def _drop_capabilities() -> None:
    """Leave root none of its capabilities from the next program on; others have none, and are refused here.

    With CAP_PERFMON root reads the environment of every process, past Landlock (seen with Linux 6.18).
    """
    _LIBC.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    for number in range(CAPABILITIES):
        _LIBC.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)


def _bound_processes(most: int) -> None:
    """Set the hard limit on processes, unless a lower one holds; no process without capabilities raises it again."""
    _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_NPROC, (most, most))


def _landlock(options: EntryOptions, accesses: int, scopes: int) -> None:
    attributes = struct.pack("QQQ", accesses, 0, scopes)
    rules = _call(_LIBC.syscall(CREATE_RULESET, attributes, len(attributes), 0))
    try:
        for path in options.values["--read"] if accesses else ():
            _allow(rules, path, accesses & (EXECUTE | READ_FILE | READ_DIR))
        for path in options.values["--write"] if accesses else ():
            _allow(rules, path, accesses)
        _call(_LIBC.syscall(RESTRICT_SELF, rules, 0))
    finally:
        os.close(rules)


def _allow(rules: int, path: str, accesses: int) -> None:
    """Add a rule for a path; one that is not there needs none."""
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    try:
        folder = stat.S_ISDIR(os.fstat(fd).st_mode)
        rule = struct.pack("=Qi", accesses if folder else accesses & OF_FILES, fd)
        _call(_LIBC.syscall(ADD_RULE, rules, 1, rule, 0))
    finally:
        os.close(fd)


def _seccomp(encoded: str) -> None:
    try:
        code = bytes.fromhex(encoded)
    except ValueError:
        code = b""
    if not code or len(code) % INSTRUCTION:
        raise ValueError("the filter is damaged")
    held = ctypes.create_string_buffer(code, len(code))
    about = struct.pack("HxxxxxxP", len(code) // INSTRUCTION, ctypes.addressof(held))
    _call(_LIBC.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, about, 0, 0))


def begin_proxy(gateway: str) -> None:
    """Start a process that leads connections to a port of the loopback to the gateway's socket.

    It is closed in as this one is, and ends with the sandbox.
    """
    import socket

    listening = socket.create_server(("127.0.0.1", PROXY_PORT))
    if os.fork():
        listening.close()
        return
    lead(listening, gateway)


def lead(listening: "socket.socket", gateway: str) -> None:
    """Lead connections to the gateway's socket, as long as the process lives."""
    import socket
    import threading

    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):  # the CLI's pipes end with the CLI
        os.dup2(nothing, number)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)

    def pump(source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(PIECE_BYTES):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            for each in (source, target):
                each.close()

    def lead_one(inside: socket.socket, outside: socket.socket) -> None:
        with inside, outside:
            try:
                outside.connect(gateway)
            except OSError:
                return
            back = threading.Thread(target=pump, args=(outside, inside), daemon=True)
            back.start()
            pump(inside, outside)
            back.join()

    outside = None
    while True:
        try:
            outside = outside or socket.socket(socket.AF_UNIX)  # before: a connection that is taken can be led then
            connection, _ = listening.accept()
        except OSError:  # no descriptors are left until some of its connections end
            time.sleep(FULL_SECONDS)
            continue
        try:
            threading.Thread(target=lead_one, args=(connection, outside), daemon=True).start()
        except RuntimeError:  # no thread is left, as while the agent has all its processes: later ones may be led
            connection.close()
            outside.close()
        outside = None


def _call(answer: int) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer


def main(arguments: Sequence[str]) -> int:
    """Close in and become the program; return only if that failed."""
    if arguments[:1] == ["--lead"]:
        import socket

        lead(socket.socket(fileno=LISTENING), arguments[1])
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores, and a program would inherit that
        signal.signal(number, signal.SIG_DFL)
    program = "the program"
    try:
        options = EntryOptions(arguments)
        program = options.program[0]
        restrict(options)
        if options.proxy:
            begin_proxy(options.proxy[2])
        os.execvp(program, options.program)  # noqa: S606 - no shell is meant
    except (OSError, ValueError) as error:
        why = str(error) if isinstance(error, ValueError) else error.strerror or str(error)
        os.write(2, f"chaperon: the sandbox could not be closed ({why}), so {program} was not started.\n".encode())
    return NOT_STARTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
