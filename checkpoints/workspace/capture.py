"""Capture of a workspace as a checkpoint in the store: the changes since the last capture, or a full scan.

Cost follows from the changes: the watcher names the paths, and trees are built from the last tree and those paths.
Nothing of the repository is run or written: no index, no HEAD, no filter, no hook.
"""

import contextlib
import hashlib
import os
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from checkpoints.errors import StoreDamagedError
from checkpoints.git import trees
from checkpoints.git.objects import EMPTY_TREE
from checkpoints.git.pack import NothingWritten, PackWriter
from checkpoints.model import CaptureContext, Checkpoint, Nested, Skipped
from checkpoints.paths import bytes_of, self_and_above, text_of
from checkpoints.store.store import Store
from checkpoints.workspace import repository
from checkpoints.workspace.ignore import Rules
from checkpoints.workspace.incremental import Update, ruled_anew
from checkpoints.workspace.index import GitIndexes
from checkpoints.workspace.notes import NoteQueues
from checkpoints.workspace.safe_open import Folders, NotCaptured, open_root
from checkpoints.workspace.scan import Scanner, Scope, Survey, own_rules
from checkpoints.workspace.watch import Changes, Watcher
from monitors.contract.progress import Report, unreported

DEFAULT_LIMIT_BYTES = 10_000_000
"""Largest file whose content is kept. One new file of 200 MB takes git 6.5 s; source files are far smaller."""

DEFAULT_LIMIT_NEW_BYTES = 500_000_000
"""Most content of new files in one capture: a minute's work here. A data set that was unpacked into the workspace is
named, and taken bit by bit, instead of holding up the agent."""

_HEX_DIGITS = 40
"""Of a commit id that the store can hold; repositories with longer ids lend nothing."""


@dataclass(frozen=True, slots=True)
class CaptureSettings:
    """Settings that the user may choose."""

    limit_bytes: int = DEFAULT_LIMIT_BYTES
    """Files over this are named in the checkpoint, without content, and never touched by a restore."""
    limit_new_bytes: int = DEFAULT_LIMIT_NEW_BYTES
    """Files that were not there before, beyond so much content in one capture, wait for the next."""
    also: tuple[str, ...] = ()
    """Paths that are captured although they are ignored: files, or folders with all their content. Example: `.env`."""


@dataclass(frozen=True, slots=True)
class ScrubReport:
    """Differences that a full scan found and the watcher had missed."""

    missed: tuple[str, ...]
    """Paths that differ from what was believed. The next capture has them."""
    files: int
    """Paths that were compared."""


@dataclass(slots=True)
class _State:
    """The assumed state of the workspace between captures."""

    tree: bytes
    survey: Survey
    commit: bytes | None = None
    """A commit of `tree`; None if no checkpoint has one."""
    known: bool = False
    """Whether the workspace was looked at in full since this process watches it."""


class Capturer:
    """Captures one workspace. Safe between threads: one checkpoint per workspace at a time."""

    def __init__(
        self,
        store: Store,
        workspace: Path,
        settings: CaptureSettings = CaptureSettings(),
        queues: NoteQueues | None = None,
    ) -> None:
        """Begin to watch; the first capture looks at everything.

        Args:
            store: Where its checkpoints go.
            workspace: The folder.
            settings: What the user chose.
            queues: The kernel's queues of changes, shared with other workspaces; None takes one for this alone.

        Raises:
            WorkspaceGoneError: There is no folder at this path.
        """
        self.store = store
        self.workspace = workspace
        self.lock = threading.RLock()
        self.report: Report = unreported
        """Told how many files a look at all of them, or a restore, has done."""
        also = frozenset(bytes_of(path.strip("/")) for path in settings.also)
        self.scope = Scope(settings.limit_bytes, settings.limit_new_bytes, also)
        root = open_root(workspace)
        state = os.fstat(root)
        os.close(root)
        self._identity = (state.st_dev, state.st_ino)
        self.label = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:16]
        self.watcher = Watcher(queues)
        self._folders = repository.find(workspace)
        self._sources = repository.ignore_sources(self._folders)
        self._indexes = GitIndexes()
        self._outside = self._rules_from_outside()
        self._rules: dict[bytes, Rules] = {}
        self._captured_meanwhile: set[bytes] | None = None
        """Paths that captures took in since a scrub began; None if none is under way, or where all was taken in."""
        self._state = self._where_it_was()

    def _where_it_was(self) -> _State:
        """Return what to begin with: the last checkpoint, else the commit that HEAD names, else another workspace's."""
        last = self.store.of_workspace(str(self.workspace))
        if last:
            return _State(bytes.fromhex(last[-1].tree), Survey(), bytes.fromhex(last[-1].commit))
        head = repository.look(self._folders).head
        if self.store.borrows and len(head) == _HEX_DIGITS:
            with contextlib.suppress(StoreDamagedError, ValueError):
                return _State(self.store.tree_of(bytes.fromhex(head)), Survey())
        alike = [one for one in self.store.checkpoints if one.repository.head == head] or self.store.checkpoints[-1:]
        if not alike:
            return _State(EMPTY_TREE, Survey())
        # What two workspaces of a project have in common is most of it, and need not be written twice.
        self.store.hold_tip(self.label, alike[0].commit)
        return _State(bytes.fromhex(alike[0].tree), Survey())

    def close(self) -> None:
        """Stop watching."""
        self.watcher.close()
        self.store.forget_tip(self.label)

    # ── capture ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def capture(self, facts: CaptureContext, *, scrub: bool = False) -> Checkpoint:
        """Make the present a checkpoint; it is durable when this returns.

        Args:
            facts: What the caller knows of the moment.
            scrub: Look at every file, whatever the watcher says.

        Raises:
            WorkspaceGoneError: The workspace is not there, or another folder is.
            StoreFullError: There was no room. The next capture has what this one would have had.
            UsageError: The name is taken, or cannot be one.
            StoreDamagedError: The tree before is damaged, and was given up: the next capture writes everything anew.
        """
        with self.lock:
            if facts.name:
                self.store.check_name(facts.name)
            try:
                with self._look(scrub=scrub) as (writer, tree, survey):
                    return self._publish(facts, writer, tree, survey)
            except StoreDamagedError:
                self._state = _State(EMPTY_TREE, Survey())
                raise

    def _publish(self, facts: CaptureContext, writer: PackWriter, tree: bytes, survey: Survey) -> Checkpoint:
        same = self._state.commit if tree == self._state.tree else None
        checkpoint = self.store.publish(
            Checkpoint(
                name=facts.name,
                number=0,
                workspace=str(self.workspace),
                commit="",
                tree=tree.hex(),
                facts=facts,
                repository=repository.look(self._folders),
                skipped=tuple(_skipped(path, survey.skipped[path]) for path in sorted(survey.skipped)),
                nested=tuple(self._nested(path) for path in sorted(survey.nested)),
                unsettled=tuple(text_of(path) for path in sorted(survey.unsettled)),
            ),
            writer,
            same,
        )
        commit = bytes.fromhex(checkpoint.commit)
        self.store.hold_tip(self.label, checkpoint.commit)
        self._state = _State(tree, survey, commit, known=True)
        return checkpoint

    @contextmanager
    def _look(self, *, scrub: bool) -> Iterator[tuple[PackWriter, bytes, Survey]]:
        """Give the tree of the present and what goes with it; if the caller fails, nothing is forgotten."""
        root = open_root(self.workspace, self._identity)
        writer = self.store.writer(self.label)
        changes = self.watcher.take()
        if self._captured_meanwhile is not None:
            self._captured_meanwhile = None if changes.lost else self._captured_meanwhile | changes.paths
        try:
            if self._sources.changed() or b".git" in changes.paths:
                self._folders = repository.find(self.workspace)
                self._sources = repository.ignore_sources(self._folders)
                self._outside = self._rules_from_outside()
                changes = changes._replace(lost="Rules of what is ignored changed.")
            changes = changes._replace(paths=changes.paths | self._newly_tracked())
            if scrub or changes.lost or not self._state.known:
                tree, survey = self._full(root, writer)
            else:
                tree, survey = self._partial(root, writer, changes)
            yield writer, tree, survey
        except BaseException:
            writer.abandon()
            self.watcher.put_back(changes)
            raise
        finally:
            os.close(root)

    def _rules_from_outside(self) -> Rules:
        folders = self._folders
        return self._sources.rules(b"", self._indexes.of(b"", folders.own if folders is not None else None))

    def _newly_tracked(self) -> set[bytes]:
        """Return paths that were ignored at the last capture and were added to an index since.

        No note of a change names them.
        """
        renewed, survey = self._indexes.renewed(), self._state.survey
        if renewed and not survey.knows_all_ignored:
            return {b".gitignore"}  # all folders are listed anew where their rules changed
        return {path for index in renewed for path in survey.ignored if index.names_any(path)}

    def _full(self, root: int, writer: PackWriter) -> tuple[bytes, Survey]:
        self._rules.clear()
        self._indexes.forget()
        scanner = self._scanner(writer, Survey())
        scanner.report, scanner.expected = self.report, repository.tracked(self._folders)
        tree = scanner.folder(root, b"", self._state.tree, self._root_rules(root))
        return tree, scanner.survey

    def _root_rules(self, root: int) -> Rules:
        return self._outside.inside(b"", own_rules(root))

    def _partial(self, root: int, writer: PackWriter, changes: Changes) -> tuple[bytes, Survey]:
        with Folders(root) as folders:
            scanner = self._scanner(writer, self._state.survey.copy())
            update = Update(scanner, folders, self._state.tree, self._outside, self._rules)
            edits = update.edits(changes.paths)
        return trees.apply(self.store, writer, self._state.tree, edits), update.survey

    def _scanner(self, writer: trees.Writer, survey: Survey) -> Scanner:
        return Scanner(
            self.store, writer, self.workspace, self.scope, survey, watch=self.watcher.watch, indexes=self._indexes
        )

    # ── scrub ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def scrub(self) -> ScrubReport:
        """Compare every file with what is believed; what differs without a note from the kernel is a fault to report.

        The next capture has what was missed. Nothing is written, and captures go on meanwhile. One scrub at a time.

        Raises:
            WorkspaceGoneError: The workspace is not there, or another folder is.
        """
        with self.lock:
            root = self.open()
            believed = self._state
            self._captured_meanwhile = set()
            scanner = self._scanner(NothingWritten(), Survey())
            rules = self._root_rules(root)
        try:
            scanner.folder(root, b"", believed.tree, rules)
        finally:
            os.close(root)
        with self.lock:
            captured, self._captured_meanwhile = self._captured_meanwhile, None
            return self._report(scanner, believed, captured)

    def _report(self, scanner: Scanner, believed: _State, captured: set[bytes] | None) -> ScrubReport:
        """Report the differences of a full scan that have no note.

        `captured` has the paths captured meanwhile, None for all.
        """
        self.watcher.add(self._newly_tracked())
        noted = self.watcher.take()
        self.watcher.put_back(noted)
        if noted.lost or captured is None or not believed.known or not believed.survey.knows_all_ignored:
            return ScrubReport((), scanner.files)
        anew = ruled_anew(noted.paths | captured)
        if b"" in anew:
            return ScrubReport((), scanner.files)  # what is ignored may be other than it was, everywhere
        excused = noted.paths | captured | anew | believed.survey.linked | believed.survey.unsettled
        beside = believed.survey.skipped.keys() ^ scanner.survey.skipped.keys()
        beside |= believed.survey.nested ^ scanner.survey.nested
        missed = {
            path for path in {*scanner.changed, *beside} if not any(one in excused for one in self_and_above(path))
        }
        self.watcher.add(missed)
        return ScrubReport(tuple(sorted(text_of(path) for path in missed)), scanner.files)

    # ── for restore ───────────────────────────────────────────────────────────────────────────────────────────────────

    def unlike(self, tree: bytes, suspects: Collection[bytes], *, thorough: bool) -> set[bytes]:
        """Return the paths that are not as this tree has them; nothing is written.

        Args:
            tree: What is expected.
            suspects: Paths that may differ, beside those that the watcher noted since the last capture.
            thorough: Read every file instead.
        """
        root = self.open()
        noted = self.watcher.take()
        self.watcher.put_back(noted)
        try:
            if thorough or noted.lost:
                scanner = self._scanner(NothingWritten(), Survey())
                scanner.folder(root, b"", tree, self._root_rules(root))
                return set(scanner.changed)
            with Folders(root) as folders:
                scanner = self._scanner(NothingWritten(), self._state.survey.copy())
                edits = Update(scanner, folders, tree, self._outside, {}).edits({*suspects, *noted.paths})
            found = set(scanner.changed)
            for path, entry in edits.items():
                expected = trees.lookup(self.store, tree, path)
                both_folders = entry is not None and expected is not None and entry.is_folder and expected.is_folder
                if entry != expected and not both_folders:
                    found.add(path)
            return found
        finally:
            os.close(root)

    def believe(self, checkpoint: Checkpoint) -> None:
        """Take this checkpoint as the state of the workspace: a restore just verified it.

        A workspace that was not scanned in full is not watched either. An example is a restore that a crash cut off and
        this process completed. The next capture then scans everything.
        """
        self.store.hold_tip(self.label, checkpoint.commit)
        tree, commit = bytes.fromhex(checkpoint.tree), bytes.fromhex(checkpoint.commit)
        self._state = _State(tree, self._state.survey, commit, known=self._state.known)

    @property
    def tree(self) -> bytes:
        """The tree of the last capture."""
        return self._state.tree

    def open(self) -> int:
        """Open the workspace.

        Raises:
            WorkspaceGoneError: It is not there, or another folder is.
        """
        return open_root(self.workspace, self._identity)

    def _nested(self, path: bytes) -> Nested:
        place = self.workspace / os.fsdecode(path)
        return Nested(text_of(path), repository.look(repository.find(place)).head)


def _skipped(path: bytes, refusal: NotCaptured) -> Skipped:
    return Skipped(text_of(path), refusal.why, refusal.size_bytes)
