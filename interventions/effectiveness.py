"""Whether interventions help: counts per kind and issue type over all runs, with how far they can be trusted."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from interventions.decisions import InterventionOutcome, Judgement
from interventions.words import InterventionKind

Z = 1.96
"""Standard deviations of a 95 % interval."""

HARMFUL_DISRUPTION = 0.25
"""A loss of a quarter of the calls that succeed is felt: over 15 steps it is four more failures, where the ordinary
scatter of a run whose calls succeed nine times in ten is one to two."""

ENOUGH = 5
"""Outcomes before a record is worth comparing with a threshold. Below five even no success at all leaves the upper
bound over 0.43."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A share with its Wilson interval at 95 %."""

    share: float
    low: float
    high: float


def wilson(hits: int, total: int) -> Interval:
    """Return the share and its confidence interval; 0 to 1 for no counts.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference, 1927. It is accurate for
    few counts and for shares near 0 and 1; the usual normal interval is not.
    """
    if total == 0:
        return Interval(0.0, 0.0, 1.0)
    share, square = hits / total, Z * Z
    centre = (share + square / (2 * total)) / (1 + square / total)
    half = Z * math.sqrt(share * (1 - share) / total + square / (4 * total * total)) / (1 + square / total)
    return Interval(share, max(0.0, centre - half), min(1.0, centre + half))


@dataclass(slots=True)
class EffectTally:
    """Outcomes of one kind for one issue type."""

    success: int = 0
    failure: int = 0
    unclear: int = 0
    harmed: int = 0
    """Interventions that did not succeed and after which the run went clearly worse."""
    disruption: float = 0.0
    """Sum over all; divide by `total` for the mean."""

    @property
    def total(self) -> int:
        """All interventions judged."""
        return self.success + self.failure + self.unclear

    @property
    def effectiveness(self) -> Interval:
        """Share of successes among those that were clear."""
        return wilson(self.success, self.success + self.failure)

    @property
    def harms(self) -> bool:
        """Whether it does harm more often than it helps, beyond doubt.

        An intervention is worth making if p·r > (1-p)·d, with r the trouble that it mends and d the work that it
        disrupts. The record holds both as counts, and the upper bound of help among help and harm must reach one half.
        """
        return wilson(self.success, self.success + self.harmed).high < 0.5

    def add(self, judgement: Judgement) -> None:
        """Count one."""
        match judgement.outcome:
            case InterventionOutcome.SUCCESS:
                self.success += 1
            case InterventionOutcome.FAILURE:
                self.failure += 1
            case InterventionOutcome.UNCLEAR:
                self.unclear += 1
        self.disruption += judgement.disruption
        if judgement.outcome is not InterventionOutcome.SUCCESS and judgement.disruption >= HARMFUL_DISRUPTION:
            self.harmed += 1


@dataclass(slots=True)
class EffectRecord:
    """The tallies of all runs of this installation: a fold over `InterventionJudged`, kept with the snapshot."""

    tallies: dict[tuple[str, str], EffectTally] = field(default_factory=dict)
    """By kind and issue type."""
    last_seq: int = 0
    """Sequence number of the newest event folded in; older ones are known already."""

    def remember(self, seq: int, judgement: Judgement) -> None:
        """Count a judgement of the journal, once, however often the journal is read."""
        if seq <= self.last_seq:
            return
        self.last_seq = seq
        self.tallies.setdefault((judgement.kind, judgement.issue_type), EffectTally()).add(judgement)

    def of(self, kind: InterventionKind, issue_type: str) -> EffectTally:
        """Return the tally of a kind for a type; an empty one if there is none."""
        return self.tallies.get((kind, issue_type)) or EffectTally()

    def ineffective(self, kind: InterventionKind, issue_type: str, threshold: float) -> bool:
        """Whether the share of successes is surely below the threshold, with enough outcomes to say so."""
        tally = self.of(kind, issue_type)
        return tally.success + tally.failure >= ENOUGH and tally.effectiveness.high < threshold

    def as_json(self) -> dict[str, Any]:
        """Plain data for the snapshot."""
        return {"last_seq": self.last_seq, "tallies": self.rows({type_ for _, type_ in self.tallies})}

    def rows(self, types: Collection[str]) -> list[dict[str, Any]]:
        """The tallies for issues of these types, as plain data."""
        return [
            {
                "kind": kind,
                "issue": type_,
                "success": tally.success,
                "failure": tally.failure,
                "unclear": tally.unclear,
                "harmed": tally.harmed,
                "disruption": tally.disruption,
                "effectiveness": tally.effectiveness.share,
                "low": tally.effectiveness.low,
                "high": tally.effectiveness.high,
            }
            for (kind, type_), tally in sorted(self.tallies.items())
            if type_ in types
        ]

    def restore(self, data: Mapping[str, Any]) -> None:
        """Become what `as_json` wrote, before the journal is read from there.

        Raises:
            KeyError, TypeError, ValueError: The data are something else.
        """
        other = EffectRecord.from_json(data)
        self.tallies, self.last_seq = other.tallies, other.last_seq

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "EffectRecord":
        """Read what `as_json` wrote.

        Raises:
            KeyError, TypeError, ValueError: It did not; the caller starts with an empty record and says so.
        """
        record = cls(last_seq=int(data["last_seq"]))
        for row in data["tallies"]:
            record.tallies[str(row["kind"]), str(row["issue"])] = EffectTally(
                success=int(row["success"]),
                failure=int(row["failure"]),
                unclear=int(row["unclear"]),
                harmed=int(row["harmed"]),
                disruption=float(row["disruption"]),
            )
        return record
