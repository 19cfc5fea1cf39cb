"""Events of checks and merges."""

from dataclasses import dataclass
from typing import Literal

from supervisor.protocol.kinds.stamp import Event
from supervisor.protocol.merges import CheckResult, Merge


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckMade(Event):
    """An agent's finished work was checked where it was made."""

    task: str
    """The task's id."""
    result: CheckResult
    kind: Literal["check_made"] = "check_made"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeChanged(Event):
    """A merge of an agent's branch took a step."""

    merge: Merge
    kind: Literal["merge_changed"] = "merge_changed"
