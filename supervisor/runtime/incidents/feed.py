"""The incident log as the daemon uses it: written off the event loop, one at a time."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import anyio
import anyio.to_thread

from interventions.decisions import Incident
from monitors.contract.errors import ChaperonError
from monitors.contract.wording import counted
from monitors.contract.words import Severity
from supervisor.runtime.incidents.log import IncidentLog
from supervisor.runtime.journal.forgetting import ForgottenWords
from supervisor.runtime.log import log


class NoteFault(Protocol):
    """Notes something that failed outside what agents do, as an incident."""

    def __call__(
        self, agent: str, type_: str, summary: str, severity: Severity = Severity.HIGH, way_out: str = "", /
    ) -> None:
        """Journal the incident, log it and tell of it; the agent is empty if it is about none. Returns at once."""
        ...


class IncidentFeed:
    """Reports incidents, and says that there is more to read.

    Args:
        written: The log and its reports.
    """

    def __init__(self, written: IncidentLog) -> None:
        self._written = written
        self.on_growth: Callable[[], None] = lambda: None
        """Called when the log has grown."""
        self._one_at_a_time = anyio.Lock()

    async def report(self, incident: Incident, report: Mapping[str, Any] | None) -> None:
        """Write an incident that is in the journal; one that was written before is not written twice.

        Where it cannot be written that is logged: the next start asks again for what the journal has.
        """
        if self._written.has(incident):
            return  # without a thread: a start reports all that the journal has
        async with self._one_at_a_time:
            try:
                await anyio.to_thread.run_sync(self._written.record, incident, report)
            except ChaperonError as error:
                log.error("%s", error)
                return
        self.on_growth()

    async def complete(self, incident: str, change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> None:
        """Write the report of an incident anew.

        If that fails, it is logged, and the journal has the addition.
        """
        async with self._one_at_a_time:
            try:
                await anyio.to_thread.run_sync(self._written.complete, incident, change)
            except ChaperonError as error:
                log.error("%s", error)

    async def forget(self, words: ForgottenWords) -> list[str]:
        """Remove what was written of an agent; returns the ids of its incidents.

        Raises:
            OSError: Something could not be removed; a second call does the rest.
        """
        async with self._one_at_a_time:
            return await anyio.to_thread.run_sync(self._written.forget, words)

    async def prune(self, now: float, days: float) -> None:
        """Remove the reports that are older than so many days; a failure is logged, and the next day tries again.

        Args:
            now: Unix time in seconds.
            days: How long a report is kept.
        """
        async with self._one_at_a_time:
            try:
                removed = await anyio.to_thread.run_sync(self._written.prune, now, days)
            except OSError as error:
                log.warning("old incident reports could not be removed (%s); it is tried again tomorrow", error)
                return
        if removed:
            log.info("removed the reports of %s, older than %g days", counted(len(removed), "incident"), days)
