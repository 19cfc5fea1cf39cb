"""The socket's API: HTTP with JSON, described by OpenAPI at `/openapi.json`."""

from fastapi import FastAPI

from supervisor import __version__
from supervisor.runtime.api.routes.agents.actions import action_routes
from supervisor.runtime.api.routes.agents.agents import agent_routes
from supervisor.runtime.api.routes.agents.allowances import allowance_routes
from supervisor.runtime.api.routes.agents.checkpoints import checkpoint_routes
from supervisor.runtime.api.routes.agents.orders import order_routes
from supervisor.runtime.api.routes.service.budgets import cost_routes
from supervisor.runtime.api.routes.service.health import health_routes
from supervisor.runtime.api.routes.service.long_work import work_routes
from supervisor.runtime.api.routes.service.streams import stream_routes
from supervisor.runtime.api.routes.service.trust import trust_routes
from supervisor.runtime.api.routes.work.discoveries import discovery_routes
from supervisor.runtime.api.routes.work.merges import merge_routes
from supervisor.runtime.api.serving.bodies import BoundedBodies
from supervisor.runtime.api.serving.json_edge import ERROR, DescribedApi, speak_json
from supervisor.runtime.api.serving.turnstile import QuestionsInTurn, Turnstile
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.reading.reader import ReadingService


def make_api(daemon: Daemon, reader: ReadingService, turnstile: Turnstile) -> FastAPI:
    """The application that serves one daemon.

    Args:
        daemon: Does what is asked.
        reader: Has answered elsewhere what is long.
        turnstile: Where requests wait that only ask.
    """
    api = DescribedApi(
        title="chaperon",
        version=__version__,
        description="The socket of the daemon that watches over Claude agents.",
        redirect_slashes=False,
        responses=dict.fromkeys((400, 404, 409, 413, 422, 424, 500, 503), ERROR),
    )
    api.add_middleware(BoundedBodies)
    api.add_middleware(QuestionsInTurn, turnstile=turnstile)
    speak_json(api)
    health_routes(api, daemon)
    cost_routes(api, daemon)
    agent_routes(api, daemon, turnstile)
    action_routes(api, daemon, reader)
    allowance_routes(api, daemon)
    trust_routes(api, daemon)
    order_routes(api, daemon)
    discovery_routes(api, daemon)
    checkpoint_routes(api, daemon, reader)
    merge_routes(api, daemon)
    stream_routes(api, daemon, reader)
    work_routes(api, daemon)
    return api
