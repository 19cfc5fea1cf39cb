"""What is known of agents that ended, and which events a fold passes over for it."""

from dataclasses import replace

from supervisor.core.fold.summary import Summary
from supervisor.core.registers.past import OF_ONE_SESSION, KnownEnd, KnownPast
from supervisor.protocol import events
from tests.stages.session import Play

SUBMITTED = events.TaskSubmitted(**Play().stamp(), task=Play().task, workspace="/repo", session_id="s")
ENDED = replace(Summary.of(SUBMITTED), first_event=5)


def test_who_is_submitted_as_it_was_known_is_recognised_and_no_other() -> None:
    for submitted, seq in (
        (replace(SUBMITTED, at=SUBMITTED.at + 1), 5),
        (replace(SUBMITTED, workspace="/elsewhere"), 5),
        (SUBMITTED, 6),
    ):
        past = KnownPast()
        past.expect([KnownEnd(9, ENDED)])
        assert past.recognise(seq, submitted) is None
        assert not past.has("a1", 9)
    past = KnownPast()
    past.expect([KnownEnd(9, ENDED)])
    assert not past.has("a1", 5)
    assert past.recognise(5, SUBMITTED) == ENDED
    assert [past.has("a1", seq) for seq in (5, 9, 10)] == [True, True, False]


def test_only_lines_of_use_to_nobody_else_are_passed_over() -> None:
    past = KnownPast()
    past.restore([KnownEnd(9, ENDED)])
    for kind, of_use in OF_ONE_SESSION.items():
        assert past.passes("a1", 9, kind, b"{}")
        assert not past.passes("a1", 10, kind, b"{}")
        assert not past.passes("a2", 9, kind, b"{}")
        assert not past.passes("a1", 9, kind, b"{" + of_use + b"}")
    assert not past.passes("a1", 9, "state_changed", b"{}")
