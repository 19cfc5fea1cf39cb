"""The shim: one small process per agent that outlives the daemon. It holds the CLI's pipes and knows how it ended.

    python -I -S -E program.py DIRECTORY DESCRIPTOR

`supervisor.runtime.processes.shim_client` starts it and speaks with it. The descriptor has the spec, in memory: keys of
the environment are in it, which have no business on a disk. In the directory it leaves:

    agent.json   the identity: pids with their start times, cgroup, nonce; a lost agent's processes are found by it
    out.log      all that the CLI printed, sealed; an offset in it is a position in the agent's life
    err.log      the first of its error output
    in.log       a note of each line taken for its input
    exit.json    how it ended; there once the whole tree has gone and all output is in out.log
    shim.log     what went wrong with the shim itself
    shim.sock    where a daemon connects; the last to connect is the one that is spoken with

It fails closed: if the shim cannot go on, the tree is ended, because it would not be watched. Were the shim killed, the
kernel would kill the CLI; the CLI's tools would live, and `supervisor.runtime.processes.leftovers` ends those.

Standard library only, with no packages on its path, and few of its modules: each megabyte here is paid per agent.
"""

import json
import os
import signal
import socket
import stat
import sys
from typing import Any

if __name__ == "__main__":  # the folder that holds our packages, behind the standard library
    sys.path.append(os.path.abspath(f"{os.path.dirname(__file__)}/../../.."))  # noqa: PTH100, PTH120 - pathlib costs 1 MB

from host.identity import keep
from supervisor.runtime.shim import spawn, wire
from supervisor.runtime.shim.files import log, write_whole
from supervisor.runtime.shim.loop import ShimLoop

IGNORED = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGPIPE", "SIGUSR1", "SIGUSR2", "SIGTSTP", "SIGTTIN", "SIGTTOU")
"""The shim outlives the terminal, and its starter; it ends with its agent."""

TRIES = 5
"""How often the shim tries to end the agent when it fails itself; beyond it the kernel kills at least the CLI."""


def take_starter() -> socket.socket | None:
    """The connection that our starter left on descriptor 0, if it did; 0 then reads nothing."""
    starter = socket.socket(fileno=os.dup(0)) if stat.S_ISSOCK(os.fstat(0).st_mode) else None
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return starter


def serve(spec: dict[str, Any], starter: socket.socket | None, umask: int) -> int:
    """Run the agent to its end; 0 if that went as it should."""
    shim = ShimLoop(spec)
    try:
        shim.listen()
        try:
            shim.start(umask)
        except spawn.StartError as error:
            give_up(shim, starter, str(error))
            return 1
        if starter is not None:
            shim.welcome(starter)
        shim.run()
    except BaseException as error:  # noqa: BLE001 - an agent that nobody watches must not live on, whatever happened
        fail_closed(shim, error)
        return 1
    return 0


def fail_closed(shim: ShimLoop, error: BaseException) -> None:
    """End the agent, and write down why; with as little memory as can be, for that may be what is short."""
    log(f"The shim failed and ends the agent: {type(error).__name__}: {error}, {' < '.join(places(error))}")
    error.__traceback__, shim.daemon = None, None  # these hold the buffers
    for _ in range(TRIES):
        try:
            shim.finish_tree()
            break
        except (OSError, MemoryError) as again:
            log(f"Ending the agent failed: {again!r}. Trying again.")
    shim.record = shim.describe_end(f"The process that holds the CLI failed, so the agent was ended: {error!r}.")
    write_whole("exit.json", shim.written_record())


def places(error: BaseException) -> list[str]:
    """Return the places of an error, innermost first.

    The module `traceback` would cost 0.5 MB, and memory when there is none.
    """
    found: list[str] = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        found.insert(0, f"{code.co_filename}:{trace.tb_lineno} in {code.co_name}")
        trace = trace.tb_next
    return found


def give_up(shim: ShimLoop, starter: socket.socket | None, reason: str) -> None:
    """Write down that the CLI could not be started, and tell the starter."""
    record = shim.describe_end(reason)
    write_whole("exit.json", record)
    if starter is not None:
        starter.sendall(wire.fact(wire.EXITED, **record))


def main(directory: str, given: int) -> int:
    """Detach from the starting process, and serve the agent whose directory it is."""
    keep()
    os.chdir(directory)
    os.stat("spec.json")  # noqa: PTH116 - says that this launch has not begun
    with os.fdopen(given) as file:
        spec = json.load(file)
    if os.fork():
        os._exit(0)
    os.setsid()
    os.unlink("spec.json")  # noqa: PTH108 - as in trees
    umask = os.umask(0o077)
    for name in IGNORED:
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    spawn.prctl(spawn.PR_SET_CHILD_SUBREAPER, 1)
    spawn.refuse_tracers()
    return serve(spec, take_starter(), umask)


if __name__ == "__main__":
    # Not by `sys.exit`: to take the interpreter down cost 8 of the 12 ms of processor that a shim's end took, and all that
    # it has to say is in its files by now.
    os._exit(main(sys.argv[1], int(sys.argv[2])))
