"""The protection of records: masked before they are written, and what going on needs kept in full until the end.

The core and the reviewer see everything in full, in memory. A record on disk has marks. A start puts the values of live
agents, of stored tasks and of reports back into what it reads, so that state and decisions are those of the run. Once
their owner has ended, the values are gone, and marks alone are left.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from monitors.masking import MARK, MaskedRecord, Masker, restored
from supervisor.protocol import records
from supervisor.runtime.protection.outputs import OutputSeal, new_seal, seal_of
from supervisor.runtime.protection.seals import UNSEALED, RecordSeals
from supervisor.runtime.protection.vault import Vault

TASK = "task:"
REPORT = "report:"
AGENT = "agent:"
"""Beginnings of the names of owners."""

_PLACES = re.compile(rb'"(?:workspace|project|repository)":"/(?:[^"\\]|\\.)*"')
"""Places of work, in records of our own: they are needed to remove or merge what an agent left. A folder that is named
after a person stands in the record; secrets are masked there too."""

_PERSONAL = frozenset({b"mail", b"phone", b"card", b"account", b"national"})


class Protector:
    """Masks records of one state directory.

    Args:
        masker: Finds what is to be masked; None leaves records as they are.
        vault: Keeps values for those who go on; None keeps none.
        outputs: Key of the seals of what CLIs print; empty if there is none.
        seals: Encrypts what is written, and opens what is read.
    """

    def __init__(
        self,
        masker: Masker | None = None,
        vault: Vault | None = None,
        outputs: bytes = b"",
        seals: RecordSeals = UNSEALED,
    ) -> None:
        self._masker, self._vault, self._outputs, self.seals = masker, vault, outputs, seals
        self._due: list[tuple[str, Mapping[bytes, bytes]]] = []

    @property
    def masks(self) -> bool:
        """Whether records are masked."""
        return self._masker is not None

    # ── the journal ───────────────────────────────────────────────────────────────────────────────────────────────

    def event(self, body: bytes) -> bytes:
        """Mask an event's part of its line, and seal it. What stood there is kept with the next `settle`."""
        return self.seals.event(self._masked(body))

    def _masked(self, body: bytes) -> bytes:
        if self._masker is None:
            return body
        masked = self._masker.mask(body)
        if not masked.values:
            return body
        kind = records.kind_of_body(body)
        if kind != "line_received":
            masked = _with_places(masked)
        if self._vault is not None:
            self._due += self._owners(body, kind, masked.values)
        return masked.data

    def settle(self) -> None:
        """Keep what the masked events need in full: on the disk before their lines are.

        Raises:
            OSError: It could not be written; the same is tried again with the next call.
        """
        while self._due and self._vault is not None:
            self._vault.keep(*self._due[0])
            del self._due[0]

    def restore(self) -> Callable[[bytes], bytes]:
        """Return what opens records that are read at a start, and puts values back into them."""
        values = self._vault.values() if self._vault is not None else {}
        opened = self.seals.opened
        return opened if not values else lambda data: restored(opened(data), values)

    def restore_stored(self) -> Callable[[bytes], bytes]:
        """Return the same for what `stored` has written."""
        values = self._vault.values() if self._vault is not None else {}
        read = self.seals.read
        return read if not values else lambda data: restored(read(data), values)

    def forget_ended(self, live: Iterable[str], tasks: Iterable[str]) -> list[str]:
        """Forget what was kept for agents and tasks that have ended. Blocks.

        Args:
            live: Agents that have not ended.
            tasks: Stored tasks that have not ended.

        Raises:
            OSError: A file could not be removed.
        """
        if self._vault is None:
            return []
        going_on = {*(AGENT + agent for agent in live), *(TASK + task for task in tasks)}
        ended = [owner for owner in self._vault.owners if owner not in going_on and not owner.startswith(REPORT)]
        return self._vault.forget(ended)

    def forget_agent(self, agent: str) -> None:
        """Forget what was kept for an agent. Blocks.

        Raises:
            OSError: It could not be removed.
        """
        self.forget(AGENT + agent)

    def forget(self, *owners: str) -> list[str]:
        """Forget what was kept for owners; returns those that had something. Blocks.

        Raises:
            OSError: A file could not be removed.
        """
        return self._vault.forget(owners) if self._vault is not None else []

    def _owners(
        self, body: bytes, kind: str, values: Mapping[bytes, bytes]
    ) -> Sequence[tuple[str, Mapping[bytes, bytes]]]:
        """Say who needs the values of an event: its agent, or the stored tasks that it is about."""
        fields: dict[str, Any] = orjson.loads(body)
        if agent := fields.get("agent"):
            return [(AGENT + str(agent), values)]
        if kind == "tasks_added":
            return [
                (TASK + str(task["id"]), found.values)
                for task in fields["tasks"]
                if (found := self._mask(orjson.dumps(task))).values
            ]
        task = fields.get("task")
        name = task.get("id") if isinstance(task, dict) else task
        return [(TASK + str(name), values)] if name else []

    def _mask(self, data: bytes) -> MaskedRecord:
        return self._masker.mask(data) if self._masker is not None else MaskedRecord(data, {})

    # ── what CLIs print ───────────────────────────────────────────────────────────────────────────────────────────

    def new_seal(self) -> OutputSeal | None:
        """Draw the seal of a launch; None if what it prints stays in the clear."""
        return new_seal(self._outputs) if self._outputs and (self.masks or self.seals.seals) else None

    def seal_of(self, directory: Path) -> bytes:
        """Return the key of a launch's output; empty if that is in the clear. Blocks."""
        return seal_of(directory, self._outputs) if self._outputs else b""

    # ── other files, and what leaves the machine ──────────────────────────────────────────────────────────────────

    def data(self, data: bytes) -> bytes:
        """Mask a record of our own: JSON, in one line or more."""
        masked = self._mask(data)
        return _with_places(masked).data if masked.values else data

    def stored(self, data: bytes) -> bytes:
        """Mask and seal a record of our own that only a start reads."""
        return self.seals.stored(self.data(data))

    def text(self, text: str) -> str:
        """Mask a plain text: a message to people, a line of the log."""
        return self._masker.mask_text(text) if self._masker is not None else text

    def report(self, incident: str, data: bytes) -> bytes:
        """Mask a report. What a way back needs of it in full is kept until the report goes.

        Raises:
            OSError: That could not be written.
        """
        masked = self._mask(data)
        if masked.values and self._vault is not None:
            self._vault.keep(REPORT + incident, masked.values)
        return masked.data

    def whole_report(self, incident: str, data: bytes) -> bytes:
        """Return a report in full, as far as it is kept so."""
        return restored(data, self._vault.of(REPORT + incident)) if self._vault is not None else data

    def forget_reports(self, incidents: Iterable[str]) -> None:
        """Forget what was kept for reports that are gone. Blocks.

        Raises:
            OSError: A file could not be removed.
        """
        self.forget(*(REPORT + incident for incident in incidents))


def _with_places(masked: MaskedRecord) -> MaskedRecord:
    """Put back the places of work that were taken for personal data."""
    personal = {mark: value for mark, value in masked.values.items() if mark.partition(b":")[0] in _PERSONAL}
    if not personal:
        return masked
    data = _PLACES.sub(lambda found: restored(found[0], personal), masked.data)
    there = {found[1] for found in MARK.finditer(data)}
    return MaskedRecord(data, {mark: value for mark, value in masked.values.items() if mark in there})


UNPROTECTED = Protector()
"""Leaves everything as it is."""
