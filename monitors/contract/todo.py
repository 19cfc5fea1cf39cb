"""The agent's own list of what it has to do, as it keeps it with the CLI's tools.

Measured on version 2.1.329: `TaskCreate`, `TaskUpdate`, `TaskList` and `TaskGet`, or with `CLAUDE_CODE_ENABLE_TASKS=0`
`TodoWrite`. The models of the fourth generation have them; for newer ones they are off, and
`CLAUDE_CODE_ENABLE_TODO_TOOLS=1` in the CLI's environment switches them on.
"""

from dataclasses import dataclass
from enum import StrEnum


class TodoState(StrEnum):
    """How far an item is, in the CLI's words."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True)
class TodoItem:
    """One item of the list."""

    text: str
    """As the agent wrote it, shortened."""
    state: TodoState = TodoState.PENDING

    @property
    def done(self) -> bool:
        """Whether the agent says that it is done."""
        return self.state is TodoState.COMPLETED
