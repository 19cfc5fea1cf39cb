"""Checks and merges: the result of a check of an agent's work, and a merge of an agent's branch on its way."""

from dataclasses import dataclass, field
from enum import StrEnum


class CheckOutcome(StrEnum):
    """The outcome of a check command."""

    PASSED = "passed"
    """It ended with exit code 0."""
    FAILED = "failed"
    """It ended with another exit code, or by a signal."""
    TIMED_OUT = "timed out"
    """Its time was over, and it was ended with all that it had started."""
    NOT_STARTED = "not started"
    """It could not be started: nothing is known of the work."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check command."""

    command: str
    outcome: CheckOutcome
    code: int | None = None
    """Its exit code; a signal's is negative. None if it has none."""
    seconds: float = 0.0
    output: str = ""
    """The end of what it printed, made plain."""
    left: tuple[str, ...] = ()
    """Processes that outlived it and were ended, as `PID NAME`."""

    @property
    def passed(self) -> bool:
        """Whether the work may count as done."""
        return self.outcome is CheckOutcome.PASSED


class ConflictLevel(StrEnum):
    """How far two sides of a merge are apart, mildest first."""

    NONE = "none"
    """They changed different files."""
    TRIVIAL = "trivial"
    """They changed the same files, in different places: git merges them line by line."""
    TEXTUAL = "textual"
    """They changed the same lines of text files."""
    AGENT = "needs the agent"
    """One side deleted, moved or made anew what the other changed: only who knows the purpose can say what counts."""
    PERSON = "needs a person"
    """The files are no text, or submodules, or too many; or the history that the work began from is gone."""

    @property
    def rank(self) -> int:
        """Its place in the order, from 0."""
        return list(type(self)).index(self)

    @property
    def for_a_person(self) -> bool:
        """Whether no agent is asked to resolve it."""
        return self is ConflictLevel.PERSON

    @property
    def merges(self) -> bool:
        """Whether git can merge the sides by itself."""
        return self.rank <= ConflictLevel.TRIVIAL.rank


@dataclass(frozen=True, slots=True)
class Conflict:
    """One path on which two sides disagree."""

    path: str
    level: ConflictLevel
    what: str
    """A sentence that says how each side treats the path."""
    excerpt: str = ""
    """The lines of both sides, between git's markers, shortened; empty if there are none."""


class MergePhase(StrEnum):
    """The phases of a merge. The legal steps are the table `STEPS`."""

    PROPOSED = "proposed"
    """It could be done, and a person decides."""
    QUEUED = "queued"
    """It waits for those before it on the same target."""
    MERGING = "merging"
    """The merged commit is being made."""
    VERIFYING = "verifying"
    """The check command runs on the merged files."""
    MOVING = "moving"
    """The target is about to move: it stands on the old commit or on the new one."""
    RESOLVING = "resolving"
    """An agent was given the conflict, or the failed check, to resolve."""
    MERGED = "merged"
    """The target has the work."""
    PARKED = "parked"
    """It could not be done now. All is kept, and a person can have it tried again."""
    WITHDRAWN = "withdrawn"
    """A person decided against it. The branch is kept."""

    @property
    def over(self) -> bool:
        """Whether nothing follows this phase."""
        return self in (MergePhase.MERGED, MergePhase.WITHDRAWN)

    @property
    def under_way(self) -> bool:
        """Whether chaperon itself is at work on it, or is about to be."""
        return self in _UNDER_WAY


_UNDER_WAY = frozenset({MergePhase.QUEUED, MergePhase.MERGING, MergePhase.VERIFYING, MergePhase.MOVING})

_STOPS = (MergePhase.PROPOSED, MergePhase.PARKED)

STEPS: dict[MergePhase, tuple[MergePhase, ...]] = {
    MergePhase.PROPOSED: (MergePhase.QUEUED, MergePhase.RESOLVING, MergePhase.WITHDRAWN, MergePhase.MERGED, *_STOPS),
    MergePhase.QUEUED: (MergePhase.MERGING, MergePhase.WITHDRAWN, *_STOPS),
    MergePhase.MERGING: (
        MergePhase.VERIFYING, MergePhase.MOVING, MergePhase.RESOLVING, MergePhase.MERGED, MergePhase.QUEUED, *_STOPS,
    ),
    MergePhase.VERIFYING: (MergePhase.MOVING, MergePhase.RESOLVING, MergePhase.QUEUED, *_STOPS),
    MergePhase.MOVING: (MergePhase.MERGED, MergePhase.QUEUED, *_STOPS),
    MergePhase.RESOLVING: (MergePhase.QUEUED, MergePhase.WITHDRAWN, *_STOPS),
    MergePhase.PARKED: (MergePhase.QUEUED, MergePhase.RESOLVING, MergePhase.WITHDRAWN, MergePhase.MERGED, *_STOPS),
    MergePhase.MERGED: (),
    MergePhase.WITHDRAWN: (),
}  # fmt: skip
"""From each phase, the phases that can follow. A daemon that starts again puts a merge that was under way back into
the queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """A merge of an agent's branch into a target branch of its repository."""

    id: str
    """The agent's name: an agent has one branch, and a branch one merge at a time."""
    task: str
    """The task's id."""
    project: str
    """The main worktree of the repository."""
    branch: str
    """The agent's, without `refs/heads/`."""
    base: str
    """The commit that it was made at; empty if that is not known."""
    target: str
    """The branch that gets the work, without `refs/heads/`."""
    phase: MergePhase
    why: str
    """Why it is in this phase."""
    by: str = ""
    """The person who asked for it; empty if the configuration did."""
    tip: str = ""
    """The commit on which the agent's branch stood when the merge was made."""
    before: str = ""
    """The commit on which the target stood then."""
    merged: str = ""
    """The commit that the target gets, or got."""
    commits: int = 0
    """How many commits of the agent's are in it."""
    files: int = 0
    """How many files it changes."""
    level: ConflictLevel = ConflictLevel.NONE
    conflicts: tuple[Conflict, ...] = ()
    """The first of them."""
    check: CheckResult | None = None
    """The check on the merged files; None if there was none."""
    verify: str | None = None
    """The check command of its task, empty for none; None for that of the project."""
    at: float = 0.0
    """Unix time of the last step, in seconds."""
    rounds: int = 0
    """How often it was given back to an agent that has no stored task, which counts its own."""


@dataclass(frozen=True, slots=True)
class MergePlan:
    """The effect that a merge would have now. Nothing was changed for it."""

    merge: Merge
    log: tuple[str, ...] = ()
    """The agent's commits, newest first, each with its short id and its first line."""
    paths: tuple[str, ...] = ()
    """The files that it changes, the first of them."""
    checked_out: tuple[str, ...] = ()
    """Worktrees in which the target is checked out."""
    unfinished: tuple[str, ...] = ()
    """Reasons why a target that is checked out cannot be moved now."""
    uncommitted: int = 0
    """Paths of the agent's workspace that are not committed, and so not in it."""
    warnings: tuple[str, ...] = field(default=())
