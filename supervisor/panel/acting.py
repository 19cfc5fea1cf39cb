"""The routes of the panel's actions: a page's form is read, the daemon asked, and what came of it told."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from monitors.contract import anyjson
from monitors.contract.errors import ChaperonError, UsageError
from supervisor.cli.client_errors import MisusedError
from supervisor.panel.actions import ACTIONS, Body, PanelAction, number, text
from supervisor.panel.link import UNREACHABLE, PanelLink
from supervisor.panel.pages.parts import path
from supervisor.panel.trials import Trial, Trials
from supervisor.runtime.clock import Clock

LONGEST_BODY = 256 * 1024
"""Bytes of a form: a text for an agent is some thousand, and the keys of a policy some ten thousand."""


def action_routes(link: PanelLink) -> list[Route]:
    """Return the routes of all actions."""
    return [Route(each.path, _endpoint(link, each), methods=["POST"]) for each in ACTIONS]


def _endpoint(link: PanelLink, action: PanelAction) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            parts = {**request.path_params}
            body = await read_body(request)
            typed = next(reversed(parts.values()), "")
            if action.confirm and body.get("confirm") != typed:
                raise UsageError(f"Nothing was changed: what was typed is not {typed}.")
            done = await _ask(link, action, {**body, **parts, "checkpoint": typed, "now": Clock().wall()})
        except ChaperonError as error:
            return refused(error)
        told: dict[str, Any] = {"says": action.says(done), "done": done if isinstance(done, dict) else {}}
        return JSONResponse({**told, "go": go} if (go := action.page(done, body)) else told)

    return answer


def trial_routes(trials: Trials) -> list[Route]:
    """Return the routes that begin and end trials; these ask nothing of the daemon but its journal."""

    def route(path_: str, act: Callable[[Body, str], Trial]) -> Route:
        async def answer(request: Request) -> Response:
            try:
                trial = act(await read_body(request), request.path_params.get("trial", ""))
            except ChaperonError as error:
                return refused(error)
            return JSONResponse({"says": f"{trial.id} was begun.", "go": path("trials", trial.id)})

        return Route(path_, answer, methods=["POST"])

    return [
        route("/trials/replay", lambda body, _: trials.replay(text("policy")(body), number(body, "days"))),
        route("/trials/rehearse", lambda body, _: trials.rehearse(text("scenario")(body))),
        route("/trials/{trial}/cancel", lambda _, id_: trials.cancel(id_)),
    ]


async def _ask(link: PanelLink, action: PanelAction, body: Body) -> Any:
    target = action.target(body)
    if action.method == "DELETE":
        return await link.delete(target)
    return await link.post(target, action.body(body), seconds=None)


def refused(error: ChaperonError) -> JSONResponse:
    """Return the answer to an action that failed."""
    status = 503 if isinstance(error, UNREACHABLE) else 422 if isinstance(error, MisusedError | UsageError) else 409
    return JSONResponse({"what": error.what, "way_out": error.way_out}, status)


async def read_body(request: Request) -> Body:
    """Return the JSON object that a page sent.

    Raises:
        UsageError: It is none, or too long. Nothing was done.
    """
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > LONGEST_BODY:
            raise UsageError(f"More than {LONGEST_BODY:,} bytes were sent; nothing was done.")
    try:
        body = anyjson.decode(bytes(data) or b"{}")
    except ValueError as error:
        raise UsageError("What was sent is no JSON; nothing was done.") from error
    if not isinstance(body, dict):
        raise UsageError("What was sent is no object; nothing was done.")
    return body
