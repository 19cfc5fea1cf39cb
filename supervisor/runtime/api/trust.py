"""The routes by which a person examines a repository's settings and lets them count."""

from fastapi import FastAPI, Query
from pydantic import BaseModel, Field

from monitors.contract.errors import UsageError
from supervisor.core.trusts import Trust
from supervisor.protocol import events
from supervisor.protocol.settings import RepositorySetting
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.daemon.submission import Submission, SubmissionRequest
from supervisor.runtime.processes.launcher import Brings
from supervisor.runtime.socket.peer import By


class Thing(BaseModel):
    """One thing that settings bring."""

    kind: str
    name: str
    file: str
    what: str
    counts: bool
    """Whether it counts for an agent that is started now."""


class RepositorySettings(BaseModel):
    """The settings of a repository."""

    repository: str
    """The top of its main checkout; what is trusted is trusted there."""
    workspace: str
    digest: str
    """Of what is asked about; empty if there is nothing to ask."""
    said: Trust | None
    """A person's decision about these very settings; null if there is none."""
    things: list[Thing]
    left_out: str
    """Reason why the project's settings are left out as a whole, with its CLAUDE.md, skills and subagents; empty if
    they are not."""


class Decided(SubmissionRequest):
    """A person's decision about a repository's settings."""

    directory: str
    digest: str = Field(max_length=64)
    """Of the settings that were shown; empty to trust nothing of the repository's any more."""
    granted: bool


def trust_routes(api: FastAPI, daemon: Daemon) -> None:
    """Add them. Only a person reaches them: the server turns the processes of agents away."""

    @api.get("/v1/trust")
    async def shown(directory: str = Query(description="A directory in the repository.")) -> RepositorySettings:
        """Return the settings of a repository, and which of them count."""
        workspace = await _workspace(directory)
        return _shown(daemon, workspace, await daemon.brings(workspace))

    @api.post("/v1/trust")
    async def decide(wanted: Decided, by: By) -> RepositorySettings:
        """Let what the settings bring count for agents that are started from now on, or not."""
        workspace = await _workspace(wanted.directory)
        brings = await daemon.brings(workspace)
        repository, found = brings.repository.root, brings.repository.found
        if wanted.digest not in ("", found.digest) or (wanted.granted and not wanted.digest):
            raise UsageError(
                f"What the settings of {repository} bring is not what was shown; nothing was decided.",
                way_out=f"Look again: chaperon trust {wanted.directory}",
            )
        made = events.TrustDecided(
            **daemon.stamp(""),
            repository=repository,
            digest=wanted.digest,
            granted=wanted.granted,
            by=by,
            brings=found.things if wanted.digest else (),
        )
        await daemon.journal.written(daemon.happened(made))
        return _shown(daemon, workspace, await daemon.brings(workspace))


async def _workspace(directory: str) -> str:
    return await Submission(prompt="look", repository=directory).check()


def _shown(daemon: Daemon, workspace: str, brings: Brings) -> RepositorySettings:
    found = brings.repository.found
    off = set(brings.guard.off)
    return RepositorySettings(
        repository=brings.repository.root,
        workspace=workspace,
        digest=found.digest,
        said=daemon.board.trusts.said(brings.repository.root, found.digest),
        things=[_thing(thing, counts=thing not in off) for thing in found.things],
        left_out=brings.guard.left_out,
    )


def _thing(thing: RepositorySetting, *, counts: bool) -> Thing:
    return Thing(kind=thing.kind, name=thing.name, file=thing.file, what=thing.what, counts=counts)
