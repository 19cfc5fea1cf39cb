"""Delivery of the journal to other systems as it is written: at least once, in order, and resumed after any end.

An exporter's position is the number of the last record that it has, and that record's hash, so a journal that was lost
or put back is recognised. It is written durably after each delivery. A delivery that fails is tried again for ever, at
growing intervals. Records that wait meanwhile are in the journal's files and not in memory.
"""

import contextlib
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread
import orjson

from host.durable import REAL_DISK, Disk, replace_file
from monitors.contract import anyjson
from monitors.contract.words import Severity
from supervisor.protocol import records
from supervisor.protocol.export import Exporter, ExportRecord, RefusedRecordsError
from supervisor.runtime.journal.journal import Journal, JournalError
from supervisor.runtime.journal.reader import Cursor, JournalDamagedError, StoredLine, list_segments
from supervisor.runtime.log import log

FILE_NAME = "exported.json"
"""The file of positions, in the state directory: an object from an exporter's name to its position."""

GATHER_SECONDS = 0.5
"""How long records gather into a batch: each delivery costs a round trip and a sync of the position."""

MOST_BATCH = 500
"""Records in one batch: some hundred KB, as a rule."""

FIRST_WAIT_SECONDS = 1.0
MOST_WAIT_SECONDS = 60.0
"""Between two attempts at first, twice as long each time, and at most."""

TELL_AFTER = 3
"""Failed attempts after which a person is notified: a restart of the other system is over by then, as a rule."""

TIMEOUT_SECONDS = 30.0
"""How long a delivery may take for an exporter that does not say."""

NOTE_EVERY = 5_000
"""Unwanted records after which an exporter's position is noted nevertheless: a start reads them in 0.1 s."""

INCIDENTS = frozenset({"incident_opened", "fault_seen"})
"""Kinds of events that carry an incident."""

Fault = Callable[[str, str, str, Severity, str], object]
"""Notes an incident: the agent, its type, a sentence, how severe, and the way out."""


@dataclass(frozen=True, slots=True)
class ExportPosition:
    """How far an exporter came."""

    n: int
    """Number of the last record that it has."""
    hash: str = ""
    """The hash of that record's line; empty if it was not read."""


class Positions:
    """The positions of all exporters. All calls block.

    Args:
        directory: The state directory.
        disk: Another, in tests.
    """

    def __init__(self, directory: Path, disk: Disk = REAL_DISK) -> None:
        self._path = directory / FILE_NAME
        self._disk = disk
        self._known = _read(self._path)

    def of(self, name: str) -> ExportPosition | None:
        """Return an exporter's position; None if nothing is known of it."""
        return self._known.get(name)

    def note(self, name: str, position: ExportPosition) -> None:
        """Keep a position, durably.

        Raises:
            OSError: The disk does not take it.
        """
        self._known[name] = position
        rows = {each: {"n": kept.n, "hash": kept.hash} for each, kept in self._known.items()}
        replace_file(self._path, orjson.dumps(rows), disk=self._disk)


def _read(path: Path) -> dict[str, ExportPosition]:
    """The positions; none where the file is not there or is something else: then every exporter is a new one."""
    try:
        found = orjson.loads(path.read_bytes())
        return {str(name): ExportPosition(int(row["n"]), str(row["hash"])) for name, row in found.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError, TypeError, KeyError) as error:
        log.warning("%s is damaged (%r); each exporter begins as a new one", path, error)
        return {}


class Exporting:
    """Feeds one exporter for as long as its task lives.

    Args:
        exporter: The destination of records.
        journal: Their source.
        positions: Keeps its position.
        fault: Notes an incident.
        count: Counts records by exporter and result: `sent`, `refused`, `failed`.
        known_to: The number of the journal's last record as the daemon started: the start of a new exporter that begins
            at the present.
    """

    def __init__(
        self,
        exporter: Exporter,
        journal: Journal,
        positions: Positions,
        fault: Fault,
        count: Callable[[str, str, int], object],
        known_to: int,
    ) -> None:
        self.name = exporter.name
        self.position = 0
        """Number of the last record that was dealt with."""
        self._exporter = exporter
        self._wants_all = getattr(exporter, "wants", "journal") != "incidents"
        self._timeout = float(getattr(exporter, "timeout_seconds", TIMEOUT_SECONDS))
        self._journal = journal
        self._positions = positions
        self._fault = fault
        self._count = count
        self._known_to = known_to
        self._at_work = False
        """Whether a call is under way, which may be one that was given up."""
        self._ended = False
        """Whether nothing is sent any more."""
        self._turn = threading.Lock()
        """Held while the two above are compared, so that one of two threads closes the exporter."""
        self._told = False
        """Whether a person was notified of its failure since it last worked."""
        self._told_of_refusal = False

    async def run(self) -> None:
        """Send until cancelled.

        A failure that is not the other system's is an incident and ends this exporter alone.
        """
        try:
            cursor = await anyio.to_thread.run_sync(self._begin)
            await self._send_on(cursor)
        except JournalDamagedError as error:
            way_out = "What comes behind the damage is not sent. See the incident's sentence for how to mend it."
            self._fault("", f"export_stopped-{self.name}", error.what, Severity.HIGH, way_out)
        except JournalError:
            return  # the daemon ends of it, and says so
        except Exception as error:  # noqa: BLE001 - an exporter may be anybody's code, and agents go on without it
            log.exception("the exporter %s failed", self.name)
            what = f"The exporter {self.name} failed and sends nothing until the daemon starts again: {error!r}."
            self._fault("", f"export_stopped-{self.name}", what, Severity.HIGH, "The daemon's log has the traceback.")
        finally:
            self._close()

    def _close(self) -> None:
        """Have the exporter let go of its connections, now or as the call ends that is under way."""
        with self._turn:
            self._ended = True
            if self._at_work:
                return
        self._let_go()

    def _let_go(self) -> None:
        close = getattr(self._exporter, "close", None)
        if close is None:
            return
        try:
            close()
        except Exception as error:  # noqa: BLE001 - the daemon ends, and an exporter may be anybody's code
            log.warning("the exporter %s could not be closed: %r", self.name, error)

    async def _send_on(self, cursor: Cursor) -> None:
        noted = self.position
        while True:
            await self._journal.written(self.position + 1)
            await anyio.sleep(GATHER_SECONDS)
            last = self._journal.last_written
            await self._journal.synced(last)  # what a machine's end takes back would come again under the same numbers
            lines = await anyio.to_thread.run_sync(cursor.take, last)
            if not lines:
                continue
            wanted = await anyio.to_thread.run_sync(self._wanted, lines)
            for start in range(0, len(wanted), MOST_BATCH):
                await self._deliver(wanted[start : start + MOST_BATCH])
            if wanted or cursor.n - noted >= NOTE_EVERY:
                await self._note(ExportPosition(cursor.n, cursor.hash))
                noted = cursor.n
            self.position = cursor.n

    # ── where it begins ───────────────────────────────────────────────────────────────────────────────────────────

    def _begin(self) -> Cursor:
        """Return a cursor behind the last record that the exporter has. Blocks."""
        known = self._positions.of(self.name)
        begin = 0
        if known is None:
            begin = 0 if getattr(self._exporter, "begins", "now") == "start" else self._known_to
            with contextlib.suppress(OSError):  # a full disk: the first delivery keeps one
                self._positions.note(self.name, ExportPosition(begin))
        elif self._is_of_this_journal(known):
            begin = known.n
        else:
            what = f"The exporter {self.name} had records up to {known.n} of a journal that is not here any more."
            way_out = "All records of the journal that is here are sent to it, with their numbers from 1."
            self._fault("", f"export_restarted-{self.name}", what, Severity.MEDIUM, way_out)
        first = next((segment.first for segment in list_segments(self._journal.directory)), 1)
        if begin < first - 1:
            what = f"The journal begins with record {first}; the exporter {self.name} had records up to {begin}."
            self._fault("", f"export_gap-{self.name}", what, Severity.MEDIUM, "Those between were not sent.")
            begin = first - 1
        self.position = begin
        return Cursor(self._journal.directory, begin)

    def _is_of_this_journal(self, known: ExportPosition) -> bool:
        if known.n > self._journal.last_written:
            return False
        if not known.n or not known.hash:
            return True
        try:
            line = next(iter(Cursor(self._journal.directory, known.n - 1).take(known.n)), None)
        except JournalDamagedError:
            return True  # the record is in a file that was removed: nothing says that it is another journal
        return line is None or records.chain_hash(line.data) == known.hash

    # ── what is sent ──────────────────────────────────────────────────────────────────────────────────────────────

    def _wanted(self, lines: Sequence[StoredLine]) -> list[ExportRecord]:
        """Return what the exporter wants of these lines. Blocks: it reads JSON."""
        found = []
        for line in lines:
            if not self._wants_all and not any(kind.encode() in line.data for kind in INCIDENTS):
                continue
            record = export_record(line.n, self._journal.opened(line.data), whole=self._wants_all)
            if record is not None:
                found.append(record)
        return found

    async def _deliver(self, batch: Sequence[ExportRecord]) -> None:
        """Send a batch until the other system has it; what it will never take is passed over, record by record."""
        wait, failures = FIRST_WAIT_SECONDS, 0
        while True:
            try:
                await self._attempt(batch)
            except RefusedRecordsError as error:
                await self._refused(batch, error)
                return
            except Exception as error:  # noqa: BLE001 - whatever failed, it is tried again
                failures += 1
                self._count(self.name, "failed", 1)
                self._tell_of_failure(failures, batch, error)
                await anyio.sleep(wait)
                wait = min(wait * 2, MOST_WAIT_SECONDS)
            else:
                self._count(self.name, "sent", len(batch))
                if self._told:
                    log.info("the exporter %s works again", self.name)
                self._told = False
                return

    async def _attempt(self, batch: Sequence[ExportRecord]) -> None:
        if self._at_work:
            raise TimeoutError("an earlier delivery still hangs")

        def send() -> None:
            try:
                self._exporter.send(batch)
            finally:
                with self._turn:
                    self._at_work = False
                    left = self._ended
                if left:
                    self._let_go()

        self._at_work = True
        try:
            with anyio.fail_after(self._timeout):
                await anyio.to_thread.run_sync(send, abandon_on_cancel=True)
        except TimeoutError as error:
            raise TimeoutError(str(error) or f"no answer within {self._timeout:g} s") from error

    async def _refused(self, batch: Sequence[ExportRecord], error: RefusedRecordsError) -> None:
        """Find the records that are refused, and pass over them; if the rest was taken, there is nothing to find."""
        if error.of_taken is not None:
            refused = max(0, min(error.of_taken, len(batch)))
            self._count(self.name, "sent", len(batch) - refused)
            self._count(self.name, "refused", refused)
            self._tell_of_refusal(f"{refused} of the records {batch[0].n} to {batch[-1].n}", batch[0].n, error)
        elif len(batch) > 1:
            middle = math.ceil(len(batch) / 2)
            await self._deliver(batch[:middle])
            await self._deliver(batch[middle:])
        else:
            self._count(self.name, "refused", 1)
            self._tell_of_refusal(f"record {batch[0].n}", batch[0].n, error)

    def _tell_of_refusal(self, which: str, first: int, error: RefusedRecordsError) -> None:
        if not self._told_of_refusal:
            self._told_of_refusal = True
            what = f"The other system of the exporter {self.name} refused {which}: {error}. Further refusals are only counted."
            way_out = f"It was passed over; the journal has it: chaperon tail --after {first - 1}."
            self._fault("", f"export_refused-{self.name}", what, Severity.MEDIUM, way_out)

    def _tell_of_failure(self, failures: int, batch: Sequence[ExportRecord], error: Exception) -> None:
        log.warning("the exporter %s failed (attempt %d): %r", self.name, failures, error)
        if failures >= TELL_AFTER and not self._told:
            self._told = True
            what = f"The exporter {self.name} fails since record {batch[0].n}: {type(error).__name__}: {error}."
            way_out = "It is tried again until it works; nothing is lost, and agents go on."
            self._fault("", f"export_failing-{self.name}", what, Severity.MEDIUM, way_out)

    async def _note(self, position: ExportPosition) -> None:
        """Keep the position, also while the daemon ends.

        If the disk does not take it, records come twice after a crash.
        """
        try:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._positions.note, self.name, position)
        except OSError as error:
            log.warning("the position of the exporter %s was not kept: %s", self.name, error)


def export_record(n: int, data: bytes, *, whole: bool) -> ExportRecord | None:
    """Return a line of the journal as exporters get it; None where incidents are wanted and it has none.

    Args:
        n: The record's number.
        data: The line.
        whole: Whether the whole record is wanted, or its incident.
    """
    line = anyjson.legible(data).rstrip(b"\n")
    decoded: Mapping[str, object] = anyjson.decode(line)
    kind, incident = str(decoded.get("kind", "")), decoded.get("incident")
    found = incident if kind in INCIDENTS and isinstance(incident, Mapping) else None
    if not whole and found is None:
        return None
    at = decoded.get("at")
    severity = found.get("severity") if found is not None else None
    return ExportRecord(
        n=n,
        at=float(at) if isinstance(at, (int, float)) else 0.0,
        agent=str(decoded.get("agent", "")),
        kind=kind,
        line=line if whole or found is None else anyjson.dumps(dict(found)),
        data=decoded if whole or found is None else found,
        severity=Severity(severity) if severity in list(Severity) else None,
    )
