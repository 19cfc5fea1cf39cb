"""What an agent printed, whole and cut; tests/supervisor/runtime/daemon/test_daemon.py has lines over the cap."""

from dataclasses import dataclass, field
from typing import Any, cast

from supervisor.protocol import events
from supervisor.runtime.clock import Clock
from supervisor.runtime.daemon.running.agent_output import AgentOutput
from supervisor.runtime.daemon.running.runner_tools import Tools
from supervisor.runtime.processes.shim_events import ExitRecord


@dataclass
class Heard:
    """A journal with room, and a daemon that keeps what happened."""

    happened_: list[Any] = field(default_factory=list)
    accepting: bool = True
    clock: Clock = field(default_factory=Clock)

    @property
    def journal(self) -> "Heard":
        return self

    def happened(self, event: events.AnyEvent) -> None:
        self.happened_.append(event)


async def test_a_line_is_told_once_it_is_whole_and_what_was_cut_before_the_end() -> None:
    heard = Heard()
    output = AgentOutput("a1", cast("Tools", heard), offset=7)
    await output.read(b'{"type":')
    assert heard.happened_ == []
    await output.read(b'"x"}\nno json')
    await output.read_errors(b"oh\n")
    assert output.received == (7 + 20, 3)
    output.exited(ExitRecord("a1", code=1, stderr_tail="oh"))
    first, erred, cut, end = heard.happened_
    assert (first.kind, first.end, first.frame) == ("line_received", 7 + 13, {"type": "x"})
    assert (erred.text, erred.agent) == ("oh", "a1")
    assert (cut.frame, cut.text, cut.end) == (None, "no json", 7 + 20)
    assert isinstance(end, events.AgentExited)
    assert (end.code, end.stderr_tail) == (1, "oh")
