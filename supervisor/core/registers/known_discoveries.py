"""All discoveries that are kept: a fold over the journal, saved with the snapshot."""

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from monitors.contract.errors import NotFoundError
from supervisor.core.discoveries import Discovery
from supervisor.protocol.events import DiscoveryForgotten, DiscoveryNoted
from supervisor.protocol.words import DiscoveryScope

MOST_OF_A_PROJECT = 200
"""Discoveries kept of one repository, and of those for all: the last ones. One of 400 characters each is 80 KB."""

_SAVED = TypeAdapter(list[Discovery])


class Discoveries:
    """All that are kept: a fold over the journal, saved with the snapshot."""

    def __init__(self) -> None:
        self._last_seq = 0
        self._known: dict[str, Discovery] = {}

    def all(self) -> list[Discovery]:
        """All of them, oldest first."""
        return list(self._known.values())

    def get(self, id_: str) -> Discovery:
        """The discovery of that id.

        Raises:
            NotFoundError: There is none.
        """
        try:
            return self._known[id_]
        except KeyError:
            raise NotFoundError(
                f"There is no discovery {id_!r}; nothing was changed.", way_out="chaperon discoveries lists them."
            ) from None

    def bearing_on(self, project: str, task: str) -> list[Discovery]:
        """Those that concern a task in a repository: of the task itself, of the repository, and those for all."""
        return [one for one in self._known.values() if concerns(one, project, task)]

    def remember(self, seq: int, event: DiscoveryNoted | DiscoveryForgotten, project: str = "", task: str = "") -> None:
        """Take in an event of the journal, once, however often the journal is read.

        Args:
            seq: Its number.
            event: The event.
            project: The main checkout of the agent's repository.
            task: The agent's task.
        """
        if seq <= self._last_seq:
            return
        self._last_seq = seq
        if isinstance(event, DiscoveryForgotten):
            self._known.pop(event.discovery, None)
            return
        noted = Discovery(f"d{seq}", event.agent, task, project, event.scope, event.text, event.at)
        for before in [one for one in self._known.values() if _same(one, noted)]:
            del self._known[before.id]
        self._known[noted.id] = noted
        beside = [id_ for id_, one in self._known.items() if _shelf(one) == _shelf(noted)]
        for id_ in beside[:-MOST_OF_A_PROJECT]:
            del self._known[id_]

    def as_json(self) -> dict[str, Any]:
        """Plain data for the snapshot."""
        return {"last_seq": self._last_seq, "known": _SAVED.dump_python(self.all(), mode="json")}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take in what a snapshot has, before the journal is read from where it ends."""
        self._last_seq = saved["last_seq"]
        self._known = {one.id: one for one in _SAVED.validate_python(saved["known"])}


def concerns(one: Discovery, project: str, task: str) -> bool:
    """Whether a discovery is for a task in a repository."""
    match one.scope:
        case DiscoveryScope.ALL:
            return True
        case DiscoveryScope.REPOSITORY:
            return one.project == project
        case DiscoveryScope.TASK:
            return one.task == task


def _same(one: Discovery, other: Discovery) -> bool:
    return (_shelf(one), one.text.lower()) == (_shelf(other), other.text.lower())


def _shelf(one: Discovery) -> tuple[DiscoveryScope, str]:
    """Group those that are bounded together: those for all, and those of a repository."""
    return (one.scope, "") if one.scope is DiscoveryScope.ALL else (DiscoveryScope.REPOSITORY, one.project)
