"""Every session that a test of the core plays is held to this: where its memory is calm, no rule has more to decide than is decided."""

import pytest

from supervisor.core.decisions.decide import Decider
from supervisor.core.fold.memory import Memory
from supervisor.protocol.events import AnyEvent, Event


@pytest.fixture(autouse=True)
def _calm_means_that_nothing_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    shortened = Decider.next

    def checked(self: Decider, memory: Memory, now: Event, seq: int) -> AnyEvent | None:
        due = self._due(memory, now, seq)
        if memory.calm:
            assert due == shortened(self, memory, now, seq), f"{due} is due, and yet the memory is calm"
        return due

    monkeypatch.setattr(Decider, "next", checked)
