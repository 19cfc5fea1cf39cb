"""Streams of server-sent events: the changing parts of pages as HTML, each with the number of the last event in it.

A browser whose stream broke asks again with the number that it saw last (`Last-Event-ID`, HTML 9.2). A page that shows
the present gets the present; a timeline gets the rows behind that number. Nothing is kept for a browser that is away.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import StreamingResponse

from monitors.contract import anyjson
from monitors.contract.errors import ChaperonError
from supervisor.cli.commands.agents.view import View
from supervisor.panel.asked import TaskQuery, number_in
from supervisor.panel.feed import Feed
from supervisor.panel.link import UNREACHABLE, PanelLink
from supervisor.panel.pages.agent import agent_head
from supervisor.panel.pages.board import board
from supervisor.panel.pages.parts import rendered
from supervisor.panel.pages.task import task_body
from supervisor.panel.pages.tasks import tasks_list
from supervisor.panel.pages.timeline import timeline_rows
from supervisor.panel.reading import agent_data, board_data, task_data, tasks_data
from supervisor.panel.task_groups import listed
from supervisor.runtime.clock import Clock

PAUSE_SECONDS = 0.1
"""Between two updates of a page: faster, no person reads."""

SHARE = 5
"""An update that took some time is followed by a pause of so many times that: the daemon has the rest of its time."""

HEARTBEAT_SECONDS = 15.0
"""Between two signs of life, by which both ends see that a connection broke."""

FURTHEST = 20_000
"""Events between what a browser saw and the present up to which the rows between are sent; behind more, as after a
night, the page is loaded anew, with its last rows."""

Update = Callable[[], Awaitable[list[str]]]
"""Makes the messages of what changed."""


class Live:
    """The streams.

    Args:
        link: The daemon.
        feed: The journal's progress.
    """

    def __init__(self, link: PanelLink, feed: Feed) -> None:
        self._link, self._feed, self._clock = link, feed, Clock()
        self._boards: tuple[int, dict[str, str]] = (-1, {})

    def board(self, request: Request) -> StreamingResponse:
        """The stream of the board, or of the agents with a label."""
        label = request.query_params.get("label", "")

        async def render() -> str:
            at = self._feed.version
            if self._boards[0] != at:  # one rendering for all browsers that ask for the same
                self._boards = (at, {})
            made = self._boards[1]
            if label not in made:
                made[label] = rendered(board(*await board_data(self._link), label))
            return made[label]

        return self._stream(self._present("board", render))

    def tasks(self, request: Request) -> StreamingResponse:
        """The stream of the list of stored tasks."""
        query = TaskQuery.of(request.query_params)

        async def render() -> str:
            return rendered(tasks_list(listed(*await tasks_data(self._link), query)))

        return self._stream(self._present("tasks", render))

    def task(self, request: Request) -> StreamingResponse:
        """The stream of a stored task."""

        async def render() -> str:
            return rendered(task_body(*await task_data(self._link, request.path_params["task"])))

        return self._stream(self._present("task", render))

    def agent(self, request: Request) -> StreamingResponse:
        """The stream of an agent: its head, and the rows of its timeline behind a number."""
        name = request.path_params["agent"]
        asked = request.headers.get("last-event-id") or request.query_params.get("after", "0")
        seen = number_in(asked, 0)
        view, shown = View(), ""

        async def update() -> list[str]:
            nonlocal shown, seen
            made = []
            head = rendered(agent_head(*await agent_data(self._link, name)))
            if head != shown:
                shown = head
                made.append(message("fragment", seen, id="agent", html=head))
            if self._feed.last - seen > FURTHEST:
                return [message("reload", None)]
            records = await self._link.records("/v1/events", after=seen, agent=name)
            if records:
                seen = int(records[-1]["n"])
                rows = "".join(rendered(row.html) for row in reversed(timeline_rows(records, view)))
                if rows:
                    made.append(message("rows", seen, id="timeline", html=rows))
            return made

        return self._stream(update, lambda: self._feed.changed(name))

    def _present(self, id_: str, render: Callable[[], Awaitable[str]]) -> Update:
        """Return the update of a part of a page that shows the present: all of it, if it is other than before."""
        shown = ""

        async def update() -> list[str]:
            nonlocal shown
            before, shown = shown, await render()
            return [] if before == shown else [message("fragment", self._feed.last, id=id_, html=shown)]

        return update

    def _stream(self, update: Update, mark: Callable[[], int] = lambda: -1) -> StreamingResponse:
        return StreamingResponse(self._messages(update, mark), media_type="text/event-stream")

    async def _messages(self, update: Update, mark: Callable[[], int]) -> AsyncIterator[str]:
        """Yield what changed, whenever something did.

        Args:
            update: Makes it.
            mark: Returns what must have changed for a further look; -1 if anything may have.
        """
        yield "retry: 1000\n\n"
        away, at = "", None
        while True:
            version, before = self._feed.version, self._clock.mono()
            if self._feed.away != away:
                away = self._feed.away
                yield message("daemon", None, away=away)
                at = None
            now = mark()
            if not away and (now == -1 or now != at):
                try:
                    for each in await update():
                        yield each
                    at = now
                except UNREACHABLE:
                    at = None  # the feed will say so
                except ChaperonError as error:
                    yield message("gone", None, what=str(error))
            await anyio.sleep(max(PAUSE_SECONDS, SHARE * (self._clock.mono() - before)))
            while self._feed.version <= version:
                with anyio.move_on_after(HEARTBEAT_SECONDS):
                    await self._feed.newer(version)
                if self._feed.version <= version:
                    yield ":\n\n"


def message(kind: str, n: int | None, **data: Any) -> str:
    """Return one server-sent event, its data in one line of JSON."""
    number = "" if n is None else f"id: {n}\n"
    return f"event: {kind}\n{number}data: {anyjson.dumps(data).decode()}\n\n"
