"""The controller: decides when to intervene in a run, how, and when to leave it alone.

It keeps the interventions of a run and their outcomes, as a fold over events, so that a restart rebuilds it. `next`
changes nothing and returns the single decision that is due: a judgement of the last intervention, a new intervention,
the end of a throttling, or the need for a person. `interventions.choice.chooser` has the rule of choice.

A stop waits for no cooldown and is never counted out. Everything else waits for the cooldown; issues that were raised
meanwhile and are still open are answered after it. Issues that are open together get one answer.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from interventions import ladders
from interventions.choice.chooser import STOP, Chooser, Pick, worth_of
from interventions.choice.episodes import Episodes
from interventions.choice.limit_guard import LimitGuard
from interventions.choice.meter import UsageMeter
from interventions.choice.outcome_window import Pace, Window
from interventions.choice.scoring import REVIEW_SECONDS
from interventions.choice.strategies import strategy_of
from interventions.contract import Answer, Case, Past, ResourceUsage, Situation, Strategy, Unfit
from interventions.decisions import Intervention, Judgement, LimitsInForce, PersonNeed, PersonReason
from interventions.effectiveness import EffectRecord
from interventions.kinds import resource_throttling
from interventions.kinds.checkpoint_rollback import CheckpointRollback
from interventions.kinds.context_reinforcement import ContextReinforcement
from interventions.kinds.emergency_stop import EmergencyStop
from interventions.kinds.resource_throttling import ResourceThrottling
from interventions.kinds.soft_correction import SoftCorrection
from interventions.settings import InterventionSettings
from interventions.stop_report import TimelineEntry
from interventions.texts.fields import OPENING
from interventions.words import InterventionKind
from monitors.contract.actions import Review
from monitors.contract.issues import Issue
from monitors.contract.observations import ContextCompacted, Observation, ToolReturned
from monitors.contract.tasks import Task
from monitors.contract.words import Decision

TIMELINE = 100
"""Moments kept for a report: with at most ten interventions and a few issues each, that is a whole run."""


EASED = f"{OPENING}Your use has calmed down, so your limits are back as they were at the start."
"""The message to the agent at the end of a throttling."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """When something happened."""

    seq: int
    """The journal's number of it."""
    at: float
    """Unix time, in seconds."""
    mono: float
    """Seconds of a clock that never goes back."""


@dataclass(frozen=True, slots=True)
class Easing:
    """A throttling that ends, and the limits that follow it."""

    intervention: str
    limits: LimitsInForce


Due = Judgement | Intervention | PersonNeed | Easing
"""Decisions that can be due."""


class Controller:
    """Chooses, and remembers what it chose and what came of it. One for each run.

    Args:
        settings: What the user decided.
        task: What the agent was asked.
        record: What came of interventions in all runs; read, never changed here.
        plugins: Interventions of plugins, asked before the built-in ones of their kind.
        strategy: The strategy of a plugin, for `strategy.type: custom`.

    Raises:
        UsageError: The settings name a strategy or strength that there is not.
    """

    def __init__(
        self,
        settings: InterventionSettings,
        task: Task,
        record: EffectRecord | None = None,
        plugins: Sequence[Answer] = (),
        strategy: Strategy | None = None,
    ) -> None:
        self.renew(settings, plugins, strategy)
        self._task = task
        self._record = record if record is not None else EffectRecord()
        self._episodes = Episodes()
        self._due: list[Issue] = []
        self._pace = Pace()
        self._meter = UsageMeter()
        self._guard = LimitGuard()
        self._window: Window | None = None
        self._chosen = 0
        self._last: tuple[float, Intervention] | None = None
        self._said: set[str] = set()
        self._asked: set[tuple[PersonReason, str, str]] = set()
        self._off: frozenset[str] = frozenset()
        self._refused: tuple[float, float] = (0.0, float("-inf"))
        self._reinforced: Intervention | None = None
        self._compactions = self._renewed = 0
        self._limits = LimitsInForce(task.limits)
        self._throttled: Intervention | None = None
        self._calm_since: float | None = None
        self._in_vain: tuple[bool, bool, bool, int] | None = None
        self._timeline: deque[TimelineEntry] = deque(maxlen=TIMELINE)

    def renew(self, settings: InterventionSettings, plugins: Sequence[Answer], strategy: Strategy | None) -> None:
        """Choose by other settings from here on; past choices and their outcomes stay. Arguments as for the class.

        Raises:
            UsageError: The settings name a strategy or strength that there is not.
        """
        reinforcement = ContextReinforcement(settings.context_reinforcement)
        built_in: tuple[Answer, ...] = (
            SoftCorrection(settings.custom_prompts),
            reinforcement,
            ResourceThrottling(settings.resource_throttling),
            CheckpointRollback(settings.checkpoint_rollback),
            EmergencyStop(),
        )
        self._chooser = Chooser(settings, strategy_of(settings.strategy, strategy), (*plugins, *built_in))
        self._reinforcement, self._settings = reinforcement, settings

    # ── the fold ──────────────────────────────────────────────────────────────────────────────────────────────────

    def issue_seen(self, when: Stamp, issue: Issue) -> None:
        """Take in an issue that was raised, raised again, or closed."""
        self._episodes.saw(issue)
        if self._window is not None:
            self._window.saw_issue(issue)
        if self._throttled is not None and self._throttled.issue.type == issue.type:
            self._calm_since = when.mono if issue.closed else None
        ended, raised = f"{issue.type} ended", f"{issue.type} ({issue.severity}): {issue.sentence}"
        self._note(when, ended if issue.closed else raised)

    def intervention_chosen(self, when: Stamp, chosen: Intervention) -> None:
        """Take in an intervention, now or before a restart: it is being carried out."""
        known = self._episodes.open_types()
        self._episodes.chose(chosen, when.mono)
        self._window = Window(chosen, when.mono, self._pace.share(), known)
        self._chosen += 1
        self._last = (when.mono, chosen)
        self._said.add(chosen.message)
        self._off |= frozenset(chosen.details.get("plugins_failed", ()))
        if chosen.kind is InterventionKind.CONTEXT_REINFORCEMENT:
            self._reinforced, self._renewed = chosen, self._compactions
        if chosen.kind is InterventionKind.RESOURCE_THROTTLING:
            self._throttled, self._calm_since = chosen, None
            self._limits = resource_throttling.from_json(chosen.details["limits"], self._limits)
        self._note(when, f"{chosen.kind}: {chosen.reason}")

    def context_restated(self) -> None:
        """Take in that the task was said again after a compaction, so that a reinforcement need not be."""
        self._renewed = self._compactions

    def intervention_judged(self, when: Stamp, judgement: Judgement) -> None:
        """Take in whether the last intervention helped."""
        self._window = None
        self._episodes.judged(judgement)
        self._note(when, judgement.sentence)

    def person_asked(self, when: Stamp, need: PersonNeed) -> None:
        """Take in that a person was asked."""
        self._asked.add((need.reason, *_of_run(need.reason, need.issue)))
        if need.reason not in (PersonReason.ROLLBACK_PROPOSED, PersonReason.BLOCKED):
            self._episodes.answer_all()
        self._note(when, f"a person was asked: {need.sentence}")

    def limits_eased(self, when: Stamp, limits: LimitsInForce) -> None:
        """Take in the limits that hold now that a throttling ended."""
        self._limits, self._throttled, self._calm_since = limits, None, None
        self._note(when, "limits were eased")

    def restore_failed(self, when: Stamp, intervention: str, checkpoint: str, error: str) -> None:
        """Take in that a rollback failed, and left the workspace as it was."""
        self._episodes.restore_failed(intervention, error)
        self._note(when, f"the rollback to {checkpoint} failed: {error}")

    def review_made(self, when: Stamp, review: Review) -> None:
        """Take in how risky the last call was that was blocked or warned of; other reviews change nothing."""
        if review.decision in (Decision.BLOCK, Decision.WARN):
            self._refused = (review.risk, when.mono)
            self._changed()

    def checkpoint_made(self) -> None:
        """Take in that there is one more moment to go back to."""
        self._changed()

    def observed(self, observation: Observation) -> None:
        """Take in one observation of the run."""
        self._meter.saw(observation)
        self._guard.saw(observation)
        match observation:
            case ToolReturned() if not observation.collateral:
                ok = not (observation.failed or observation.refused)
                self._pace.saw(ok)
                self._in_vain = None
                if self._window is not None:
                    self._window.saw_result(ok)
            case ContextCompacted():
                self._compactions += 1
            case _:
                pass

    def _note(self, when: Stamp, what: str) -> None:
        self._timeline.append(TimelineEntry(when.at, when.seq, what))
        self._changed()

    def _changed(self) -> None:
        """Look again at what is due: what was in vain before need not be now."""
        self._in_vain = None
        self._due = self._episodes.due()

    # ── what is due ───────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def watching(self) -> bool:
        """Whether an intervention is still to be judged."""
        return self._window is not None

    @property
    def idle(self) -> bool:
        """Whether nothing can be due, so that `next` need not be asked."""
        renewal = self._reinforced is not None and self._compactions > self._renewed
        return not (self._due or self._window is not None or self._throttled is not None or renewal)

    def next(self, now: Situation) -> Due | None:
        """The one decision that is due, or None. Asked again once it was remembered; asking changes no decision.

        Args:
            now: How the agent stands.
        """
        if self._window is not None and (now.ended or self._window.over(now.mono)):
            return self._window.judge(now.mono, ended=now.ended, well=now.well)
        if now.ended or (self._last is not None and self._last[1].id == now.id):
            return None
        now = replace(now, usage=self._meter.usage(now.mono))
        renewed = None if now.finished else self._renewal(now)
        chosen = self._announced() or self._answer_if_changed(now) or renewed
        if isinstance(chosen, Intervention) and self._window is not None:
            return self._window.judge(now.mono)
        return chosen or (None if now.finished else self._easing(now))

    def wakes_in(self, mono: float) -> float | None:
        """Seconds until something may be due though nothing happens; None if nothing can be.

        Args:
            mono: Now, in seconds on the clock that never goes back.
        """
        if not self._due and self._calm_since is None:
            return None
        waits = []
        if self._last is not None and self._due:
            waits.append(self._last[0] + self._settings.intervention_cooldown_seconds - mono)
        if self._calm_since is not None:
            waits.append(self._calm_since + self._settings.resource_throttling.metrics_window_seconds - mono)
        return min((wait for wait in waits if wait > 0), default=None)

    def _announced(self) -> PersonNeed | None:
        """Return the need for an issue of which a person is notified as soon as it is seen."""
        for issue in self._due:
            if issue.type in ladders.FOR_A_PERSON and not self._was_asked(PersonReason.BLOCKED, issue):
                said = f"{issue.sentence} A person can give it what it waits for."
                return PersonNeed(PersonReason.BLOCKED, issue, said, "chaperon say {agent} TEXT", hold=False)
        return None

    def _answer_if_changed(self, now: Situation) -> Intervention | PersonNeed | None:
        """Return the answer; None at once if it was None before and its inputs have not changed.

        While an agent rests with an issue that might be worth a stop, a whole plan must be made to see that none is
        due. It is made again after an event was remembered, a call returned, the rest ended or the agent listens again;
        and each second, since strategies climb with time.
        """
        standing = (now.listening, now.finished, self._resting(now.mono), int(now.mono))
        if standing == self._in_vain:
            return None
        answer = self._answer(now)
        self._in_vain = standing if answer is None else None
        return answer

    def _answer(self, now: Situation) -> Intervention | PersonNeed | None:
        due = self._due
        if not due:
            return None
        risk = self._refused[0] if now.mono - self._refused[1] < REVIEW_SECONDS else 0.0
        graded = [(worth_of(issue, risk, self._episodes, now.mono), issue) for issue in due]
        if now.finished:
            graded = [each for each in graded if each[1].type in ladders.CALLED_BACK or each[0].ceiling is STOP]
        if not graded:
            return None
        worth, issue = max(graded, key=lambda pair: (pair[0].total, pair[1].severity.rank, -pair[1].began))
        if worth.ceiling is not STOP:
            if not now.listening or self._resting(now.mono):
                return None
            if self._used_up:
                return self._exhausted(issue, now)
        others = tuple(other for other in due if other is not issue)
        case = Case(issue, now, others=others, said=frozenset(self._said), limits=self._limits)
        past = Past(issue, worth.base, now.mono, self._episodes.tried(issue, now.mono), self._record)
        picked = self._chooser.pick(case, past, worth, self._episodes, self._was_asked, self._off)
        if not isinstance(picked, Pick):
            wait = picked is None or (picked.hold and self._resting(now.mono))
            return None if wait or picked is None else _addressed(picked, now.agent)
        if picked.kind is not STOP and (not now.listening or self._resting(now.mono)):
            return None
        if picked.kind is not STOP and self._used_up:
            return self._exhausted(issue, now)
        return self._intervention(picked, case, now)

    def _intervention(self, picked: Pick, case: Case, now: Situation) -> Intervention:
        details: dict[str, Any] = dict(picked.plan.details)
        if picked.answer != picked.kind:
            details["by"] = picked.answer
        if picked.failed:
            details["plugins_failed"] = dict(picked.failed)
        if picked.instead_of_rollback:
            details["instead_of_rollback"] = picked.instead_of_rollback
        if case.others:
            details["also"] = [other.type for other in case.others]
        return Intervention(
            id=now.id,
            kind=picked.kind,
            issue=case.issue,
            score=picked.score.total,
            reason=picked.reason(),
            message=picked.plan.message,
            details=details,
            explain={**_parts(picked, case), "escalated_from": self._weaker_before(picked.kind, case.issue, now.mono)},
        )

    def _weaker_before(self, kind: InterventionKind, issue: Issue, mono: float) -> InterventionKind | None:
        """Return the kind that this streak got last, if it was weaker: then this is an escalation."""
        before = [tried.kind for tried in self._episodes.tried(issue, mono) if tried.same_streak]
        return before[-1] if before and before[-1].rank < kind.rank else None

    def _exhausted(self, issue: Issue, now: Situation) -> PersonNeed | None:
        if self._was_asked(PersonReason.EXHAUSTED, issue):
            return None
        said = (
            f"{issue.sentence} {self._chosen} interventions were used in this run, and "
            f"{self._settings.max_interventions_per_execution} is the most; the agent waits at its next tool call."
        )
        return _addressed(
            PersonNeed(PersonReason.EXHAUSTED, issue, said, "chaperon resume {agent}", hold=True), now.agent
        )

    def _renewal(self, now: Situation) -> Intervention | None:
        """The last reinforcement again, where the CLI has shortened the conversation since."""
        last = self._reinforced
        if last is None or self._compactions <= self._renewed or not now.listening or self._resting(now.mono):
            return None
        if self._used_up:
            return None
        planned = self._reinforcement.plan(Case(last.issue, now, limits=self._limits))
        if isinstance(planned, Unfit):
            return None
        said = planned.message.removeprefix(OPENING)
        message = f"{OPENING}Your conversation was shortened (time {self._compactions}), so this is said again. {said}"
        why = f"The CLI shortened the conversation, and what {last.id} said may be forgotten; it is renewed."
        details = {**planned.details, "renewal_of": last.id}
        return Intervention(now.id, last.kind, last.issue, last.score, why, message, details, {"renewal_of": last.id})

    def _easing(self, now: Situation) -> Easing | None:
        """The end of a throttling, once what it answered has been over for the window of usage."""
        calm, throttled = self._calm_since, self._throttled
        if throttled is None or calm is None or not now.listening:
            return None
        if now.mono - calm < self._settings.resource_throttling.metrics_window_seconds:
            return None
        return Easing(throttled.id, LimitsInForce(self._task.limits))

    @property
    def _used_up(self) -> bool:
        return self._chosen >= self._settings.max_interventions_per_execution

    def _resting(self, mono: float) -> bool:
        cooldown = self._settings.intervention_cooldown_seconds
        return self._last is not None and mono - self._last[0] < cooldown

    def _was_asked(self, reason: PersonReason, issue: Issue) -> bool:
        return (reason, *_of_run(reason, issue)) in self._asked

    # ── throttled limits at the gate ──────────────────────────────────────────────────────────────────────────────

    def call_wait(self, mono: float) -> float:
        """Seconds that the next tool call must wait for the rate of a throttling; 0 if there is none."""
        return self._guard.wait(self._limits, mono) if self._throttled is not None else 0.0

    def refuses(self, tool: str, mono: float) -> str:
        """Return the reason why a call of the tool is denied by a used-up throttled limit; empty if it is not."""
        if self._throttled is None:
            return ""
        return self._guard.refuses(tool, self._limits, self._meter.usage(mono))

    # ── for show and reports ──────────────────────────────────────────────────────────────────────────────────────

    @property
    def limits(self) -> LimitsInForce:
        """Limits that are in force for the agent."""
        return self._limits

    def usage(self, mono: float) -> ResourceUsage:
        """Usage of the agent so far."""
        return self._meter.usage(mono)

    @property
    def timeline(self) -> tuple[TimelineEntry, ...]:
        """Issues, interventions and what came of them, oldest first."""
        return tuple(self._timeline)

    def explain(self, mono: float) -> Mapping[str, Any]:
        """Explain the state for `chaperon show`.

        It has the reason of the last choice, the obstacle to the next, and the outcomes so far.

        Args:
            mono: Now, in seconds on the clock that never goes back.
        """
        last = self._last
        cooldown = self._settings.intervention_cooldown_seconds
        return {
            "used": self._chosen,
            "most": self._settings.max_interventions_per_execution,
            "rests_for_seconds": max(0.0, round(last[0] + cooldown - mono, 1)) if last else 0.0,
            "last": None
            if last is None
            else {"id": last[1].id, "kind": last[1].kind, "reason": last[1].reason, **last[1].explain},
            "under_watch": self._window is not None,
            "waiting": [issue.sentence for issue in self._due],
            "throttled": self._throttled is not None,
            "record": self._record.rows(self._episodes.types()),
            "asked_a_person": sorted(
                f"{reason} ({type_})" if type_ else str(reason) for reason, type_, _ in self._asked
            ),
        }


def _parts(picked: Pick, case: Case) -> dict[str, Any]:
    """The parts of a choice, as plain data."""
    worth = picked.score
    return {
        "issue": {"type": case.issue.type, "severity": worth.severity, "evidence": list(case.issue.evidence)},
        "score": {
            "base": worth.base,
            "confidence": worth.confidence,
            "impact_factor": worth.impact_factor,
            "risk": worth.risk,
            "steps": worth.steps,
            "total": worth.total,
            "sum": worth.sentence(),
        },
        "ceiling": worth.ceiling,
        "ladder": list(picked.ladder),
        "because": picked.position.why,
        "not": {str(kind): why for kind, why in picked.passed_over.items()},
    }


def _of_run(reason: PersonReason, issue: Issue) -> tuple[str, str]:
    """Return the key of a need: empty for exhaustion, which belongs to the run; else the issue's."""
    if reason is PersonReason.EXHAUSTED:
        return "", ""
    return issue.type, "" if reason is PersonReason.NOTHING_ALLOWED else issue.key


def _addressed(need: PersonNeed, agent: str) -> PersonNeed:
    return replace(need, way_out=need.way_out.format(agent=agent))
