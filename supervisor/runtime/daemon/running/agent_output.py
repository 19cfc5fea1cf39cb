"""The output of an agent's CLI, as it comes from a shim or from its files: told to the session line by line."""

from collections.abc import Iterable

import anyio.lowlevel

from monitors.contract.wording import size
from supervisor.protocol import events
from supervisor.protocol.claude.messages import decode, request_id_of
from supervisor.protocol.events import EventStamp
from supervisor.protocol.lines import Line, LineSplitter, OversizedLine
from supervisor.runtime.daemon.running.runner_tools import Tools
from supervisor.runtime.processes import shim_events
from supervisor.runtime.processes.error_output import ErrorOutput, TakenLine


class AgentOutput:
    """Tells the session of one agent what one launch of its CLI printed, and how it ended.

    Args:
        agent: Its name.
        tools: What runners share.
        offset: Where in the output reading begins.
        errors: Where in the error output.
    """

    def __init__(self, agent: str, tools: Tools, offset: int = 0, errors: int = 0) -> None:
        self._agent = agent
        self._tools = tools
        self._splitter = LineSplitter(offset)
        self._errors = ErrorOutput(errors)

    @property
    def received(self) -> tuple[int, int]:
        """The bytes that came of the output and of the error output."""
        return self._splitter.received, self._errors.received

    async def read(self, data: bytes) -> None:
        """Tell the session the lines that the bytes complete; waits while the journal has no room."""
        for line in self._splitter.feed(data):
            if not self._tools.journal.accepting:
                await self._tools.journal.room()
            self._line(line)
        await anyio.lowlevel.checkpoint()  # one chatty agent must not hold up the answers to others

    def _line(self, line: Line | OversizedLine) -> None:
        if isinstance(line, OversizedLine):
            self._tools.happened(
                events.LinePassedOver(
                    **self._stamp(), start=line.start, end=line.end, request_id=request_id_of(line.head)
                )
            )
            what = f"Agent {self._agent} printed a line of {size(line.end - line.start)}, over the cap; it was passed over."
            self._tools.fault(self._agent, "line_passed_over", what)
            return
        frame = decode(line.data)
        text = line.data.decode(errors="replace") if frame is None else None
        self._tools.happened(events.LineReceived(**self._stamp(), end=line.end, frame=frame, text=text))

    def exited(self, record: shim_events.ExitRecord) -> None:
        """Pass the end of the CLI to the session; a last line that was cut comes first."""
        if cut := self._splitter.finish():
            self._line(cut)
        self._told_of(self._errors.finish())
        self._tools.happened(
            events.AgentExited(
                **self._stamp(),
                code=record.code,
                signal=record.signal,
                stderr_tail=record.error or record.stderr_tail,
                rusage={
                    "user_seconds": record.user_seconds,
                    "system_seconds": record.system_seconds,
                    "max_rss_kib": record.max_rss_kib,
                },
            )
        )

    async def read_errors(self, data: bytes) -> None:
        """Tell the session the lines of error output that the bytes complete; waits while the journal has no room."""
        if not self._tools.journal.accepting:
            await self._tools.journal.room()
        self._told_of(self._errors.feed(data, self._tools.clock.mono()))
        await anyio.lowlevel.checkpoint()  # as in `read`

    def _told_of(self, lines: Iterable[TakenLine]) -> None:
        for line in lines:
            self._tools.happened(
                events.ErrorLineReceived(**self._stamp(), end=line.end, text=line.text, passed_over=line.passed_over)
            )

    def _stamp(self) -> EventStamp:
        return self._tools.clock.stamp(self._agent)
