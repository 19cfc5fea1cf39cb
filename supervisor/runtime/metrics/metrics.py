"""The daemon's counters; `supervisor.runtime.metrics.exposition` writes them as text, for `GET /metrics`.

Counters outlive the daemon: they are kept with the snapshot, and a start counts the events after it. Counts that are no
events, such as messages that were sent, lose the part after the last snapshot if the daemon is killed. Gauges are read
on request. The names, helps and buckets are the table of `supervisor.runtime.metrics.metric_table`; nothing else is
served.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from interventions.approval import DEADLINE_PASSED
from interventions.effectiveness import EffectRecord
from interventions.words import InterventionKind
from supervisor.protocol import events
from supervisor.runtime.metrics.metric_table import BY_NAME, METRICS, Metric

Labels = tuple[str, ...]

Sample = tuple[str, Labels, float]
"""A metric's name, the values of its labels, and its value."""


@dataclass(slots=True)
class Histogram:
    """Observations of one metric under one set of labels."""

    counts: list[int]
    total: float = 0.0

    def observe(self, metric: Metric, value: float) -> None:
        """Count one."""
        self.counts[bisect_left(metric.buckets, value)] += 1
        self.total += value


@dataclass(frozen=True, slots=True)
class MetricSeries:
    """One metric, with its values and histograms by the values of its labels."""

    metric: Metric
    values: Mapping[Labels, float]
    histograms: Mapping[Labels, Histogram]


@dataclass(slots=True)
class _Choice:
    """An intervention whose effect is awaited."""

    kind: InterventionKind
    mono: float


@dataclass(slots=True)
class Metrics:
    """Counts events as they are journalled.

    Args:
        effectiveness: What came of interventions in all runs; kept up by this.
    """

    effectiveness: EffectRecord = field(default_factory=EffectRecord)
    _counters: dict[str, dict[Labels, float]] = field(default_factory=dict)
    _histograms: dict[str, dict[Labels, Histogram]] = field(default_factory=dict)
    _chosen: dict[tuple[str, str], _Choice] = field(default_factory=dict)
    _ranks: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def add(self, name: str, *labels: str, value: float = 1) -> None:
        """Count one more, or so much more.

        Raises:
            KeyError: There is no such metric.
        """
        metric = BY_NAME[name]
        assert len(labels) == len(metric.labels), f"{name} has the labels {metric.labels}"
        series = self._counters.setdefault(name, {})
        series[labels] = series.get(labels, 0.0) + value

    def observe(self, name: str, value: float, *labels: str) -> None:
        """Note how long something took, in seconds; raises like `add`."""
        metric = BY_NAME[name]
        series = self._histograms.setdefault(name, {})
        found = series.setdefault(labels, Histogram([0] * (len(metric.buckets) + 1)))
        found.observe(metric, value)

    def as_json(self) -> dict[str, Any]:
        """Return all counters and histograms, to be kept with a snapshot."""
        counters = {
            name: [[list(labels), value] for labels, value in each.items()] for name, each in self._counters.items()
        }
        histograms = {
            name: [[list(labels), one.counts, one.total] for labels, one in each.items()]
            for name, each in self._histograms.items()
        }
        return {"counters": counters, "histograms": histograms}

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Take in what `as_json` gave; metrics that have other labels or buckets now, or are no more, begin anew."""
        for name, series in kept["counters"].items():
            for labels, value in series:
                if name in BY_NAME and len(labels) == len(BY_NAME[name].labels):
                    self._counters.setdefault(name, {})[tuple(labels)] = value
        for name, series in kept["histograms"].items():
            for labels, counts, total in series:
                metric = BY_NAME.get(name)
                if metric and (len(labels), len(counts)) == (len(metric.labels), len(metric.buckets) + 1):
                    self._histograms.setdefault(name, {})[tuple(labels)] = Histogram(list(counts), total)

    def settle(self) -> None:
        """Await the effect of no intervention of before: the time until it is that of no daemon."""
        self._chosen.clear()

    def saw(self, seq: int, event: events.AnyEvent) -> None:
        """Count an event of the journal, once."""
        if isinstance(event, events.InterventionJudged):
            self.effectiveness.remember(seq, event.judgement)
        self.add("chaperon_journal_events_total", event.kind)
        match event:
            case events.ReviewMade(review=review):
                self.reviewed(review.decision, review.rule, review.micros)
            case events.ApprovalGiven():
                self.add("chaperon_approvals_total", "granted" if event.granted else "denied")
            case events.IssueSeen(issue=issue) if not issue.closed:
                self.add("chaperon_issues_total", issue.type, issue.severity)
            case events.CheckpointMade():
                self.add("chaperon_checkpoints_total", event.reason)
                self.observe("chaperon_checkpoint_seconds", event.micros / 1e6)
            case events.PersonNeeded(need=need):
                self.add("chaperon_persons_needed_total", need.reason)
            case events.IncidentOpened(incident=incident) | events.FaultSeen(incident=incident):
                self.add("chaperon_incidents_total", incident.type, incident.severity)
            case events.StateChanged() if event.after.ended:
                self.add("chaperon_agents_ended_total", event.after)
                self._forget(event.agent)
            case events.LineReceived(frame={"type": "result"}):
                self._turn(event)
            case _:
                self._intervention(event)

    def passed_over(self, kind: str, count: int) -> None:
        """Count events of the journal that were not folded, since nothing but their kind counts."""
        self.add("chaperon_journal_events_total", kind, value=count)

    def reviewed(self, decision: str, rule: str, micros: int) -> None:
        """Count a review."""
        self.add("chaperon_reviews_total", decision)
        if rule:
            self.add("chaperon_review_rules_total", rule, decision)
        if rule == DEADLINE_PASSED:
            self.add("chaperon_approvals_total", "expired")
        if micros:
            self.observe("chaperon_review_seconds", micros / 1e6)

    def _turn(self, event: events.LineReceived) -> None:
        """Count a turn that ended. What it used is read off its agent, whose launches are added up."""
        frame = event.frame
        self.add("chaperon_turns_total", "failed" if frame.get("is_error") else "succeeded")

    def _intervention(self, event: events.AnyEvent) -> None:
        match event:
            case events.InterventionChosen(intervention=chosen):
                issue = chosen.issue
                self.add("chaperon_interventions_total", chosen.kind, issue.type)
                streak = (event.agent, issue.type, issue.key)
                if chosen.kind.rank > self._ranks.get(streak, chosen.kind.rank):
                    self.add("chaperon_intervention_escalations_total", issue.type)
                self._ranks[streak] = chosen.kind.rank
                self._chosen[event.agent, chosen.id] = _Choice(chosen.kind, event.mono)
            case events.InterventionJudged(judgement=judged):
                self.add("chaperon_intervention_outcomes_total", judged.kind, judged.issue_type, judged.outcome)
            case events.InputAccepted(key=key) if key.startswith("tell:"):
                self._acted(event, key.removeprefix("tell:"))
            case events.CheckpointRestored() | events.RestoreFailed():
                result = "restored" if isinstance(event, events.CheckpointRestored) else "failed"
                self.add("chaperon_rollbacks_total", result)
                self._acted(event, event.intervention)
            case events.TreeFrozen():
                stops = [key for key, each in self._chosen.items() if key[0] == event.agent and each.kind is STOP]
                for _, intervention in stops:
                    self._acted(event, intervention)
            case _:
                return

    def _acted(self, event: events.Event, intervention: str) -> None:
        choice = self._chosen.pop((event.agent, intervention), None)
        if choice is not None:
            self.observe("chaperon_intervention_act_seconds", max(0.0, event.mono - choice.mono), choice.kind)

    def _forget(self, agent: str) -> None:
        self._chosen = {key: each for key, each in self._chosen.items() if key[0] != agent}
        self._ranks = {key: rank for key, rank in self._ranks.items() if key[0] != agent}

    # ── at one moment ─────────────────────────────────────────────────────────────────────────────────────────────

    def series(self, now: Iterable[Sample] = ()) -> Iterator[MetricSeries]:
        """Yield all metrics of the table, in its order, with the values of each.

        Args:
            now: Samples of gauges, read off now; those of one name and labels are added up.
        """
        gauges: dict[str, dict[Labels, float]] = {}
        for name, labels, value in (*now, *_of_record(self.effectiveness)):
            series = gauges.setdefault(name, {})
            series[labels] = series.get(labels, 0.0) + value
        for metric in METRICS:
            values = {**self._counters.get(metric.name, {}), **gauges.get(metric.name, {})}
            yield MetricSeries(metric, values, self._histograms.get(metric.name, {}))


@dataclass(frozen=True, slots=True)
class Counted:
    """The state of the daemon at one moment."""

    metrics: Metrics
    now: tuple[Sample, ...]
    """Values of gauges."""
    pid: int
    """The daemon's."""


STOP = InterventionKind.EMERGENCY_STOP


def _of_record(record: EffectRecord) -> Iterator[Sample]:
    for labels, tally in sorted(record.tallies.items()):
        if tally.success + tally.failure:
            worth = tally.effectiveness
            yield "chaperon_intervention_effectiveness_ratio", labels, worth.share
            yield "chaperon_intervention_effectiveness_low_ratio", labels, worth.low
            yield "chaperon_intervention_effectiveness_high_ratio", labels, worth.high
        yield "chaperon_intervention_disruption_ratio", labels, tally.disruption / max(1, tally.total)
