"""Moments of a fleet's rehearsal: what its journal has told so far, and whether something has come."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import anyio

from supervisor.protocol.tasks import TaskState
from supervisor.rehearsal.fleets.fleet_scenario import FleetScenario, Moment

Event = Mapping[str, Any]
"""An event as the journal has it."""

_PLACEHOLDER = re.compile(r"\{(agent|task|repository):([A-Za-z0-9_-]+)\}")


class FleetMoments:
    """The moments of a rehearsal that have come so far.

    Args:
        fleet: The rehearsal.
        repositories: The paths of its repositories, by name.
        asked: Returns whether a model was asked for a script's step, both by number.
    """

    def __init__(
        self, fleet: FleetScenario, repositories: Mapping[str, str], asked: Callable[[int, int], bool]
    ) -> None:
        self.events: list[Event] = []
        self.states: dict[str, TaskState] = {}
        """By the task's id."""
        self.ids: dict[str, str] = {}
        """The ids of tasks by their names, once they are added."""
        self.acts: set[str] = set()
        """The acts that are done."""
        self.open: set[str] = set()
        """The workspaces that were made for agents and not closed yet."""
        self._agents: dict[str, str] = {}
        self._repositories = repositories
        self._asked, self._steps = asked, fleet.steps()
        self._changed = anyio.Event()

    def take(self, event: Event) -> None:
        """Take in an event of the journal."""
        self.events.append(event)
        match event["kind"]:
            case "tasks_added":
                self.states.update({task["id"]: TaskState.PENDING for task in event["tasks"]})
            case "task_claimed":
                self.states[event["task"]] = TaskState.ACTIVE
                self._agents[event["task"]] = event["worker"]
            case "task_submitted":
                self.open.add(event["workspace"])
            case "workspace_closed":
                self.open.discard(event["workspace"])
            case "task_moved":
                self.states[event["task"]] = TaskState(event["after"])
            case "tasks_went_back":
                self.states.update({mark["id"]: TaskState(mark["state"]) for mark in event["tasks"]})

    def tell(self) -> None:
        """Have those who wait look again."""
        self._changed.set()
        self._changed = anyio.Event()

    async def come(self, moments: Sequence[Moment]) -> None:
        """Wait until each of these has come; one that has come counts, whatever follows on it."""
        left, seen = list(moments), 0
        while True:
            changed, new = self._changed, self.events[seen:]
            seen += len(new)
            left = [moment for moment in left if not self._has_come(moment, new)]
            if not left:
                return
            await changed.wait()

    def lacks(self, moments: Sequence[Moment]) -> bool:
        """Whether one of these has not come."""
        return not all(self._has_come(moment, self.events) for moment in moments)

    def filled(self, text: str) -> str:
        """Return a text with its placeholders filled in, but for those that stand for nothing yet."""

        def value(found: re.Match[str]) -> str:
            kind, name = found.groups()
            id_ = self.ids.get(name, "")
            known = {"task": id_, "agent": self._agents.get(id_, ""), "repository": self._repositories.get(name, "")}
            return known[kind] or found[0]

        return _PLACEHOLDER.sub(value, text)

    def fits(self, wanted: Any, found: Any) -> bool:
        """Whether something in an event has all that is wanted of it."""
        if isinstance(wanted, Mapping):
            return isinstance(found, Mapping) and all(
                name in found and self.fits(value, found[name]) for name, value in wanted.items()
            )
        if isinstance(wanted, list):
            return isinstance(found, list) and all(any(self.fits(one, each) for each in found) for one in wanted)
        return bool((self.filled(wanted) if isinstance(wanted, str) else wanted) == found)

    def missing(self, story: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield the events of a story, each with its number, that do not follow on those before them."""
        at = 0
        for number, wanted in enumerate(story):
            place = next((at for at in range(at, len(self.events)) if self.fits(wanted, self.events[at])), None)
            if place is None:
                yield number, wanted
            else:
                at = place + 1

    def _has_come(self, moment: Moment, new: Sequence[Event]) -> bool:
        if moment.task:
            return self.states.get(self.ids.get(moment.task, "")) is moment.state
        if moment.step:
            return self._asked(*self._steps[moment.step])
        if moment.act:
            return moment.act in self.acts
        return any(self.fits(moment.event, event) for event in new)
