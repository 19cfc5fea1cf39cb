"""The loop of a shim over the CLI's pipes, the daemon's socket and the ends of children.

Standard library only: the shim runs this with no packages on its path.
"""

import binascii
import json
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable
from typing import Any

from supervisor.runtime.shim import credentials, marks, process_tree, spawn, wire
from supervisor.runtime.shim.daemon_link import DaemonLink
from supervisor.runtime.shim.files import log, write_whole
from supervisor.runtime.shim.pipes import ErrorLog, InputQueue, OutputLog
from supervisor.runtime.shim.seal import Seal

DRAIN_SECONDS = 2.0
"""Time after the CLI's end for which its pipes are still read if a process that it left holds them open. Such a
process prints at most the last words of a tool; the CLI's own output is in the pipe before it ends."""

DELIVER_SECONDS = 30.0
"""How long the shim stays, once all is written down, for a daemon that takes nothing of what it is owed. The files say
the same, so nothing is lost by going; a busy daemon comes round within a second."""

MOST_NAMED = 100
"""Most processes that the exit record names; a fork bomb's names say no more."""

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
Json = dict[str, Any]


class ShimLoop:
    """One loop over the CLI's pipes, the daemon's socket and the ends of children. Runs in the agent's directory."""

    def __init__(self, spec: Json) -> None:
        self.spec = spec
        self.seal = bytes.fromhex(spec.get("seal", ""))
        """The key of what the CLI prints; empty leaves it in the clear."""
        self.tree = process_tree.Tree(os.getpid(), spec["cgroup"])
        self.selector = selectors.DefaultSelector()
        self.daemon: DaemonLink | None = None
        self.pid = 0
        self.started_at = time.time_ns() / 1e9
        self.started = process_tree.now()
        self.ended: Json | None = None
        """How the CLI ended, once it has."""
        self.drain_until = 0.0
        self.tree_ended = False
        self.left = 0
        self.ended_with_it: list[str] = []
        self.recorded = False
        self.retry_at = 0.0
        self.identity: Json = {}
        """Identity of the processes, as in `agent.json`: a program of the agent can change the file, and not this."""

    # ── beginning ──

    def listen(self) -> None:
        """Open the socket.

        Its path is relative to the directory, because a Unix socket's may have 107 bytes at most.
        """
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.bind("shim.sock")
        os.chmod("shim.sock", 0o600)  # noqa: PTH101 - as in trees
        server.listen(8)
        server.setblocking(False)
        self.watch(server, READ, lambda: self.accept(server))

    def start(self, umask: int) -> None:
        """Start the CLI.

        Raises:
            spawn.StartError: It could not be started; nothing of it runs.
        """
        woken, wake = os.pipe()
        os.set_blocking(woken, False)
        os.set_blocking(wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self.watch(woken, READ, lambda: self.reap(woken))
        spec = self.spec
        # A daemon of another version, from before an upgrade, may have written less.
        bounds = spawn.Bounds(spec["cgroup"], umask, spec.get("mark", 0), spec.get("descriptors", 0))
        cli = spawn.start([*spec["launcher"], *spec["argv"]], spec["cwd"], spec["env"], bounds)
        self.output = OutputLog(cli.stdout, "out.log", Seal(self.seal, "out.log"))
        self.errors = ErrorLog(cli.stderr, "err.log", Seal(self.seal, "err.log"))
        self.input = InputQueue(cli.stdin, "in.log")
        self.pid = cli.pid
        self.watch(cli.stdout, READ, self.pump_output)
        self.watch(cli.stderr, READ, self.pump_errors)
        self.identify()

    def identify(self) -> None:
        """Write down who runs."""
        own = os.getpid()
        facts = {
            "agent": self.spec["agent"],
            "nonce": self.spec["env"].get("CHAPERON_AGENT_NONCE"),
            "cgroup": self.spec["cgroup"],
            "boot_id": process_tree.read("/proc/sys/kernel/random/boot_id").strip(),
            "shim_pid": own,
            "shim_start_ticks": process_tree.start_ticks(own),
            "cli_pid": self.pid,
            "cli_start_ticks": process_tree.start_ticks(self.pid),
            "started_at": self.started_at,
            "mark": self.spec.get("mark", 0),
            "sandbox": self.spec.get("sandbox", ""),
        }
        self.identity = facts
        write_whole("agent.json", facts)

    # ── the loop ──

    def run(self) -> None:
        """Serve until the CLI has ended, its tree has gone, and all is written down and sent."""
        while not self.finished():
            self.watch_writers()
            for key, _ in self.selector.select(self.patience()):
                if key.fd in self.selector.get_map():  # an earlier one of this round may have closed it
                    key.data()
            if self.output.problem and process_tree.now() >= self.output.retry_at:
                self.retry_output()

    def watch(self, source: Any, events: int, do: Callable[[], None]) -> None:
        """Do this whenever the source is ready; with no events, stop."""
        known = source in self.selector.get_map()
        if known and self.selector.get_key(source).events == events:
            return
        if known:
            self.selector.unregister(source)
        if events:
            self.selector.register(source, events, do)

    def watch_writers(self) -> None:
        """Be woken for the CLI's input and the daemon's socket only while something waits for them."""
        if self.input.pipe is not None:
            self.watch(self.input.pipe, WRITE if self.input.waiting else 0, self.pump_input)
        if self.daemon is not None:
            events = READ | (WRITE if self.daemon.sendable else 0)
            self.watch(self.daemon.connection, events, self.converse)

    def patience(self) -> float | None:
        """Seconds until something is due although nothing happens."""
        due = [self.output.retry_at] if self.output.problem else []
        if self.ended is not None and not self.tree_ended:
            due.append(self.drain_until)
        elif self.tree_ended and not self.recorded and not self.output.problem:
            due.append(self.retry_at)
        elif self.recorded and self.daemon is not None:
            due.append(self.daemon.progress_at + DELIVER_SECONDS)
        return max(0.0, min(due) - process_tree.now()) if due else None

    # ── the CLI's pipes ──

    def pump_output(self) -> None:
        """Take what the CLI printed; on a full disk leave the pipe alone for a while."""
        self.output.pump()
        if self.output.problem:
            self.watch(self.output.pipe, 0, self.pump_output)
            self.tell(
                wire.FAULT,
                kind=wire.OUTPUT_UNWRITABLE,
                text=f"{os.getcwd()}/out.log of agent {self.spec['agent']!r} cannot be written "  # noqa: PTH109 - as in trees
                f"({self.output.problem}), so the CLI waits and nothing is lost. Make room there; it goes on by itself.",
            )
        elif self.output.at_end:
            self.watch(self.output.pipe, 0, self.pump_output)

    def retry_output(self) -> None:
        """Look whether the disk takes output again."""
        if self.output.retry() and not self.output.at_end:
            self.watch(self.output.pipe, READ, self.pump_output)

    def pump_errors(self) -> None:
        """Take what the CLI printed on its error output."""
        self.errors.pump()
        if self.errors.at_end:
            self.watch(self.errors.pipe, 0, self.pump_errors)

    def pump_input(self) -> None:
        """Give the CLI what it takes; a pipe that is done with leaves the selector before it is closed."""
        pipe = self.input.pipe
        self.watch(pipe, 0, self.pump_input)
        self.input.flush()

    # ── the daemon ──

    def accept(self, server: socket.socket) -> None:
        """Take a connection, if its peer still wants it."""
        try:
            connection = server.accept()[0]
        except OSError as error:
            log(f"A connection could not be taken: {error}.")
            process_tree.pause()
            return
        self.consider(connection)

    def consider(self, connection: socket.socket) -> None:
        """Admit the peer, if it is a daemon of ours and no process of any agent."""
        pid, uid = credentials.peer_of(connection)
        line = credentials.lineage_of(connection)
        if uid != os.geteuid() or line is None or self.tree.holds(pid) or marks.is_marked(pid):
            log(
                f"Refused a connection of process {pid} ({process_tree.name(pid)!r}) of user {uid}: not a daemon of ours."
            )
            connection.close()
            return
        self.welcome(connection)

    def welcome(self, connection: socket.socket) -> None:
        """Speak with this daemon from now on, and no more with an earlier one."""
        self.disconnect()
        self.daemon = DaemonLink(connection, self.output, self.errors)
        held = f"cgroup:{self.spec['cgroup']}" if self.spec["cgroup"] else "subreaper"
        facts: Json = {"shim_pid": os.getpid(), "cli_pid": self.pid, "out_size": self.output.size, "containment": held}
        facts["identity"] = self.identity
        self.tell(wire.HELLO, **facts)
        if self.recorded:
            self.daemon.last_words = wire.fact(wire.EXITED, **self.record)

    def lose_daemon(self) -> None:
        """Go on without a daemon until the next one comes; end an agent for which none will come."""
        self.disconnect()
        if self.spec.get("ends_with_daemon") and not self.tree_ended:
            log("The daemon has gone and no other will come, so the agent is ended.")
            self.finish_tree()

    def disconnect(self) -> None:
        """Let the daemon go; the agent does not mind."""
        if self.daemon is not None:
            self.watch(self.daemon.connection, 0, self.converse)
            self.daemon.connection.close()
            self.daemon = None

    def tell(self, number: int, /, **facts: Any) -> None:
        """Send the daemon a fact, if there is one."""
        if self.daemon is not None:
            self.daemon.tell(number, **facts)

    def converse(self) -> None:
        """Do what the daemon asks, and send what it is owed."""
        daemon = self.daemon
        if daemon is None:
            return
        lines = daemon.commands()
        if lines is None:
            self.lose_daemon()
            return
        for line in lines:
            self.obey(line)
        try:
            daemon.flush()
        except OSError:
            self.lose_daemon()

    def obey(self, line: bytes) -> None:
        """Perform one command."""
        try:
            command = json.loads(line)
            do = OPERATIONS[command["op"]]
            do(self, command)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            text = f"The shim passed over a command it cannot read ({error!r}): {line[:200]!r}"
            self.tell(wire.FAULT, kind=wire.COMMAND_UNREADABLE, text=text)

    def attach(self, command: Json) -> None:
        """Send output from an offset on."""
        offset = command["offset"]
        if not 0 <= offset <= self.output.size:
            raise ValueError(f"offset {offset} is not within the {self.output.size} bytes of out.log")
        errors = command.get("errors")
        if self.daemon is not None:
            self.daemon.offset = offset
            # Of a file that somebody emptied, what follows is sent: nothing but notes depends on it.
            self.daemon.errors_offset = min(max(errors, 0), self.errors.size) if isinstance(errors, int) else None

    def pass_line(self, command: Json) -> None:
        """Pass a line to the CLI, once."""
        key = command["key"]
        problem = self.input.take(key, binascii.a2b_base64(command["line"]))
        if problem:
            self.tell(wire.FAULT, kind=wire.LINE_REFUSED, key=key, text=problem)
        else:
            self.tell(wire.ACCEPTED, key=key)

    def close_input(self, _: Json) -> None:
        """Close the CLI's input behind what is queued."""
        self.input.close()

    def terminate(self, _: Json) -> None:
        """Send SIGTERM to the CLI alone. Its pid is its own until it is reaped, and only this process reaps it."""
        if self.ended is None:
            process_tree.send(self.pid, signal.SIGTERM)

    def freeze(self, command: Json) -> None:
        """Freeze the whole tree."""
        outcome = self.tree.freeze()
        asked = {"id": command["id"]} if "id" in command else {}
        if outcome.left:
            text = f"{outcome.left} processes could not be made to stand still."
            self.tell(wire.FAULT, kind=wire.NOT_FROZEN, text=text, **asked)
        else:
            self.tell(wire.FROZEN, micros=outcome.micros, **asked)

    def thaw(self, _: Json) -> None:
        """Let the tree go on."""
        self.tree.thaw()

    def end_tree(self, _: Json) -> None:
        """Kill the whole tree."""
        outcome = self.finish_tree()
        self.tell(wire.ENDED, micros=outcome.micros, left=outcome.left)

    # ── the end ──

    def reap(self, woken: int) -> None:
        """Take note of every child that ended: the CLI, and orphans that came to us."""
        os.read(woken, 4096)
        while True:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.pid:
                self.note_end(status, used.ru_utime, used.ru_stime, used.ru_maxrss)

    def note_end(self, status: int, user: float, system: float, peak_kib: int) -> None:
        """Remember how the CLI ended; its output is read on for a while."""
        exited = os.WIFEXITED(status)
        self.ended = {
            "code": os.WEXITSTATUS(status) if exited else None,
            "signal": None if exited else os.WTERMSIG(status),
            "user_seconds": user,
            "system_seconds": system,
            "max_rss_kib": peak_kib,
            "ended_at": time.time_ns() / 1e9,
            "seconds": process_tree.now() - self.started,
        }
        self.drain_until = process_tree.now() + DRAIN_SECONDS

    def finish_tree(self) -> process_tree.TreeOutcome:
        """Kill all processes and remember their names."""
        started = process_tree.now()
        others = self.tree.members() - {self.pid}
        self.ended_with_it += [f"{pid} {process_tree.name(pid)}" for pid in sorted(others)[:MOST_NAMED]]
        self.left = self.tree.end().left
        return process_tree.TreeOutcome(process_tree.since(started), self.left)

    def finished(self) -> bool:
        """Take the steps that follow the CLI's end as far as they go; True once nothing is left to do."""
        if self.ended is None:
            return False
        if not self.tree_ended:
            drained = self.output.at_end and self.errors.at_end
            if not drained and process_tree.now() < self.drain_until:
                return False
            self.finish_tree()
            self.tree_ended = True
        if not self.recorded:
            self.take_the_rest()
            if self.output.problem or not self.write_record():
                return False
        daemon = self.daemon
        return daemon is None or not daemon.owed or process_tree.now() > daemon.progress_at + DELIVER_SECONDS

    def take_the_rest(self) -> None:
        """Empty the pipes; for a bounded time, because a process outside the tree may hold one and write on."""
        until = process_tree.now() + DRAIN_SECONDS
        while (self.output.pump() | self.errors.pump()) and process_tree.now() < until:
            continue

    def write_record(self) -> bool:
        """Write `exit.json` and queue it for the daemon; False if the disk does not take it yet."""
        if process_tree.now() < self.retry_at:
            return False
        self.record = self.describe_end()
        try:
            self.output.sync()
            write_whole("exit.json", self.written_record())
        except OSError as error:
            log(f"exit.json could not be written: {error}. Trying again.")
            self.retry_at = process_tree.now() + DRAIN_SECONDS
            return False
        self.recorded = True
        self.watch(self.output.pipe, 0, self.pump_output)  # nothing is added to what the record has counted
        self.watch(self.errors.pipe, 0, self.pump_errors)
        if self.input.pipe is not None:
            self.watch(self.input.pipe, 0, self.pump_input)
            self.input.abandon()
        if self.daemon is not None:
            self.daemon.progress_at = process_tree.now()
            self.daemon.last_words = wire.fact(wire.EXITED, **self.record)
        return True

    def written_record(self) -> Json:
        """The exit record for its file: if the output is sealed, its end is not in it; `err.log` has that."""
        return {**self.record, "stderr_tail": ""} if self.seal else self.record

    def describe_end(self, error: str | None = None) -> Json:
        """The exit record."""
        started = {"agent": self.spec["agent"], "error": error, "started_at": self.started_at, "left": self.left}
        if not self.pid:
            return started
        return {
            **started,
            **(self.ended or {}),
            "oom": oom_kills(self.spec["cgroup"]) > 0,
            "out_size": self.output.size,
            "stderr_dropped": self.errors.dropped,
            "stderr_tail": self.errors.tail.decode(errors="replace"),
            "lines_taken": self.input.taken,
            "lines_written": self.input.written,
            "ended_with_it": self.ended_with_it,
        }


OPERATIONS: dict[str, Callable[[ShimLoop, Json], None]] = {
    "attach": ShimLoop.attach,
    "line": ShimLoop.pass_line,
    "close_input": ShimLoop.close_input,
    "terminate": ShimLoop.terminate,
    "freeze": ShimLoop.freeze,
    "thaw": ShimLoop.thaw,
    "end_tree": ShimLoop.end_tree,
}


def oom_kills(cgroup: str | None) -> int:
    """How often the kernel killed for memory in a group, as far as it counts there."""
    fields = process_tree.read(f"{cgroup}/memory.events").split() if cgroup else []
    return int(fields[fields.index("oom_kill") + 1]) if "oom_kill" in fields else 0
