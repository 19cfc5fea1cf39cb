"""The sections `checkpoints` and `workspaces`: what is kept of the files of agents, and where they work."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from monitors.contract.bounds import Count, Days, Pause, Seconds
from supervisor.config.sections.base import AbsolutePath, FilePath, Section, Texts


def _below(value: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse what lies in no workspace, and git's own folder."""
    for path in value:
        steps = path.rstrip("/").split("/")
        if {"", ".", "..", ".git"}.intersection(steps):
            raise ValueError(f"{path!r} is no path below a workspace; write it relative, without `.`, `..` and `.git`")
    return value


class CheckpointsSection(Section):
    """When checkpoints are made by themselves, and how many are kept."""

    enabled: bool = True
    """Whether checkpoints are made by themselves: at the start, at the end of each turn, before risky actions, after
    tests passed."""
    periodic: int = Field(default=5, ge=0, le=1_000_000)
    """A checkpoint of the whole project after every so many of its tasks that were done, in whatever worktrees; 0 makes
    none."""
    before_autopilot: bool = Field(default=True, alias="beforeAutopilot")
    """Whether one is made when a person lets go of an agent: resumes it, or tells it more after its turn. It has what
    that person changed."""
    spacing_seconds: Pause = 10
    """Least time from one checkpoint to one that nothing calls for but files that changed, in seconds: what a
    rollback costs in good work at most. With 0 each change is captured; that slows a run whose model answers
    within 300 ms by 4 %."""
    also: Annotated[Texts, AfterValidator(_below)] = ()
    """Paths that are captured although git ignores them: files, or folders with all their content, below the
    workspace. Example: `.env`."""
    max_file_mb: Count = 10
    """How large a file may be, in MiB. Larger ones are named in the checkpoint, without their content, and a rollback
    leaves them as they are."""
    max_count: Count = Field(default=50, alias="maxCount")
    """How many are kept for each workspace; the oldest unnamed one goes first. Git stores what is equal once, so most
    cost little."""
    max_age_days: Days = Field(default=30, alias="maxAgeDays")
    """How long unnamed ones are kept, in days; as long as the records about them."""
    quota_mb: Count = 4_096
    """Size of one project's store, in MiB, above which more of the oldest are deleted. Named ones and the last three
    stay; if they alone exceed it, an incident reports that. A hundred checkpoints of a large repository take some
    hundred."""


class WorkspacesSection(Section):
    """Workspaces of agents."""

    mode: Literal["in-place", "new"] = "in-place"
    """In the worktree that is named, or each in a new one beside it, on a branch of its own; `chaperon run
    --workspace` says otherwise for one task."""
    base: str = "HEAD"
    """The commit that new ones start from."""
    folder: AbsolutePath | None = None
    """Folder of new ones; none: `$XDG_DATA_HOME/chaperon/workspaces`."""
    set_up: FilePath | None = None
    """A program that is run in each new one before its agent starts, with AGENT, WORKSPACE and REPOSITORY in its
    environment. Where it fails, no agent is started and the workspace is kept."""
    set_up_seconds: Seconds = 600
    """How long that may take, in seconds; fetching dependencies takes minutes."""
    at_end: Literal["remove", "keep"] = "remove"
    """The fate of one whose agent ended well: removed if all in it is committed, and its branch only if it has no
    commit of its own; or kept. That of any other agent is kept."""
