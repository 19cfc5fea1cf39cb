"""The routes by which a person examines a repository's settings and lets them count."""

from pathlib import Path

import anyio.to_thread
from fastapi import FastAPI, Query
from pydantic import BaseModel, Field

from monitors.contract.errors import UsageError
from supervisor.core.trusts import Trust
from supervisor.protocol import events
from supervisor.protocol.settings import RepositorySetting
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.daemon.repository_hooks import FOLDER, look_at_hooks
from supervisor.runtime.daemon.submission import Submission, SubmissionRequest
from supervisor.runtime.processes.launcher import Brings
from supervisor.runtime.socket.peer import By

SHOWN_BYTES = 2_000
"""Of a script, the part in which its first line is looked for."""


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
    hooks: list[Thing]
    """Scripts in `.chaperon/hooks/` of the repository, which chaperon runs."""
    hooks_digest: str
    """Of all of these; empty if there are none, or if they cannot be read."""
    hooks_said: Trust | None
    """A person's decision about these very scripts; null if there is none."""
    hooks_problem: str
    """The reason why none of them can run; empty if there is none."""
    left_out: str
    """Reason why the project's settings are left out as a whole, with its CLAUDE.md, skills and subagents; empty if
    they are not."""


class Decided(SubmissionRequest):
    """A person's decision about a repository's settings."""

    directory: str
    digest: str = Field(max_length=64)
    """Of the settings that were shown; empty to trust nothing of the repository's any more."""
    granted: bool
    hooks_digest: str = Field("", max_length=64)
    """Of the scripts that were shown; empty if there were none."""


def trust_routes(api: FastAPI, daemon: Daemon) -> None:
    """Add them. Only a person reaches them: the server turns the processes of agents away."""

    @api.get("/v1/trust")
    async def shown(directory: str = Query(description="A directory in the repository.")) -> RepositorySettings:
        """Return the settings of a repository, and which of them count."""
        workspace = await _workspace(directory)
        return await _shown(daemon, workspace, await daemon.brings(workspace))

    @api.post("/v1/trust")
    async def decide(wanted: Decided, by: By) -> RepositorySettings:
        """Let what the settings bring count for agents that are started from now on, or not."""
        workspace = await _workspace(wanted.directory)
        brings = await daemon.brings(workspace)
        repository, found = brings.repository.root, brings.repository.found
        hooks = await anyio.to_thread.run_sync(look_at_hooks, Path(repository))
        of_nothing = wanted.granted and not (wanted.digest or wanted.hooks_digest)
        other = wanted.digest not in ("", found.digest) or wanted.hooks_digest not in ("", hooks.digest)
        if other or of_nothing:
            raise UsageError(
                f"What the settings of {repository} bring is not what was shown; nothing was decided.",
                way_out=f"Look again: chaperon trust {wanted.directory}",
            )
        for digest in [one for one in (wanted.digest, wanted.hooks_digest) if one] or [""]:
            made = events.TrustDecided(
                **daemon.stamp(""),
                repository=repository,
                digest=digest,
                granted=wanted.granted,
                by=by,
                brings=found.things if digest and digest == wanted.digest else (),
            )
            await daemon.journal.written(daemon.happened(made))
        return await _shown(daemon, workspace, await daemon.brings(workspace))


async def _workspace(directory: str) -> str:
    return await Submission(prompt="look", repository=directory).check()


async def _shown(daemon: Daemon, workspace: str, brings: Brings) -> RepositorySettings:
    found, root = brings.repository.found, brings.repository.root
    hooks = await anyio.to_thread.run_sync(look_at_hooks, Path(root))
    run = bool(hooks.digest) and daemon.board.trusts.trusted(root, hooks.digest)
    off = set(brings.guard.off)
    return RepositorySettings(
        repository=brings.repository.root,
        workspace=workspace,
        digest=found.digest,
        said=daemon.board.trusts.said(brings.repository.root, found.digest),
        things=[_thing(thing, counts=thing not in off) for thing in found.things],
        hooks=[
            Thing(kind="script", name=name, file=f"{FOLDER}/{name}", what=_begin(content), counts=run)
            for name, content in hooks.files.items()
        ],
        hooks_digest=hooks.digest,
        hooks_said=daemon.board.trusts.said(root, hooks.digest) if hooks.digest else None,
        hooks_problem=hooks.problem,
        left_out=brings.guard.left_out,
    )


def _begin(content: bytes) -> str:
    """Return the first line of a script that says something."""
    lines = (line.strip() for line in content[:SHOWN_BYTES].decode(errors="replace").splitlines())
    return next((line for line in lines if line and not line.startswith("#!")), "")


def _thing(thing: RepositorySetting, *, counts: bool) -> Thing:
    return Thing(kind=thing.kind, name=thing.name, file=thing.file, what=thing.what, counts=counts)
