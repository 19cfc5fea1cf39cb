"""The routes by which a person examines a repository's settings and lets them count."""

from pathlib import Path
from typing import Protocol

import anyio.to_thread
from fastapi import FastAPI, Query
from pydantic import BaseModel, Field

from monitors.contract.errors import UsageError
from supervisor.core.registers.trusts import Trust
from supervisor.protocol import events
from supervisor.protocol.claude.settings import RepositorySetting
from supervisor.runtime.daemon.repository_hooks import FOLDER, look_at_hooks
from supervisor.runtime.daemon.submission import Submission, SubmissionRequest
from supervisor.runtime.daemon_parts import BoardParts, RecordParts
from supervisor.runtime.processes.launcher import Brings
from supervisor.runtime.services.reloading import TRUST_COMMAND, Reloading
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


class ConfiguredProgram(BaseModel):
    """A key of the configuration that names programs or code, or a file that is one."""

    key: str
    """The key, or the path of the file."""
    now: str
    """The value, shortened; of a file the beginning of its digest."""
    trusted: str | None
    """The same as a person confirmed it; null if it is the same."""


class ConfiguredPrograms(BaseModel):
    """The programs and the code that the configuration names."""

    digest: str
    """Of all of it, as it is now."""
    said: Trust | None
    """A person's decision about it; null if there is none, as after the first start, which trusts what is there."""
    programs: list[ConfiguredProgram]


class ProgramsConfirmed(SubmissionRequest):
    """A person's word that the daemon may run what was shown."""

    digest: str = Field(max_length=64)
    """Of what was shown."""


def program_routes(api: FastAPI, daemon: RecordParts, in_force: Reloading) -> None:
    """Add those about programs that the configuration names. Only a person reaches them, as the others."""

    async def shown_now() -> ConfiguredPrograms:
        digest, listed = await anyio.to_thread.run_sync(in_force.listed)
        return ConfiguredPrograms(
            digest=digest,
            said=daemon.board.trusts.said("", digest),
            programs=[ConfiguredProgram(key=one.key, now=one.now, trusted=one.trusted) for one in listed],
        )

    @api.get("/v1/trust/programs")
    async def programs() -> ConfiguredPrograms:
        """Return what the configuration names that is run, and what of it changed since a person trusted it."""
        return await shown_now()

    @api.post("/v1/trust/programs")
    async def confirm(wanted: ProgramsConfirmed, by: By) -> ConfiguredPrograms:
        """Let the daemon run what the configuration names now; keys that it takes live are taken at once."""
        _, listed = await anyio.to_thread.run_sync(in_force.listed)
        made = events.TrustDecided(
            **daemon.stamp(""),
            repository="",
            digest=wanted.digest,
            granted=True,
            by=by,
            brings=tuple(
                RepositorySetting("program", one.key, "", f"{one.now}, was {one.trusted}")
                for one in listed
                if one.trusted is not None
            ),
        )
        if not await in_force.trust(wanted.digest):
            raise UsageError(
                "What the configuration has run is not what was shown; nothing was decided.",
                way_out=f"Look again: {TRUST_COMMAND}",
            )
        await daemon.journal.written(daemon.happened(made))
        await in_force.examine()
        return await shown_now()


class TrustParts(RecordParts, Protocol):
    """The parts of the daemon that these routes need."""

    async def brings(self, workspace: str) -> Brings:
        """Return the settings of the repository for a CLI in a workspace."""
        ...


def trust_routes(api: FastAPI, daemon: TrustParts) -> None:
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


async def _shown(daemon: BoardParts, workspace: str, brings: Brings) -> RepositorySettings:
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
