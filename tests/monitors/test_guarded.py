from collections.abc import Sequence

from monitors.contract.issues import Issue
from monitors.contract.observations import Observation, ToolReturned, UserSpoke
from monitors.contract.words import Severity
from monitors.guarded import Guarded, OpenIssues, Watchers
from monitors.patterns.repetition import Repetition
from tests.monitors.steps import Run, play


class Broken:
    """Raises an issue at the first observation and an exception at the third."""

    name = "broken"

    def __init__(self) -> None:
        self.seen = 0

    def see(self, observation: Observation) -> Sequence[Issue]:
        self.seen += 1
        if self.seen == 3:
            raise KeyError("missing")
        return [Issue("broken", Severity.LOW, 0.5, 0.1, observation.seq, "odd")] if self.seen == 1 else ()


def test_one_that_raises_is_switched_off_by_name_and_its_issues_are_closed() -> None:
    run, broken, board = Run(), Broken(), OpenIssues()
    guarded = Guarded(broken, board)
    issues = play(guarded, run.bash("a"), run.bash("b"), run.bash("c"))
    assert [issue.closed for issue in issues] == [False, True]
    assert broken.seen == 3
    assert guarded.failure is not None
    assert (guarded.failure.detector, guarded.failure.seq) == ("broken", 3)
    assert "KeyError: 'missing'" in guarded.failure.sentence
    assert len(board) == 0


def test_one_that_returns_something_else_is_switched_off_too() -> None:
    class Wrong(Broken):
        def see(self, observation: Observation) -> Sequence[Issue]:
            return [f"trouble at {observation.seq}"]  # type: ignore[list-item]

    guarded = Guarded(Wrong())
    assert play(guarded, Run().bash("a")) == []
    assert guarded.failure is not None
    assert "returned str instead of an Issue" in guarded.failure.sentence


def test_the_board_knows_what_is_open_and_the_worst_of_a_type() -> None:
    run, board = Run(), OpenIssues()
    guarded = Guarded(Repetition(), board)
    play(guarded, *(run.bash("ls") for _ in range(6)))
    worst = board.worst("repetition")
    assert worst is not None
    assert worst.severity is Severity.HIGH
    play(guarded, *(run.read(f"/w/{n}") for n in range(3)))
    assert board.worst("repetition") is None


def test_each_is_shown_what_it_watches_and_all_where_it_does_not_say() -> None:
    class Listener(Broken):
        watches = frozenset({UserSpoke})

    run, listener, plain = Run(), Guarded(Listener()), Broken()
    watchers = Watchers([listener, plain])
    (returned,) = (seen for seen in run.bash("ls") if isinstance(seen, ToolReturned))
    assert watchers.of(returned) == (plain,)
    assert watchers.of(UserSpoke(seq=9, mono=9.0, text="hello", by="person")) == (listener, plain)
