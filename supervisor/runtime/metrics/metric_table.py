"""The names of all metrics: served by the Prometheus endpoint, drawn by the dashboard, listed in the documentation."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    """Meaning of the metric, as a sentence; the endpoint's HELP line."""
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    """Upper bounds of a histogram, without the infinite one."""

    def series(self) -> tuple[str, ...]:
        """The names under which samples are served."""
        if self.kind == "histogram":
            return tuple(f"{self.name}_{part}" for part in ("bucket", "sum", "count"))
        return (self.name,)


FAST = (1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 5e-3, 2.5e-2)
"""For what takes microseconds: a review's target is well under a millisecond."""

SLOW = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""For what touches disk or processes."""

METRICS = (
    # Agents.
    Metric("chaperon_agents", "gauge", "Agents by state.", ("state",)),
    Metric("chaperon_agents_ended_total", "counter", "Agents that have ended, by final state.", ("state",)),
    Metric("chaperon_turns_total", "counter", "Turns of the model that ended.", ("outcome",)),
    Metric("chaperon_tokens_total", "counter", "Tokens of models, since the state directory was made.", ("kind",)),
    Metric(
        "chaperon_cost_usd_total", "counter", "Cost of all agents in US dollars, since the state directory was made."
    ),
    Metric("chaperon_cost_usd_today", "gauge", "Cost of all agents in US dollars, since midnight of UTC."),
    # Reviews.
    Metric("chaperon_reviews_total", "counter", "Reviews by decision.", ("decision",)),
    Metric("chaperon_review_rules_total", "counter", "Reviews that a rule decided, by rule.", ("rule", "decision")),
    Metric("chaperon_review_seconds", "histogram", "How long a review takes.", (), FAST),
    Metric("chaperon_approvals_waiting", "gauge", "Actions that wait for a person."),
    Metric(
        "chaperon_approvals_total",
        "counter",
        "Actions that waited for a person: granted, denied, or expired.",
        ("answer",),
    ),
    # Issues.
    Metric("chaperon_issues_total", "counter", "Issues raised, by type and severity.", ("issue_type", "severity")),
    Metric("chaperon_issues_open", "gauge", "Issues that are open, by type.", ("issue_type",)),
    # Interventions.
    Metric(
        "chaperon_interventions_total",
        "counter",
        "Interventions by kind and by the type of the issue.",
        ("intervention_type", "issue_type"),
    ),
    Metric(
        "chaperon_intervention_outcomes_total",
        "counter",
        "What came of interventions: success, failure or unclear.",
        ("intervention_type", "issue_type", "outcome"),
    ),
    Metric(
        "chaperon_intervention_effectiveness_ratio",
        "gauge",
        "Share of successes among the clear outcomes of all runs.",
        ("intervention_type", "issue_type"),
    ),
    Metric(
        "chaperon_intervention_effectiveness_low_ratio",
        "gauge",
        "Lower end of its 95 % interval.",
        ("intervention_type", "issue_type"),
    ),
    Metric(
        "chaperon_intervention_effectiveness_high_ratio",
        "gauge",
        "Upper end of its 95 % interval.",
        ("intervention_type", "issue_type"),
    ),
    Metric(
        "chaperon_intervention_disruption_ratio",
        "gauge",
        "Mean fall of the share of calls that succeed after an intervention.",
        ("intervention_type", "issue_type"),
    ),
    Metric(
        "chaperon_intervention_escalations_total",
        "counter",
        "Interventions stronger than the one before for the same issue.",
        ("issue_type",),
    ),
    Metric("chaperon_persons_needed_total", "counter", "Issues handed over to a person, by reason.", ("reason",)),
    Metric(
        "chaperon_intervention_act_seconds",
        "histogram",
        "From the choice to its effect.",
        ("intervention_type",),
        SLOW,
    ),
    Metric("chaperon_incidents_total", "counter", "Incidents by type and severity.", ("type", "severity")),
    Metric("chaperon_notifications_total", "counter", "Notifications by channel and result.", ("channel", "result")),
    # The exporters.
    Metric(
        "chaperon_exported_total",
        "counter",
        "Records by exporter: sent, refused for good, and attempts that failed.",
        ("exporter", "result"),
    ),
    Metric(
        "chaperon_export_waiting",
        "gauge",
        "Records of the journal that an exporter has yet to deal with.",
        ("exporter",),
    ),
    # The socket.
    Metric(
        "chaperon_socket_refused_total", "counter", "Peers that were refused on the socket, by reason.", ("reason",)
    ),
    # Resources.
    Metric("chaperon_agent_memory_bytes", "gauge", "Resident memory of an agent's tree.", ("agent",)),
    Metric("chaperon_agent_cpu_seconds_total", "counter", "Processor time of an agent's tree.", ("agent",)),
    Metric("chaperon_agent_cost_usd_total", "counter", "Cost of an agent in US dollars.", ("agent",)),
    Metric("chaperon_agent_processes", "gauge", "Processes of an agent's tree.", ("agent",)),
    Metric("chaperon_limit_used_ratio", "gauge", "Part of a limit that is used.", ("agent", "limit")),
    Metric("chaperon_daemon_memory_bytes", "gauge", "Resident memory of the daemon."),
    # Checkpoints.
    Metric("chaperon_checkpoints_total", "counter", "Checkpoints taken, by reason.", ("reason",)),
    Metric("chaperon_checkpoint_seconds", "histogram", "How long a checkpoint takes, until it is durable.", (), SLOW),
    Metric("chaperon_rollbacks_total", "counter", "Rollbacks by result.", ("result",)),
    Metric("chaperon_checkpoint_store_bytes", "gauge", "Size of the store of a project.", ("project",)),
    # The journal.
    Metric("chaperon_journal_events_total", "counter", "Events journalled, by kind.", ("kind",)),
    Metric("chaperon_journal_bytes", "gauge", "Size of the journal's segments."),
    Metric("chaperon_journal_sync_seconds", "histogram", "How long making a batch durable takes.", (), SLOW),
    Metric("chaperon_journal_lag_events", "gauge", "Events that are decided and not yet durable."),
)
"""All of them, in the order in which they are served."""

BY_NAME = {metric.name: metric for metric in METRICS}

BY_SERIES = {series: metric for metric in METRICS for series in metric.series()}
"""Each served name, and the metric that it belongs to."""
