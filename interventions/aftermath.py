"""The remains of a stopped agent, looked up after its processes had ended."""

from dataclasses import dataclass
from typing import Literal

LeftoverKind = Literal["branch", "commits", "stash", "push", "tag", "worktree", "process", "file"]


@dataclass(frozen=True, slots=True)
class Leftover:
    """One remainder that a person may want to clear away. Nothing is cleared away automatically."""

    kind: LeftoverKind
    what: str
    """Example: `the branch try-2, made at 14:03:11`."""
    way_out: str
    """The remedy, for a person: a command if there is one."""


@dataclass(frozen=True, slots=True)
class Aftermath:
    """The findings of that look."""

    files: tuple[str, ...] = ()
    """Paths of the workspace that are not as they were when the agent started, each with what became of it; at most
    `MOST_FILES`. Example: `src/a.py (modified)`."""
    more_files: int = 0
    """How many more there are."""
    shared_with: tuple[str, ...] = ()
    """Other agents that worked in the same workspace meanwhile: files may be theirs."""
    leftovers: tuple[Leftover, ...] = ()
    not_looked: tuple[str, ...] = ()
    """Parts that could not be looked at, with the reasons."""


MOST_FILES = 500
"""Paths that a report names: a person reads some tens, and `chaperon checkpoints diff` lists all."""

MOST_LEFTOVERS = 200
"""Things of all kinds that a report names."""
