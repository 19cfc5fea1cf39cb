"""The routes of the socket's API that are about merges of agents' branches."""

from typing import Any

from fastapi import FastAPI

from supervisor.runtime.api.serving.answer_types import facts
from supervisor.runtime.daemon.submission import SubmissionRequest
from supervisor.runtime.daemon_parts import MergingParts
from supervisor.runtime.socket.peer import By


class MergeBody(SubmissionRequest):
    """How a merge is wanted."""

    into: str = ""
    """The target; empty for the branch that the work was begun from."""


def merge_routes(api: FastAPI, daemon: MergingParts) -> None:
    """Add the routes."""

    @api.get("/v1/merges")
    async def merges() -> list[dict[str, Any]]:
        """Return every merge that is not over, and the last ones that are, by the time of their last step."""
        return [facts(one) for one in daemon.merging.all()]

    @api.post("/v1/merges/{name}/plan")
    async def plan(name: str, how: MergeBody | None = None) -> dict[str, Any]:
        """Return what the merge of an agent's branch would do now. Nothing is changed."""
        found = await daemon.merging.plan(name, how.into if how else "")
        return facts(found)

    @api.post("/v1/merges/{name}/carry-out")
    async def carry_out(name: str, by: By, how: MergeBody | None = None) -> dict[str, Any]:
        """Merge an agent's branch; answered once it is merged, or cannot be."""
        done = await daemon.merging.carry_out(name, by, how.into if how else "")
        return facts(done)

    @api.post("/v1/merges/{name}/withdraw")
    async def withdraw(name: str, by: By) -> dict[str, Any]:
        """Take a merge off the list. The branch stays."""
        return facts(await daemon.merging.withdraw(name, by))
