"""The actions that are due for an agent that a new daemon takes over: a table of its state and of the finding.

First come the actions for the finding (`FIRST`), then every decision that is due, and the lines that may be lost are
sent again. Then come the actions in `TABLE` for the resulting state. A missing cell is impossible.
"""

from enum import StrEnum
from typing import Literal

from supervisor.protocol.words import AgentState

Found = Literal["reattached", "exited", "lost", "terminal", "launched", "silent"]
"""The finding about an agent's processes, as `AgentAdopted` has it."""


class Todo(StrEnum):
    """One thing that is due, as a sentence for the documentation."""

    SAY_IT_RUNS = "the journal is told that its processes run, where it lacks that"
    READ = "what it said since, and how it ended, is read"
    LAUNCH = "it is launched"
    AWAIT_HELLO = "the CLI's first answer is waited for"
    AWAIT_TURN = "a turn that is owed is waited for"
    AWAIT_RETRY = "the rest of its wait is waited for"
    CLOSE = "its input is closed, and its end waited for"
    STOP_STEP = "the step of the stop is taken again"
    WATCH = "limits and people's deadlines hold again"
    GO_ON = "a rollback goes on; without one a tree that stands still does"


FIRST: dict[Found, tuple[Todo, ...]] = {
    "reattached": (Todo.SAY_IT_RUNS,),
    "exited": (Todo.READ,),
    "lost": (Todo.READ,),
    "terminal": (),
    "launched": (),
}
"""Actions before any decision. A silent shim is tried again until there is another finding."""

_GONE: dict[Found, tuple[Todo, ...]] = {"exited": (), "lost": (), "terminal": (Todo.GO_ON,)}
"""Its end leads to decisions of its own, as in an uninterrupted run; a rollback may outlive it."""

_ENDED: dict[Found, tuple[Todo, ...]] = {"exited": (), "lost": (), "terminal": (), "launched": ()}

TABLE: dict[AgentState, dict[Found, tuple[Todo, ...]]] = {
    AgentState.STARTING: {
        "reattached": (Todo.AWAIT_HELLO, Todo.WATCH, Todo.GO_ON),
        "launched": (Todo.LAUNCH,),
        **_GONE,
    },
    AgentState.RUNNING: {"reattached": (Todo.AWAIT_TURN, Todo.WATCH, Todo.GO_ON), **_GONE},
    AgentState.IDLE: {"reattached": (Todo.WATCH, Todo.GO_ON), **_GONE},
    AgentState.PAUSED: {"reattached": (Todo.WATCH, Todo.GO_ON), **_GONE},
    AgentState.WAITING: {"exited": (), "lost": (), "terminal": (), "launched": (Todo.AWAIT_RETRY,)},
    AgentState.FINISHING: {"reattached": (Todo.CLOSE, Todo.WATCH, Todo.GO_ON), **_GONE},
    AgentState.STOPPING: {"reattached": (Todo.STOP_STEP,), "exited": (), "lost": (), "terminal": (), "launched": ()},
    AgentState.DONE: _ENDED,
    AgentState.FAILED: _ENDED,
    AgentState.STOPPED: _ENDED,
    AgentState.LOST: _ENDED,
}
"""By the state, and by what was found."""


def draw() -> str:
    """The table for the documentation, with what comes first in its head."""
    found = list(FIRST)
    head = ["state", *(f"`{name}`" for name in found)]
    rows = [["first", *(_cell(FIRST[name]) for name in found)]]
    for state, cells in TABLE.items():
        rows.append([f"`{state}`", *(_cell(cells[name]) if name in cells else "cannot be" for name in found)])
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(todos: tuple[Todo, ...]) -> str:
    return "; ".join(todos) or "nothing more"
