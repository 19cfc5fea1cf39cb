"""When a line goes to the shim; all else that a runner does, tests/supervisor/runtime/daemon/test_daemon.py shows in a daemon."""

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from supervisor.protocol.commands import SendLine
from supervisor.runtime.daemon.runner import CommandBatch, Runner, Tools
from supervisor.runtime.journal.journal import JournalState
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
