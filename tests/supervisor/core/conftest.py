"""Every session that a test of the core plays is held to this: where its memory is calm, no rule has anything to decide."""

import pytest

from supervisor.core.decide import Decider
from supervisor.core.memory import Memory
from supervisor.protocol.events import AnyEvent, Event


@pytest.fixture(autouse=True)
def _calm_means_that_nothing_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    def checked(self: Decider, known: Memory, now: Event, seq: int) -> AnyEvent | None:
        due = self._due(known, now, seq)
        assert due is None or not known.calm, f"{due} is due, and yet the memory is calm"
        return due

    monkeypatch.setattr(Decider, "next", checked)
