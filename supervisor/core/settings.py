"""The settings of limits, discoveries, stored tasks, merges and checks.

They stand apart from the code that obeys them: every command that reads the configuration loads them, and few need
that code.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Le

from monitors.contract.bounds import Argument, Count, Key, Pause, Seconds
from supervisor.protocol.words import MergeMode


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings:
    """The response at a limit."""

    at_limit: Annotated[Literal["block", "hold", "tell"], Key()] = "block"
    """At a limit. `block`: calls that change something are refused, and before a call of the model that would pass a
    limit of tokens or cost the run ends. `hold`: they wait for a person, and so does the tool call that leads to such
    a call of the model; without an approval, the run ends. `tell`: they run, and only the issue is raised."""
    # Twice is beyond what a run needs to end well after its first word about it.
    stop_at: Annotated[float, Key(), Ge(1), Le(1_000)] | None = 2.0
    """How many times a limit of time or cost may be used up before the run is stopped at once. Empty: it never is."""


@dataclass(frozen=True, slots=True)
class DiscoverySettings:
    """Facts that agents note for one another."""

    enabled: Annotated[bool, Key()] = True
    """Whether agents that work beside others are told how to note a fact, and all are told what is known."""
    told_at_start: Annotated[int, Key(), Ge(0), Le(50)] = 10
    """How many of the known facts an agent is told at its start, those that share most words with its task first, of
    equals the last noted. Ten of them are at most 1,000 tokens."""
    told_at_work: Annotated[int, Key(), Ge(0), Le(50)] = 10
    """How many of the facts that others note while it runs an agent is told in its whole run, beside the answer to its
    next tool call. 0 tells none."""

    @property
    def most_at_work(self) -> int:
        """How many of them it is told: none if facts are not told at all."""
        return self.told_at_work if self.enabled else 0


MOST_PREFIX = 23
"""Characters of a prefix of agents' names: with a hyphen and a number of eight digits it has the 32 of a name."""


def is_prefix(value: str) -> str:
    """Return a prefix of agents' names as it is; raises ValueError if no name can begin with it."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", value) or len(value) > MOST_PREFIX:
        raise ValueError(
            f"{value!r} begins no agent's name: use up to {MOST_PREFIX} letters, digits, hyphens and underscores"
        )
    return value


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """How stored tasks are worked on: how many at once, what the machine must have left for one more, and their end."""

    slots: Count = 2
    """How many are worked on at once: one CLI has about 205 MB, and a test run beside it keeps a core busy."""
    slots_per_repository: Count | None = None
    """The same for each repository; empty: as `slots`."""
    slots_per_account: Count | None = None
    """The same for the account in force, named by the credential of agents (`chaperon budgets`); empty: as `slots`.
    Agents that an earlier credential still pays for have none of these slots."""
    min_free_memory_mb: Annotated[int, Key(), Ge(0)] = 512
    """Memory that must be available before one more is begun, in MiB: an idle CLI has 205, with a test run twice
    that."""
    min_free_disk_mb: Annotated[int, Key(), Ge(0)] = 1_024
    """Room that the disks of workspaces and state must have before one more is begun, in MiB."""
    max_load_per_core: Annotated[float, Key(), Ge(0), Le(1_000)] = 8.0
    """One-minute load average, divided by the number of cores, above which none is begun; 0: it does not matter.
    Builds make 1 to 4 in health; beyond 8 each agent is slower than fewer would be."""
    retries: Annotated[int, Key(), Ge(0), Le(100)] = 2
    """How many more attempts follow on one that failed, unless the task says so itself. The CLI's own crashes are
    retried before, within one attempt, as `interventions.max_retries` says."""
    retry_seconds: Pause = 10
    """Time until a task whose attempt failed is claimed again, in seconds; doubled after each attempt."""
    stopped_seconds: Pause = 60
    """Time until a task whose agent a person stopped is claimed again, in seconds. In it the person can change or
    cancel it; `chaperon task retry` has it claimed at once."""
    name_prefix: Annotated[str, Key(is_prefix)] = "echo"
    """Agents of stored tasks are named by it and a number. Example: `echo-001`."""


Rounds = Annotated[int, Key(), Ge(0), Le(20)]
"""How often work is given back. An agent that did not manage in a few rounds needs a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSettings:
    """The fate of the branches of agents that worked in workspaces of their own."""

    mode: Annotated[MergeMode, Key()] = "propose"
    """`off`: they stay where they are. `propose`: once an agent is done, its branch is listed by `chaperon merge`, and
    a person has it merged. `auto`: it is merged by itself, if the check passes. `merge: auto` is short for this key."""
    method: Annotated[Literal["rebase", "merge"], Key()] = "rebase"
    """`rebase`: each commit of the agent's is written anew on top of the target, with its author; a branch that holds
    merges of its own gets a merge commit. `merge`: always a merge commit."""
    checked_out: Annotated[Literal["leave", "update"], Key()] = "leave"
    """A merge by itself whose target is checked out in a worktree. `leave`: it stays a proposal. `update`: the files of
    that worktree are set as well, if nothing in it is uncommitted. A merge that a person asks for does the latter."""
    rounds: Rounds = 2
    """How often a conflict or a failed check of merged work is given back to an agent before it is left to a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifySettings:
    """The check of agents' work: a command that chaperon runs itself, and believes instead of the agent."""

    command: Argument = ""
    """A line for the shell that exits with 0 if the work is good, for tasks that bring none of their own. Example:
    `make test`. Empty: nothing is checked. `verify: make test` is short for this key."""
    seconds: Seconds = 600
    """How long it may take, in seconds, before it is ended with all that it started."""
    rounds: Rounds = 2
    """How often a failure is given back to the agent, with the end of the output, before the task fails."""
    every_steps: Annotated[int, Key(), Ge(0), Le(10_000)] = 0
    """After how many steps of an agent the command also runs in a quiet moment, in which no call of its is under way,
    so that the detection of progress knows how the work stands; 0: never. The agent goes on meanwhile and is told
    nothing."""
