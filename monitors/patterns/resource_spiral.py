"""Resources that run away: near a limit, or growing from look to look.

Two figures from 0 to 1 are compared with the threshold, and the worse one decides: the share of a limit that is used,
and the growth, as 1 minus first over last, for as long as each look was at least 1.2 times the one before. So fast
growth is seen after four looks and slow growth after ten, and the pace tells how hard to throttle. Small things may
grow as they like: each resource has a floor below which growth means nothing.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Gt, Le

from monitors.contract.bounds import Key, Share
from monitors.contract.issues import Issue
from monitors.contract.observations import (
    AgentSpoke,
    ContextCompacted,
    Observation,
    ResourcesSampled,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    UsageSeen,
    UserSpoke,
)
from monitors.contract.tasks import Limits, Task
from monitors.contract.wording import counted
from monitors.contract.words import Decision, Severity
from monitors.sensitivity import PatternSettings, level_of
from monitors.signals.meters import KINDS, GrowthMeter
from monitors.signals.polling import is_polling
from monitors.signals.shared import SharedSignals
from monitors.streaks import MAX_EVIDENCE, Streaks

COMPACTIONS = 3
"""Times that the context is filled and shortened, one soon after the other, that make a spiral."""

FAST = 1.5
"""Pace of growth that is of high severity alone: doubled in less than two looks."""

STEPS_A_CONTEXT = 25
"""Steps within which it is soon: a context of 200,000 tokens serves an ordinary run for a hundred steps and more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSpiralSettings(PatternSettings):
    """Resources that run away: near a limit, or growing from look to look."""

    confidence: float = 0.75
    impact_factor: float = 0.3
    threshold: Share = 0.8
    """Share of a limit, or growth, from which it is reported."""
    growth_rate: Annotated[float, Key(), Gt(1), Le(100)] = 1.2
    """How many times the look before each look must be for growth to go on; at 1.5 and more it is
    a spiral of high severity."""
    samples_a_look: int = 5
    """Samples of the process tree that are averaged into one look."""
    steps_a_look: int = 10
    """Steps, or replies of the model, that are counted into one look."""


class ResourceSpiral:
    """Raises `resource_spiral`; the key is the resource."""

    name = "resource_spiral"

    def __init__(
        self,
        settings: ResourceSpiralSettings | None = None,
        task: Task | None = None,
        facts: SharedSignals | None = None,
    ) -> None:
        self._facts = facts or SharedSignals()
        self._settings = settings or ResourceSpiralSettings()
        self._rate = self._settings.growth_rate
        self._threshold = min(0.95, self._settings.threshold * min(1.15, max(0.8, self._settings.factor)))
        limits = task.limits if task else Limits()
        self._meters = {name: GrowthMeter(kind) for name, kind in KINDS.items()}
        self._meters["memory"].limit = limits.max_memory_mb
        self._meters["tokens"].limit = limits.max_token_usage
        self._meters["file operations"].limit = limits.max_file_operations
        self._meters["run time"].limit = limits.max_execution_time_seconds
        self._meters["cost"].limit = limits.max_cost_usd
        self._streaks = Streaks(len(KINDS) + 1)
        self._step = 0
        self._tokens = self._operations = 0
        self._asked: tuple[str, float] = ("", 0.0)
        self._minute = -1
        self._ran = 0.0
        self._compactions: deque[tuple[int, int]] = deque(maxlen=MAX_EVIDENCE)
        self._last_mono: float | None = None

    def see(self, observation: Observation) -> Sequence[Issue]:
        """Count what the observation used, and judge the resources that it is about."""
        self._count_time(observation)
        if isinstance(observation, AgentSpoke):
            return ()
        match observation:
            case ResourcesSampled():
                return self._sampled(observation)
            case TokensUsed():
                return self._replied(observation)
            case ToolCalled() if observation.review.decision is not Decision.BLOCK:
                return self._called(observation)
            case ToolReturned():
                return self._returned(observation)
            case ContextCompacted():
                return self._compacted(observation)
            case UsageSeen():
                return self._spent(observation)
            case _:
                return ()

    def _count_time(self, observation: Observation) -> None:
        """Count the time in which the agent works; between a turn's end and the next message it does not."""
        if self._last_mono is not None and not isinstance(observation, UserSpoke):
            self._ran += max(0.0, observation.mono - self._last_mono)
        if isinstance(observation, TurnEnded):
            self._last_mono = None
        elif self._last_mono is not None or not isinstance(observation, ResourcesSampled):
            self._last_mono = observation.mono

    def _sampled(self, sample: ResourcesSampled) -> Sequence[Issue]:
        figures = {
            "memory": sample.memory_mb,
            "processes": float(sample.processes),
            "open files": float(sample.open_files),
            "disk": sample.disk_mb,
        }
        issues: list[Issue] = []
        for name, value in figures.items():
            meter = self._meters[name]
            meter.use(value, self._step)
            meter.add(value)
            if meter.count >= self._settings.samples_a_look:
                meter.look(meter.pending / meter.count, sample.seq, self._rate)
            issues += self._judge(meter, sample.seq)
        operations = self._meters["file operations"]
        self._operations = max(self._operations, sample.file_operations)
        operations.use(self._operations, self._step)
        return [*issues, *self._judge(operations, sample.seq)]

    def _replied(self, used: TokensUsed) -> Sequence[Issue]:
        meter = self._meters["tokens"]
        self._tokens += used.input_tokens + used.cached_tokens + used.output_tokens
        meter.use(self._tokens, self._step)
        meter.add(used.input_tokens + used.output_tokens)
        if meter.count >= self._settings.steps_a_look:
            meter.look(meter.pending, used.seq, self._rate)
        return self._judge(meter, used.seq)

    def _spent(self, seen: UsageSeen) -> Sequence[Issue]:
        tokens, cost = self._meters["tokens"], self._meters["cost"]
        self._tokens = max(self._tokens, seen.tokens)
        tokens.use(self._tokens, self._step)
        if seen.cost_usd is None:
            return self._judge(tokens, seen.seq)
        cost.use(seen.cost_usd, self._step)
        return [*self._judge(tokens, seen.seq), *self._judge(cost, seen.seq)]

    def _called(self, call: ToolCalled) -> Sequence[Issue]:
        self._asked = (
            "" if is_polling(call.tool, call.input) or call.tool in {"Task", "Agent", "AskUserQuestion"} else call.id,
            call.mono,
        )
        operations, calls = self._meters["file operations"], self._meters["calls"]
        changed = len(self._facts.changes(call))
        self._operations += changed
        operations.pending += changed
        operations.use(self._operations, self._step)
        minute = int(call.mono // 60)
        if minute != self._minute:
            if self._minute >= 0:
                calls.look(calls.pending, call.seq, self._rate)
            self._minute = minute
        calls.add(1)
        return (*self._judge(operations, call.seq), *self._judge(calls, call.seq))

    def _returned(self, step: ToolReturned) -> Sequence[Issue]:
        self._step += 1
        slow, operations, run_time = (
            self._meters["time per step"],
            self._meters["file operations"],
            self._meters["run time"],
        )
        asked_id, asked_at = self._asked
        if asked_id and asked_id == step.id:
            slow.add(step.mono - asked_at)
            if slow.count >= self._settings.steps_a_look:
                slow.look(slow.pending / slow.count, step.seq, self._rate)
        operations.count += 1
        if operations.count >= self._settings.steps_a_look:
            operations.look(operations.pending, step.seq, self._rate)
        run_time.use(self._ran, self._step)
        return (*self._judge(slow, step.seq), *self._judge(run_time, step.seq), *self._context_lasts())

    def _context_lasts(self) -> Sequence[Issue]:
        """Once the context has served for long enough, what was before it is over."""
        if not self._compactions or self._step - self._compactions[-1][0] <= STEPS_A_CONTEXT:
            return ()
        self._compactions.clear()
        return self._streaks.close("context")

    def _compacted(self, shortened: ContextCompacted) -> Sequence[Issue]:
        """A context that fills up again as soon as it was shortened: the run reads more than it can hold."""
        self._compactions.append((self._step, shortened.seq))
        count = len(self._compactions)
        level = level_of(count, COMPACTIONS)
        if not level:
            return ()
        steps = self._step - self._compactions[0][0]
        issue = Issue(
            type=self.name,
            severity=self._settings.severity_at(level),
            confidence=self._settings.confidence_at(level),
            impact_factor=self._settings.impact_factor,
            began=self._compactions[0][1],
            sentence=f"Context: it was full and shortened {counted(count, 'time')} within {counted(steps, 'step')}.",
            evidence=tuple(seq for _, seq in self._compactions),
            details={"resource": "context", "count": count, "steps": steps},
            key="context",
        )
        return self._streaks.seen(issue, level)

    def _judge(self, meter: GrowthMeter, seq: int) -> Sequence[Issue]:
        pressure, growth = meter.pressure(), meter.growth
        spirals = growth >= self._threshold
        if pressure < self._threshold and not spirals:
            open_still = pressure >= 0.9 * self._threshold
            return () if open_still or meter.kind.name not in self._streaks else self._streaks.close(meter.kind.name)
        level = (pressure >= self._threshold) + (pressure >= 1) + spirals * (1 + (meter.pace() >= FAST))
        if not self._streaks.worse(level, meter.kind.name):
            return ()
        return self._streaks.seen(self._issue(meter, pressure, growth, level, seq), level)

    def _issue(self, meter: GrowthMeter, pressure: float, growth: float, level: int, seq: int) -> Issue:
        left = meter.steps_left()
        parts = []
        if growth >= self._threshold:
            parts.append(
                f"grew {meter.looks[-1] / meter.first:.1f} times in {meter.growing + 1} looks to {meter.looks[-1]:.0f} {meter.kind.unit}"
            )
        if pressure >= self._threshold:
            used, limit = meter.kind.amount(meter.used), meter.kind.amount(meter.limit or 0.0)
            parts.append(f"{used} of {limit} are used ({pressure:.0%})")
        if left is not None:
            parts.append(f"{counted(left, 'step')} left at this pace")
        return Issue(
            type=self.name,
            severity=self._settings.graded((Severity.MEDIUM, Severity.HIGH, Severity.CRITICAL)[min(level, 3) - 1]),
            confidence=self._settings.confidence_at(min(level, 3)),
            impact_factor=self._settings.impact_factor,
            began=meter.evidence[0] if meter.evidence else seq,
            sentence=f"{meter.kind.name.capitalize()}: {', '.join(parts)}.",
            evidence=meter.evidence or (seq,),
            details={
                "resource": meter.kind.name,
                "score": round(max(pressure, growth), 3),
                "used": round(meter.used, 1),
                "limit": meter.limit,
                "growth_rate": round(meter.pace(), 2) if growth else None,
                "steps_left": left,
            },
            key=meter.kind.name,
        )
