"""The actions of the panel: each is one request to the daemon, which refuses what the command line would be refused."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from monitors.contract import anyjson
from monitors.contract.errors import ChaperonError, UsageError
from supervisor.cli.client import MisusedError
from supervisor.cli.common import path_part
from supervisor.panel.link import UNREACHABLE, PanelLink
from supervisor.panel.pages.checkpoints import address, rolled_back
from supervisor.panel.reading import agent_path, task_path

LONGEST_BODY = 64 * 1024
"""Bytes of an action: a text for an agent is some thousand."""

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PanelAction:
    """An action.

    Args:
        path: On the panel.
        target: The path of the daemon's API, of the parts of ours.
        body: The request to it, of what the page sent.
        says: What is told when it is done, of the daemon's answer.
    """

    path: str
    target: Callable[[Mapping[str, str]], str]
    body: Callable[[Body], Any]
    says: Callable[[Any], str]


def _agent_verb(verb: str, body: Callable[[Body], Any] = lambda _: None) -> PanelAction:
    return PanelAction(
        f"/agents/{{agent}}/{verb}",
        lambda parts: f"{agent_path(parts['agent'])}/{verb}",
        body,
        lambda known: f"{known['agent']} is {known['state']}.",
    )


def _task_verb(verb: str, body: Callable[[Body], Any]) -> PanelAction:
    return PanelAction(
        f"/tasks/{{task}}/{verb}",
        lambda parts: f"{task_path(parts['task'])}/{verb}",
        body,
        lambda known: f"{known['task']} is {known['state']}: {known['why']}",
    )


def _approval_path(parts: Mapping[str, str]) -> str:
    return f"{agent_path(parts['agent'])}/approvals/{path_part(parts['request'], 'The board')}"


def _text(body: Body) -> Any:
    return {"text": str(body.get("text", ""))}


def _rollback(body: Body) -> Any:
    """The request of a rollback, once the checkpoint's name was typed."""
    given = {name: bool(body.get(name)) for name in ("files_only", "fresh", "with_branch", "unusual")}
    return {**given, "text": str(body.get("text", ""))}


ACTIONS = (
    _agent_verb("pause"),
    _agent_verb("resume"),
    _agent_verb("say", _text),
    _agent_verb("redirect", _text),
    _agent_verb("stop", lambda body: {"reason": str(body.get("reason", "")), "force": bool(body.get("force"))}),
    PanelAction(
        "/agents/{agent}/approvals/{request}",
        _approval_path,
        lambda body: {"granted": body.get("granted") is True, "note": str(body.get("note", ""))},
        lambda known: f"{known['agent']} has its answer.",
    ),
    PanelAction(
        "/agents/{agent}/checkpoints",
        lambda parts: f"{agent_path(parts['agent'])}/checkpoints",
        lambda body: {"name": str(body.get("name", "")), "note": str(body.get("note", ""))},
        lambda made: f"{made['name']} holds the workspace.",
    ),
    PanelAction(
        "/incidents/{incident}/recovery",
        lambda parts: f"/v1/incidents/{path_part(parts['incident'], 'The list')}/recovery",
        lambda body: {"option": str(body.get("option", ""))},
        lambda done: str(done["says"]),
    ),
    _task_verb("cancel", lambda body: {"reason": str(body.get("reason", ""))}),
    _task_verb("retry", lambda _: None),
    PanelAction(
        "/merges/{name}/carry-out",
        lambda parts: f"/v1/merges/{path_part(parts['name'], 'chaperon merge')}/carry-out",
        lambda body: {"into": str(body.get("into", ""))},
        lambda done: f"The merge of {done['branch']} is {done['phase']}: {done['why']}",
    ),
)


def action_routes(link: PanelLink) -> list[Route]:
    """Return the routes of all actions."""
    rollback = Route("/checkpoints/{name}/rollback", _rollback_endpoint(link), methods=["POST"])
    revoke = Route("/agents/{agent}/allowances/{id}/revoke", _revoke_endpoint(link), methods=["POST"])
    return [rollback, revoke, *(Route(each.path, _endpoint(link, each), methods=["POST"]) for each in ACTIONS)]


def _endpoint(link: PanelLink, action: PanelAction) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            body = await read_body(request)
            done = await link.post(action.target(request.path_params), action.body(body), seconds=None)
        except ChaperonError as error:
            return refused(error)
        return JSONResponse({"says": action.says(done), "done": done if isinstance(done, dict) else {}})

    return answer


def _revoke_endpoint(link: PanelLink) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        parts = request.path_params
        try:
            await link.delete(f"{agent_path(parts['agent'])}/allowances/{path_part(parts['id'], 'The page')}")
        except ChaperonError as error:
            return refused(error)
        return JSONResponse({"says": f"{parts['id']} is allowed no more.", "go": "/policy"})

    return answer


def _rollback_endpoint(link: PanelLink) -> Callable[[Request], Awaitable[Response]]:
    """A rollback needs its checkpoint's name typed, and leads to the page of the checkpoint that undoes it."""

    async def answer(request: Request) -> Response:
        name = request.path_params["name"]
        try:
            body = await read_body(request)
            if body.get("confirm") != name:
                raise UsageError(f"Nothing was changed: what was typed is not {name}.")
            agent = str(body.get("agent", ""))
            done = await link.post(
                f"{agent_path(agent)}/rollback", {"checkpoint": name, **_rollback(body)}, seconds=None
            )
        except ChaperonError as error:
            return refused(error)
        return JSONResponse({"says": rolled_back(done), "go": address(str(done["undo"]), agent)})

    return answer


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
