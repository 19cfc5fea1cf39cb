"""Serving the metrics: on the socket, and where it is configured on a TCP port of this machine alone."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import anyio.to_thread
import uvicorn
from fastapi import FastAPI
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import PlainTextResponse

from supervisor.core.limits import LIMITED, share
from supervisor.core.summary import DAY
from supervisor.runtime.daemon import Daemon
from supervisor.runtime.metrics import CONTENT_TYPE, Sample
from supervisor.runtime.server import Server
from supervisor.runtime.stores import Stores

OWN_NAMES = ("127.0.0.1", "localhost", "[::1]", "::1")
"""What a request to this machine alone may call it. A page of the web can have a browser here ask for a name of its own that it
lets point to 127.0.0.1, and so read what the port serves (DNS rebinding); the name is in the request."""


def metrics_routes(api: FastAPI, daemon: Daemon) -> None:
    """Add the route."""

    @api.get("/metrics", response_class=PlainTextResponse)
    async def metrics() -> PlainTextResponse:
        """All metrics, in the text format of Prometheus."""
        return PlainTextResponse(await exposition(daemon), media_type=CONTENT_TYPE)


async def exposition(daemon: Daemon) -> str:
    """What is served. Sessions are looked at in the loop, which changes them; a worker thread looks at the disk alone."""
    on_disk = await anyio.to_thread.run_sync(_on_disk, daemon.journal.directory, daemon.keeper.stores)
    for seconds in daemon.journal.take_sync_seconds():
        daemon.metrics.observe("chaperon_journal_sync_seconds", seconds)
    return daemon.metrics.text((*_of_agents(daemon), *_of_daemon(daemon), *on_disk))


async def serve_metrics(daemon: Daemon, listening: socket.socket) -> None:
    """Serve the metrics and nothing else on a TCP port until cancelled: no one who reaches it can steer an agent."""
    api = FastAPI(title="chaperon metrics", docs_url=None, redoc_url=None, openapi_url=None)
    metrics_routes(api, daemon)
    guarded = TrustedHostMiddleware(api, allowed_hosts=OWN_NAMES, www_redirect=False)
    config = uvicorn.Config(guarded, http="h11", ws="none", lifespan="off", log_config=None, access_log=False)
    server = Server(config)
    try:
        await server.serve(sockets=[listening])
    finally:
        for each in getattr(server, "servers", ()):
            each.close()
        listening.close()


def _of_agents(daemon: Daemon) -> Iterator[Sample]:
    for session in daemon.board.live():
        known, agent = session.summary, session.summary.agent
        yield "chaperon_agents", (known.state,), 1
        yield "chaperon_agent_memory_bytes", (agent,), known.memory_mb * 2**20
        yield "chaperon_agent_cpu_seconds_total", (agent,), known.cpu_seconds
        yield "chaperon_agent_processes", (agent,), known.processes
        if known.cost_usd is not None:
            yield "chaperon_agent_cost_usd_total", (agent,), known.cost_usd
        yield from (("chaperon_issues_open", (type_,), 1) for type_ in session.open_issues)
        usage, limits = session.controller.usage(daemon.mono()), session.controller.limits.limits
        for each in LIMITED:
            if part := share(each, usage, limits):
                yield "chaperon_limit_used_ratio", (agent, each.limit), round(part, 4)


def _of_daemon(daemon: Daemon) -> Iterator[Sample]:
    waiting = sum(len(session.approvals) for session in daemon.board.live())
    yield "chaperon_approvals_waiting", (), waiting
    costs = daemon.board.costs
    yield from (("chaperon_tokens_total", (kind,), count) for kind, count in costs.tokens.items())
    yield "chaperon_cost_usd_total", (), costs.cost_usd
    yield "chaperon_cost_usd_today", (), costs.by_day.get(int(daemon.wall() // DAY), 0.0)
    yield from (
        ("chaperon_export_waiting", (one.name,), daemon.journal.last - one.position) for one in daemon.exporting
    )
    yield "chaperon_journal_lag_events", (), daemon.journal.last - daemon.journal.last_synced


def _on_disk(journal: Path, kept: Stores) -> list[Sample]:
    """What files say. Blocks."""
    stores = [("chaperon_checkpoint_store_bytes", (project,), size) for project, size in kept.sizes().items()]
    written = sum(path.stat().st_size for path in journal.glob("*.jsonl"))
    return [("chaperon_daemon_memory_bytes", (), _own_memory()), ("chaperon_journal_bytes", (), written), *stores]


def _own_memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
