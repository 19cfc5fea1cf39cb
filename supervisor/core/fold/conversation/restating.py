"""Compactions of the conversation, and the decisions of people that are said again after one."""

from collections import deque

from supervisor.core.fold.conversation.history import subject_of
from supervisor.core.fold.conversation.requests import Requests
from supervisor.protocol.events import AnyEvent, ApprovalGiven, RedirectRequested, SayRequested

MOST_DECISIONS = 5
"""Decisions kept, the last ones: as many as the message has room for."""

LONGEST = 300
"""Characters of each."""


class Restating:
    """Facts that the model may have forgotten, as a fold over the events of one agent."""

    def __init__(self) -> None:
        self.compactions = 0
        """How often the CLI shortened the conversation."""
        self._restated = 0
        self._decided: deque[str] = deque(maxlen=MOST_DECISIONS)

    @property
    def due(self) -> bool:
        """Whether it was shortened since the task was said last."""
        return self.compactions > self._restated

    @property
    def decided(self) -> tuple[str, ...]:
        """The last decisions of people, oldest first."""
        return tuple(self._decided)

    def compacted(self) -> None:
        """The CLI shortened the conversation."""
        self.compactions += 1

    def has_restated(self) -> None:
        """The task was said again."""
        self._restated = self.compactions

    def remember(self, event: AnyEvent, requests: Requests) -> None:
        """Take in what people decide; other events change nothing."""
        match event:
            case SayRequested() | RedirectRequested():
                self._decided.append(f"{event.by} said: {event.text[:LONGEST]}")
            case ApprovalGiven():
                asked = requests.approvals.get(event.request_id)
                what = f"{asked.action.tool} {subject_of(asked.action)}" if asked is not None else event.request_id
                word = "allowed" if event.granted else "refused"
                self._decided.append(f"{event.by} {word}: {what}{f' ({event.note})' if event.note else ''}"[:LONGEST])
            case _:
                pass
