"""Project checkpoints and rollbacks, as a fold over the journal, kept with the snapshot."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter

from monitors.contract.errors import NotFoundError, UsageError
from supervisor.protocol.kinds.projects import (
    ProjectCheckpointForgotten,
    ProjectCheckpointMade,
    ProjectRollbackChanged,
)
from supervisor.protocol.projects import ProjectCheckpoint, ProjectRollback

MOST_AUTOMATIC = 20
"""Checkpoints of a project kept that chaperon made by itself, the last ones. With one after every five tasks they reach
back a hundred tasks."""

MOST_ROLLBACKS = 100
"""Rollbacks kept that are over, the last ones: a client repeats a request within seconds."""

ProjectEvent = ProjectCheckpointMade | ProjectCheckpointForgotten | ProjectRollbackChanged

_CHECKPOINTS = TypeAdapter(list[ProjectCheckpoint])
_ROLLBACKS = TypeAdapter(dict[str, ProjectRollback])


class Projects:
    """All project checkpoints, the rollbacks under way and the last ones that are over."""

    def __init__(self) -> None:
        self._last_seq = 0
        self._kept: dict[tuple[str, str], ProjectCheckpoint] = {}
        self._rollbacks: dict[str, ProjectRollback] = {}
        self._finished: Counter[str] = Counter()
        self._pins: Counter[str] = Counter()
        """How many checkpoints may bring each task back."""

    # ── questions ─────────────────────────────────────────────────────────────────────────────────────────────────

    def all(self, project: str = "") -> list[ProjectCheckpoint]:
        """The checkpoints of a project, or of all, oldest first."""
        return [one for one in self._kept.values() if project in ("", one.project)]

    def find(self, name: str, project: str = "") -> ProjectCheckpoint:
        """The checkpoint of this name.

        Raises:
            NotFoundError: There is none.
            UsageError: Several projects have one.
        """
        found = [one for one in self.all(project) if one.name == name]
        if not found:
            of = f" of {project}" if project else ""
            raise NotFoundError(
                f"There is no project checkpoint {name!r}{of}.", way_out="chaperon checkpoints --project . lists them."
            )
        if len(found) > 1:
            names = ", ".join(one.project for one in found)
            raise UsageError(f"{len(found)} projects have a checkpoint {name!r}: {names}.", way_out="Say --project.")
        return found[0]

    def get(self, project: str, name: str) -> ProjectCheckpoint | None:
        """The checkpoint of this name and project; None if there is none."""
        return self._kept.get((project, name))

    def needs(self, project: str) -> frozenset[str]:
        """The names of the checkpoints of files that those of the project are made of."""
        return frozenset(mark.checkpoint for one in self.all(project) for mark in one.workspaces)

    def pins(self, task: str) -> bool:
        """Whether a checkpoint may bring a task back to when it was not done."""
        return self._pins[task] > 0

    def too_many(self, project: str) -> list[ProjectCheckpoint]:
        """The oldest ones that chaperon made by itself, if it made more than are kept."""
        own = [one for one in self.all(project) if one.automatic]
        return own[:-MOST_AUTOMATIC]

    def finished(self, project: str) -> int:
        """How many tasks of a project were done since the last checkpoint that was made for that reason."""
        return self._finished[project]

    def rollback(self, id_: str) -> ProjectRollback | None:
        """The rollback of this request; None if it is not known."""
        return self._rollbacks.get(id_)

    def under_way(self) -> Iterator[ProjectRollback]:
        """The rollbacks that are not over."""
        return iter([one for one in self._rollbacks.values() if not one.phase.over])

    def going_back(self, project: str) -> ProjectRollback | None:
        """The rollback of a project that is under way; None if there is none."""
        return next((one for one in self.under_way() if one.project == project), None)

    def holds(self, repository: str) -> str:
        """Why no task of a repository is begun now; empty if one may be."""
        back = next((one for one in self.under_way() if repository in one.repositories), None)
        return f"its project goes back to {back.checkpoint}" if back is not None else ""

    # ── the fold ──────────────────────────────────────────────────────────────────────────────────────────────────

    def remember(self, seq: int, event: ProjectEvent) -> None:
        """Take in an event of the journal, once, however often the journal is read."""
        if seq <= self._last_seq:
            return
        self._last_seq = seq
        match event:
            case ProjectCheckpointMade(checkpoint=made):
                self._forget(made.project, made.name)
                self._kept[made.project, made.name] = made
                self._pins.update(task.id for task in made.tasks)
                if made.reason == "periodic":
                    del self._finished[made.project]
            case ProjectCheckpointForgotten():
                self._forget(event.project, event.name)
            case ProjectRollbackChanged(rollback=rollback):
                self._rollbacks.pop(rollback.id, None)
                self._rollbacks[rollback.id] = rollback
                over = [id_ for id_, one in self._rollbacks.items() if one.phase.over]
                for id_ in over[:-MOST_ROLLBACKS]:
                    del self._rollbacks[id_]

    def count(self, seq: int, project: str) -> None:
        """Count a task of a project that was done with the event of this number, once."""
        if seq > self._last_seq and project:
            self._last_seq = seq
            self._finished[project] += 1

    def _forget(self, project: str, name: str) -> None:
        if (gone := self._kept.pop((project, name), None)) is not None:
            self._pins -= Counter(task.id for task in gone.tasks)

    def as_json(self) -> dict[str, Any]:
        """Plain data for the snapshot."""
        return {
            "last_seq": self._last_seq,
            "kept": _CHECKPOINTS.dump_python(list(self._kept.values()), mode="json"),
            "rollbacks": _ROLLBACKS.dump_python(self._rollbacks, mode="json"),
            "finished": dict(self._finished),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take in what a snapshot has, before the journal is read from where it ends."""
        self._last_seq = saved["last_seq"]
        for one in _CHECKPOINTS.validate_python(saved["kept"]):
            self._kept[one.project, one.name] = one
            self._pins.update(task.id for task in one.tasks)
        self._rollbacks = _ROLLBACKS.validate_python(saved["rollbacks"])
        self._finished = Counter(saved["finished"])
