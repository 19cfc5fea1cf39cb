"""When a line goes to the shim; all else that a runner does, tests/supervisor/runtime/daemon/test_daemon.py shows in a daemon."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest

from interventions.decisions import Incident
from supervisor.protocol.commands import ReportIncident, SendLine
from supervisor.runtime.daemon.running.runner import CommandBatch, Runner
from supervisor.runtime.daemon.running.runner_tools import Tools
from supervisor.runtime.journal.journal import JournalClosedError, JournalState
from supervisor.runtime.processes.shim_client import ShimClient


@dataclass
class Waiting:
    """A journal that has not written anything yet, and a shim, as far as a runner asks them before it waits."""

    state: JournalState
    sent: list[str] = field(default_factory=list)

    @property
    def journal(self) -> "Waiting":
        return self

    def close(self) -> None:
        pass

    def send_line(self, key: str, _line: bytes) -> None:
        self.sent.append(key)


@pytest.mark.parametrize(("state", "sent"), [(JournalState.OPEN, ["b"]), (JournalState.FULL, [])])
def test_an_asynchronous_line_does_not_wait_for_the_journal_unless_its_disk_is_full(
    state: JournalState, sent: list[str]
) -> None:
    both: Any = Waiting(state)
    runner = Runner("a1", cast("Tools", both), ended=lambda: False, shim=cast("ShimClient", both))
    runner.perform(CommandBatch(1, [SendLine("a", b"{}"), SendLine("b", b"{}", asynchronous=True)]))
    assert both.sent == sent
    left = runner._take.receive_nowait().commands
    assert [command.key for command in left if isinstance(command, SendLine)] == [k for k in "ab" if k not in sent]
    runner.close()


@dataclass
class Written:
    """A journal that writes when it is told to, and a shim that keeps what was sent to it."""

    last_written: int = 0
    state: JournalState = JournalState.OPEN
    sent: list[str] = field(default_factory=list)
    calls: list[tuple[int, Callable[[], object]]] = field(default_factory=list)
    changed: anyio.Event = field(default_factory=anyio.Event)
    containment: str = ""
    pid: int = 0
    cli_pid: int = 0
    account: str = ""

    @property
    def journal(self) -> "Written":
        return self

    @property
    def incidents(self) -> "Written":
        return self

    async def report(self, incident: str, _report: object) -> None:
        await anyio.lowlevel.checkpoint()
        self.sent.append(incident)

    def when_written(self, n: int, do: Callable[[], object]) -> None:
        self.calls.append((n, do))

    async def written(self, n: int) -> None:
        while self.last_written < n:
            if self.state is JournalState.POISONED:
                raise JournalClosedError("here")
            await self.changed.wait()

    def write(self, n: int, state: JournalState = JournalState.OPEN) -> None:
        self.last_written, self.state = n, state
        due = [do for wanted, do in self.calls if wanted <= n or state is JournalState.POISONED]
        self.calls = [(wanted, do) for wanted, do in self.calls if wanted > n]
        for do in due:
            do()
        self.changed.set()
        self.changed = anyio.Event()

    async def events(self) -> AsyncIterator[object]:
        await anyio.sleep_forever()
        yield None

    def limit(self, *_: object) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        pass

    def send_line(self, key: str, _line: bytes) -> None:
        self.sent.append(key)


@asynccontextmanager
async def running(both: Any) -> AsyncIterator[Runner]:
    runner = Runner("a1", cast("Tools", both), ended=lambda: False, shim=cast("ShimClient", both))
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runner.run)
            await anyio.wait_all_tasks_blocked()
            yield runner
            tasks.cancel_scope.cancel()
    finally:
        runner.close()


def line(n: int) -> CommandBatch:
    return CommandBatch(n, [SendLine(f"line {n}", b"{}")])


async def test_an_answer_is_sent_in_the_moment_in_which_the_journal_has_it_and_not_before() -> None:
    both = Written()
    async with running(both) as runner:
        runner.perform(line(1))
        runner.perform(line(2))
        assert both.sent == []
        both.write(1)
        assert both.sent == ["line 1"]  # no round of the loop was between
        both.write(2)
        assert both.sent == ["line 1", "line 2"]


async def test_what_takes_time_is_waited_for_by_what_comes_after_it_and_waits_for_what_was_before() -> None:
    both = Written()
    async with running(both) as runner:
        runner.perform(line(1))
        incident = ReportIncident(cast("Incident", "incident"))
        runner.perform(CommandBatch(2, [incident]))
        runner.perform(line(3))
        both.last_written = 3  # with the kernel, and the loop was not told yet
        both.changed.set()
        await anyio.wait_all_tasks_blocked()
        assert both.sent == ["line 1", "incident", "line 3"]
        both.write(3)
        runner.perform(line(4))
        both.write(4)
        assert both.sent == ["line 1", "incident", "line 3", "line 4"]


async def test_a_journal_that_fails_ends_the_runner_whose_commands_wait_for_it() -> None:
    both = Written()
    runner = Runner("a1", cast("Tools", both), ended=lambda: False, shim=cast("ShimClient", both))

    async def fail() -> None:
        await anyio.wait_all_tasks_blocked()
        runner.perform(line(1))
        both.write(0, JournalState.POISONED)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(fail)
        with pytest.raises(ExceptionGroup) as raised:
            await runner.run()
    runner.close()
    assert raised.group_contains(JournalClosedError)
    assert both.sent == []
