"""Merges of agents' branches, as a fold over the journal, kept with the snapshot. The settings of checks and merges."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le
from pydantic import TypeAdapter

from monitors.contract.bounds import Key, Seconds, Text
from monitors.contract.errors import NotFoundError
from supervisor.protocol.merges import Merge, MergeChanged
from supervisor.protocol.tasks import MergeMode

MOST_OVER = 500
"""Merges kept that are over, the last ones: what a person scrolls through. The journal has all."""

_SAVED = TypeAdapter(dict[str, Merge])


class Merges:
    """Every merge that is not over, and the last ones that are, by id, oldest step first."""

    def __init__(self) -> None:
        self._last_seq = 0
        self._known: dict[str, Merge] = {}

    def all(self) -> list[Merge]:
        """Return all that are known, those whose last step is the oldest first."""
        return list(self._known.values())

    def get(self, id_: str) -> Merge | None:
        """Return the merge of this id; None if there is none."""
        return self._known.get(id_)

    def find(self, name: str) -> Merge:
        """Return the last merge of this id, or of this task.

        Raises:
            NotFoundError: There is none.
        """
        found = self._known.get(name) or next((one for one in reversed(self.all()) if one.task == name), None)
        if found is None:
            raise NotFoundError(f"There is no merge of {name!r}.", way_out="chaperon merge lists those that there are.")
        return found

    def awaited(self, task: str) -> bool:
        """Whether the work of a task is neither in its target nor given up: a merge of it is proposed or under way."""
        return any(one.task == task and not one.phase.over for one in self._known.values())

    def remember(self, seq: int, event: MergeChanged) -> None:
        """Take in a step, once, however often the journal is read."""
        if seq <= self._last_seq:
            return
        self._last_seq = seq
        self._known.pop(event.merge.id, None)
        self._known[event.merge.id] = event.merge
        over = [id_ for id_, one in self._known.items() if one.phase.over]
        for id_ in over[:-MOST_OVER]:
            del self._known[id_]

    def as_json(self) -> dict[str, Any]:
        """Plain data for the snapshot."""
        return {"last_seq": self._last_seq, "known": _SAVED.dump_python(self._known, mode="json")}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take in what a snapshot has, before the journal is read from where it ends."""
        self._last_seq = saved["last_seq"]
        self._known = _SAVED.validate_python(saved["known"])


Rounds = Annotated[int, Key(), Ge(0), Le(20)]
"""How often work is given back. An agent that did not manage in a few rounds needs a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSettings:
    """The fate of the branches of agents that worked in workspaces of their own."""

    mode: Annotated[MergeMode, Key()] = "propose"
    """`off`: they stay where they are. `propose`: once an agent is done, its branch is listed by `chaperon merge`, and
    a person has it merged. `auto`: it is merged by itself, if the check passes. `merge: auto` is short for this key."""
    method: Annotated[Literal["rebase", "merge"], Key()] = "rebase"
    """`rebase`: each commit of the agent's is written anew on top of the target, with its author; a branch that holds
    merges of its own gets a merge commit. `merge`: always a merge commit."""
    checked_out: Annotated[Literal["leave", "update"], Key()] = "leave"
    """A merge by itself whose target is checked out in a worktree. `leave`: it stays a proposal. `update`: the files of
    that worktree are set as well, if nothing in it is uncommitted. A merge that a person asks for does the latter."""
    rounds: Rounds = 2
    """How often a conflict or a failed check of merged work is given back to an agent before it is left to a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifySettings:
    """The check of agents' work: a command that chaperon runs itself, and believes instead of the agent."""

    command: Text = ""
    """A line for the shell that exits with 0 if the work is good, for tasks that bring none of their own. Example:
    `make test`. Empty: nothing is checked. `verify: make test` is short for this key."""
    seconds: Seconds = 600
    """How long it may take, in seconds, before it is ended with all that it started."""
    rounds: Rounds = 2
    """How often a failure is given back to the agent, with the end of the output, before the task fails."""
