"""The routes of facts that agents note for others. Only a person reaches them."""

import anyio.to_thread
from fastapi import FastAPI, Query

from supervisor.core.discoveries import Discovery
from supervisor.protocol.events import DiscoveryForgotten
from supervisor.runtime.api.routes.directories import project_meant
from supervisor.runtime.daemon_parts import RecordParts
from supervisor.runtime.socket.peer import By


def discovery_routes(api: FastAPI, daemon: RecordParts) -> None:
    """Add them: the server turns the processes of agents away."""

    @api.get("/v1/discoveries")
    async def discoveries(
        repository: str = Query(
            "", description="A directory in a repository, for those that concern it; empty for all."
        ),
    ) -> list[Discovery]:
        """Return the facts that agents noted, oldest first."""
        known = daemon.board.discoveries
        if not repository:
            return known.all()
        projects = {one.project for one in known.all()}
        return known.bearing_on(await anyio.to_thread.run_sync(project_meant, repository, projects), "")

    @api.delete("/v1/discoveries/{id_}")
    async def forget(id_: str, by: By) -> Discovery:
        """Take one back: no agent that starts from now on is told it."""
        known = daemon.board.discoveries.get(id_)
        await daemon.journal.written(daemon.happened(DiscoveryForgotten(**daemon.stamp(""), discovery=id_, by=by)))
        return known
