from monitors.contract.observations import Observation
from monitors.contract.tasks import Task
from monitors.patterns.goal_drift import GoalDrift
from monitors.signals.vocabulary import words
from tests.monitors.steps import Run, given, play

TASK = Task("t", "Mend the login form: wrong passwords must show a message, and the session must expire.", "/w")


def on_task(run: Run, count: int) -> list[list[Observation]]:
    return [run.edit(f"/w/src/login/form{n}.py", "x", "y") for n in range(count)]


def off_task(run: Run, count: int) -> list[list[Observation]]:
    return [run.edit(f"/w/billing/invoice{n}.py", "total", "sum") for n in range(count)]


def test_a_run_that_was_on_its_goals_and_no_longer_is_has_drifted() -> None:
    run = Run()
    [issue] = play(GoalDrift(task=TASK), *on_task(run, 25), *off_task(run, 16))
    assert issue.type == "goal_drift"
    assert issue.details["alignment"] < 0.5
    assert issue.details["trend"] <= -0.4
    assert issue.evidence[0] > 2 * 25 - 1


def test_only_a_run_that_was_mostly_on_its_goals_can_drift() -> None:
    def drifts(on: int, off: int) -> int:
        run, detector = Run(), GoalDrift(task=TASK)
        mixed = [step for n in range(24) for step in (on_task(run, 1) if n % (on + off) < on else off_task(run, 1))]
        return len(play(detector, *mixed, *off_task(run, 30)))

    assert (drifts(3, 1), drifts(1, 1)) == (1, 0)


def test_it_is_raised_again_when_it_goes_on_and_closes_when_the_run_comes_back() -> None:
    run, detector = Run(), GoalDrift(task=TASK)
    issues = play(detector, *on_task(run, 25), *off_task(run, 15), *on_task(run, 20))
    assert [issue.closed for issue in issues] == [False, True]


def test_places_of_aligned_actions_carry_their_words_on() -> None:
    run = Run()
    linked = [run.bash(f"grep -rn login billing/invoice{n}.py") for n in range(10)]
    assert play(GoalDrift(task=TASK), *on_task(run, 30), *linked, *off_task(run, 40)) == []


def test_a_terse_prompt_measures_nothing_and_low_alignment_from_the_start_is_no_drift() -> None:
    run = Run()
    assert play(GoalDrift(task=Task("t", "go on", "/w")), *on_task(run, 30), *off_task(run, 60)) == []
    assert play(GoalDrift(task=TASK), *off_task(run, 100)) == []


def test_a_persons_word_is_a_new_goal() -> None:
    run = Run()
    told = run.told("now the invoice totals in billing")
    assert play(GoalDrift(task=TASK), *on_task(run, 25), told, *off_task(run, 60)) == []


def test_the_goals_may_come_as_the_first_words_of_the_run() -> None:
    run = Run()
    issues = play(GoalDrift(), run.told(TASK.prompt, by="task"), *on_task(run, 25), *off_task(run, 16))
    assert len(issues) == 1


def test_words_are_taken_apart_and_cut_to_their_stems() -> None:
    assert words("mend LoginForm in src/auth/login_forms.py") == {"login", "form", "auth"}
    assert words("expires expired expiring") == {"expir"}
    assert words("the file and the tests") == set()


def test_another_task_has_its_own_goals() -> None:
    other = Task("t2", "Write the billing: invoices have a total and a sum.", "/w")
    run, detector = Run(), GoalDrift(task=TASK)
    assert play(detector, *on_task(run, 25), given(run, other), *off_task(run, 30)) == []
    assert len(play(detector, *on_task(run, 30))) == 1
