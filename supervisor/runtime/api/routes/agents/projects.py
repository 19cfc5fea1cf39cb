"""The routes of the socket's API that are about checkpoints of whole projects."""

from typing import Annotated, Any, Protocol
from uuid import uuid4

from fastapi import FastAPI
from pydantic import Field

from supervisor.protocol.projects import ProjectCheckpoint
from supervisor.runtime.api.serving.answer_types import facts
from supervisor.runtime.daemon.project_work import ProjectWork
from supervisor.runtime.daemon.submission import SubmissionRequest
from supervisor.runtime.daemon_parts import BoardParts
from supervisor.runtime.projects.rollback import ProjectRollbackRequest
from supervisor.runtime.socket.peer import By

Note = Annotated[str, Field(max_length=2_000)]


class ProjectBody(SubmissionRequest):
    """The project that is meant."""

    project: str
    """Absolute path of any folder in one of its worktrees."""


class ProjectCheckpointBody(ProjectBody):
    """The project checkpoint that is wanted."""

    name: str
    note: Note = ""


class ProjectPlanBody(ProjectBody):
    """The rollback that is asked about."""

    with_branches: bool = False
    """Whether branches go back as well."""


class ProjectRollbackBody(ProjectPlanBody):
    """The rollback that is wanted."""

    unusual: bool = False
    """Whether a rollback of unusual size was confirmed."""
    request_id: Annotated[str, Field(max_length=200)] = ""
    """Names the request, which is carried out once however often it is sent."""


class ProjectRouteParts(BoardParts, Protocol):
    """The parts of the daemon that these routes need."""

    project_work: ProjectWork
    """Checkpoints and rollbacks of projects."""


def project_routes(api: FastAPI, daemon: ProjectRouteParts) -> None:
    """Add the routes."""

    @api.get("/v1/project-checkpoints")
    async def checkpoints(project: str = "") -> list[dict[str, Any]]:
        """Return the project checkpoints, of one project or of all, oldest first."""
        of = await daemon.project_work.checkpoints.project_at(project) if project else ""
        return [_row(one) for one in daemon.board.projects.all(of)]

    @api.post("/v1/project-checkpoints")
    async def make(wanted: ProjectCheckpointBody, by: By) -> dict[str, Any]:
        """Keep all worktrees, branches, task states and agents of a project under one name; durable once answered."""
        of = await daemon.project_work.checkpoints.project_at(wanted.project)
        return _row(await daemon.project_work.checkpoints.make(of, wanted.name, by, note=wanted.note))

    @api.get("/v1/project-checkpoints/{name}")
    async def checkpoint(name: str, project: str = "") -> dict[str, Any]:
        """Return all of a project checkpoint."""
        of = await daemon.project_work.checkpoints.project_at(project) if project else ""
        return facts(daemon.board.projects.find(name, of))

    @api.post("/v1/project-checkpoints/{name}/forget")
    async def forget(name: str, about: ProjectBody, by: By) -> dict[str, Any]:
        """Let go of a project checkpoint, a named one too."""
        of = await daemon.project_work.checkpoints.project_at(about.project)
        return _row(await daemon.project_work.checkpoints.forget(name, of, by))

    @api.post("/v1/project-checkpoints/{name}/plan")
    async def plan(name: str, about: ProjectPlanBody) -> dict[str, Any]:
        """Return what going back with a whole project would do now. Nothing is changed."""
        of = await daemon.project_work.checkpoints.project_at(about.project)
        how = ProjectRollbackRequest(name, with_branches=about.with_branches)
        return facts(await daemon.project_work.rollbacks.plan(of, how))

    @api.post("/v1/project-checkpoints/{name}/rollback")
    async def roll_back(name: str, wanted: ProjectRollbackBody, by: By) -> dict[str, Any]:
        """Go back with a whole project: files, task states and queue, agents, and branches if asked.

        It is done when this is answered.
        """
        of = await daemon.project_work.checkpoints.project_at(wanted.project)
        how = ProjectRollbackRequest(name, with_branches=wanted.with_branches, unusual=wanted.unusual)
        done = await daemon.project_work.rollbacks.roll_back(of, how, by, wanted.request_id or uuid4().hex)
        return facts(done)


def _row(one: ProjectCheckpoint) -> dict[str, Any]:
    """Return a project checkpoint in short."""
    return {
        "name": one.name,
        "project": one.project,
        "at": one.at,
        "reason": one.reason,
        "by": one.by,
        "note": one.note,
        "workspaces": [{"path": each.path, "branch": each.branch, "head": each.head} for each in one.workspaces],
        "branches": len(one.branches),
        "agents": [each.agent for each in one.agents],
        "tasks": len(one.tasks),
        "done": len(one.done),
    }
