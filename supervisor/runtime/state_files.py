"""The daemon's state, folded from its files at a start and kept in them while it runs.

The journal is the truth. The snapshot and the archive spare a start most of it: the snapshot says how far all is known,
and the archive what ended agents came to. Without a usable snapshot the whole journal is read; the archive still spares
the fold three quarters of the lines, those of nothing but the sessions of agents that have ended.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import orjson

from host.durable import REAL_DISK, Disk
from monitors.contract import anyjson
from monitors.contract.errors import ChaperonError
from supervisor.config.paths import StatePaths
from supervisor.core.board import Board
from supervisor.core.registers.past import OF_ONE_SESSION, KnownEnd
from supervisor.protocol import events, records
from supervisor.runtime.clock import Clock
from supervisor.runtime.daemon.summary_json import read_summary, written
from supervisor.runtime.incidents.feed import IncidentFeed
from supervisor.runtime.incidents.log import IncidentLog
from supervisor.runtime.journal.archive import ArchiveContents, ArchivedSummary, ArchiveMark, SummaryArchive, as_mark
from supervisor.runtime.journal.base import BASE_STATE_NAME, BaseDamagedError, read_base
from supervisor.runtime.journal.cutting import base_for, cut
from supervisor.runtime.journal.forgetting import ForgottenWords, forget_records
from supervisor.runtime.journal.journal import Journal, JournalRecovery
from supervisor.runtime.journal.past_agents import PastAgents
from supervisor.runtime.journal.reader import list_segments
from supervisor.runtime.journal.signing import Signing, SigningKey
from supervisor.runtime.journal.snapshots import (
    NoSnapshot,
    Snapshot,
    discard_snapshot,
    read_snapshot,
    unless_ahead,
    write_snapshot,
)
from supervisor.runtime.journal.writing.segment_writer import SEGMENT_BYTES
from supervisor.runtime.log import log
from supervisor.runtime.metrics.metrics import Metrics
from supervisor.runtime.protection.protector import UNPROTECTED, Protector

SNAPSHOT_VERSION = "7"
"""Version of a snapshot's content, to be raised if this version cannot read an older one. It is not chaperon's own:
a start without a snapshot folds the whole journal, and an upgrade should not cost that."""

ARCHIVE_VERSION = "1"
"""The same of a summary in the archive."""

FOLDS = ("record", "lessons", "trusts", "projects", "tasks", "orders", "discoveries", "merges", "usage_limits")
"""Folds of the board beside its sessions, which a snapshot has under the same names. Project checkpoints come before
tasks: these keep whole what those may bring back."""


@dataclass(frozen=True, slots=True)
class OpenedState:
    """The state that a start found."""

    journal: Journal
    recovery: JournalRecovery
    feed: IncidentFeed
    missed: list[events.IncidentOpened | events.FaultSeen]
    """Incidents of the journal that the log may lack."""
    problem: str
    """The fault of the snapshot or of the archive, if there was one."""
    metrics: Metrics
    """The counts of all runs."""
    forgetting: bool = False
    """Whether an agent was being forgotten as the daemon before ended."""


class StateFiles:
    """Opens and keeps the state of one state directory, whose lock is held.

    Args:
        places: The directories.
        disk: Another, in tests.
        clock: Another, in tests.
        protector: Masks what is written, and gives back what is needed in full.
        segment_bytes: Size at which the journal begins a new file.
        signing: The key of the journal; None takes the one in the state directory.
    """

    def __init__(
        self,
        places: StatePaths,
        disk: Disk = REAL_DISK,
        clock: Clock | None = None,
        protector: Protector = UNPROTECTED,
        segment_bytes: int = SEGMENT_BYTES,
        signing: Signing | None = None,
    ) -> None:
        self._protector, self._segment_bytes = protector, segment_bytes
        self._signing = signing or Signing(places.state)
        self._key: SigningKey | None = None
        self._places, self._disk, self._clock = places, disk, clock or Clock()
        self._archive = SummaryArchive(places.state, ARCHIVE_VERSION, disk)
        self._archived: dict[str, int] = {}
        """The version of each agent's summary that the archive has; see `Board.version`."""
        self._one_at_a_time = anyio.Lock()

    def open(self, board: Board, past: PastAgents) -> OpenedState:
        """Read the journal and fold it; `past` gets the ended agents first. Blocks.

        Raises:
            ChaperonError: The journal is damaged, or the disk failed.
        """
        places = self._places
        restore, stored = self._protector.restore(), self._protector.restore_stored()
        key = self._key = self._signing.known()
        snapshot = read_snapshot(places.state, SNAPSHOT_VERSION, stored, key=key)
        found = self._read_archive(snapshot)
        if isinstance(snapshot, Snapshot) and not found.complete:
            lacks = found.problem or f"The archive {self._archive.path} lacks what the snapshot needs of it."
            snapshot = NoSnapshot(f"{lacks} The snapshot was passed over: the journal is read.")
        base = self._read_base(snapshot, stored)
        begin = _begin(snapshot, base)
        # Without a key all that is there is looked at once: whether lines say that they are signed.
        checked = begin if key is not None else _before_first(places.journal)
        journal, recovery = Journal.open(
            places.journal,
            trusted=checked,
            look=partial(past.look, opened=self._protector.seals.opened),
            key=key,
            disk=self._disk,
            clock=self._clock,
            segment_bytes=self._segment_bytes,
            protector=self._protector,
        )
        if key is None:
            key = self._begin_signing(journal, recovery)
        self._key = key
        read, snapshot = snapshot, unless_ahead(snapshot, recovery.n)
        if snapshot is not read:
            discard_snapshot(places.state, disk=self._disk)
            base = self._read_base(snapshot, stored)
            begin = _begin(snapshot, base)
        lacked = snapshot.problem if isinstance(snapshot, NoSnapshot) else ""
        if base is not None:
            if base.snapshot.n > recovery.n:
                journal.close()
                raise _cannot_begin(places.journal, f"it is of record {base.snapshot.n}, the last one is {recovery.n}")
            snapshot = base.snapshot
        ends = [
            end
            for end in (_known_end(line, self._protector.seals.read) for line in found.lines)
            if end is not None and end.n <= recovery.n
        ]
        metrics, counted = Metrics(board.record), 0
        if isinstance(snapshot, Snapshot):
            counted = snapshot.n
            sure = {end.summary.agent: end for end in ends if end.n <= counted} if base is None else base.ends
            _restore(board, metrics, snapshot, list(sure.values()))
            self._archived = dict.fromkeys(sure, 0)
        board.past.expect([*base.ends.values(), *(end for end in ends if end.n > counted)] if base else ends)
        missed = _fold(journal, begin, board, metrics, counted, restore)
        board.settle()
        metrics.settle()
        if isinstance(snapshot, NoSnapshot) or base is not None:
            self._keep_anew(recovery.n, board, metrics)
        incidents = IncidentLog.open(places.state, disk=self._disk, reserve=journal.reserve, protector=self._protector)
        problem, forgetting = lacked or found.problem, places.forgetting.exists()
        return OpenedState(journal, recovery, IncidentFeed(incidents), missed, problem, metrics, forgetting)

    @property
    def _secret(self) -> bytes:
        return self._key.key if self._key is not None else b""

    def _begin_signing(self, journal: Journal, recovery: JournalRecovery) -> SigningKey:
        try:
            key = self._signing.begin(recovery.n, marked=recovery.marked)
        except BaseException:
            journal.close()
            raise
        journal.sign_with(key)
        return key

    async def take_snapshot(self, journal: Journal, board: Board, metrics: Metrics) -> None:
        """Write down what ended agents came to, so that the next start need not read of them; a failure is logged."""
        async with self._one_at_a_time:
            await self._take_snapshot(journal, board, metrics)

    async def _take_snapshot(self, journal: Journal, board: Board, metrics: Metrics) -> None:
        n = journal.last
        _, ended = board.snapshot()
        changed = [one for one in ended if self._archived.get(one.agent) != board.version(one.agent)]
        versions = {one.agent: board.version(one.agent) for one in changed}
        rows, state = [written(one) for one in changed], _state(board, metrics)
        try:
            await journal.synced(n)
            await anyio.to_thread.run_sync(self._write, n, rows, state)
        except OSError as error:
            log.warning("the snapshot could not be written (%s); the journal has everything", error)
        else:
            self._archived.update(versions)

    async def forget(
        self, journal: Journal, board: Board, metrics: Metrics, words: ForgottenWords, told: Callable[[], int]
    ) -> int:
        """Take an ended agent out of the state, in memory and on the disk; return how many records went.

        Killed in between, a second call does the rest: each file is the old one or the new one.

        Args:
            journal: The journal.
            board: All agents.
            metrics: The counts.
            words: The words by which the agent is known.
            told: Journals that an agent is forgotten, and returns the number of that record.

        Raises:
            ChaperonError: The journal failed, or a state cannot be read.
            OSError: A file could not be written.
        """
        async with self._one_at_a_time:
            journal.begin_file()
            n = told()
            board.forget(words.agent)
            for name in FOLDS:
                _take_out(getattr(board, name), words, name)
            await journal.synced(n)
            _, ended = board.snapshot()
            rows, state = [written(one) for one in ended], _state(board, metrics)
            gone = await anyio.to_thread.run_sync(self._forget, words, n, rows, state)
            self._archived = {one.agent: board.version(one.agent) for one in ended}
            return gone

    def _forget(self, words: ForgottenWords, n: int, rows: Sequence[bytes], state: dict[str, object]) -> int:
        gone = forget_records(self._places.journal, words, self._key, n, self._disk, self._protector.seals)
        seals = self._protector.seals
        found = read_snapshot(self._places.journal, SNAPSHOT_VERSION, seals.read, BASE_STATE_NAME, self._key)
        if isinstance(found, Snapshot):
            kept = [each for each in found.state["ended"] if each["agent"] != words.agent]
            whole = words.taken_out({**found.state, "ended": kept})
            write_snapshot(
                self._places.journal,
                found.n,
                SNAPSHOT_VERSION,
                whole,
                seals.stored,
                key=self._secret,
                disk=self._disk,
                name=BASE_STATE_NAME,
            )
        self._archive.forget()
        self._write(n, rows, state)
        return gone

    async def cut(self, journal: Journal, board: Board, metrics: Metrics, before: float, sent: int | None) -> int:
        """Remove files of the journal that are older than a time; return how many went.

        A durable state takes their place. Records of live agents stay, and those that an exporter has not sent.

        Args:
            journal: The journal.
            board: All agents, as they are after the journal's last record.
            metrics: The counts.
            before: Unix time in seconds.
            sent: The number of the last record that every exporter has sent; None if there is none.
        """
        async with self._one_at_a_time:
            return await self._cut(journal, board, metrics, before, sent)

    async def _cut(self, journal: Journal, board: Board, metrics: Metrics, before: float, sent: int | None) -> int:
        n, (oldest, ended) = journal.last, board.snapshot()
        upto = min(each for each in (n, sent, None if oldest is None else oldest - 1) if each is not None)
        rows, state = [written(one) for one in ended], _state(board, metrics)
        folder = self._places.journal
        try:
            base = await anyio.to_thread.run_sync(base_for, folder, upto, before)
            if base is None:
                return 0
            await journal.synced(n)
            write = partial(self._write_base_state, n, rows, state)
            return await anyio.to_thread.run_sync(cut, folder, base, write, self._disk)
        except (OSError, ChaperonError) as error:
            log.warning("the journal could not be kept short (%s); it is tried again tomorrow", error)
            return 0

    def _write_base_state(self, n: int, rows: Sequence[bytes], state: dict[str, object]) -> None:
        whole = {**state, "ended": [orjson.loads(row) for row in rows]}
        protect, name = self._protector.stored, BASE_STATE_NAME
        write_snapshot(
            self._places.journal, n, SNAPSHOT_VERSION, whole, protect, key=self._secret, disk=self._disk, name=name
        )

    def _read_base(self, snapshot: Snapshot | NoSnapshot, restore: Callable[[bytes], bytes]) -> "_BaseState | None":
        """Return the state that a journal without its beginning goes on from, if the snapshot cannot serve.

        Raises:
            BaseDamagedError: There must be one, and it cannot be used.
        """
        folder = self._places.journal
        base = read_base(folder)
        if base is None or (isinstance(snapshot, Snapshot) and snapshot.n >= base.first - 1):
            return None
        found = read_snapshot(folder, SNAPSHOT_VERSION, restore, BASE_STATE_NAME, self._key)
        if isinstance(found, NoSnapshot):
            raise _cannot_begin(folder, found.problem or f"{folder / BASE_STATE_NAME} is gone")
        ends = [KnownEnd(found.n, read_summary(anyjson.dumps(each))) for each in found.state["ended"]]
        return _BaseState(found, {end.summary.agent: end for end in ends})

    def _read_archive(self, snapshot: Snapshot | NoSnapshot) -> ArchiveContents:
        try:
            needed = as_mark(snapshot.state["archive"]) if isinstance(snapshot, Snapshot) else None
            return self._archive.read(needed)
        except (OSError, KeyError, TypeError, ValueError) as error:
            return ArchiveContents([], False, f"The archive {self._archive.path} cannot be read ({error}).")

    def _keep_anew(self, n: int, board: Board, metrics: Metrics) -> None:
        """Write archive and snapshot after a start that read the whole journal: the next one should not need to."""
        _, ended = board.snapshot()
        self._archive.forget()
        if not ended:
            return
        try:
            self._write(n, [written(one) for one in ended], _state(board, metrics))
        except OSError as error:
            log.warning("the snapshot could not be written (%s); the journal has everything", error)
        else:
            self._archived = {one.agent: board.version(one.agent) for one in ended}

    def _write(self, n: int, rows: Sequence[bytes], state: dict[str, object]) -> None:
        protect = self._protector.stored
        mark = self._archive.append(n, [protect(row) for row in rows])
        state = _with(mark, state)
        write_snapshot(self._places.state, n, SNAPSHOT_VERSION, state, protect, key=self._secret, disk=self._disk)


@dataclass(frozen=True, slots=True)
class _BaseState:
    """The state that a journal without its beginning goes on from."""

    snapshot: Snapshot
    ends: dict[str, KnownEnd]
    """The agents that had ended."""


def _before_first(folder: Path) -> int:
    """Return the number before the first record that a journal has."""
    segments = list_segments(folder)
    return segments[0].first - 1 if segments else 0


def _begin(snapshot: Snapshot | NoSnapshot, base: _BaseState | None) -> int:
    """Return the number of the last event that need not be read."""
    known = snapshot if base is None else base.snapshot
    return 0 if isinstance(known, NoSnapshot) else _first_needed(known)


def _cannot_begin(folder: Path, why: str) -> BaseDamagedError:
    return BaseDamagedError(
        f"The journal in {folder} goes on from a state that cannot be used: {why}. Nothing was changed.",
        way_out=f"Restore {folder} from a copy. Without one, keep it as evidence under another name, and start anew.",
    )


TOLD_SECONDS = 2.0
"""Between two lines of the log about how far the journal is read: most starts take less, and say nothing of it."""


def _fold(
    journal: Journal, begin: int, board: Board, metrics: Metrics, counted: int, restore: Callable[[bytes], bytes]
) -> list[events.IncidentOpened | events.FaultSeen]:
    """Fold the journal from behind `begin` on; metrics have what is up to `counted`. Returns the incidents in it."""
    missed: list[events.IncidentOpened | events.FaultSeen] = []
    passes, passed, opened = board.past.passes, Counter[str](), journal.opened
    clock = Clock()
    due = clock.mono() + TOLD_SECONDS
    for some in journal.lines(begin):
        if clock.mono() >= due:
            due = clock.mono() + TOLD_SECONDS
            log.info("reading the journal: event %s of %s", f"{some.n:,}", f"{journal.last:,}")
        for n, stored in enumerate(some.lines, some.n):
            kind = records.kind_of(stored)
            line = opened(stored) if kind in OF_ONE_SESSION else stored
            if kind in OF_ONE_SESSION and passes(records.agent_of(line), n, kind, line):
                if n > counted:
                    passed[kind] += 1
                    if kind == "review_made":
                        metrics.reviewed(*records.review_of(line))
                continue
            found = some.stored(n - some.n)
            event: events.AnyEvent = found._replace(data=restore(found.data)).record().event  # type: ignore[assignment]
            board.remember(n, event)
            if n > counted:
                metrics.saw(n, event)
            if isinstance(event, events.IncidentOpened | events.FaultSeen):
                missed.append(event)
    for kind, count in passed.items():
        metrics.passed_over(kind, count)
    return missed


def _restore(board: Board, metrics: Metrics, snapshot: Snapshot, ends: Sequence[KnownEnd]) -> None:
    board.restore(ends)
    for name in FOLDS:
        if name in snapshot.state:  # an older one lacks those that came later, and its journal their events
            getattr(board, name).restore(snapshot.state[name])
    metrics.restore(snapshot.state["metrics"])


def _state(board: Board, metrics: Metrics) -> dict[str, object]:
    """All that a start must know beside the summaries of ended agents."""
    oldest, _ = board.snapshot()
    learned = {name: getattr(board, name).as_json() for name in FOLDS}
    return {"oldest": oldest, "metrics": metrics.as_json(), **learned}


def _take_out(fold: Any, words: ForgottenWords, name: str) -> None:
    """Have a fold of the board know nothing of an agent; one that does not name it is left as it is."""
    kept = orjson.loads(anyjson.dumps(fold.as_json()))
    if name == "discoveries":
        changed = {**kept, "known": [one for one in kept["known"] if one["agent"] != words.agent]}
    elif name == "merges":
        changed = {**kept, "known": {id_: one for id_, one in kept["known"].items() if id_ != words.agent}}
    else:
        changed = kept
    changed = words.taken_out(changed)
    if changed != kept:
        fold.restore(changed)


def _with(mark: ArchiveMark, state: dict[str, object]) -> dict[str, object]:
    return {**state, "archive": {"size": mark.size, "hash": mark.hash}}


def _first_needed(snapshot: Snapshot) -> int:
    """The number of the last event that need not be read: live agents are rebuilt from their first."""
    oldest: int | None = snapshot.state["oldest"]
    return snapshot.n if oldest is None else min(snapshot.n, oldest - 1)


def _known_end(line: ArchivedSummary, opened: Callable[[bytes], bytes]) -> KnownEnd | None:
    try:
        return KnownEnd(line.n, read_summary(opened(line.summary)))
    except ValueError:  # of another make: its agent is read from the journal
        return None
