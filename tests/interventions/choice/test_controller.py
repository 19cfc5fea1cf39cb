"""The controller: what is done, when, and when nothing is."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interventions.choice.controller import Easing
from interventions.contract import Case, Unfit
from interventions.decisions import Intervention, InterventionOutcome, Judgement, PersonReason
from interventions.effectiveness import EffectRecord, EffectTally
from interventions.settings import (
    CheckpointRollbackSettings,
    ContextReinforcementSettings,
    EmergencyStopSettings,
    InterventionSettings,
    ResourceThrottlingSettings,
    SoftCorrectionSettings,
    StrategySettings,
)
from interventions.words import InterventionKind
from monitors.contract.actions import Action, Review
from monitors.contract.errors import UsageError
from monitors.contract.issues import Issue
from monitors.contract.observations import Observation
from monitors.contract.words import Decision, Severity
from supervisor.core.fold.controller_events import tell_controller
from supervisor.protocol import events
from supervisor.testing.samples import Moments, issue
from tests.interventions.runs import REINFORCE, ROLLBACK, SOFT, STOP, THROTTLE, Run, judgements, needs

CRITICAL = issue("critical_action", Severity.CRITICAL, confidence=1.0, impact_factor=1.0)
UNATTENDED = InterventionSettings(auto_rollback=True)


# ── the least that works ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_first_repetitive_error_of_medium_severity_gets_a_word_and_no_throttling() -> None:
    chosen = Run().answer(issue())
    assert chosen is not None
    assert chosen.kind is SOFT
    assert chosen.score == 0.42


@pytest.mark.parametrize(
    ("type_", "severity", "kind"),
    [
        ("repetitive_errors", Severity.LOW, SOFT),
        ("goal_drift", Severity.MEDIUM, SOFT),
        ("exploration_wandering", Severity.MEDIUM, SOFT),
        ("text_loop", Severity.MEDIUM, SOFT),
        ("refusals", Severity.MEDIUM, SOFT),
        ("scope_creep", Severity.HIGH, REINFORCE),
        ("scope_creep", Severity.LOW, SOFT),
        ("hallucination", Severity.MEDIUM, REINFORCE),
        ("test_tampering", Severity.HIGH, REINFORCE),
        ("resource_spiral", Severity.HIGH, THROTTLE),
        ("resource_spiral", Severity.MEDIUM, SOFT),
        ("runaway_execution", Severity.HIGH, THROTTLE),
        ("confused_state", Severity.HIGH, REINFORCE),
        ("blocked_on_human", Severity.HIGH, SOFT),
        ("something_of_a_plugin", Severity.MEDIUM, SOFT),
        ("critical_action", Severity.CRITICAL, STOP),
    ],
)
def test_each_pattern_is_first_answered_by_the_mildest_kind_that_is_in_proportion(
    type_: str, severity: Severity, kind: InterventionKind
) -> None:
    confident = {"confidence": 1.0, "impact_factor": 1.0} if severity is Severity.CRITICAL else {}
    assert Run().kind(issue(type_, severity, **confident)) is kind


def test_a_grave_issue_skips_the_first_rung_but_not_the_second() -> None:
    assert Run().kind(issue(severity=Severity.HIGH, confidence=0.9)) is REINFORCE


def test_one_rehearsal_for_each_band_answers_a_run_whose_earlier_answers_were_in_vain() -> None:
    run = Run(UNATTENDED)
    kinds = [run.kind(issue(details={"count": n}), after=130) for n in (3, 6, 12, 24)]
    assert kinds == [SOFT, REINFORCE, ROLLBACK, STOP]


def test_an_issue_that_an_answer_ended_comes_back_to_a_milder_one() -> None:
    run = Run(UNATTENDED)
    assert [run.kind(issue(), after=130) for _ in range(2)] == [SOFT, REINFORCE]
    run.saw(issue(closed=True))
    run.steps(ok=4)
    assert [judged.outcome for judged in run.due() if isinstance(judged, Judgement)] == [InterventionOutcome.SUCCESS]
    assert run.kind(issue(), after=130) is SOFT


def test_the_same_issue_soon_again_gets_the_same_kind_in_other_words() -> None:
    run = Run()
    first, second = run.answer(issue()), run.answer(issue(), after=31)
    assert first is not None
    assert second is not None
    assert first.kind is second.kind is SOFT
    assert first.message != second.message


def test_the_same_issue_twice_after_an_answer_gets_a_stronger_one_before_the_delay_is_over() -> None:
    run = Run()
    assert [run.kind(issue(), after=31) for _ in range(3)] == [SOFT, SOFT, REINFORCE]


def test_a_refused_action_of_the_last_minute_raises_the_score() -> None:
    run = Run()
    review = Review(Decision.BLOCK, 0.9, 0.5, Severity.HIGH, "no")
    run.happened(events.ReviewMade(**run.stamp(), request_id="r", action=Action("Bash", {}), review=review))
    chosen = run.answer(issue())
    assert chosen is not None
    assert chosen.score == pytest.approx(0.42 + 0.2 * 0.9)
    assert "risk 0.9 of the last refused action" in chosen.explain["score"]["sum"]


def test_several_issues_at_once_get_one_answer_that_names_them_all() -> None:
    run = Run()
    run.saw(issue())
    run.saw(issue("goal_drift", Severity.HIGH, sentence="It drifts."))
    (chosen,) = run.due()
    assert isinstance(chosen, Intervention)
    assert chosen.issue.type == "goal_drift"
    assert "There is repetitive_errors." in chosen.message
    assert chosen.details["also"] == ["repetitive_errors"]
    run.now += 60
    assert not run.due()


# ── when it is left alone ─────────────────────────────────────────────────────────────────────────────────────────────


def test_within_the_cooldown_nothing_is_done_and_after_it_what_is_still_open_is_answered() -> None:
    run = Run()
    run.answer(issue())
    assert run.kind(issue("goal_drift"), after=10) is None
    assert run.controller.wakes_in(run.now) == pytest.approx(20)
    run.now += 20.5
    assert [due.kind for due in run.due() if isinstance(due, Intervention)] == [SOFT]


def test_what_ended_within_the_cooldown_is_not_answered() -> None:
    run = Run()
    run.answer(issue())
    assert run.kind(issue("goal_drift"), after=10) is None
    run.saw(issue("goal_drift", closed=True))
    run.now += 25
    assert not [due for due in run.due() if isinstance(due, Intervention)]
    assert run.controller.wakes_in(run.now) is None


class Counting:
    """A plugin that counts how often it is asked, and answers nothing."""

    name = "counting"
    kind = THROTTLE
    types = ("scope_creep",)

    def __init__(self) -> None:
        self.asked = 0

    def plan(self, case: Case) -> Unfit:  # noqa: ARG002 - the contract's
        self.asked += 1
        return Unfit("it only counts")


def test_an_answer_that_must_wait_is_planned_again_only_when_something_has_changed() -> None:
    plugin = Counting()
    run = Run(plugins=(plugin,))
    assert run.kind(issue()) is SOFT
    run.now += 1
    run.saw(
        issue("scope_creep", Severity.HIGH, confidence=1.0)
    )  # 0.96: within the band of a stop, which is no rung yet
    asked = []
    for returned, seconds in ((0, 0.0), (0, 0.5), (1, 0.0), (0, 0.0), (0, 1.0)):
        run.steps(ok=returned)
        run.now += seconds
        assert run.due() == []
        asked.append(plugin.asked)
    assert 0 < asked[0] == asked[1] < asked[2] == asked[3] < asked[4]
    assert run.kind(CRITICAL) is STOP


def test_a_stop_waits_for_no_cooldown() -> None:
    run = Run()
    run.answer(issue())
    assert run.kind(CRITICAL, after=1) is STOP


def test_a_stop_is_never_counted_out() -> None:
    run = Run(InterventionSettings(max_interventions_per_execution=1))
    run.answer(issue())
    assert run.kind(CRITICAL, after=60) is STOP


def test_after_the_most_interventions_a_person_is_asked_once_and_the_agent_is_held() -> None:
    run = Run(InterventionSettings(max_interventions_per_execution=2))
    for n in range(2):
        assert run.kind(issue(key=str(n)), after=400) is SOFT
    run.now += 400
    run.saw(issue(key="x"))
    (need,) = needs(run.due())
    assert (need.reason, need.hold) == (PersonReason.EXHAUSTED, True)
    assert need.way_out == "chaperon resume a1"
    run.now += 400
    run.saw(issue(key="y"))
    assert not needs(run.due())


@pytest.mark.parametrize("state", [{"listening": False}])
def test_an_agent_that_hears_nothing_is_told_nothing_but_can_be_stopped(state: dict[str, Any]) -> None:
    run = Run()
    assert run.kind(issue(), **state) is None
    assert run.kind(CRITICAL, **state) is STOP


def test_nothing_is_done_about_an_agent_that_has_just_ended() -> None:
    run = Run()
    assert run.kind(issue(), ended=True) is None
    assert run.kind(CRITICAL, ended=True) is None


def test_an_issue_that_no_intervention_can_answer_is_left_where_interventions_are_off() -> None:
    run = Run(InterventionSettings(enabled=False))
    run.saw(CRITICAL)
    (need,) = needs(run.due())
    assert (need.reason, need.hold) == (PersonReason.NOTHING_ALLOWED, False)


def forbidding(*kinds: InterventionKind) -> InterventionSettings:
    return InterventionSettings(
        soft_correction=SoftCorrectionSettings(enabled=SOFT not in kinds),
        context_reinforcement=ContextReinforcementSettings(enabled=REINFORCE not in kinds),
        resource_throttling=ResourceThrottlingSettings(enabled=THROTTLE not in kinds),
        checkpoint_rollback=CheckpointRollbackSettings(enabled=ROLLBACK not in kinds),
        emergency_stop=EmergencyStopSettings(enabled=STOP not in kinds),
    )


def test_a_configuration_that_forbids_every_kind_leaves_an_incident_and_a_person_once() -> None:
    run = Run(forbidding(*InterventionKind))
    run.saw(issue())
    (need,) = needs(run.due())
    assert need.reason is PersonReason.NOTHING_ALLOWED
    assert "forbids all that answers it" in need.sentence
    run.now += 60
    run.saw(issue(key="another"))
    assert not run.due()


def test_a_kind_that_is_forbidden_is_passed_over() -> None:
    assert Run(forbidding(SOFT)).kind(issue()) is REINFORCE


def test_a_forbidden_stop_becomes_a_person() -> None:
    run = Run(forbidding(STOP))
    run.saw(CRITICAL)
    (need,) = needs(run.due())
    assert need.reason is PersonReason.NOTHING_ALLOWED


# ── rollbacks ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def climbed_to_rollback(run: Run) -> list[Any]:
    run.answer(issue(), after=130)
    run.answer(issue(), after=130)
    run.now += 130
    run.saw(issue())
    return run.due()


def test_a_rollback_that_people_decide_is_proposed_and_the_agent_gets_a_plan_meanwhile() -> None:
    run = Run()
    _, need, chosen = climbed_to_rollback(run)
    assert need.reason is PersonReason.ROLLBACK_PROPOSED
    assert need.way_out == "chaperon rollback cp-7"
    assert need.checkpoint == "cp-7"
    assert chosen.kind is REINFORCE
    assert "get there by hand" in chosen.message
    assert "git status" in chosen.message


def test_a_run_with_nowhere_to_go_back_to_gets_a_plan_before_a_stop() -> None:
    run = Run(UNATTENDED, checkpoints=Moments("no checkpoint is older than the issue"))
    *_, chosen = climbed_to_rollback(run)
    assert chosen.kind is REINFORCE
    assert chosen.details["instead_of_rollback"] == "no checkpoint is older than the issue"
    assert run.kind(issue(), after=130) is STOP


def test_a_rollback_that_failed_is_not_tried_again_and_its_issue_is_answered_otherwise() -> None:
    run = Run(UNATTENDED)
    *_, chosen = climbed_to_rollback(run)
    assert chosen.kind is ROLLBACK
    failed = events.RestoreFailed(**run.stamp(), intervention=chosen.id, checkpoint="cp-7", error="disk full")
    run.now += 35
    run.happened(failed)
    again = [due for due in run.due() if isinstance(due, Intervention)]
    assert [due.kind for due in again] == [STOP]
    assert "disk full" in again[0].explain["not"]["checkpoint_rollback"]


# ── throttling ────────────────────────────────────────────────────────────────────────────────────────────────────────

SPIRAL = issue("resource_spiral", Severity.HIGH, details={"resource": "memory_mb", "growth": 2.5})


def test_a_throttling_ends_when_usage_has_been_calm_for_its_window() -> None:
    run = Run()
    assert run.kind(SPIRAL) is THROTTLE
    assert run.controller.limits.limits.max_memory_mb == 4096
    run.now += 100
    run.saw(issue("resource_spiral", Severity.HIGH, closed=True))
    assert not [due for due in run.due() if isinstance(due, Easing)]
    assert run.controller.wakes_in(run.now) == pytest.approx(60)
    run.now += 61
    (eased,) = [due for due in run.due() if isinstance(due, Easing)]
    assert eased.limits.limits.max_memory_mb == 8192
    assert run.controller.limits.limits.max_memory_mb == 8192
    assert not [due for due in run.due() if isinstance(due, Easing)]


def test_a_spiral_that_comes_back_keeps_its_limits() -> None:
    run = Run()
    run.answer(SPIRAL)
    run.saw(issue("resource_spiral", closed=True))
    run.now += 50
    run.saw(SPIRAL)
    run.now += 50
    assert not [due for due in run.due() if isinstance(due, Easing)]


# ── reinforcement after a compaction ──────────────────────────────────────────────────────────────────────────────────


def test_a_reinforcement_is_renewed_once_after_each_compaction_and_never_unchanged() -> None:
    run = Run()
    first = run.answer(issue("hallucination"))
    assert first is not None
    said = {first.message}
    for _ in range(2):
        run.now += 60
        run.compacted()
        (renewed,) = [due for due in run.due() if isinstance(due, Intervention)]
        assert renewed.kind is REINFORCE
        assert renewed.details["renewal_of"] in {event.intervention.id for event in chosen_events(run)}
        assert renewed.message not in said
        said.add(renewed.message)
        run.now += 60
        assert not [due for due in run.due() if isinstance(due, Intervention)]


def chosen_events(run: Run) -> list[events.InterventionChosen]:
    return [event for _, event in run.journal if isinstance(event, events.InterventionChosen)]


def test_a_renewal_neither_escalates_nor_counts_as_a_success() -> None:
    run = Run()
    run.answer(issue("hallucination"))
    run.saw(issue("hallucination", closed=True))
    run.steps(ok=4)
    run.now += 60
    run.compacted()
    run.due()
    run.steps(ok=15)
    run.due()
    assert [judged.outcome for judged in judgements(run)] == [InterventionOutcome.SUCCESS, InterventionOutcome.UNCLEAR]


# ── what the record says ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_kind_that_harms_more_than_it_helps_is_not_chosen() -> None:
    record = EffectRecord({(SOFT, "repetitive_errors"): EffectTally(success=0, failure=6, harmed=6)})
    chosen = Run(record=record).answer(issue())
    assert chosen is not None
    assert chosen.kind is REINFORCE
    assert "harms more often than it helps" in chosen.explain["not"]["soft_correction"]


def test_a_kind_that_has_helped_too_seldom_is_passed_over_by_the_progressive_strategy() -> None:
    record = EffectRecord({(SOFT, "repetitive_errors"): EffectTally(success=1, failure=12)})
    assert Run(record=record).kind(issue()) is REINFORCE


def test_a_stop_is_chosen_whatever_its_record_says() -> None:
    record = EffectRecord({(STOP, "critical_action"): EffectTally(failure=9, harmed=9)})
    assert Run(record=record).kind(CRITICAL) is STOP


# ── how it is explained, and rebuilt ──────────────────────────────────────────────────────────────────────────────────


def test_a_choice_says_why_and_apart_from_that_the_sum_and_why_not_the_next() -> None:
    chosen = Run().answer(issue())
    assert chosen is not None
    assert chosen.reason == "the mildest answer comes first"
    assert chosen.explain["score"]["sum"] == "medium 0.5 * confidence 0.7 * (1 + impact 0.2) = 0.42"
    assert chosen.explain["ceiling"] is REINFORCE
    assert chosen.explain["not"][REINFORCE] == "a milder answer comes first"
    assert set(chosen.explain["not"]) == {REINFORCE, THROTTLE, ROLLBACK, STOP}


def test_show_says_what_holds_the_next_answer_back() -> None:
    run = Run()
    run.answer(issue())
    run.kind(issue("goal_drift"), after=10)
    told = run.controller.explain(run.now)
    assert told["used"] == 1
    assert told["rests_for_seconds"] == 20
    assert told["waiting"] == ["There is goal_drift."]
    assert told["last"]["kind"] is SOFT


def test_a_choice_stronger_than_the_one_before_for_the_same_issue_is_called_an_escalation() -> None:
    run = Run()
    first, second = run.answer(issue()), run.answer(issue(), after=130)
    assert first is not None
    assert second is not None
    assert (first.explain["escalated_from"], second.explain["escalated_from"]) == (None, SOFT)


def test_a_strategy_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(UsageError, match="to one of: progressive, pattern_specific"):
        Run(InterventionSettings(strategy=StrategySettings(type="custom")))


MOVES = st.one_of(
    st.tuples(st.just("raise"), st.sampled_from(["repetitive_errors", "resource_spiral", "scope_creep", "odd"])),
    st.tuples(st.just("close"), st.sampled_from(["repetitive_errors", "resource_spiral", "scope_creep", "odd"])),
    st.tuples(st.just("ok"), st.integers(1, 6)),
    st.tuples(st.just("fail"), st.integers(1, 6)),
    st.tuples(st.just("wait"), st.sampled_from([1, 20, 40, 130, 400])),
    st.tuples(st.just("compact"), st.just(0)),
)


@settings(max_examples=150)
@given(st.lists(MOVES, max_size=40), st.booleans())
def test_whatever_happens_limits_hold_and_the_journal_rebuilds_the_same_controller(
    moves: list[tuple[str, Any]], auto: bool
) -> None:
    run = Run(InterventionSettings(auto_rollback=auto))
    for move, value in moves:
        play(run, move, value)
        run.due()
    chosen = chosen_events(run)
    others = [event for event in chosen if event.intervention.kind is not STOP]
    assert len(others) <= 10
    gaps = [later.mono - earlier.mono for earlier, later in pairwise(chosen)]
    assert all(gap >= 30 for gap, event in zip(gaps, chosen[1:], strict=True) if event.intervention.kind is not STOP)
    messages = [event.intervention.message for event in chosen if event.intervention.message]
    assert len(messages) == len(set(messages))
    run.due(ended=True, well=True)
    assert len(judgements(run)) == len(chosen)
    rebuilt = run.fresh()
    for seq, event in run.journal:
        if isinstance(event, Observation):
            rebuilt.observed(event)
        else:
            tell_controller(rebuilt, seq, event)
    assert rebuilt.explain(run.now) == run.controller.explain(run.now)
    assert rebuilt.timeline == run.controller.timeline


def play(run: Run, move: str, value: Any) -> None:
    match move:
        case "raise":
            run.saw(issue(value, Severity.HIGH))
        case "close":
            run.saw(issue(value, closed=True))
        case "ok":
            run.steps(ok=value)
        case "fail":
            run.steps(failed=value)
        case "wait":
            run.now += value
        case _:
            run.compacted()


def test_an_issue_never_seen_can_be_closed() -> None:
    run = Run()
    run.saw(Issue("x", Severity.LOW, 0.5, 0.0, 1, "x", closed=True))
    assert run.controller.idle
