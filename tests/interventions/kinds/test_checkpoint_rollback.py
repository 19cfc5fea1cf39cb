"""Rollback: where to, and with what guidance."""

from interventions.contract import Case, GoodMoment, Plan, Situation, Unfit
from interventions.kinds.checkpoint_rollback import CheckpointRollback
from supervisor.testing.samples import TASK, Moments, issue, step

HISTORY = (step("Edit", "src/a.py"), step("Bash", "make test", failed=True))


MOMENT = GoodMoment("cp-7", "tests passed", 2)


def case(type_: str = "repetitive_errors", found: GoodMoment | str = MOMENT) -> Case:
    return Case(issue(type_), Situation("a1", TASK, "i-1", 0.0, history=HISTORY, checkpoints=Moments(found)))


def planned(type_: str = "repetitive_errors") -> Plan:
    plan = CheckpointRollback().plan(case(type_))
    assert isinstance(plan, Plan)
    return plan


def test_the_guidance_says_what_happened_what_was_tried_and_what_to_do_instead() -> None:
    said = planned().message
    for part in ("cp-7 (tests passed)", "There is repetitive_errors.", "- Bash make test", "What to do instead:"):
        assert part in said
    assert "src/a.py" not in said


def test_the_plan_names_the_checkpoint() -> None:
    details = planned().details
    assert (details["checkpoint"], details["depth"], details["fresh"]) == ("cp-7", 2, False)


def test_a_run_without_progress_gets_a_fresh_attempt() -> None:
    assert planned("no_progress").details["fresh"] is True


def test_nowhere_to_go_back_to_is_an_answer_too() -> None:
    assert CheckpointRollback().plan(case(found="none is safe")) == Unfit("none is safe")
