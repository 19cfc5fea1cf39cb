"""The submission of a task, and the check whether it can be taken."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio.to_thread
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from checkpoints.workspace.worktree import worktree_of
from host.identity import may
from host.standing import is_folder, is_there
from monitors.contract.bounds import Seconds, Texts, is_argument
from monitors.contract.effects import check_names
from monitors.contract.errors import ChaperonError, UsageError
from monitors.contract.tasks import MAX_PROMPT_BYTES, Limits, Task
from monitors.contract.words import MonitoringLevel
from supervisor.config.model import PermissionMode
from supervisor.core.settings import MOST_PREFIX, DiscoverySettings
from supervisor.protocol.tasks import TaskSpec

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
"""Permitted names of agents: each names a directory and a control group."""

SESSION_ID = r"^[0-9a-fA-F-]{36}$"
"""Ids of sessions that the CLI can resume: it refuses other text than a UUID."""

Where = Literal["in-place", "new"]
"""In which worktree an agent works: the one that was named, or one of its own."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """Values for a task that does not have its own, from the configuration."""

    permission_mode: PermissionMode = "default"
    limits: Limits = field(default_factory=Limits)
    workspace: Where = "in-place"
    base: str = "HEAD"
    checkpoint_every: int = 0
    """After how many tasks done in a workspace a checkpoint is made; 0 for none."""
    discoveries: DiscoverySettings = field(default_factory=DiscoverySettings)
    """Whether and how agents are told facts that others noted."""
    off_limits: Mapping[str, str] = field(default_factory=dict)
    """Paths that no workspace may be or hold, and what is there: an agent may change all of its workspace."""

    def refuse_off_limits(self, workspace: str) -> None:
        """Refuse a workspace that is or holds what none may.

        Raises:
            UsageError: It does; nothing was started.
        """
        for path, what in self.off_limits.items():
            if Path(path).is_relative_to(workspace):
                holds = "is" if path == workspace else f"holds {path},"
                raise UsageError(
                    f"The worktree {workspace} {holds} {what}. An agent may change all of its workspace, so it cannot be one; "
                    "nothing was started.",
                    way_out="Let the agent work in a worktree of its own (--workspace new), or in a repository that holds less.",
                )


@dataclass(frozen=True, slots=True)
class Claim:
    """A run's claim of a stored task, for which an agent is submitted."""

    task: str
    """The id of the stored task, which is that of the agent's task too."""
    run_id: str
    goes_on_for: str = ""
    """The agent whose workspace, made for it and kept, this one goes on in; empty if there is none."""
    opening: str = ""
    """The first message to the agent in place of the prompt; empty for the prompt itself."""


class UnavailableError(ChaperonError):
    """The daemon cannot do it now."""


class SubmissionRequest(BaseModel):
    """The body of a request: closed to fields that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


Label = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]{1,64}$")]
"""A word by which people find a task and steer its agents together with others."""

ForProgram = Annotated[str, AfterValidator(is_argument)]
"""A text that a program is given: the shell, or the CLI."""

Amount = Annotated[int | None, Field(ge=1, le=10**12)]
"""A limit; None lifts it."""


class OwnLimits(SubmissionRequest):
    """Limits of one task, each of which may be left out; the names are those of the configuration's `resources`."""

    max_file_operations: Amount = None
    max_memory_mb: Amount = None
    max_execution_time_seconds: Amount = None
    max_token_usage: Amount = None
    max_cost_usd: Annotated[float | None, Field(gt=0)] = None
    max_steps: Amount = None

    def put_into(self, limits: Limits) -> Limits:
        """Return the limits with these in place of their own."""
        return replace(limits, **self.model_dump(exclude_unset=True))


class OwnApproval(SubmissionRequest):
    """Single rules of one task for its actions that wait for a person; the names are those of the section `approval`.

    Those that are left out are as configured. Without a mode, and with `off` as configured, it is the smallest one in
    which what was said counts.
    """

    mode: Literal["off", "risky", "ask"] | None = None
    require_approval_for: tuple[str, ...] | None = None
    auto_approve: Texts | None = None
    tools: Texts | None = None
    deadline_seconds: Seconds | None = None

    def given(self) -> dict[str, Any]:
        """Return those that were given."""
        return self.model_dump(mode="json", exclude_none=True)


class Submission(SubmissionRequest):
    """A task; only the prompt and the repository must be given."""

    prompt: str
    """The prompt for the agent."""
    repository: str
    """A directory in a git worktree."""
    name: str | None = None
    """The agent's name; none: the next of a1, a2 and so on."""
    expected_paths: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    limits: Limits | None = None
    """Limits of the task; none: as configured under `resources`."""
    own_limits: OwnLimits | None = None
    """Single limits of its own; the others are those above, or as configured."""
    max_cost_usd: Annotated[float | None, Field(gt=0)] = None
    """Most that it may cost, in US dollars; none: by its limits."""
    model: ForProgram | None = None
    permission_mode: PermissionMode | None = None
    """The CLI's own mode; none: as configured by `agent.permission_mode`."""
    monitoring_level: Annotated[MonitoringLevel, Field(strict=False)] = MonitoringLevel.NORMAL
    """How closely the agent is watched: `strict` lowers the thresholds of detectors and of the review for it alone."""
    resume_session: Annotated[str | None, Field(pattern=SESSION_ID)] = None
    keep_open: bool = False
    workspace: Where | None = None
    """The agent's workspace; none: as configured by `workspaces.mode`."""
    base: str | None = None
    """The commit that a new workspace starts from; none: as configured by `workspaces.base`."""
    approval: OwnApproval | None = None
    """Rules of its own for actions that wait for a person; None: those of the configuration."""
    labels: Annotated[tuple[Label, ...], Field(max_length=32)] = ()
    verify: ForProgram | None = None
    """Command of the shell that must exit with 0 before the task is done; a failure goes back to an agent. None:
    nothing is checked."""

    async def check(self) -> str:
        """Look whether it can be done; returns the workspace: the top of the git worktree.

        Raises:
            UsageError: The prompt is empty or too long, the name is none, or the repository is missing, no directory,
                not readable or in no git worktree that could be used. Nothing was started.
            CheckpointError: Git could not read the user's own configuration. Nothing was started.
        """
        self.check_words()
        return await anyio.to_thread.run_sync(self.check_directory)

    def base_of_new(self, defaults: Defaults) -> str | None:
        """The commit that a workspace of the agent's own starts from; None if it works in place.

        Raises:
            UsageError: What is asked for does not go together.
        """
        if (self.workspace or defaults.workspace) == "in-place":
            if self.base is not None:
                raise UsageError("A base is for a new workspace only; nothing was started.", way_out="Ask for `new`.")
            return None
        if self.resume_session is not None:
            raise UsageError(
                "The CLI resumes a session only where it ran, so not in a new workspace; nothing was started.",
                way_out="Ask for `in-place`.",
            )
        return self.base or defaults.base

    def task(self, id_: str, workspace: str, defaults: Defaults) -> Task:
        """The same as the protocol's type."""
        facts = self.model_dump(
            exclude={
                "repository",
                "name",
                "limits",
                "own_limits",
                "max_cost_usd",
                "permission_mode",
                "workspace",
                "base",
                "verify",
                "approval",
            }
        )
        facts["approval"] = self.approval.given() if self.approval else None
        limits, mode = self.limits or defaults.limits, self.permission_mode or defaults.permission_mode
        limits = self.own_limits.put_into(limits) if self.own_limits else limits
        limits = replace(limits, max_cost_usd=self.max_cost_usd) if self.max_cost_usd is not None else limits
        return Task(id_, repository=workspace, limits=limits, permission_mode=mode, **facts)

    def stored(self, task: Task, name: str, repository: str, base: str | None) -> TaskSpec:
        """The stored task of an agent whose work is checked, so that what follows on the check survives the daemon.

        Args:
            task: The agent's task.
            name: The agent's name.
            repository: The top of the worktree that was named.
            base: The commit that its new workspace starts from; None if it works in place.
        """
        own = {"goals", "constraints", "expected_paths", "permission_mode", "model", "monitoring_level", "labels"}
        return TaskSpec(
            id=task.id,
            prompt=task.prompt,
            repository=repository,
            base=base,
            limits={limit: getattr(task.limits, limit) for limit in OwnLimits.model_fields},
            approval=self.approval.given() if self.approval else None,
            verify=self.verify,
            retries=0,
            workspace="in-place" if base is None else "new",
            name_prefix=name[:MOST_PREFIX],
            with_agent=True,
            **{field: getattr(task, field) for field in own},
        )

    def check_words(self) -> None:
        """Refuse a prompt, a name or rules that cannot be; raises UsageError."""
        if not self.prompt.strip():
            raise UsageError("The prompt is empty; nothing was started.", way_out="Say what the agent is to do.")
        size = len(self.prompt.encode(errors="replace"))
        if size > MAX_PROMPT_BYTES:
            raise UsageError(
                f"The prompt has {size} bytes and may have {MAX_PROMPT_BYTES}; nothing was started.",
                way_out="Put the long part into a file of the repository and name the file.",
            )
        try:
            check_names((self.approval and self.approval.require_approval_for) or ())
        except ValueError as error:
            raise UsageError(f"approval.require_approval_for: {error}. Nothing was started.") from None
        if self.verify and self.keep_open:
            raise UsageError(
                "An agent that waits to be told more is never done, so its work is never checked; nothing was started.",
                way_out="Leave out one of them: the check, or that it is kept open.",
            )
        if self.name is not None and not NAME.fullmatch(self.name):
            raise UsageError(
                f"{self.name!r} cannot be an agent's name; nothing was started.",
                way_out="Use up to 32 letters, digits, hyphens and underscores, a letter or digit first.",
            )

    def check_directory(self) -> str:
        """Look whether the repository is one; returns the top of its worktree. Blocks, and raises as `check`."""
        path = Path(self.repository)
        if "\0" in self.repository:
            problem = "contains a NUL character, which no path can"
        elif not path.is_absolute():
            problem = "is not an absolute path"
        elif not is_there(path):
            problem = "does not exist"
        elif not is_folder(path):
            problem = "is not a directory"
        elif not may(path, os.R_OK | os.X_OK):
            problem = "cannot be read by this user"
        else:
            return self._worktree()
        raise UsageError(f"The repository {self.repository!r} {problem}; nothing was started.")

    def _worktree(self) -> str:
        top = worktree_of(Path(self.repository))
        try:
            str(top).encode()
        except UnicodeEncodeError:
            raise UsageError(
                f"The worktree's path {str(top)!r} is not UTF-8; nothing was started.",
                way_out="Rename it, or reach it by another path.",
            ) from None
        return str(top)
