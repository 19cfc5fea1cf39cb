"""The limits of a task, held at the gate.

At a limit issues are raised and calls that change something are refused. The run ends before a call of the model that
would pass a spending limit. Nothing is kept here: decisions follow from usage, from the limits in force, and from the
issues that are open. The detector of resources reports the approach to a limit; this module handles its reach.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from operator import attrgetter

from interventions.contract import ResourceUsage
from monitors.contract.actions import Action, Review
from monitors.contract.effects import EffectType
from monitors.contract.issues import Issue
from monitors.contract.tasks import Limits
from monitors.contract.words import Decision, Severity
from supervisor.core.settings import LimitSettings
from supervisor.protocol.claude.prices import Spent

LIMIT_REACHED = "limit_reached"
"""The issue's type; its key is the limit's name."""

OVERRUN = "critical_action"
"""The type whose only answer is a stop, for a limit that was passed by far."""

RULE = "chaperon.limit-reached"

EASED = 0.9
"""Share of a limit below which it counts as kept again: memory goes up and down around a limit."""

FILE_EFFECTS: frozenset[EffectType] = frozenset({"file_write", "file_delete"})


@dataclass(frozen=True, slots=True)
class Limited:
    """One limit."""

    limit: str
    """Its field in `Limits`."""
    used: str
    """Its field in `ResourceUsage`."""
    says: str
    """Its name and unit, for a person: filled with what is used and the limit."""
    stops: bool = False
    """Whether passing it by far stops the run: these two cost the user for as long as it goes on."""
    spent: bool = False
    """Whether each call of the model uses some of it: it is held before the call that would pass it."""


LIMITED = (
    Limited("max_execution_time_seconds", "seconds", "time limit is reached: {used:.0f} of {limit:g} s", stops=True),
    Limited("max_cost_usd", "cost_usd", "cost limit is reached: ${used:.4g} of ${limit:g}", stops=True, spent=True),
    Limited("max_token_usage", "tokens", "token limit is reached: {used:,.0f} of {limit:,} tokens", spent=True),
    Limited("max_steps", "steps", "limit of steps is reached: {used:.0f} of {limit:g} calls", stops=True),
    Limited("max_memory_mb", "memory_mb", "memory limit is reached: {used:.0f} of {limit:g} MiB"),
    Limited("max_file_operations", "file_operations", "limit of file operations is reached: {used:.0f} of {limit:g}"),
)

_USED, _MOST = attrgetter(*(each.used for each in LIMITED)), attrgetter(*(each.limit for each in LIMITED))

SPENT = tuple(each for each in LIMITED if each.spent)
"""Those of spending, which are asked with each call."""


def share(each: Limited, usage: ResourceUsage, limits: Limits) -> float:
    """How much of a limit is used; 0 if there is no limit or nothing is known."""
    used, limit = getattr(usage, each.used), getattr(limits, each.limit)
    return used / limit if used and limit else 0.0


def due(
    usage: ResourceUsage,
    limits: Limits,
    issues: Mapping[tuple[str, str], Issue],
    seq: int,
    settings: LimitSettings,
    *,
    working: bool = True,
) -> Issue | None:
    """Return the issue that is to be raised or closed, one at a time; None if there is none.

    Args:
        usage: The usage.
        limits: Those in force.
        issues: The open ones.
        seq: Number of the present event.
        settings: The response at a limit.
        working: Whether the model is at work: one that is not spends nothing more, unless it gets a message about it.
    """
    for each, used, limit in zip(LIMITED, _USED(usage), _MOST(limits), strict=True):
        part = used / limit if used and limit else 0.0
        if (part < EASED and not issues) or (each.spent and not working):
            continue
        known = issues.get((LIMIT_REACHED, each.limit))
        over = each.stops and settings.stop_at is not None and part >= max(1.0, settings.stop_at)
        if over and (OVERRUN, each.limit) not in issues:
            return _issue(each, usage, limits, seq, OVERRUN, Severity.CRITICAL)
        if part >= 1 and known is None:
            return _issue(each, usage, limits, seq, LIMIT_REACHED, Severity.HIGH)
        if part < EASED and known is not None:
            return _issue(each, usage, limits, known.began, LIMIT_REACHED, Severity.HIGH, closed=True)
    return None


@dataclass(frozen=True, slots=True)
class PassedLimit:
    """A limit that the next call of the model would pass, or that is passed."""

    limit: str
    """Its field in `Limits`."""
    says: str
    """The same as a clause, with the figures."""


def passing(usage: ResourceUsage, coming: Spent, limits: Limits) -> PassedLimit | None:
    """Return the limit that the model's next call would pass; None if there is none.

    Args:
        usage: What was used.
        coming: An estimate of the call; nothing, to learn what is passed already.
        limits: Those of the task.
    """
    for each in SPENT:
        most = getattr(limits, each.limit)
        if most is None:
            continue
        used, call = getattr(usage, each.used) or 0, getattr(coming, each.used) or 0
        if used + call <= most:
            continue
        told = each.says.format(used=used, limit=most)
        if used > most:
            return PassedLimit(each.limit, f"the {told} are used")
        costs = f"${call:.4g}" if each.used == "cost_usd" else f"{call:,.0f} tokens"
        told = told.replace("is reached", "would be passed by the next call of the model", 1)
        return PassedLimit(each.limit, f"the {told} are used, and such a call takes about {costs}")
    return None


def forbidden(action: Action, review: Review, usage: ResourceUsage, limits: Limits) -> str:
    """Why a call may not run at the limits in force; empty if it may. Reads may, but for the limit of steps."""
    kinds = {effect.type for effect in review.side_effects}
    if review.decision is Decision.BLOCK:
        return ""
    only_reads = not (kinds or action.tool.startswith("mcp__"))
    for each in LIMITED:
        if only_reads and each.used != "steps":
            continue
        if share(each, usage, limits) >= 1 and _bears_on(each, kinds):
            return f"The {_said(each, usage, limits)} are used."
    return ""


def refused(review: Review, why: str) -> Review:
    """The review of a call that a limit forbids."""
    told = (
        f"{why} So calls that change something are not run any more. Say where the work stands and what is left to do, and "
        "end; a person can go on with higher limits."
    )
    return Review(Decision.BLOCK, review.risk, review.rationality, Severity.HIGH, told, RULE, review.side_effects)


def _bears_on(each: Limited, kinds: Set[str]) -> bool:
    return each.used != "file_operations" or not kinds.isdisjoint(FILE_EFFECTS)


def _said(each: Limited, usage: ResourceUsage, limits: Limits) -> str:
    return each.says.format(used=getattr(usage, each.used) or 0, limit=getattr(limits, each.limit) or 0)


def _issue(
    each: Limited,
    usage: ResourceUsage,
    limits: Limits,
    seq: int,
    type_: str,
    severity: Severity,
    *,
    closed: bool = False,
) -> Issue:
    used, limit = getattr(usage, each.used), getattr(limits, each.limit)
    return Issue(
        type=type_,
        severity=severity,
        confidence=1.0,
        impact_factor=0.3,
        began=seq,
        sentence=f"The {_said(each, usage, limits)} are used.",
        evidence=(seq,),
        details={"resource": each.used, "limit": limit, "used": used},
        key=each.limit,
        closed=closed,
    )
