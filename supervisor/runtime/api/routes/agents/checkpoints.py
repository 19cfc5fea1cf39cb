"""The routes of the socket's API that are about checkpoints."""

from collections import Counter
from functools import partial
from typing import Any

from fastapi import FastAPI, Query, Response
from pydantic import BaseModel

from checkpoints.model import Difference
from checkpoints.restore.patches import FilePatch, patches
from checkpoints.store.records import to_data
from monitors.contract.errors import UsageError
from supervisor.protocol.rollbacks import RollbackRequest
from supervisor.runtime.api.serving.answer_types import facts
from supervisor.runtime.daemon.submission import SubmissionRequest
from supervisor.runtime.reading.handing_over import AnsweredElsewhere
from supervisor.runtime.reading.jobs import Checkpoints
from supervisor.runtime.reading.reader import ReadingService
from supervisor.runtime.services.people import rollbacks
from supervisor.runtime.socket.peer import By

MOST_CHANGES = 500
"""Paths that are named of what an agent changed; the counts are of all."""


class CheckpointBody(SubmissionRequest):
    """A request for a checkpoint."""

    name: str
    note: str = ""


class CheckpointOwner(SubmissionRequest):
    """The agent of the checkpoint, if several have its name."""

    agent: str = ""


class PlanBody(CheckpointOwner):
    """Options of a rollback's plan."""

    with_branch: bool = False
    """Whether the branch would move back as well."""


class Project(SubmissionRequest):
    """A project, by the folder of its main worktree."""

    project: str


class AgentChanges(BaseModel):
    """The changes in an agent's workspace since its start, by any process."""

    counts: dict[str, int]
    """How many paths, by how each changed."""
    paths: list[Difference]
    """The first of them."""
    shared_with: list[str]
    """Other agents that worked in the same files meanwhile, whose changes are among these."""


class AgentDiff(BaseModel):
    """The content of the changes in an agent's workspace, by any process."""

    agent: str
    since: str
    """The checkpoint from which on."""
    until: str
    """The checkpoint up to which; empty for the present."""
    counts: dict[str, int]
    """How many files, by how each changed."""
    added: int
    """Lines added."""
    removed: int
    files: list[FilePatch]
    more: int
    """How many files changed beside those named."""
    shared_with: list[str]
    """Other agents that worked in the same files meanwhile, whose changes are among these."""


def checkpoint_routes(api: FastAPI, daemon: rollbacks.RollbackParts, reader: ReadingService) -> None:
    """Add the routes."""

    @api.get("/v1/checkpoints", response_class=Response)
    async def checkpoints(agent: str = Query("", description="Only this agent's.")) -> Response:
        """All checkpoints, each with its project, oldest first, and the stores that cannot be read."""
        if agent:
            daemon.board.summary(agent)  # a name that nobody has is told
        await daemon.checkpoint_manager.stores.replay()
        return AnsweredElsewhere(reader, Checkpoints(agent))

    @api.get("/v1/checkpoint-stores")
    async def stores(repair: bool = Query(False, description="Take lost checkpoints back in.")) -> list[dict[str, Any]]:
        """Each store of checkpoints, and what is wrong with it; every object is read."""
        return await daemon.checkpoint_manager.stores.examine(repair=repair)

    @api.post("/v1/checkpoint-stores/delete")
    async def delete(which: Project) -> Project:
        """Delete all checkpoints of a project."""
        await rollbacks.forget_project(daemon, which.project)
        return which

    @api.post("/v1/checkpoints/{name}/forget")
    async def forget(name: str, whose: CheckpointOwner | None = None) -> dict[str, Any]:
        """Forget one checkpoint."""
        found = await daemon.checkpoint_manager.stores.find(name, whose.agent if whose else "")
        await daemon.checkpoint_manager.stores.forget(found)
        return to_data(found)

    @api.get("/v1/checkpoints/{name}")
    async def show(name: str, agent: str = "") -> dict[str, Any]:
        """One checkpoint, with all that it holds."""
        return to_data(await daemon.checkpoint_manager.stores.find(name, agent))

    @api.get("/v1/checkpoints/{name}/diff")
    async def diff(name: str, other: str = "", agent: str = "") -> list[Difference]:
        """Return the changes from a checkpoint to another one, or to the present."""
        return list(await rollbacks.difference(daemon, name, other, agent))

    @api.post("/v1/checkpoints/{name}/plan")
    async def plan(name: str, how: PlanBody | None = None) -> dict[str, Any]:
        """Return the plan of a rollback. Nothing is changed."""
        how = how or PlanBody()
        found = await rollbacks.preview(daemon, name, how.agent, with_branch=how.with_branch)
        return {"agent": found.agent, "live": found.live, **facts(found.plan)}

    @api.post("/v1/checkpoints/{name}/workspace", status_code=201)
    async def write(name: str, whose: CheckpointOwner | None = None) -> rollbacks.WrittenCheckpoint:
        """Write a checkpoint into a new workspace. No agent is touched."""
        return await rollbacks.to_new_workspace(daemon, name, whose.agent if whose else "")

    @api.get("/v1/agents/{agent}/changes")
    async def changes(agent: str) -> AgentChanges:
        """Return the changes since the agent started, until now or until its last turn ended."""
        known = daemon.board.summary(agent)
        live = not known.state.ended
        found = await daemon.checkpoint_manager.changes(known.workspace, agent, known.started_at, now=live)
        return AgentChanges(
            counts=dict(Counter(str(one.change) for one in found)),
            paths=list(found[:MOST_CHANGES]),
            shared_with=daemon.board.shared_with(agent),
        )

    @api.get("/v1/agents/{agent}/diff")
    async def content(
        agent: str,
        since: str = Query("", description="A checkpoint; if left out, the agent's first."),
        patch: bool = Query(True, description="Whether the files' patches are wanted, and not only the counts."),
    ) -> AgentDiff:
        """Return the content of the changes since the agent started, until now or until its last turn ended."""
        known, manager = daemon.board.summary(agent), daemon.checkpoint_manager
        first, last = await manager.span(known.workspace, agent, known.started_at)
        if since:
            named = await manager.stores.find(since)
            if manager.stores.holding(named) is not manager.stores.holding(first):
                raise UsageError(f"{since} is of another project than agent {agent}, so they cannot be compared.")
            first = named
        until = last if known.state.ended else None
        found, more = await manager.between(known.workspace, agent, first, until, partial(patches, content=patch))
        return AgentDiff(
            agent=agent,
            since=first.name,
            until=until.name if until is not None else "",
            counts=dict(Counter(str(one.change) for one in found)),
            added=sum(one.added for one in found),
            removed=sum(one.removed for one in found),
            files=found,
            more=more,
            shared_with=daemon.board.shared_with(agent),
        )

    @api.post("/v1/agents/{agent}/checkpoints", status_code=201)
    async def make(agent: str, wanted: CheckpointBody, by: By) -> dict[str, Any]:
        """Make a checkpoint of the agent's workspace under a name."""
        made = await rollbacks.make(daemon, agent, wanted.name, wanted.note, by)
        return {"name": made.name, "tree": made.tree, "number": made.number, "micros": made.micros}

    @api.post("/v1/agents/{agent}/rollback")
    async def roll_back(agent: str, how: RollbackRequest, by: By) -> dict[str, Any]:
        """Go back to a checkpoint; done when this is answered."""
        done = await rollbacks.roll_back(daemon, agent, how, by)
        return {
            "checkpoint": done.checkpoint,
            "undo": done.undo,
            "restored": done.restored,
            "kept": list(done.kept),
            "session_id": done.session_id,
            "files_only": done.files_only,
            "commits_kept_as": done.commits_kept_as,
        }
