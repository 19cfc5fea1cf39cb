"""The panel's application: its pages, its streams, its actions and its files."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import htpy as h
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from monitors.contract.errors import ChaperonError, NotFoundError
from supervisor.cli.client_errors import RefusedError
from supervisor.cli.commands.agents import project_checkpoints
from supervisor.cli.common import path_part
from supervisor.cli.output.words import clean
from supervisor.panel import reading
from supervisor.panel.access.door import Address, Door
from supervisor.panel.access.sessions import SESSION_SECONDS, BrowserSession, Sessions
from supervisor.panel.acting import action_routes, trial_routes
from supervisor.panel.asked import TaskQuery, number_in
from supervisor.panel.feed import Feed
from supervisor.panel.link import UNREACHABLE, UNREADABLE, PanelLink, UnreadableError
from supervisor.panel.live import Live
from supervisor.panel.pages.agents.agent import agent_page
from supervisor.panel.pages.agents.board import Cards, board_page
from supervisor.panel.pages.agents.diff import diff_page
from supervisor.panel.pages.agents.use import use_charts, use_page
from supervisor.panel.pages.checkpoints import checkpoint_page, checkpoints_page
from supervisor.panel.pages.discoveries import discoveries_page
from supervisor.panel.pages.incidents import incident_page, incidents_page, line_page
from supervisor.panel.pages.layout import PageFrame, page
from supervisor.panel.pages.parts import empty, rendered
from supervisor.panel.pages.policy import policy_page
from supervisor.panel.pages.projects import project_page, projects_page
from supervisor.panel.pages.reports import SPANS, report_page
from supervisor.panel.pages.sign_in import sign_in_page
from supervisor.panel.pages.task import task_page
from supervisor.panel.pages.tasks import tasks_page
from supervisor.panel.pages.trials import trial_page, trial_part, trials_page
from supervisor.panel.present import Present
from supervisor.panel.task_groups import listed
from supervisor.panel.trials import Trials
from supervisor.report.command import DAY, gather
from supervisor.report.tally import ReportData
from supervisor.runtime.clock import Clock

STATIC = Path(__file__).parent / "static"

Maker = Callable[[Request, PageFrame], Awaitable[h.Renderable]]

LONGEST_CODE = 1_000
"""Bytes of a sign-in form: a code has 43."""


class Panel:
    """Answers browsers.

    Args:
        link: The daemon.
        feed: The journal's progress.
        trials: Rehearsals and replays.
        sessions: Who signed in.
        place: Where browsers find us.
        read_only: Whether nothing may be done.
    """

    def __init__(
        self, link: PanelLink, feed: Feed, trials: Trials, sessions: Sessions, place: Address, *, read_only: bool
    ) -> None:
        self._link, self._feed, self._trials, self._sessions = link, feed, trials, sessions
        self._place, self._read_only = place, read_only
        self._present, self._cards = Present(link, feed), Cards()

    def app(self) -> Door:
        """Return the application."""
        live = Live(self._link, self._feed, self._present, self._cards)
        routes = [
            Mount("/static", StaticFiles(directory=STATIC)),
            Route("/sign-in", self._sign_in, methods=["POST"]),
            Route("/", self._page(self._board)),
            Route("/agents/{agent}", self._page(self._agent)),
            Route("/agents/{agent}/diff", self._page(self._diff)),
            Route("/agents/{agent}/use", self._page(self._use)),
            Route("/tasks", self._page(self._tasks)),
            Route("/tasks/{task}", self._page(self._task)),
            Route("/checkpoints", self._page(self._checkpoints)),
            Route("/checkpoints/{name}", self._page(self._checkpoint)),
            Route("/projects", self._page(self._projects)),
            Route("/projects/{name}", self._page(self._project)),
            Route("/discoveries", self._page(self._discoveries)),
            Route("/incidents", self._page(self._incidents)),
            Route("/incidents/{incident}", self._page(self._incident)),
            Route("/policy", self._page(self._policy)),
            Route("/trials", self._page(self._trials_list)),
            Route("/trials/{trial}", self._page(self._trial)),
            Route("/report", self._page(self._report)),
            Route("/work", self._work),
            Route("/live/board", live.board),
            Route("/live/agents/{agent}", live.agent),
            Route("/live/tasks", live.tasks),
            Route("/live/tasks/{task}", live.task),
            *action_routes(self._link),
            *trial_routes(self._trials),
        ]
        return Door(Starlette(routes=routes), self._place, self._sessions, self._read_only)

    def _page(self, make: Maker) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            session: BrowserSession = request.state.session
            frame = PageFrame(session.token, self._read_only)
            try:
                return HTMLResponse(rendered(await make(request, frame)))
            except ChaperonError as error:
                return _failed(frame, error)
            except UNREADABLE as error:
                return _failed(frame, UnreadableError(error))

        return answer

    async def _board(self, request: Request, frame: PageFrame) -> h.Element:
        data = await self._present.read(fresh=True)
        return board_page(frame, data, request.query_params.get("label", ""), self._cards.whole)

    async def _agent(self, request: Request, frame: PageFrame) -> h.Element:
        name = request.path_params["agent"]
        agent, waiting, merges = await reading.agent_data(self._link, name)
        last = int((await self._link.get("/v1/health"))["last_event"])
        asked = number_in(request.query_params.get("before", ""), last + 1)
        section = await reading.timeline_before(self._link, agent, min(asked, last + 1))
        changes = await reading.changes(self._link, name)
        earlier = section.first if section.first > int(agent.get("first_event") or 1) else 0
        return agent_page(
            frame, agent, waiting, merges, changes, [row.html for row in section.rows], last=last, earlier=earlier
        )

    async def _diff(self, request: Request, frame: PageFrame) -> h.Element:
        return diff_page(frame, await self._link.get(f"{reading.agent_path(request.path_params['agent'])}/diff"))

    async def _use(self, request: Request, frame: PageFrame) -> h.Renderable:
        name = request.path_params["agent"]
        use = await self._link.get(f"{reading.agent_path(name)}/use")
        return use_charts(name, use) if request.query_params.get("part") else use_page(frame, name, use)

    async def _projects(self, _request: Request, frame: PageFrame) -> h.Element:
        return projects_page(frame, await self._link.get(project_checkpoints.PATH))

    async def _project(self, request: Request, frame: PageFrame) -> h.Element:
        at = project_checkpoints.path_of(request.path_params["name"])
        about = {"project": request.query_params.get("project", "")}
        one = await self._link.get(at, **about)
        plan = await self._link.post(f"{at}/plan", {"project": one["project"]}, seconds=None)
        return project_page(frame, one, plan)

    async def _discoveries(self, _request: Request, frame: PageFrame) -> h.Element:
        return discoveries_page(frame, await self._link.get("/v1/discoveries"))

    async def _tasks(self, request: Request, frame: PageFrame) -> h.Element:
        query = TaskQuery.of(request.query_params)
        return tasks_page(frame, listed(*await reading.tasks_data(self._link), query))

    async def _task(self, request: Request, frame: PageFrame) -> h.Element:
        return task_page(frame, *await reading.task_data(self._link, request.path_params["task"]))

    async def _checkpoints(self, request: Request, frame: PageFrame) -> h.Element:
        agent = request.query_params.get("agent", "")
        kept = await self._link.get("/v1/checkpoints", agent=agent)
        return checkpoints_page(frame, kept["checkpoints"], kept["problems"], agent)

    async def _checkpoint(self, request: Request, frame: PageFrame) -> h.Element:
        agent, other = request.query_params.get("agent", ""), request.query_params.get("other", "")
        at = f"/v1/checkpoints/{path_part(request.path_params['name'], 'The list')}"
        one = await self._link.get(at, agent=agent)
        plan: Any = None
        changes: Any = []
        lacks = ""
        try:
            plan = await self._link.post(f"{at}/plan", {"agent": agent})
            changes = await self._link.get(f"{at}/diff", other=other, agent=agent)
        except (
            NotFoundError,
            RefusedError,
        ) as error:  # such as of a workspace that was removed: it can be written elsewhere
            lacks = str(error)
        kept = await self._link.get("/v1/checkpoints", agent=one["facts"]["agent"] or "")
        others = [each["name"] for each in kept["checkpoints"] if each["workspace"] == one["workspace"]]
        return checkpoint_page(frame, one, plan, others, other, changes, lacks)

    async def _incidents(self, _request: Request, frame: PageFrame) -> h.Element:
        return incidents_page(frame, await self._link.records("/v1/incidents"))

    async def _incident(self, request: Request, frame: PageFrame) -> h.Element:
        id_ = request.path_params["incident"]
        at = f"/v1/incidents/{path_part(id_, 'The list')}"
        try:
            report = await self._link.get(at)
        except (NotFoundError, RefusedError):
            lines = [one for one in await self._link.records("/v1/incidents") if one.get("id") == id_]
            if not lines:
                raise
            return line_page(frame, lines[-1])
        return incident_page(frame, {"incident": id_, **report}, await self._link.get(f"{at}/recovery"))

    async def _policy(self, request: Request, frame: PageFrame) -> h.Element:
        command, workspace = request.query_params.get("command", ""), request.query_params.get("workspace", "")
        review = None
        if command.strip():
            wanted = {"tool": "Bash", "input": {"command": command}, "workspace": workspace, "cwd": workspace}
            review = await self._link.post("/v1/review", wanted)
        allowances = await self._link.get("/v1/allowances")
        lessons = await self._link.get("/v1/outcomes")
        return policy_page(frame, await self._gathered(7), allowances, lessons, command, workspace, review)

    async def _trials_list(self, _request: Request, frame: PageFrame) -> h.Element:
        from supervisor.rehearsal.scenario import shipped

        return trials_page(frame, self._trials.all(), list(shipped()))

    async def _trial(self, request: Request, frame: PageFrame) -> h.Renderable:
        trial = self._trials.get(request.path_params["trial"])
        return trial_part(trial) if request.query_params.get("part") else trial_page(frame, trial)

    async def _report(self, request: Request, frame: PageFrame) -> h.Element:
        asked = request.query_params.get("days", "")
        days = next((number for number in SPANS if str(number) == asked), 7)
        return report_page(frame, await self._gathered(days), days)

    async def _gathered(self, days: int) -> ReportData:
        now = Clock().wall()
        return await self._link.ask(lambda daemon: gather(daemon, now - days * DAY, now))

    async def _work(self, _request: Request) -> Response:
        try:
            rows = await self._link.get("/v1/work")
        except ChaperonError:
            rows = []
        return JSONResponse({"says": " · ".join(clean(one["sentence"], 200) for one in rows[:3])})

    async def _sign_in(self, request: Request) -> Response:
        data = bytearray()
        async for part in request.stream():
            data += part
            if len(data) > LONGEST_CODE:
                break
        code = parse_qs(data.decode(errors="replace")).get("code", [""])[0]
        session = self._sessions.begin(code.strip())
        if session is None:
            return HTMLResponse(sign_in_page("This code was used already, or is too old, or is none."), 401)
        answer = RedirectResponse("/", 303)
        secure = request.headers["origin"].startswith("https:")
        answer.set_cookie(
            self._place.cookie,
            session.cookie,
            max_age=int(SESSION_SECONDS),
            httponly=True,
            samesite="strict",
            secure=secure,
        )
        return answer


def _failed(frame: PageFrame, error: ChaperonError) -> Response:
    """Return the page of a failure."""
    away = isinstance(error, UNREACHABLE)
    missing = isinstance(error, NotFoundError | RefusedError)
    title = "The daemon is away" if away else "Not found" if missing else "Failed"
    # The board's stream says when the daemon is back, and the page is then loaded anew.
    shown = page(frame, title, *_error_parts(error, title), live="/live/board" if away else "")
    return HTMLResponse(rendered(shown), 503 if away else 404 if missing else 500)


def _error_parts(error: ChaperonError, title: str) -> tuple[h.Node, ...]:
    return (h.h1[title], h.p[error.what], empty(error.way_out))
