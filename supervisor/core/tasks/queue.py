"""The order in which tasks are claimed, and what holds one back.

Facts of the machine come in as numbers, so that the same facts give the same claim.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from math import inf
from typing import Protocol

from supervisor.core.settings import TaskSettings
from supervisor.core.tasks.records import StoredTask
from supervisor.core.tasks.store import TaskStore


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """The free memory, disk and processor time of the machine."""

    free_memory_mb: float
    free_disk_mb: float
    load_per_core: float
    now: float = 0.0
    """Unix time in seconds."""
    disk: str = ""
    """Folder on the disk that is meant: of those that are needed, the one with the least room."""


NOT_LOOKED_AT = MachineFacts(inf, inf, 0.0)
"""The facts of a machine that was not looked at yet: they hold nothing back."""


@dataclass(frozen=True, slots=True)
class AccountFacts:
    """The limits that the account sets which would pay for the next agent."""

    holds: str = ""
    """Why none is begun for it now; empty if one may be."""
    others: Container[str] = ()
    """Agents that another account pays for."""


class TaskQueue(Protocol):
    """The queue's place: who asks for the next task need not know where tasks are kept.

    The node's own journal is behind `LocalQueue`. Another may be behind it if a claim carries a run id, and if a run
    that has lost its claim is told so by `holds`.
    """

    def is_empty(self) -> bool:
        """Whether no task is pending."""
        ...

    def next(self, facts: MachineFacts) -> StoredTask | None:
        """The task to be claimed now; None if none can be."""
        ...

    def holds(self, task: str, run_id: str) -> bool:
        """Whether a run still has its task."""
        ...

    def reason(self, task: StoredTask, facts: MachineFacts) -> str:
        """Why a pending task is not claimed now; empty if it is the next, or only waits for those before it."""
        ...


def said_of_unmet(task: StoredTask) -> str:
    """Say that a task waits for this one, which is not done; nothing comes of it by itself if it is over."""
    waits = f"it waits for {task.id}, which is {task.state}"
    return f"{waits}: chaperon task retry {task.id}" if task.state.over else waits


class LocalQueue:
    """The queue of this node's own store.

    Args:
        store: The tasks.
        settings: Returns the settings in force.
        drained: Returns why no task is claimed at all; empty if some may be.
        drained_of: Returns why one task is not claimed, by orders for some; empty if it may be.
        awaited: Returns whether a task's work is still to be merged. What depends on it, in the same repository, would
            begin without that work.
        account: Returns what the account that would pay for the next agent allows.
    """

    def __init__(
        self,
        store: TaskStore,
        settings: Callable[[], TaskSettings],
        drained: Callable[[], str] = lambda: "",
        awaited: Callable[[str], bool] = lambda _: False,
        drained_of: Callable[[StoredTask], str] = lambda _: "",
        account: Callable[[], AccountFacts] = AccountFacts,
    ) -> None:
        self._account = account
        self._store, self._settings, self._drained, self._awaited = store, settings, drained, awaited
        self._drained_of = drained_of

    def is_empty(self) -> bool:
        """Whether no task is pending."""
        return not self._store.has_pending()

    def next(self, facts: MachineFacts) -> StoredTask | None:
        """The task to be claimed now; None if none can be."""
        if self._drained() or closed_gate(self._settings(), facts) or self._full() or self._spent():
            return None
        busy = self._by_repository()
        return next((task for task in self._store.ready() if not self._not_now(task, busy, facts.now)), None)

    def holds(self, task: str, run_id: str) -> bool:
        """Whether a run still has its task."""
        return self._store.holds(task, run_id)

    def reason(self, task: StoredTask, facts: MachineFacts) -> str:
        """Why a pending task is not claimed now; empty if it is the next, or only waits for those before it."""
        unmet = sorted(self._store.unmet(task), key=lambda one: not one.state.over)
        return (
            (said_of_unmet(unmet[0]) if unmet else "")
            or self._not_now(task, self._by_repository(), facts.now)
            or self._drained()
            or closed_gate(self._settings(), facts)
            or self._full()
            or self._spent()
        )

    def _not_now(self, task: StoredTask, busy: Counter[str], now: float) -> str:
        if task.not_before > now:
            return f"it is not tried again for another {task.not_before - now:.0f} s"
        most = self._settings().slots_per_repository
        if most is not None and busy[task.spec.repository] >= most:
            return f"its repository has no slot free ({most} in use)"
        if drained := self._drained_of(task):
            return drained
        return next(
            (f"it waits for the work of {id_} to be merged: chaperon merge {id_}" for id_ in self._unmerged(task)), ""
        )

    def _unmerged(self, task: StoredTask) -> Iterator[str]:
        """The tasks that it depends on whose work is not in its repository's target yet."""
        for id_ in task.spec.depends_on:
            needed = self._store.find(id_)
            if needed is not None and needed.spec.repository == task.spec.repository and self._awaited(id_):
                yield id_

    def _full(self) -> str:
        slots = self._settings().slots
        return f"no slot is free ({slots} in use)" if len(self._store.held()) >= slots else ""

    def _spent(self) -> str:
        """Say why the account pays for no other agent now."""
        account, most = self._account(), self._settings().slots_per_account
        if account.holds or most is None:
            return account.holds
        in_use = sum(task.run is None or task.run.agent not in account.others for task in self._store.held())
        return f"the account has no slot free ({in_use} in use)" if in_use >= most else ""

    def _by_repository(self) -> Counter[str]:
        return Counter(task.spec.repository for task in self._store.held())


def closed_gate(settings: TaskSettings, facts: MachineFacts) -> str:
    """Say what the machine lacks for one more task; empty if nothing."""
    if facts.free_memory_mb < settings.min_free_memory_mb:
        return f"{facts.free_memory_mb:.0f} MiB of memory are free, and tasks.min_free_memory_mb is {settings.min_free_memory_mb}"
    if facts.free_disk_mb < settings.min_free_disk_mb:
        return f"{facts.free_disk_mb:.0f} MiB of the disk of {facts.disk} are free, and tasks.min_free_disk_mb is {settings.min_free_disk_mb}"
    if settings.max_load_per_core and facts.load_per_core > settings.max_load_per_core:
        return f"the load is {facts.load_per_core:.1f} per core, and tasks.max_load_per_core is {settings.max_load_per_core:g}"
    return ""
