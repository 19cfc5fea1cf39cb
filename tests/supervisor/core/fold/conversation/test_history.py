"""The last calls: bounded, shortened, and marked where they failed."""

from dataclasses import replace

from monitors.contract.actions import Action
from monitors.contract.observations import ToolReturned
from monitors.contract.words import Decision
from supervisor.core.fold.conversation.history import KEPT, MAX_UNDER_WAY, MOST_RUNNING, History
from supervisor.protocol import events
from tests.stages.session import ALLOW, verdict


def made(number: int, **given: object) -> events.ReviewMade:
    action = Action("Bash", given or {"command": f"echo {number}"}, tool_use_id=f"u{number}")
    return events.ReviewMade(agent="a1", at=0, mono=0, request_id=f"r{number}", action=action, review=ALLOW)


def came_back(id_: str, *, tool: str = "Bash", text: str = "", failed: bool = False) -> ToolReturned:
    return ToolReturned(seq=1, mono=0, id=id_, tool=tool, input={}, text=text, failed=failed)


def test_only_the_last_calls_are_kept() -> None:
    history = History()
    for number in range(KEPT + 10):
        history.reviewed(made(number))
    assert len(history.steps) == KEPT
    assert history.steps[0].summary == "echo 10"


def test_verdicts_are_kept_of_the_last_calls_and_of_those_that_have_not_come_back() -> None:
    history = History()
    for number in range(MAX_UNDER_WAY + 10):
        history.reviewed(made(number))
    assert history.verdict("u9") is None
    assert history.verdict("u10") == made(10)
    for number in range(MAX_UNDER_WAY + 10):
        history.returned(came_back(f"u{number}"))
        history.reviewed(made(number + 1_000))
        history.returned(came_back(f"u{number + 1_000}"))
    assert history.verdict("u10") is None
    kept = sum(history.verdict(f"u{number}") is not None for number in range(2_000))
    assert kept <= MAX_UNDER_WAY


def test_a_call_is_told_by_its_most_telling_field_and_shortened() -> None:
    history = History()
    history.reviewed(made(1, description="words", command="x" * 500))
    history.reviewed(made(2, unknown="y"))
    assert [step.summary for step in history.steps] == ["x" * 199 + "…", ""]


def test_a_failed_call_is_marked_and_a_forgotten_one_is_passed_over() -> None:
    history = History()
    history.reviewed(made(1))
    history.returned(came_back("u1", failed=True))
    history.returned(came_back("u2", failed=True))
    assert [step.failed for step in history.steps] == [True]


def test_the_last_test_run_stays_known_whatever_is_printed_after_it() -> None:
    history = History()
    for text in ("2 failed, 4 passed in 0.3s", "1 failed, 5 passed in 0.3s", "3 files changed"):
        history.returned(came_back("u1", text=text))
    history.returned(came_back("u2", tool="Read", text="9 passed in 0.1s"))
    assert history.tests == ("pytest", 5, 1)


def test_a_call_is_under_way_from_its_review_until_it_comes_back_unless_it_was_blocked() -> None:
    history = History()
    for number in range(MOST_RUNNING + 2):
        history.reviewed(made(number))
    history.reviewed(replace(made(99), review=verdict(Decision.BLOCK)))
    history.returned(came_back(f"u{MOST_RUNNING + 1}"))
    through = [f"echo {number}" for number in range(1, MOST_RUNNING + 1)]
    assert [call.summary for call in history.running] == through
    for number in range(MOST_RUNNING + 1):
        history.returned(came_back(f"u{number}"))
    assert history.running == ()
