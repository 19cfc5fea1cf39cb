"""The contract of interventions and strategies, built-in ones and plugins: the case they get, the plan they return.

An `Answer` turns a case into a plan, or returns the reason why it cannot. It is pure: the same case gives the same
plan, in bounded work, and nothing is looked up; facts about the disk come with the case. A plugin is any object of this
shape. A whole one:

    class AskForTheLog:
        name = "ask_for_the_log"
        kind = InterventionKind.SOFT_CORRECTION
        types = ("repetitive_errors",)

        def plan(self, case: Case) -> Plan | Unfit:
            error = case.issue.details.get("error")
            if not error:
                return Unfit("the issue names no error")
            return Plan(f"[chaperon] Before you try again, show the 20 lines of the log around: {str(error)[:300]}")

An intervention may have an effect of its own, such as a ticket or another branch: `details={"effect": "open_ticket",
"about": "..."}` names it, and the script `hooks.on-intervention` does it, with that name and the details as JSON. The
message may then be empty, and the kind says how strong the effect is. An effect that was not done, since the script is
missing or failed, is an incident: `effect_not_done`.

It is tried first for the types that it names, whenever its kind was chosen. If it declines or fails, the built-in
intervention of that kind is used. `supervisor.testing.check_answer` checks the rules for every answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from interventions.decisions import InterventionOutcome, LimitsInForce
from interventions.effectiveness import EffectRecord
from interventions.words import InterventionKind
from monitors.contract.actions import PastCall
from monitors.contract.issues import Issue
from monitors.contract.tasks import Limits, Task
from monitors.contract.todo import TodoItem

MAX_MESSAGE = 4_000
"""Longest message to the agent, in characters: about a thousand tokens, half a percent of the model's context. What is
longer crowds out what the agent was doing, and is read less."""


class Surveyed(Protocol):
    """Facts that were looked up outside. Each method returns an empty result if nothing is known."""

    def similar_paths(self, path: str) -> Sequence[str]:
        """Paths that exist and are named much like this one, best first, at most 5."""
        ...

    def moved_to(self, path: str) -> str:
        """The path's new place by git's history, or the empty string."""
        ...

    def owner_and_mode(self, path: str) -> str:
        """Owner, group and mode as `ls -l` shows them, or the empty string. Example: `root:root -rw-r-----`."""
        ...

    def installed(self, module: str) -> str:
        """The distribution that brings the module, or one much like it, with its version; or the empty string."""
        ...

    def changed_files(self) -> Sequence[str] | None:
        """Paths that differ from the last commit, in order; None if that cannot be found out."""
        ...

    def last_commit(self) -> str:
        """The last commit and its subject, or the empty string. Example: `abc1234 feat: add auth module`."""
        ...


class NothingSurveyed:
    """Nothing was looked up."""

    def similar_paths(self, path: str) -> Sequence[str]:  # noqa: ARG002 - the protocol's
        """Return nothing."""
        return ()

    def moved_to(self, path: str) -> str:  # noqa: ARG002 - the protocol's
        """Return nothing."""
        return ""

    def owner_and_mode(self, path: str) -> str:  # noqa: ARG002 - the protocol's
        """Return nothing."""
        return ""

    def installed(self, module: str) -> str:  # noqa: ARG002 - the protocol's
        """Return nothing."""
        return ""

    def changed_files(self) -> Sequence[str] | None:
        """Return None: it is not known."""
        return None

    def last_commit(self) -> str:
        """Return nothing."""
        return ""


ASKED_A_PERSON = "a person decides about rollbacks here, and was asked"
"""Why a rollback that was due is not done if `auto_rollback` is off."""


@dataclass(frozen=True, slots=True)
class GoodMoment:
    """A checkpoint that a rollback may go to."""

    name: str
    description: str
    """Content and time of the checkpoint, for the agent and a person."""
    depth: int
    """How many checkpoints back it is; 1 is the newest."""
    unchanged: bool = False
    """Whether no file has changed since, as far as the agent's own calls tell."""


class CheckpointLookup(Protocol):
    """A source of checkpoints to go back to."""

    def before(self, issue: Issue, most_back: int) -> GoodMoment | str:
        """Return the newest checkpoint from before the issue began that is safe for it, or why there is none.

        Args:
            issue: What went wrong; `began` says since when.
            most_back: How many checkpoints back it may be.
        """
        ...


class NoCheckpoints:
    """There are none."""

    def before(self, issue: Issue, most_back: int) -> GoodMoment | str:  # noqa: ARG002 - the protocol's
        """Say so."""
        return "no checkpoint was taken"


class ResourceUsage(NamedTuple):
    """Usage of an agent so far; None for a resource that is not measured."""

    file_operations: int | None = None
    memory_mb: float | None = None
    seconds: float | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    steps: int | None = None
    """Calls that were answered."""


@dataclass(frozen=True, slots=True)
class Situation:
    """How an agent stands when something is to be done about it."""

    agent: str
    task: Task
    id: str
    """The id that the intervention would get."""
    mono: float
    """Now, in seconds on the clock that never goes back."""
    listening: bool = True
    """Whether the agent can take messages; one that is held, finishing or starting cannot."""
    finished: bool = False
    """Whether its last turn has ended and nothing starts another. A message now would cost a turn that was not
    requested."""
    ended: bool = False
    """Whether its run is over."""
    well: bool = False
    """Whether it ended as it was meant to: done, or stopped where a stop was chosen."""
    history: tuple[PastCall, ...] = ()
    """Its latest steps, oldest first."""
    todo: tuple[TodoItem, ...] = ()
    """Its own to-do list; empty if it keeps none."""
    usage: ResourceUsage = field(default_factory=ResourceUsage)
    checkpoints: CheckpointLookup = field(default_factory=NoCheckpoints)
    facts: Surveyed = field(default_factory=NothingSurveyed)


@dataclass(frozen=True, slots=True)
class Case:
    """One issue of one agent, for which one intervention is to be planned."""

    issue: Issue
    situation: Situation
    attempt: int = 1
    """Number of the attempt of this kind for this issue, from 1."""
    others: tuple[Issue, ...] = ()
    """Issues that are open beside it and are answered together with it."""
    said: frozenset[str] = frozenset()
    """Messages that the agent got before, word for word; none is repeated unchanged."""
    limits: LimitsInForce = field(default_factory=lambda: LimitsInForce(Limits()))
    """Limits in force for the agent."""
    excluded: str = ""
    """Why a rollback is not possible, where one was due and this is done in its place; empty otherwise."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The content of an intervention."""

    message: str
    """The message to the agent; empty for none."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Data that the kind needs, as plain JSON; `effect` names an effect of its own."""


@dataclass(frozen=True, slots=True)
class Unfit:
    """This kind cannot answer this case."""

    why: str
    """Completes "not taken, because …"."""


@dataclass(frozen=True, slots=True)
class PluginFailure:
    """An intervention or a strategy of a plugin failed and is not asked again in this run; worth an incident."""

    plugin: str
    what: str
    """The error, with its type."""


class Answer(Protocol):
    """An intervention."""

    @property
    def name(self) -> str:
        """The name in the journal and the configuration."""
        ...

    @property
    def kind(self) -> InterventionKind:
        """The kind, one of five."""
        ...

    @property
    def types(self) -> tuple[str, ...]:
        """The issue types that it answers; empty means all."""
        ...

    def plan(self, case: Case) -> Plan | Unfit:
        """Say what is to be done, or why it cannot be."""
        ...


@dataclass(frozen=True, slots=True)
class Tried:
    """One intervention that an issue of this type got earlier in the run."""

    kind: InterventionKind
    mono: float
    same_streak: bool
    """Whether it was for this very streak, and not for another one of the type."""
    outcome: InterventionOutcome | None
    """None while its window is open."""
    sightings: int
    """How often the issue was raised again since the first of this kind in a row."""


@dataclass(frozen=True, slots=True)
class Past:
    """Input of a strategy."""

    issue: Issue
    base: float
    """Severity times confidence times 1 + impact, before escalation."""
    mono: float
    """Now."""
    tried: tuple[Tried, ...]
    """Oldest first: what this streak got in the run, and what others of its type got in the last five minutes."""
    record: EffectRecord
    """Outcomes of interventions in all runs."""


@dataclass(frozen=True, slots=True)
class LadderPosition:
    """A strategy's position on its ladder."""

    index: int
    """From 0; one past the end means that the ladder was climbed in vain."""
    why: str
    """Completes "because …"."""


class Strategy(Protocol):
    """How the next kind is proposed. The controller bounds what it proposes: by score, by permission, by record."""

    @property
    def name(self) -> str:
        """The name in the configuration."""
        ...

    def ladder(self, issue: Issue) -> Sequence[InterventionKind]:
        """The kinds that answer issues of this type, weakest first."""
        ...

    def position(self, ladder: Sequence[InterventionKind], past: Past) -> LadderPosition:
        """Return the position on the ladder at which to act now.

        Args:
            ladder: The rungs of `ladder` that are allowed; never empty.
            past: Attempts so far, with their outcomes.
        """
        ...
