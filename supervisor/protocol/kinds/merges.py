"""Events of checks and merges."""

from dataclasses import dataclass
from typing import Literal

from supervisor.protocol.kinds.stamp import Event
from supervisor.protocol.merges import CheckResult, Merge


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckMade(Event):
    """An agent's work was checked where it was made: once it was finished, or in a quiet moment before."""

    task: str
    """The task's id."""
    result: CheckResult
    quiet: bool = False
    """Whether it was checked in a quiet moment, as input to the detection of progress."""
    beside: bool = False
    """Whether the agent changed something while the check ran."""
    kind: Literal["check_made"] = "check_made"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeChanged(Event):
    """A merge of an agent's branch took a step."""

    merge: Merge
    kind: Literal["merge_changed"] = "merge_changed"
