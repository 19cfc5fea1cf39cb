"""The fold of events that a report is made of. Pure, and bounded by agents, rules and patterns, not by events."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from monitors.contract.subjects import subject_of
from monitors.contract.wording import counted
from supervisor.cli.output.words import clean

Record = Mapping[str, Any]

MOST_EXAMPLES = 3
"""Examples of what a rule refused."""

MOST_PLACES = 20
"""Calls that are remembered of each rule, the latest."""

LONGEST_SUBJECT = 4_000
"""Characters of what a call was about that are remembered."""

MOST_PENDING = 10_000
"""Questions to a person that are remembered until their answer comes; an answer takes minutes."""

HIT = ("block", "warn", "modify")
"""Decisions by which a rule changed something."""


@dataclass(frozen=True, slots=True)
class FiredAt:
    """A call about which a rule spoke."""

    n: int
    """The number of its event."""
    at: float
    agent: str
    decision: str
    tool: str
    subject: str
    """The command, path or address, as an allowance names it; shortened if it is long."""
    call: str
    """The same for people."""


@dataclass(slots=True)
class RuleTally:
    """Counts of the calls about which a rule spoke."""

    decisions: Counter[str] = field(default_factory=Counter)
    asked: int = 0
    """Calls that a person was asked about because of it."""
    granted: int = 0
    denied: int = 0
    allowed: int = 0
    """Allowances that people gave for it."""
    examples: list[str] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)
    places: list[FiredAt] = field(default_factory=list)
    """The calls at which it fired, the last of them."""

    @property
    def overruled(self) -> int:
        """How often a person let go on what it held up."""
        return self.granted + self.allowed

    @property
    def is_never_right(self) -> bool:
        """Whether people who were asked always overruled it."""
        return self.overruled > 0 and self.denied == 0


@dataclass(slots=True)
class PatternTally:
    """Counts of the issues of a pattern."""

    raised: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    """By what people said."""
    agents: set[str] = field(default_factory=set)

    @property
    def is_never_right(self) -> bool:
        """Whether people said of it nothing but false alarms."""
        return self.outcomes["false_alarm"] > 0 and self.outcomes["confirmed"] == 0


@dataclass(slots=True)
class AgentTally:
    """Counts of what one agent did in the time."""

    calls: Counter[str] = field(default_factory=Counter)
    """By decision."""
    interventions: Counter[str] = field(default_factory=Counter)
    incidents: int = 0


@dataclass(slots=True)
class ReportTally:
    """Counts over the events of a time.

    Args:
        since: Its begin, in Unix seconds.
        until: Its end.
    """

    since: float
    until: float
    events: int = 0
    agents: dict[str, AgentTally] = field(default_factory=dict)
    rules: dict[str, RuleTally] = field(default_factory=dict)
    patterns: dict[str, PatternTally] = field(default_factory=dict)
    stops: list[tuple[float, str, str, str]] = field(default_factory=list)
    """Emergency stops: when, whose, why, and the incident."""
    _pending: dict[str, str] = field(default_factory=dict)

    def take(self, record: Record) -> None:
        """Count an event; one of another shape than its kind has is passed over."""
        self.events += 1
        with_shape = _TAKES.get(str(record.get("kind", "")))
        if with_shape is not None:
            try:
                with_shape(self, record)
            except (KeyError, TypeError, ValueError, AttributeError):
                return

    def of(self, agent: str) -> AgentTally:
        """The counts of an agent."""
        return self.agents.setdefault(agent, AgentTally())

    def met(self, record: Record) -> None:
        """List the agent, whether it made a call or not."""
        self.of(str(record["agent"]))

    def reviewed(self, record: Record) -> None:
        """Count a decision of the gate."""
        review, action, agent = record["review"], record["action"], str(record["agent"])
        decision = str(review["decision"])
        self.of(agent).calls[decision] += 1
        if decision not in HIT or not review.get("rule"):
            return
        rule = self.rules.setdefault(str(review["rule"]), RuleTally())
        rule.decisions[decision] += 1
        rule.agents.add(agent)
        example = clean(f"{action['tool']} {subject_of(action['input'])}", 120)
        if len(rule.examples) < MOST_EXAMPLES and example not in rule.examples:
            rule.examples.append(example)
        tool, subject = str(action["tool"]), subject_of(action["input"])[:LONGEST_SUBJECT]
        fired = FiredAt(int(record["n"]), float(record["at"]), agent, decision, tool, subject, example)
        rule.places = [*rule.places[-MOST_PLACES + 1 :], fired]

    def asked(self, record: Record) -> None:
        """Count a question to a person."""
        rule = str(record["review"].get("rule") or "")
        if not rule or str(record["review"]["decision"]) not in HIT:
            return  # every change is asked about, by `approval.mode`: no rule spoke
        self.rules.setdefault(rule, RuleTally()).asked += 1
        self._pending[str(record["request_id"])] = rule
        while len(self._pending) > MOST_PENDING:
            self._pending.pop(next(iter(self._pending)))

    def answered(self, record: Record) -> None:
        """Count its answer."""
        rule = self._pending.pop(str(record["request_id"]), None)
        if rule is not None:
            tally = self.rules[rule]
            tally.granted += record["granted"] is True
            tally.denied += record["granted"] is False

    def allowed(self, record: Record) -> None:
        """Count an allowance for a rule."""
        if record.get("rule"):
            self.rules.setdefault(str(record["rule"]), RuleTally()).allowed += 1

    def issue(self, record: Record) -> None:
        """Count an issue when it is raised."""
        issue = record["issue"]
        if not issue["closed"]:
            pattern = self.patterns.setdefault(str(issue["type"]), PatternTally())
            pattern.raised += 1
            pattern.agents.add(str(record["agent"]))

    def outcome(self, record: Record) -> None:
        """Count what a person said about an issue; it replaces what was said before."""
        outcomes = self.patterns.setdefault(str(record["pattern"]), PatternTally()).outcomes
        outcomes[str(record["outcome"])] += 1
        if record.get("instead_of"):
            outcomes[str(record["instead_of"])] -= 1

    def intervened(self, record: Record) -> None:
        """Count an intervention."""
        self.of(str(record["agent"])).interventions[str(record["intervention"]["kind"])] += 1

    def incident(self, record: Record) -> None:
        """Count an incident, and note a stop."""
        incident, agent = record["incident"], str(record["agent"])
        self.of(agent).incidents += 1
        if incident["type"] == "emergency_stop":
            self.stops.append((float(record["at"]), agent, clean(incident["summary"], 300), str(incident["id"])))

    @property
    def decisions(self) -> Counter[str]:
        """The decisions of the gate about all agents."""
        return sum((each.calls for each in self.agents.values()), Counter[str]())


_TAKES = {
    "task_submitted": ReportTally.met,
    "state_changed": ReportTally.met,
    "review_made": ReportTally.reviewed,
    "approval_asked": ReportTally.asked,
    "approval_given": ReportTally.answered,
    "allowance_given": ReportTally.allowed,
    "issue_seen": ReportTally.issue,
    "outcome_given": ReportTally.outcome,
    "intervention_chosen": ReportTally.intervened,
    "incident_opened": ReportTally.incident,
}


@dataclass(frozen=True, slots=True)
class ReportData:
    """A report's tally, and what the daemon says beside the events.

    Args:
        tally: The counts.
        agents: What is known of each agent that did something, by name.
        costs: US dollars by day of UTC.
    """

    tally: ReportTally
    agents: Mapping[str, Mapping[str, Any]]
    costs: Mapping[str, float]

    def days(self) -> Iterator[tuple[str, float]]:
        """Yield each day of the time with its cost."""
        first, last = (datetime.fromtimestamp(at, UTC).date() for at in (self.tally.since, self.tally.until))
        day: date = max(first, last - timedelta(days=366))
        while day <= last:
            yield day.isoformat(), float(self.costs.get(day.isoformat(), 0.0))
            day += timedelta(days=1)

    @property
    def cost(self) -> float:
        """The spending on the days of the time."""
        return sum(cost for _, cost in self.days())

    def rows(self) -> list[tuple[str, AgentTally, Mapping[str, Any]]]:
        """Return the agents, the most expensive first, with what is known of each."""
        found = [(name, tally, self.agents.get(name, {})) for name, tally in self.tally.agents.items() if name]
        return sorted(found, key=lambda row: (-(row[2].get("cost_usd") or 0.0), -row[1].calls.total(), row[0]))

    def rules(self) -> list[tuple[str, RuleTally]]:
        """Return the rules that fired, the most frequent first."""
        return sorted(self.tally.rules.items(), key=lambda each: (-each[1].decisions.total(), -each[1].asked, each[0]))

    def patterns(self) -> list[tuple[str, PatternTally]]:
        """Return the patterns that raised issues, the most frequent first."""
        return sorted(self.tally.patterns.items(), key=lambda each: (-each[1].raised, each[0]))

    def never_right(self) -> list[str]:
        """Return a sentence for each rule and pattern that people always overruled."""
        rules = [
            f"Rule {name} was overruled whenever a person looked: {counted(tally.overruled, 'time')}."
            for name, tally in self.rules()
            if tally.is_never_right
        ]
        patterns = [
            f"Pattern {name} was a false alarm whenever a person judged it: {counted(tally.outcomes['false_alarm'], 'time')}."
            for name, tally in self.patterns()
            if tally.is_never_right
        ]
        return rules + patterns
