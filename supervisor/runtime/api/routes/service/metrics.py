"""The metrics server: on the socket, and, if configured, on a TCP port of this machine alone."""

import socket

import uvicorn
from fastapi import FastAPI, Response
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import PlainTextResponse

from supervisor.runtime.api.serving.server import Server
from supervisor.runtime.api.serving.together import Together
from supervisor.runtime.api.serving.turnstile import QuestionsInTurn, Turnstile
from supervisor.runtime.metrics.gathering import MeasuredParts, gather
from supervisor.runtime.reading.handing_over import AnsweredElsewhere, HandOverProtocol
from supervisor.runtime.reading.jobs import MetricsText
from supervisor.runtime.reading.reader import ReadingService

OWN_NAMES = ("127.0.0.1", "localhost", "[::1]", "::1")
"""Names by which a request may address this machine. A page of the web can have a browser here ask for a name of its
own that it points to 127.0.0.1, and so read what the port serves (DNS rebinding); the name is in the request."""

EVERY_SECONDS = 1.0
"""Between two times that they are gathered, which takes the loop 10 ms with a thousand agents, and that the reading
process looks at every store for them: four that asked without end took so much of two processors that decisions took
three times as long. Nobody scrapes oftener, and one alone waits for nothing."""


def metrics_routes(api: FastAPI, daemon: MeasuredParts, reader: ReadingService) -> None:
    """Add the route.

    Args:
        api: To what.
        daemon: Whose metrics.
        reader: Has them written elsewhere.
    """
    counted = Together(lambda: gather(daemon), EVERY_SECONDS, lambda: daemon.mono())

    @api.get("/metrics", response_class=PlainTextResponse)
    async def metrics() -> Response:
        """All metrics, in the text format of Prometheus."""
        return AnsweredElsewhere(reader, MetricsText(await counted.get()))


async def serve_metrics(
    daemon: MeasuredParts, reader: ReadingService, turnstile: Turnstile, listening: socket.socket
) -> None:
    """Serve the metrics and nothing else on a TCP port until cancelled: no one who reaches it can steer an agent."""
    api = FastAPI(title="chaperon metrics", docs_url=None, redoc_url=None, openapi_url=None)
    api.add_middleware(QuestionsInTurn, turnstile=turnstile)
    metrics_routes(api, daemon, reader)
    guarded = TrustedHostMiddleware(api, allowed_hosts=OWN_NAMES, www_redirect=False)
    config = uvicorn.Config(
        guarded, http=HandOverProtocol, ws="none", lifespan="off", log_config=None, access_log=False
    )
    server = Server(config)
    try:
        await server.serve(sockets=[listening])
    finally:
        for each in getattr(server, "servers", ()):
            each.close()
        listening.close()
