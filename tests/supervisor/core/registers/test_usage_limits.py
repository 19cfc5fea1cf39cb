"""Usage limits that accounts met, as a fold over the journal."""

from supervisor.core.registers.usage_limits import MOST_ACCOUNTS, UsageLimits


def test_the_last_limit_of_an_account_holds_and_a_shorter_one_does_not_end_it() -> None:
    limits = UsageLimits()
    assert limits.until("file:/one") == 0
    limits.remember(1, "file:/one", 50.0)
    limits.remember(2, "file:/two", 70.0)
    limits.remember(3, "file:/one", 20.0)
    limits.remember(4, "", 90.0)
    assert (limits.until("file:/one"), limits.until("file:/two"), limits.until("")) == (50.0, 70.0, 0.0)


def test_an_event_that_is_read_again_counts_once_and_a_snapshot_has_all() -> None:
    limits = UsageLimits()
    limits.remember(5, "file:/one", 50.0)
    limits.remember(5, "file:/one", 60.0)
    again = UsageLimits()
    again.restore(limits.as_json())
    again.remember(5, "file:/one", 60.0)
    assert again.until("file:/one") == 50.0


def test_so_many_accounts_are_kept() -> None:
    limits = UsageLimits()
    for number in range(MOST_ACCOUNTS + 1):
        limits.remember(number + 1, f"file:/{number}", 9.0)
    assert limits.until("file:/0") == 0
    assert len(limits.as_json()["until"]) == MOST_ACCOUNTS
