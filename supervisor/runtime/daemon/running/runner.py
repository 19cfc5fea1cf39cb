"""The runner of one agent: performs its session's commands, in order, and passes events to the session.

This is the only place that performs commands. Each batch waits until the journal has what led to it; freezing alone
does not wait, for a frozen agent can always be thawed.
"""

import contextlib
import math
import signal
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
from anyio.abc import TaskGroup

from monitors.contract.errors import ChaperonError
from monitors.contract.words import Severity
from supervisor.core.timers import RETRY
from supervisor.protocol import events
from supervisor.protocol.commands import (
    ApplyLimits,
    Capture,
    CloseInput,
    Command,
    EndTree,
    Freeze,
    Launch,
    LookAtChanges,
    LookAtGrounds,
    LookAtSettings,
    ReportIncident,
    RestoreCheckpoint,
    ReviewElsewhere,
    SendLine,
    StartTimer,
    StopTimer,
    Terminate,
    Thaw,
    WriteEvent,
)
from supervisor.protocol.events import EventStamp
from supervisor.protocol.identity import Identity
from supervisor.runtime.daemon.running.agent_output import AgentOutput
from supervisor.runtime.daemon.running.runner_tools import Tools
from supervisor.runtime.daemon.running.timers import Timers
from supervisor.runtime.journal.journal import JournalState
from supervisor.runtime.log import log
from supervisor.runtime.processes import shim_client, shim_events, shim_remains
from supervisor.runtime.processes.agent_link import AgentLink
from supervisor.runtime.processes.bounds.limits import Enforcer
from supervisor.runtime.processes.hand_stop import noted_stop
from supervisor.runtime.processes.identity import read_identity
from supervisor.runtime.processes.leftovers import EndedProcesses, end_by_hand, find_held, survivors
from supervisor.runtime.shim import wire

FREEZE_ID = "session"
"""The id of every freeze by the session: its answer is an event, unlike that to a freeze which keeps a limit."""

SILENT_ATTEMPTS = 5
"""Attempts after which a shim that does not answer is an incident. One that was killed still exists for a moment
after its socket closed, on a busy machine for more than a second."""

FIND_AGAIN_SECONDS = 1.0
"""Pause before a living shim that does not answer is asked again; nothing of the agent is lost meanwhile."""

SHIM_ENDS_SECONDS = 10.0
"""Longest time for a shim to end its tree, after which it is ended without it. The shim waits 5 s at most for
processes that the kernel holds, and some milliseconds usually."""

GIVE_UP_SECONDS = 5.0
"""How long the end of a tree is waited for after a failure of our own: it takes 0.2 s."""


@dataclass(frozen=True, slots=True)
class CommandBatch:
    """Commands, and the record that must be written before they are performed."""

    after: int
    commands: Sequence[Command]
    failure: Exception | None = None
    """The error that took the place of commands; raised in the runner, which ends its agent."""


class Runner:
    """Performs the commands of one agent until it has ended.

    Args:
        agent: Its name.
        tools: What runners share.
        ended: Tells whether the agent's session has ended.
        offset: Where in the agent's output reading begins.
        errors: Where in its error output.
        shim: One that was found alive.
        held: What holds the agent's processes, where they were started before.
        identity: Who they are, as the journal has it.
    """

    def __init__(
        self,
        agent: str,
        tools: Tools,
        ended: Callable[[], bool],
        offset: int = 0,
        shim: AgentLink | None = None,
        held: str = "",
        errors: int = 0,
        identity: Identity | None = None,
    ) -> None:
        self.agent = agent
        self.done = anyio.Event()
        """Set once nothing is performed any more."""
        self._tools = tools
        self._ended = ended
        self._shim = shim
        self._held = held
        self._identity = identity
        self._tasks: TaskGroup | None = None
        self._enforcer: Enforcer | None = None
        self._limited: ApplyLimits | None = None
        self._digest: str | None = None
        self._output = AgentOutput(agent, tools, offset, errors)
        self._put, self._take = anyio.create_memory_object_stream[CommandBatch](math.inf)
        self._queued = 0
        """Batches for the task of `run` that are not performed yet."""
        self._at_once: deque[CommandBatch] = deque()
        """Answers that nothing but the journal holds up, oldest first; all are older than what is queued."""
        self._runs = False

    def perform(self, batch: CommandBatch) -> None:
        """Queue commands; called in the event loop, in the order of the journal."""
        if self._shim is not None and any(isinstance(command, Freeze) for command in batch.commands):
            self._freeze()
            rest = [command for command in batch.commands if not isinstance(command, Freeze)]
            batch = replace(batch, commands=rest)
        if self._shim is not None and self._tools.journal.state is JournalState.OPEN:
            batch = replace(batch, commands=[command for command in batch.commands if not self._sent_early(command)])
        if all(map(_only_answers, batch.commands)) and not (batch.failure or self._queued or not self._runs):
            self._at_once.append(batch)
            self._tools.journal.when_written(batch.after, self._written)
        else:
            self._queue(batch)

    def _queue(self, batch: CommandBatch) -> None:
        # Closed once the agent has ended: nothing is left to be done for it.
        with contextlib.suppress(anyio.ClosedResourceError):
            self._put.send_nowait(batch)
            self._queued += 1

    def _send_written(self) -> None:
        """Send the answers that the journal has, of those that nothing else holds up."""
        while self._at_once and self._at_once[0].after <= self._tools.journal.last_written:
            for command in self._at_once.popleft().commands:
                if isinstance(command, LookAtChanges):
                    self._tools.look(self.agent, command)
                elif isinstance(command, SendLine):
                    self._steer(command)

    def _written(self) -> None:
        """Send what the journal has. Called by the loop and not by a task, so that what is wrong is left to `run`."""
        try:
            self._send_written()
        except Exception as error:  # noqa: BLE001 - raised by `run`, which ends the agent
            self._queue(CommandBatch(0, (), error))
        if self._tools.journal.state in (JournalState.POISONED, JournalState.CLOSED):
            while self._at_once:
                self._queue(self._at_once.popleft())  # for `run`, which says why nothing is written any more
        elif self._ended():
            self._queue(CommandBatch(0, ()))  # for `run`, which may be through

    async def run(self) -> None:
        """Perform and listen until the agent has ended."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            timers = Timers(tasks, self._ran_out)
            if self._shim is not None:
                self._listen(tasks, self._shim)
            self._runs = True
            async for batch in self._take:
                if batch.failure is not None:
                    raise batch.failure
                await self._tools.journal.written(batch.after)
                self._send_written()  # which is older than this batch
                for command in batch.commands:
                    await self._do(command, tasks, timers)
                self._queued -= 1
                if self._ended() and not self._queued and not self._at_once:
                    break
            tasks.cancel_scope.cancel()
        await anyio.to_thread.run_sync(self._tools.launcher.clear, self._held)

    def _ran_out(self, timer: str) -> None:
        """Tell the session that a timer ran out; that of another try waits for the agent's turn."""
        if timer == RETRY:
            self._tools.in_turn(self.agent, lambda: self._tell_of_timer(timer))
        else:
            self._tell_of_timer(timer)

    def _tell_of_timer(self, name: str) -> None:
        self._tools.happened(events.TimerFired(**self._stamp(), name=name))

    def close(self) -> None:
        """Let go of the shim; the agent, if it lives, goes on."""
        if self._shim is not None:
            self._shim.close()
        self._put.close()
        self._take.close()
        self.done.set()

    async def _do(self, command: Command, tasks: TaskGroup, timers: Timers) -> None:
        match command:
            case WriteEvent():
                pass  # it is in the journal
            case Freeze():
                self._freeze()  # the tree was not launched yet as the batch was queued
            case StartTimer():
                timers.start(command.name, command.after_seconds)
            case StopTimer():
                timers.stop(command.name)
            case ReportIncident():
                await self._tools.incidents.report(command.incident, command.report)
            case Launch():
                await self._launch(command, tasks)
            case ApplyLimits():
                self._limited = command
                if self._enforcer is not None:
                    await self._enforcer.apply(command.limits, command.usual_memory_mb)
            case Capture():
                self._tools.capture(self.agent, command)
            case LookAtChanges():
                self._tools.look(self.agent, command)
            case LookAtGrounds():
                self._tools.look_again(self.agent, command)
            case ReviewElsewhere():
                self._tools.review(self.agent, command)
            case LookAtSettings():
                tasks.start_soon(self._look_at_settings, command.workspace, name=f"settings of {self.agent}")
            case RestoreCheckpoint():
                self._tools.restore(self.agent, command)
            case _:
                self._steer(command)

    def _freeze(self) -> None:
        if self._shim is None:
            return
        if self._enforcer is not None:
            self._enforcer.stand_back(thaw=False)
        self._shim.freeze(FREEZE_ID)

    def _sent_early(self, command: Command) -> bool:
        """Send a line at once that need not wait for the journal; whether it was one."""
        asynchronous = isinstance(command, SendLine) and command.asynchronous
        if isinstance(command, SendLine) and asynchronous:
            self._steer(command)
        return asynchronous

    def _steer(self, command: SendLine | CloseInput | Terminate | Thaw | EndTree) -> None:
        """Pass a command to the shim. If there is none any more, the agent's end is on its way to the session."""
        if self._shim is None:
            return
        if self._enforcer is not None and not isinstance(command, SendLine | Thaw):
            self._enforcer.stand_back(thaw=True)
        match command:
            case SendLine():
                if self._enforcer is not None:
                    self._enforcer.answering()
                self._shim.send_line(command.key, command.line)
            case CloseInput():
                self._shim.close_input()
            case Terminate():
                self._shim.terminate()
            case Thaw():
                self._shim.thaw()
                if self._enforcer is not None:
                    self._enforcer.go_on()
            case EndTree():
                self._shim.end_tree()
                if self._tasks is not None:
                    self._tasks.start_soon(self._see_it_end, self._shim, name=f"end of {self.agent}")

    async def _see_it_end(self, shim: AgentLink) -> None:
        """End a tree that its shim does not end: a program of the agent may have stopped the shim."""
        await anyio.sleep(SHIM_ENDS_SECONDS)
        if self._shim is not shim:
            return
        what = (
            f"The process that holds the CLI of agent {self.agent} did not end its processes within {SHIM_ENDS_SECONDS:g} s. "
            "They are ended without it."
        )
        known = self._identity
        # Where it did end them, what it said of that is not read: nothing is while the disk is full.
        held = None if known is None else await anyio.to_thread.run_sync(find_held, known)
        if held is None or held:
            self._tools.fault(self.agent, "shim_silent", what, Severity.CRITICAL)
        await end_by_hand(self._identity, shim.directory)  # by which the connection closes, and the rest is read

    async def _launch(self, command: Launch, tasks: TaskGroup) -> None:
        if command.number > 1:
            await anyio.to_thread.run_sync(self._tools.launcher.clear, self._held)
            self._output = AgentOutput(self.agent, self._tools)
            if self._tools.before_relaunch is not None:
                try:
                    await self._tools.before_relaunch(self.agent)
                except ChaperonError as error:
                    self._tools.happened(events.LaunchFailed(**self._stamp(), error=error.what))
                    return
        try:
            brings = await anyio.to_thread.run_sync(self._tools.launcher.brings, self.agent, command.workspace)
        except OSError as error:
            self._tools.happened(
                events.LaunchFailed(
                    **self._stamp(), error=f"What the repository's settings bring could not be read: {error}."
                )
            )
            return
        self._digest = brings.repository.found.digest
        if found := brings.event(self._stamp()):
            self._tools.happened(found)
        with anyio.CancelScope(shield=True):  # a daemon that ends meanwhile must leave a whole agent or none
            try:
                had = self._tools.had_session(command.resume_session or command.task.resume_session or "")
                shim = await self._tools.launcher.launch(self.agent, command, brings, had)
            except shim_client.LaunchError as error:
                self._tools.happened(events.LaunchFailed(**self._stamp(), error=str(error)))
                return
        self._identity = shim.identity
        self._listen(tasks, shim)
        self.launched(shim, command.number)

    async def _look_at_settings(self, workspace: str) -> None:
        """Report settings that differ from those that the CLI was started with, if these are known."""
        before, number = self._digest, self._held
        now = await anyio.to_thread.run_sync(self._tools.launcher.brings, self.agent, workspace)
        if before not in (None, now.repository.found.digest) and number == self._held:
            self._tools.happened(events.SettingsSwapped(**self._stamp(), digest=now.repository.found.digest))

    def launched(self, shim: AgentLink, number: int) -> None:
        """Tell the session that its processes run."""
        self._tools.happened(
            events.AgentLaunched(
                **self._stamp(),
                shim_pid=shim.pid,
                cli_pid=shim.cli_pid,
                containment=shim.containment,
                number=number,
                identity=shim.identity,
                account=self._tools.account(),
            )
        )

    def _listen(self, tasks: TaskGroup, shim: AgentLink) -> None:
        self._shim, self._held = shim, shim.containment
        self._enforce(tasks, shim)
        tasks.start_soon(self._hear, shim, name=f"shim of {self.agent}")

    def _enforce(self, tasks: TaskGroup, shim: AgentLink) -> None:
        """Keep limits on this shim's tree, and those that were in force on the one before it."""
        if self._enforcer is not None:
            self._enforcer.stand_back(thaw=False)
        enforcer = self._enforcer = Enforcer(
            shim,
            lambda ceiling: self._tools.launcher.limit(shim.containment, ceiling),
            lambda: self._tools.answers_due(self.agent),
        )
        tasks.start_soon(enforcer.run, name=f"limits of {self.agent}")
        if self._limited is not None:
            tasks.start_soon(enforcer.apply, self._limited.limits, self._limited.usual_memory_mb)

    async def _hear(self, shim: AgentLink) -> None:
        """Tell the session all that the shim tells, through broken connections, until the agent has ended."""
        while not await self._hear_out(shim):
            again = await self._find_again(shim.directory)
            if not isinstance(again, shim_client.ShimClient):
                self._forget(shim)
                await self.read_what_is_left(shim.directory, again)
                break
            self._shim = shim = again
            if self._enforcer is not None:
                self._enforcer.reattached(again)
            self._tools.reattached(self.agent)
        shim.close()
        self._forget(shim)

    def _forget(self, shim: AgentLink) -> None:
        """It has gone; another may have been launched meanwhile."""
        if self._shim is shim:
            self._shim = None

    async def _find_again(self, directory: Path) -> shim_client.ShimClient | str:
        """Return the shim, if it lives although it closed the connection.

        Otherwise the reason why it cannot be reached, empty if it has gone.
        """
        attempts = 0
        while True:
            try:
                return await shim_client.ShimClient.attach(directory, *self._output.received, self._identity)
            except shim_client.ShimSilentError as error:
                attempts += 1
                if attempts == SILENT_ATTEMPTS:
                    self._tools.fault(self.agent, "shim_silent", str(error))
                await anyio.sleep(FIND_AGAIN_SECONDS)
            except shim_client.ShimReplacedError as error:
                return str(error)
            except (shim_client.ShimGoneError, OSError):
                return ""

    async def _hear_out(self, shim: AgentLink) -> bool:
        """Tell the session all that comes by this connection; whether the agent's end was among it."""
        exited = False
        async for heard in shim.events():
            match heard:
                case shim_events.CliOutput():
                    await self._output.read(heard.data)
                case shim_events.Errors():
                    await self._output.read_errors(heard.data)
                case shim_events.Accepted():
                    self._tools.happened(events.InputAccepted(**self._stamp(), key=heard.key))
                case shim_events.Frozen() if self._keeps_limits(heard.id):
                    pass
                case shim_events.Frozen():
                    self._tools.happened(events.TreeFrozen(**self._stamp(), micros=heard.micros))
                case shim_events.TreeKilled():
                    left = max(heard.left, len(await self._survivors()))
                    self._tools.happened(events.TreeEnded(**self._stamp(), micros=heard.micros, left=left))
                case shim_events.Exited():
                    exited = True
                    if heard.record.left or await self._survivors():
                        await self._end_the_rest(shim.directory)
                    await self._heed_stop(shim.directory)
                    self._output.exited(heard.record)
                case shim_events.Fault(kind=wire.NOT_FROZEN) if self._keeps_limits(heard.id):
                    log.info("agent %s: %s It is tried again.", self.agent, heard.text)
                case shim_events.Fault(kind=wire.LINE_REFUSED):
                    log.info("agent %s: %s", self.agent, heard.text)  # its end is on the way, and tells of itself
                case shim_events.Fault():
                    self._tools.fault(self.agent, "shim_fault", heard.text)
        return exited

    def _keeps_limits(self, id_: str) -> bool:
        """Whether the freeze of this id was for a limit, and not for the session."""
        return self._enforcer is not None and self._enforcer.is_own(id_)

    async def _survivors(self) -> set[int]:
        """Return the survivors of a tree that the shim reports as ended, by a look of our own."""
        return set() if self._identity is None else await anyio.to_thread.run_sync(survivors, self._identity)

    async def _end_the_rest(self, directory: Path) -> None:
        """End processes that live although the agent is reported as ended, and report them if there were any."""
        cleared = await end_by_hand(self._identity, directory)
        if cleared is not None and cleared.found:
            what = f"Agent {self.agent} was said to have ended, with nobody left. A look showed otherwise: {cleared}."
            self._tools.fault(self.agent, "processes_left", what, Severity.CRITICAL)

    async def read_what_is_left(self, directory: Path, replaced: str = "") -> bool:
        """The shim is gone: tell the session the rest of the output and how the agent ended, or that it was lost.

        Args:
            directory: The shim's.
            replaced: Why the shim, which lives, cannot be reached; the agent is then ended first.

        Returns:
            Whether there was an exit record.
        """
        stopped = await self._heed_stop(directory)
        cleared = await end_by_hand(self._identity, directory) if replaced else None
        seal = await anyio.to_thread.run_sync(self._tools.launcher.seal_of, directory)
        record = await anyio.to_thread.run_sync(shim_remains.read_exit_record, directory, seal)
        printed, erred = self._output.received
        rest = shim_remains.read_rest(directory, printed, seal)
        while data := await anyio.to_thread.run_sync(next, rest, b""):  # a piece at a time: it may be gigabytes
            await self._output.read(data)
        errors = await anyio.to_thread.run_sync(shim_remains.read_errors, directory, erred, seal)
        await self._output.read_errors(errors)
        if replaced:
            what = f"Agent {self.agent} can no longer be watched over and was ended. {replaced} {_done(cleared)}."
            self._tools.fault(self.agent, "shim_replaced", what, Severity.CRITICAL)
            self._tools.happened(
                events.AgentVanished(
                    **self._stamp(), reason=f"ended by chaperon: {replaced} {_done(cleared)}", ours=True
                )
            )
            return False
        if record is not None:
            await self._end_the_rest(directory)
            self._output.exited(record)
            return True
        identity = self._identity or await anyio.to_thread.run_sync(read_identity, directory)
        if identity is not None:
            self._held = self._held or (f"cgroup:{identity.cgroup}" if identity.cgroup else "")
        cleared = await end_by_hand(identity, directory)
        if stopped and cleared is not None and not cleared.left:  # its shim was ended with it, as was wanted
            self._tools.happened(events.AgentExited(**self._stamp(), code=None, signal=signal.SIGKILL))
            return False
        self._tools.happened(
            events.AgentVanished(**self._stamp(), reason=f"the process that held its CLI was killed; {_done(cleared)}")
        )
        return False

    async def _heed_stop(self, directory: Path) -> bool:
        """Take in a stop that a person made while no daemon answered, before the end that it led to.

        Returns whether there was one.
        """
        stop = await anyio.to_thread.run_sync(noted_stop, directory)
        if stop is not None and not self._ended():
            self._tools.happened(events.StopRequested(**self._stamp(), by=stop.by, reason=stop.reason, force=True))
        return stop is not None

    async def give_up(self, why: str) -> bool:
        """End the agent after a failure of our own, since it is no longer watched. Returns whether its end was seen."""
        gone = False
        if self._shim is not None:
            self._shim.give_up()
            with anyio.move_on_after(GIVE_UP_SECONDS):
                async for heard in self._shim.events():
                    if isinstance(heard, shim_events.Exited):
                        gone = True
                        break
        self._tools.happened(events.AgentVanished(**self._stamp(), reason=f"chaperon failed: {why}", ours=True))
        return gone

    def _stamp(self) -> EventStamp:
        return self._tools.clock.stamp(self.agent)


def _only_answers(command: Command) -> bool:
    """Whether a command is of those by which a call is answered: none of them waits for anything, or begins a task."""
    return isinstance(command, WriteEvent | SendLine) or (isinstance(command, LookAtChanges) and command.review is None)


def _done(cleared: EndedProcesses | None) -> str:
    """Describe the end of an agent's processes, or that nothing is known of them."""
    return (
        "nobody knows who its processes were, so whether some are left is not known"
        if cleared is None
        else str(cleared)
    )
