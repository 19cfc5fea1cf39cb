"""Resource throttling: lower limits by the growth of usage, and inform the agent.

Growth over 2 halves a limit, over 1.5 leaves 0.7, over 1.2 leaves 0.85 of it, with the default factors. If growth over
2 goes on after a first tightening, a quarter is left. No limit is set below present usage and a tenth more, so that a
tightening never is a stop in disguise.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from interventions.contract import Case, Plan, Unfit
from interventions.decisions import LimitsInForce
from interventions.kinds.degradation import STAGES, stage_of
from interventions.settings import ReductionFactors, ResourceThrottlingSettings
from interventions.texts import fields
from interventions.words import InterventionKind

EXTREME, HIGH, MODERATE = 2.0, 1.5, 1.2
"""Growth of usage, as a ratio of one window to the one before, over which a factor applies."""

HEADROOM = 1.1
"""Factor over present usage that a limit leaves at least."""

LEAST_CPU_SHARE = 0.1
"""A CLI that gets less than a tenth of a processor misses its own time-outs."""

CALLS_PER_MINUTE = 30
"""From where the rate of calls is reduced: half of a healthy agent's calls take over two seconds each with the model's
own time, so a run at this rate is already a fast one."""

BATCH_SIZE = 20
"""From where the size of batches is reduced; it is advice to the agent."""


@dataclass(frozen=True, slots=True)
class _Limited:
    """One limit: its field, the names of its growth in issues, and its used part."""

    field: str
    names: tuple[str, ...]
    used: str
    unit: str


LIMITED = (
    _Limited("max_file_operations", ("file_operations", "file_operation_growth"), "file_operations", "file operations"),
    _Limited("max_memory_mb", ("memory_mb", "memory", "memory_growth"), "memory_mb", "MB of memory"),
    _Limited("max_token_usage", ("tokens", "token_usage", "token_usage_growth", "max_tokens"), "tokens", "tokens"),
    _Limited("max_execution_time_seconds", ("seconds", "time", "time_growth", "run_time"), "seconds", "seconds"),
    _Limited("max_steps", ("steps",), "steps", "steps"),
    _Limited("max_cost_usd", ("cost_usd", "cost", "cost_growth"), "cost_usd", "US dollars"),
)

RATED = ("cpu", "cpu_seconds", "processes", "calls", "call_rate", "time_per_step", "open_files", "disk")
"""Growth of these has no limit of its own: it tightens processor time and the rate of calls."""

EFFORTS = ("medium", "low")
"""Effort levels to go down to, by attempt."""

ALREADY_USED = tuple((limited.field, limited.used) for limited in LIMITED if limited.field != "max_memory_mb")
"""Limits whose used share drives the stages of degradation, with the usage of each. Memory is not used up: it is
given back when a process ends."""


class ResourceThrottling:
    """Tightens what grows."""

    name = "resource_throttling"
    kind = InterventionKind.RESOURCE_THROTTLING
    types: tuple[str, ...] = ()

    def __init__(self, settings: ResourceThrottlingSettings | None = None) -> None:
        self._settings = settings or ResourceThrottlingSettings()

    def plan(self, case: Case) -> Plan | Unfit:
        """New limits, and the message that names them."""
        growth = growth_of(case.issue.details)
        limits, changed = self._tightened(case, growth)
        if limits == case.limits:
            return Unfit("no limit can be lowered further without ending the agent")
        message = fields.OPENING + "\n".join(_message(case, limits, changed))
        if message in case.said:
            return Unfit("this was said before, word for word")
        return Plan(fields.cut(message, fields.MAX_TEXT), {"limits": as_json(limits), "growth": growth})

    def _tightened(self, case: Case, growth: Mapping[str, float]) -> tuple[LimitsInForce, list[str]]:
        factors, now = self._settings.reduction_factors, case.limits
        changes: dict[str, Any] = {}
        told: list[str] = []
        for limited in LIMITED:
            rate = max((growth[name] for name in limited.names if name in growth), default=0.0)
            used = getattr(case.situation.usage, limited.used)
            before = getattr(now.limits, limited.field)
            after = _reduced(
                before, used, factor_of(rate, factors, case.attempt), exact=limited.field == "max_cost_usd"
            )
            if after is not None and after != before:
                changes[limited.field] = after
                told.append(f"{limited.unit}: at most {after}" + (f" in all ({used:g} used)" if used else " in all"))
        rate = max((growth[name] for name in RATED if name in growth), default=0.0)
        if not growth:
            rate = HIGH + 0.1  # nothing is said to grow: the pace is what is left to lower
        limits = replace(now, limits=replace(now.limits, **changes))
        factor = factor_of(rate, factors, case.attempt)
        slower = _slower(limits, factor, case.attempt) if factor < 1 else limits
        return self._cheaper(slower, case), told

    def _cheaper(self, limits: LimitsInForce, case: Case) -> LimitsInForce:
        """Near a limit: less thought, and then a smaller model, so that there is enough left to end well."""
        stage = STAGES[stage_of(share_of_nearest(case))]
        model = self._settings.smaller_model if stage.smaller_model else limits.model
        return replace(limits, effort=stage.effort or limits.effort, model=model or limits.model)


def share_of_nearest(case: Case) -> float:
    """How much of the task's nearest limit is used, 0 to 1 and beyond; limits that are given back are left out."""
    task, usage = case.situation.task.limits, case.situation.usage
    shares = ((getattr(usage, used) or 0) / most for field, used in ALREADY_USED if (most := getattr(task, field)))
    return max(shares, default=0.0)


def growth_of(details: Mapping[str, Any]) -> dict[str, float]:
    """Growth by resource, from an issue's details: `growth` as a mapping, or a rate with `resource`, or `…_growth`."""
    found = details.get("growth", details.get("growth_rate"))
    pairs = dict(found) if isinstance(found, Mapping) else {str(details.get("resource", "")): found}
    pairs |= {name: value for name, value in details.items() if name.endswith("_growth")}
    return {
        name.replace(" ", "_"): float(rate)
        for name, rate in pairs.items()
        if isinstance(rate, int | float) and math.isfinite(rate)
    }


def factor_of(rate: float, factors: ReductionFactors, attempt: int = 1) -> float:
    """Return the factor for a limit at this growth."""
    if rate > EXTREME:
        return factors.severe if attempt > 1 else factors.aggressive
    if rate > HIGH:
        return factors.high
    return factors.moderate if rate > MODERATE else 1.0


def as_json(limits: LimitsInForce) -> dict[str, Any]:
    """Plain data for an intervention's details."""
    inner = {field: getattr(limits.limits, field) for field in (limited.field for limited in LIMITED)}
    outer = ("cpu_share", "calls_per_minute", "batch_size", "effort", "model")
    return {"limits": inner, **{name: getattr(limits, name) for name in outer}}


def from_json(data: Mapping[str, Any], before: LimitsInForce) -> LimitsInForce:
    """Read what `as_json` wrote."""
    return replace(before, **{**data, "limits": replace(before.limits, **data["limits"])})


def _reduced(limit: float | None, used: float | None, factor: float, *, exact: bool) -> float | None:
    """The limit times the factor, above what is used; a limit that there is not begins at twice what is used."""
    if factor >= 1 or (limit is None and not used):
        return limit
    base = limit if limit is not None else 2 * (used or 0)
    least = HEADROOM * (used or 0)
    lowered = max(base * factor, least)
    if not exact:
        lowered = max(1, math.ceil(round(lowered, 6)))
    return lowered if limit is None else min(limit, lowered)


def _slower(limits: LimitsInForce, factor: float, attempt: int) -> LimitsInForce:
    return replace(
        limits,
        cpu_share=max(LEAST_CPU_SHARE, round(limits.cpu_share * factor, 2)),
        calls_per_minute=max(2, round((limits.calls_per_minute or CALLS_PER_MINUTE) * factor)),
        batch_size=max(1, (limits.batch_size or BATCH_SIZE) // 2),
        effort=EFFORTS[min(attempt, len(EFFORTS)) - 1],
    )


def _message(case: Case, limits: LimitsInForce, changed: list[str]) -> list[str]:
    lines = [f"{case.issue.sentence} Your limits have been lowered:", *(f"- {line}" for line in changed)]
    if limits.calls_per_minute != case.limits.calls_per_minute:
        lines.append(f"- tool calls: at most {limits.calls_per_minute} in a minute")
    if limits.batch_size != case.limits.batch_size:
        lines.append(f"- batches: at most {limits.batch_size} things at a time")
    if limits.model != case.limits.model:
        lines.append(f"- the model: {limits.model} from here on")
    lines.append(
        "They are enforced, and go back when your use does. Do the least that the task needs: smaller batches, shorter "
        "output, no step twice; remove temporary files, and end what still runs in the background."
    )
    return lines
