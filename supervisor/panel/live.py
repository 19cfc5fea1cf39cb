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
from supervisor.cli.output.view import View
from supervisor.panel.asked import TaskQuery, number_in
from supervisor.panel.feed import Feed
from supervisor.panel.link import UNREACHABLE, UNREADABLE, PanelLink, UnreadableError
from supervisor.panel.pages.agents.agent import agent_head
from supervisor.panel.pages.agents.board import Cards, SentCards, board
from supervisor.panel.pages.agents.timeline import timeline_rows
from supervisor.panel.pages.parts import rendered
from supervisor.panel.pages.task import task_body
from supervisor.panel.pages.tasks import tasks_list
from supervisor.panel.present import Present
from supervisor.panel.reading import agent_data, task_data, tasks_data
from supervisor.panel.task_groups import listed
from supervisor.runtime.clock import Clock

PAUSE_SECONDS = 0.03
"""Between two updates of a page, which is to show what happened within 100 ms: the second of two events that come
together waits for it."""

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
        present: What the board shows.
        cards: Makes the cards of agents.
    """

    def __init__(self, link: PanelLink, feed: Feed, present: Present, cards: Cards) -> None:
        self._link, self._feed, self._clock = link, feed, Clock()
        self._present_, self._cards = present, cards

    def board(self, request: Request) -> StreamingResponse:
        """The stream of the board, or of the agents with a label. A card that the browser has is not sent again."""
        label, sent, shown = request.query_params.get("label", ""), SentCards(self._cards), ""

        async def update() -> list[str]:
            nonlocal shown
            data = await self._present_.read(fresh=not shown)
            self._cards.keep(data.agents)
            before, shown = shown, rendered(board(data, label, sent.card))
            sent.sent()
            return [] if before == shown else [message("fragment", self._feed.last, id="board", html=shown)]

        return self._stream(update)

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
            if self._feed.last - seen > FURTHEST or await self._is_of_another_journal(seen):
                return [message("reload", None)]
            records = await self._link.records("/v1/events", after=seen, agent=name)
            if records:
                seen = int(records[-1]["n"])
                rows = "".join(rendered(row.html) for row in reversed(timeline_rows(records, view)))
                if rows:
                    made.append(message("rows", seen, id="timeline", html=rows))
            return made

        return self._stream(update, lambda: self._feed.changed(name))

    async def _is_of_another_journal(self, seen: int) -> bool:
        """Whether a number is further than the journal is: it was begun anew, and the page is of the one before."""
        if seen <= self._feed.last:
            return False
        return seen > int((await self._link.get("/v1/health"))["last_event"])

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
                except UNREADABLE as error:
                    yield message("gone", None, what=str(UnreadableError(error)))
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
