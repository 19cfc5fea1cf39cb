"""Links that are good once, and sessions."""

from supervisor.panel.access.sessions import LINK_SECONDS, MOST_SESSIONS, SESSION_SECONDS, Sessions


def test_a_code_begins_one_session_and_no_second() -> None:
    sessions = Sessions(lambda: 0.0)
    code = sessions.new_code()
    begun = sessions.begin(code)
    assert begun is not None
    assert sessions.of(begun.cookie) is begun
    assert sessions.begin(code) is None


def test_a_code_that_nobody_gave_out_or_that_is_too_old_begins_none() -> None:
    now = 0.0
    sessions = Sessions(lambda: now)
    code, later = sessions.new_code(), sessions.new_code()
    assert sessions.begin("") is None
    assert sessions.begin("ä" * 43) is None
    now = LINK_SECONDS - 1
    assert sessions.begin(later) is not None
    now = LINK_SECONDS
    assert sessions.begin(code) is None


def test_a_session_ends_after_its_time_and_the_oldest_for_one_too_many() -> None:
    now = 0.0
    sessions = Sessions(lambda: now)
    begun = [sessions.begin(sessions.new_code()) for _ in range(MOST_SESSIONS + 1)]
    assert None not in begun
    assert sessions.of(begun[0].cookie) is None  # type: ignore[union-attr]
    assert sessions.of(begun[1].cookie) is begun[1]  # type: ignore[union-attr]
    now = SESSION_SECONDS
    assert sessions.of(begun[1].cookie) is None  # type: ignore[union-attr]
