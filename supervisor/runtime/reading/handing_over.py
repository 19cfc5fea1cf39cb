"""Handing a connection over: what a route returns whose answer another process gives."""

from typing import Any

from fastapi import Response
from starlette.types import Receive, Scope, Send

from supervisor.runtime.reading.jobs import ReadJob
from supervisor.runtime.reading.reader import ReadingService
from supervisor.runtime.socket.json_protocol import JsonProtocol

CONNECTION = "connection"
"""Under which name routes find the connection that they are asked on, in the request's state."""


class HandOverProtocol(JsonProtocol):
    """HTTP with a peer whose connection can be given away."""

    def __init__(self, **about: Any) -> None:
        """Speak HTTP; routes find this in the state of each request."""
        super().__init__(**about)
        self.app_state = {**self.app_state, CONNECTION: self}

    def hand_over(self, reader: ReadingService, job: ReadJob) -> None:
        """Have a job answered on this connection, and let go of it.

        Raises:
            UnavailableError: It cannot be; the connection is as it was.
        """
        self.transport.pause_reading()
        try:
            reader.take(self.transport.get_extra_info("socket").fileno(), job)
        except BaseException:
            self.transport.resume_reading()
            raise
        self.transport.abort()  # closes our descriptor of it

    async def sent(self) -> None:
        """Wait until the peer has taken all that was answered before on this connection, or has gone."""
        self.transport.set_write_buffer_limits(0)
        if self.flow.write_paused:
            await self.flow.drain()


class AnsweredElsewhere(Response):
    """An answer that the reading process gives.

    Args:
        reader: Who has it given.
        wanted: What is asked for: one of the jobs of `supervisor.runtime.reading.jobs`.
    """

    def __init__(self, reader: ReadingService, wanted: object) -> None:
        """Hand nothing over yet: that is done where the answer would be sent."""
        super().__init__()
        self._reader = reader
        self._wanted = wanted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - nothing is sent from here
        """Hand the connection over; raises like `ReadingService.take`."""
        connection: HandOverProtocol = scope["state"][CONNECTION]
        await connection.sent()
        if not connection.transport.is_closing():
            connection.hand_over(self._reader, ReadJob(self._wanted, scope["http_version"]))
        while (await receive())["type"] != "http.disconnect":
            pass
