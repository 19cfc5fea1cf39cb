"""The incident log: what is worth a person's eye, one line each, in a file made to be tailed.

    {"time":"2026-11-21T08:15:00.250Z","severity":"high","agent":"a3","type":"emergency_stop","summary":"…",…}

Lines are only ever added. The journal has every incident as an event too and is the truth; a start asks again for those
it cannot know to be here, and an id that is here already is not written twice.
"""

import contextlib
import itertools
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from host.disk_errors import NO_SPACE
from host.durable import REAL_DISK, Disk, Reserve, replace_file, write_all
from interventions.decisions import Incident
from monitors.contract import anyjson
from monitors.contract.errors import ChaperonError, UsageError
from monitors.contract.words import Severity
from supervisor.runtime.journal.forgetting import ForgottenWords, forget_lines
from supervisor.runtime.protection.protector import UNPROTECTED, Protector

LOG_NAME = "incidents.jsonl"
REPORTS_NAME = "incidents"

TAIL_BYTES = 4 * 1024 * 1024
"""Part of the log's end that is read for known ids, in bytes: some 10,000 incidents, far more than a start repeats."""

PRESERVE_DAYS = 30
"""How long full reports are kept, in days, unless configured: a month, so that a person back from leave finds them."""

MOST_CHARACTERS = 4_000
"""Of a sentence in a line: what a person reads. Text from outside may be in it, and of any length."""

SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
"""Form of an incident's id: it may name a file."""


class IncidentLogError(ChaperonError):
    """An incident could not be written; it is in the journal, and the next start tries again."""


_Known = tuple[str, float]
"""An incident's id, and its time. The id alone has a number of the journal in it, which counts anew if the journal
was lost."""


class IncidentLog:
    """The log and the reports beside it. All calls block and must not overlap: use one thread. Made by `open`."""

    def __init__(
        self, directory: Path, known: set[_Known], disk: Disk, reserve: Reserve | None, protector: Protector
    ) -> None:
        self._directory, self._disk, self._reserve, self._protector = directory, disk, reserve, protector
        self._known = known

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        disk: Disk = REAL_DISK,
        reserve: Reserve | None = None,
        protector: Protector = UNPROTECTED,
    ) -> "IncidentLog":
        """Read the log's end, so that nothing there is written twice.

        Args:
            directory: The state directory.
            disk: Another, in tests.
            reserve: Room to give up when there is none; the journal's.
            protector: Masks what is written.

        Raises:
            IncidentLogError: The log cannot be read, or the directory not be made.
        """
        try:
            disk.make_directory(directory / REPORTS_NAME)
            known = _known_of(_read_tail(directory / LOG_NAME))
        except OSError as error:
            raise _failed(directory / LOG_NAME, error) from error
        return cls(directory, known, disk, reserve, protector)

    def has(self, incident: Incident) -> bool:
        """Whether it was written before, as far as is known."""
        return (incident.id, incident.at) in self._known

    def record(self, incident: Incident, report: Mapping[str, Any] | None = None) -> bool:
        """Write an incident: its report first, then its line, synced. Whether it was new.

        With a full disk, the reserve is given up. Where the report cannot be written, the line is written without it.

        Raises:
            UsageError: The id cannot be a file's name.
            IncidentLogError: The line could not be written.
        """
        _check_id(incident.id)
        if (incident.id, incident.at) in self._known:
            return False
        if report is not None:
            incident = replace(incident, report=self._write_report(incident.id, report))
        line = self._protector.data(spell_incident(incident))
        try:
            self._with_room(lambda: self._append(line, (incident.id, incident.at)))
        except OSError as error:
            raise _failed(self._directory / LOG_NAME, error) from error
        return True

    def complete(self, incident_id: str, change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> None:
        """Write the report of an incident anew, with more in it.

        Raises:
            IncidentLogError: It cannot be read or written; it is as it was.
        """
        _check_id(incident_id)
        path = self._directory / REPORTS_NAME / f"{incident_id}.json"
        try:
            read = anyjson.decode(self._protector.whole_report(incident_id, path.read_bytes()))
            if not isinstance(read, dict):
                raise IncidentLogError(f"The report {path} is no object; it was left as it is.")
            data = self._protector.report(incident_id, anyjson.pretty(change(read)))
            self._with_room(lambda: replace_file(path, data, disk=self._disk))
        except OSError as error:
            raise _failed(path, error) from error
        except ValueError as error:
            raise IncidentLogError(f"The report {path} is damaged ({error}); it was left as it is.") from error

    def prune(self, now: float, days: float = PRESERVE_DAYS) -> list[str]:
        """Remove reports older than so many days, and return their ids. The log's lines stay for ever.

        Args:
            now: Unix time in seconds.
            days: How long a report is kept.
        """
        removed = []
        for path in sorted((self._directory / REPORTS_NAME).glob("*.json")):
            if path.stat().st_mtime < now - timedelta(days=days).total_seconds():
                self._disk.unlink(path)
                removed.append(path.stem)
        self._protector.forget_reports(removed)
        return removed

    def forget(self, words: ForgottenWords) -> list[str]:
        """Remove the lines and reports of an agent; returns the ids of its incidents.

        Raises:
            OSError: Something could not be removed; a second call does the rest.
        """
        ids = []
        for path in sorted((self._directory / REPORTS_NAME).glob("*.json")):
            data = path.read_bytes()
            if words.anywhere(data):
                if _agent_of(data) == words.agent:
                    self._disk.unlink(path)
                    ids.append(path.stem)
                else:
                    replace_file(path, anyjson.pretty(words.taken_out(anyjson.decode(data))), disk=self._disk)
        self._protector.forget_reports(ids)
        forget_lines(self._directory / LOG_NAME, lambda line: line.get("agent") == words.agent, words, self._disk)
        return ids

    def _write_report(self, incident_id: str, report: Mapping[str, Any]) -> str:
        """Write the report; return its path relative to the state directory, or nothing if the disk did not take it.

        The line matters more, so it does not fall with the report.
        """
        name = f"{REPORTS_NAME}/{incident_id}.json"
        try:
            data = self._protector.report(incident_id, anyjson.pretty(report))
            self._keep_earlier(incident_id, data)
            self._with_room(lambda: replace_file(self._directory / name, data, disk=self._disk))
        except OSError:
            return ""
        return name

    def _keep_earlier(self, incident_id: str, data: bytes) -> None:
        """Rename another report of this id, which is of a journal that has gone: `ID.1.json`, and so on."""
        folder = self._directory / REPORTS_NAME
        try:
            if (folder / f"{incident_id}.json").read_bytes() == data:
                return
        except FileNotFoundError:
            return
        free = (folder / f"{incident_id}.{number}.json" for number in itertools.count(1))
        self._disk.rename(folder / f"{incident_id}.json", next(path for path in free if not path.exists()))

    def _with_room(self, write: Callable[[], None]) -> None:
        """Write, and if there is no room, give up the reserve and write again."""
        try:
            write()
        except OSError as error:
            if error.errno not in NO_SPACE or self._reserve is None or not self._reserve.free():
                raise
            write()

    def _append(self, line: bytes, known: _Known) -> None:
        path = self._directory / LOG_NAME
        new = not path.exists()
        fd = self._disk.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW)
        try:
            self._write_line(fd, line)
            # In the file from here on, so it is never written again, whatever the sync says.
            self._known.add(known)
            self._disk.sync(fd)
        finally:
            self._disk.close(fd)
        if new:
            self._disk.sync_directory(self._directory)

    def _write_line(self, fd: int, line: bytes) -> None:
        """Write the line in one call, behind a newline where the one before was cut; half a line is taken off again."""
        size = os.fstat(fd).st_size
        cut = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
        try:
            write_all(fd, b"\n" + line if cut else line, disk=self._disk)
        except OSError:
            with contextlib.suppress(OSError):
                self._disk.truncate(fd, size)
            raise


def spell_incident(incident: Incident) -> bytes:
    """Write the line of the log: what a person looks for first stands first, and the order never changes."""
    return (
        anyjson.dumps(
            {
                "time": _iso(incident.at),
                "severity": incident.severity,
                "agent": incident.agent,
                "type": incident.type,
                "summary": _bounded(incident.summary),
                "way_out": _bounded(incident.way_out),
                "issue": incident.issue,
                "report": incident.report,
                "id": incident.id,
                "seq": incident.seq,
                "at": incident.at,
            }
        )
        + b"\n"
    )


def _bounded(text: str) -> str:
    left_out = len(text) > MOST_CHARACTERS
    return f"{text[:MOST_CHARACTERS]}… ({len(text)} characters; the journal has all)" if left_out else text


def _agent_of(report: bytes) -> str:
    try:
        return str(anyjson.decode(report)["agent"])
    except (ValueError, KeyError, TypeError):
        return ""


def _iso(at: float) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=at)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _check_id(incident_id: str) -> None:
    if not SAFE_ID.fullmatch(incident_id):
        raise UsageError(
            f"The incident id {incident_id[:80]!r} cannot name a file; nothing was written.",
            way_out="Use at most 200 letters, digits, dots, underscores and hyphens, beginning with a letter or digit.",
        )


def _read_tail(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL_BYTES))
            return file.read()
    except FileNotFoundError:
        return b""


def _known_of(tail: bytes) -> set[_Known]:
    """Collect the incidents in whole lines; a line that was cut does not count, so its incident is written again."""
    known = set()
    for line in tail.splitlines():
        try:
            read = anyjson.decode(line)
            known.add((str(read["id"]), float(read["at"])))
        except (ValueError, KeyError, TypeError):
            continue
    return known


def latest(directory: Path) -> list[Incident]:
    """The incidents at the end of the log, oldest first; lines that are none are passed over.

    Raises:
        OSError: The log cannot be read.
    """
    names = [field.name for field in fields(Incident)]
    found = []
    for line in _read_tail(directory / LOG_NAME).splitlines():
        try:
            read = anyjson.decode(line)
            incident = Incident(**{name: read[name] for name in names})
        except (ValueError, KeyError, TypeError):
            continue
        found.append(replace(incident, severity=Severity(incident.severity)))
    return found


def _failed(path: Path, error: OSError) -> IncidentLogError:
    return IncidentLogError(
        f"The incident could not be written to {path}: {error.strerror} (errno {error.errno}). The journal has it.",
        way_out="Make that file writable, or make room; the next start writes what is missing.",
    )
