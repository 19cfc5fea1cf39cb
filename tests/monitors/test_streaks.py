from monitors.contract.issues import Issue
from monitors.contract.words import Severity
from monitors.streaks import Streaks


def issue(key: str = "", began: int = 1) -> Issue:
    return Issue("x", Severity.LOW, 0.5, 0.1, began, "trouble", key=key)


def test_a_streak_is_said_once_and_again_only_at_a_higher_level() -> None:
    streaks = Streaks()
    assert [len(streaks.seen(issue(), level)) for level in (1, 1, 2, 1, 2, 3)] == [1, 0, 1, 0, 0, 1]


def test_a_worse_issue_keeps_the_beginning_of_its_streak() -> None:
    streaks = Streaks()
    streaks.seen(issue(began=5), 1)
    assert streaks.seen(issue(began=9), 2)[0].began == 5


def test_closing_says_so_once_and_opens_the_way_for_another_streak() -> None:
    streaks = Streaks()
    streaks.seen(issue(), 2)
    assert [one.closed for one in streaks.close()] == [True]
    assert streaks.close() == ()
    assert streaks.worse(1)
    assert len(streaks.seen(issue(), 1)) == 1


def test_one_streak_too_many_closes_the_oldest() -> None:
    streaks = Streaks(most=2)
    streaks.seen(issue("a"), 1)
    streaks.seen(issue("b"), 1)
    assert [(one.key, one.closed) for one in streaks.seen(issue("c"), 1)] == [("a", True), ("c", False)]
    assert "a" not in streaks
    assert [one.key for one in streaks.close_all()] == ["b", "c"]
    assert len(streaks) == 0
