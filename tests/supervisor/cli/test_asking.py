"""The question about an action that waits, on the terminal of a run."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from supervisor.cli.asking import CHOICES, Asker


class Desk:
    """A terminal at which somebody types, as a pipe, and what came of it."""

    def __init__(self) -> None:
        self.fd, self.keys = os.pipe()
        self.answers: list[tuple[str, bool, str]] = []
        self.asker = Asker(lambda *given: self.answers.append(given), self.fd)

    def asks(self, request: str) -> None:
        action = {"tool": "Bash", "input": {"command": f"echo {request}\nmake"}}
        self.asker.saw({"kind": "approval_asked", "request_id": request, "action": action}, printed=True)

    def types(self, text: str) -> None:
        os.write(self.keys, text.encode())
        self.asker.read()


def asked(request: str) -> str:
    return f"Let Bash echo {request} ⏎ make run? {CHOICES}"


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk()
    yield made
    os.close(made.fd)
    os.close(made.keys)


def test_the_answers_go_to_the_oldest_question_with_what_the_model_is_told(desk: Desk) -> None:
    desk.asks("r1")
    desk.asks("r2")
    desk.types("n Use the other file.\n")
    desk.types("YES\n")
    assert desk.answers == [("r1", False, "Use the other file."), ("r2", True, "")]
    assert desk.asker.fd is None, "nothing is asked any more"


def test_a_question_names_its_action_and_the_next_one_is_shown_whole_before_it_is_asked_about(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.asks("r1")
    capsys.readouterr()
    desk.asks("r2")
    assert capsys.readouterr().err == asked("r1"), "the oldest, though the newest was printed last"
    desk.types("n\n")
    assert capsys.readouterr().err == f"| command: echo r2\n|   make\n{asked('r2')}"


@pytest.mark.parametrize("typed_for_both", ["y\ny\n", "y\nyes"])
def test_what_was_typed_before_a_question_was_put_does_not_answer_it(desk: Desk, typed_for_both: str) -> None:
    desk.asks("r1")
    desk.asks("r2")
    desk.types(typed_for_both)
    desk.types("\n")
    assert desk.answers == [("r1", True, "")]


def test_what_was_typed_about_an_action_that_is_over_does_not_answer_the_next(desk: Desk) -> None:
    desk.asks("r1")
    desk.asks("r2")
    desk.types("y")
    desk.asker.saw({"kind": "review_made", "request_id": "r1"}, printed=True)
    desk.types("\n")
    assert not desk.answers


def test_what_is_neither_yes_nor_no_answers_nothing(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.asks("r1")
    desk.types("why?\n")
    desk.types("yeah\n")
    assert not desk.answers
    assert capsys.readouterr().err.count(CHOICES) == 3
    assert desk.asker.fd == desk.fd


def test_all_of_what_is_asked_about_comes_before_the_question(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.asks("r1")
    assert capsys.readouterr().err == f"| command: echo r1\n|   make\n{asked('r1')}"


def test_half_a_line_is_no_answer_yet(desk: Desk) -> None:
    desk.asks("r1")
    desk.types("y")
    assert not desk.answers
    desk.types(" go\n")
    assert desk.answers == [("r1", True, "go")]


@pytest.mark.parametrize(
    "record",
    [
        {"kind": "review_made", "request_id": "r1"},
        {"kind": "approval_given", "request_id": "r1"},
        {"kind": "state_changed", "after": "stopping"},
    ],
)
def test_a_question_that_was_answered_elsewhere_or_is_over_is_asked_no_more(desk: Desk, record: dict[str, Any]) -> None:
    desk.asks("r1")
    desk.asker.saw(record, printed=True)
    assert desk.asker.fd is None


def test_the_end_of_the_input_leaves_the_answer_to_others(desk: Desk) -> None:
    desk.asks("r1")
    os.close(desk.keys)
    desk.asker.read()
    desk.fd, desk.keys = os.pipe()
    assert (desk.answers, desk.asker.fd) == ([], None)


def test_the_question_is_put_again_below_what_is_printed_meanwhile(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.asks("r1")
    capsys.readouterr()
    desk.asker.make_way()
    desk.asker.saw({"kind": "line_received"}, printed=True)
    desk.asker.saw({"kind": "line_received"}, printed=False)
    assert capsys.readouterr().err == f"\n{asked('r1')}"


def test_without_a_terminal_nothing_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    asker = Asker(lambda *_: None, None)
    asker.saw({"kind": "approval_asked", "request_id": "r1"}, printed=True)
    asker.make_way()
    assert asker.fd is None
    assert not capsys.readouterr().err
