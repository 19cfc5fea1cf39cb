"""JSON at the API's edge: strict bodies, legible answers, and an object for every failure."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from monitors.contract import anyjson
from monitors.contract.errors import ChaperonError, IllegalStepError, NotFoundError, NumberedUsageError, UsageError
from supervisor.core.tasks.states import IllegalTaskStepError
from supervisor.runtime.checkpointing.worktrees import SetUpError
from supervisor.runtime.daemon.submission import UnavailableError

NO_JSON, MALFORMED, BROKEN = 400, 422, 500
"""Statuses of a body that is no JSON, of one that does not fit, and of a failure of the daemon's own."""

REFUSALS: tuple[tuple[type[ChaperonError], int], ...] = (
    (NotFoundError, 404),
    (IllegalStepError, 409),
    (IllegalTaskStepError, 409),
    (SetUpError, 424),
    (UnavailableError, 503),
    (UsageError, MALFORMED),
)
"""The status of each kind of refusal; the first that fits counts, and 503 if none does."""

WAY_OUT = "See /openapi.json."


class ErrorResponse(BaseModel):
    """Why something was not done."""

    kind: str
    what: str
    way_out: str = ""
    faults: dict[int, str] | None = None
    """Of a list that was refused: the fault of each of its things, by number from 1."""


ERROR: dict[str, Any] = {
    "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{ErrorResponse.__name__}"}}}
}
"""An `ErrorResponse` in the description of a route. Named as a model, it would be made into a validator for each status
of each route, though no answer is validated by it: 568 of them, half the time in which the application is made."""


class DescribedApi(FastAPI):
    """An application whose description has the schema that `ERROR` refers to."""

    def openapi(self) -> dict[str, Any]:
        """Describe all routes."""
        described = super().openapi()
        schemas = described.setdefault("components", {}).setdefault("schemas", {})
        schemas.setdefault(ErrorResponse.__name__, ErrorResponse.model_json_schema())
        return described


class LegibleResponse(JSONResponse):
    """An answer in JSON, whatever text is in it."""

    def render(self, content: Any) -> bytes:
        """Write it."""
        return anyjson.dumps(content)


class StrictRequest(Request):
    """A request whose body is JSON in UTF-8: no half characters, which could not be written again, no NaN."""

    async def json(self) -> Any:
        """Read the body.

        Raises:
            orjson.JSONDecodeError: It is no JSON.
        """
        return orjson.loads(await self.body())


class StrictRoute(APIRoute):
    """A route that reads its requests strictly."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return strictly


def speak_json(api: FastAPI) -> None:
    """Have the application read bodies strictly, and answer every failure with an `ErrorResponse`.

    Call it before routes are added.
    """
    api.router.route_class = StrictRoute
    api.router.default_response_class = LegibleResponse

    @api.exception_handler(ChaperonError)
    async def refused(_request: Request, error: Exception) -> LegibleResponse:
        assert isinstance(error, ChaperonError)
        code = next((code for kind, code in REFUSALS if isinstance(error, kind)), 503)
        faults = error.faults if isinstance(error, NumberedUsageError) else None
        return _problem(code, type(error).__name__.removesuffix("Error"), error.what, error.way_out, faults)

    @api.exception_handler(HTTPException)
    async def elsewhere(request: Request, error: Exception) -> LegibleResponse:
        assert isinstance(error, HTTPException)
        what = f"{request.method} {request.url.path} is nothing that this daemon knows ({error.detail})."
        return _problem(error.status_code, "Usage", what)

    @api.exception_handler(RequestValidationError)
    async def malformed(_request: Request, error: Exception) -> LegibleResponse:
        assert isinstance(error, RequestValidationError)
        if bad := next((one for one in error.errors() if one["type"] == "json_invalid"), None):
            what = f"The body is no JSON in UTF-8: {bad['ctx']['error']}. Nothing was done."
            return _problem(NO_JSON, "Usage", what)
        found = "; ".join(f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']}" for one in error.errors())
        return _problem(MALFORMED, "Usage", f"The request is malformed: {found}. Nothing was done.")

    @api.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> LegibleResponse:
        what = f"Chaperon failed at {request.method} {request.url.path} ({type(error).__name__}). Whether it was done is not known."
        way_out = "The daemon's log has the traceback; please report it. `chaperon tail` shows what was taken."
        return _problem(BROKEN, "Failed", what, way_out)


def _problem(
    status: int, kind: str, what: str, way_out: str = WAY_OUT, faults: Mapping[int, str] | None = None
) -> LegibleResponse:
    numbered = {"faults": {str(number): says for number, says in faults.items()}} if faults else {}
    return LegibleResponse({"kind": kind, "what": what, "way_out": way_out, **numbered}, status)
