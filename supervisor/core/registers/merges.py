"""Merges of agents' branches, as a fold over the journal, kept with the snapshot."""

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from monitors.contract.errors import NotFoundError
from supervisor.protocol.kinds.merges import MergeChanged
from supervisor.protocol.merges import Merge

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
        found = self._known.get(name) or self.last_of(name)
        if found is None:
            raise NotFoundError(f"There is no merge of {name!r}.", way_out="chaperon merge lists those that there are.")
        return found

    def last_of(self, task: str) -> Merge | None:
        """Return the merge of a task's work that took the last step; None if none is known."""
        return next((one for one in reversed(self._known.values()) if one.task == task), None)

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
