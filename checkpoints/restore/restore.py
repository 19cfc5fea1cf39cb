"""Restores: plan, show the loss, confirm, change the workspace, compare it with the target byte for byte.

The agent must not run meanwhile: the caller freezes its processes, or has ended them, before `plan` and until `restore`
returned. A process that writes nevertheless is detected: each file is compared before it is moved, and a file that
differs from the plan makes the restore undo everything.

HEAD, index and branches stay, unless the move of the branch was requested.
"""

import contextlib
import os
from collections.abc import Sequence
from dataclasses import replace

from checkpoints.errors import RestoreFailedError, RestoreRefusedError, StoreDamagedError, StoreFullError
from checkpoints.git.trees import Pair, differences, lookup
from checkpoints.model import CaptureContext, Change, Checkpoint, Difference, Kept, Reason, RestorePlan, RestoreResult
from checkpoints.paths import bytes_of, is_within, text_of
from checkpoints.restore.apply import Application, InTheWayError
from checkpoints.restore.branch import check_movable, move_branch
from checkpoints.restore.ignored_then import IgnoredThen
from checkpoints.restore.plan import compare, describe, staging_name, unusual, without, work_out
from checkpoints.steps import Step, no_step
from checkpoints.store.restore_journal import JournalFile, RestoreJournal
from checkpoints.workspace import repository
from checkpoints.workspace.capture import Capturer
from host.durable import sync_filesystem
from monitors.contract.wording import counted

_SHOWN = 10
"""Paths that an error's sentence lists; the plan has all."""


class Restorer:
    """Brings one workspace back to its checkpoints."""

    def __init__(self, capturer: Capturer, *, step: Step = no_step) -> None:
        """Act on the workspace of this capturer."""
        self._capturer = capturer
        self._store = capturer.store
        self._journals = JournalFile(capturer.store, capturer.label)
        self._step = step

    # ── plan ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def plan(
        self,
        target: Checkpoint,
        facts: CaptureContext,
        *,
        thorough: bool = True,
        elsewhere: bool = False,
        with_branch: bool = False,
    ) -> RestorePlan:
        """Capture the present under a name of its own and return the plan of the restore. Changes nothing else.

        Args:
            target: The checkpoint to restore.
            facts: Of the present, for the checkpoint that undoes the restore; its reason becomes `undo`.
            thorough: Read every file first, so that a change that the watcher missed is neither lost nor left.
            elsewhere: The target is of another workspace, and is written into this one, which is new and made for it.
            with_branch: The branch is to move back as well, so the plan says that.

        Raises:
            RestoreRefusedError: The target is a checkpoint of another workspace, or the branch cannot be moved.
        """
        if with_branch:
            check_movable(repository.find(self._capturer.workspace), target)
        if target.workspace != str(self._capturer.workspace) and not elsewhere:
            raise RestoreRefusedError(
                f"Checkpoint {target.name} is of {target.workspace}, not of {self._capturer.workspace}; nothing was changed.",
                way_out="Write it to a workspace of its own with `--to-new-workspace`.",
            )
        with self._capturer.lock:
            undo = self._capturer.capture(replace(facts, reason=Reason.UNDO), scrub=thorough)
            root = self._capturer.open()
            try:
                work = work_out(self._store, root, undo, target, self._ignored_at(target))
            finally:
                os.close(root)
            return RestorePlan(
                target=target,
                undo=undo,
                changes=describe(work.pairs),
                lost=_touched(compare(self._store, target, undo), work.pairs),
                kept=work.kept,
                unusual=unusual(self._store, undo, work.pairs),
                warnings=self._warnings(target, undo, with_branch=with_branch),
            )

    def _warnings(self, target: Checkpoint, undo: Checkpoint, *, with_branch: bool) -> tuple[str, ...]:
        found = []
        now, then = undo.repository, target.repository
        if now.operation:
            found.append(f"The repository is in the middle of a {now.operation}; files go back, its state does not.")
        if now.head != then.head and with_branch:
            moves = f"Branch {now.branch} goes back from {now.head[:12]} to {then.head[:12]}"
            found.append(f"{moves}; its commits since are kept under a ref of chaperon's.")
        elif now.head != then.head:
            found.append(
                f"HEAD stood on {then.head[:12] or 'no commit'} then and stands on {now.head[:12] or 'no commit'} now; it stays."
            )
        if undo.unsettled:
            found.append(f"Files were being written while they were captured: {', '.join(undo.unsettled[:_SHOWN])}.")
        return tuple(found)

    # ── restore ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def restore(
        self, plan: RestorePlan, *, confirmed: bool, unusual_confirmed: bool = False, with_branch: bool = False
    ) -> RestoreResult:
        """Carry out a plan. On return the workspace equals the target, byte for byte, except for `kept`.

        Args:
            plan: From `plan`, in this process or read back; it must still hold.
            confirmed: A person, or a rule, saw the loss and agreed.
            unusual_confirmed: The same for `plan.unusual`.
            with_branch: Also move the branch to where it stood; its commits since are kept under a ref.

        Raises:
            RestoreRefusedError: It was not confirmed, the workspace changed since, or the branch cannot be moved; it is
                untouched.
            RestoreFailedError: It could not be completed; the sentence says how the workspace was left.
            StoreFullError: There was no room to prepare it; the workspace is untouched.
            StoreDamagedError: The store cannot give a file of the target; the workspace is untouched.
        """
        _check_confirmed(plan, confirmed=confirmed, unusual_confirmed=unusual_confirmed)
        if with_branch:
            check_movable(repository.find(self._capturer.workspace), plan.target)
        with self._capturer.lock:
            blocks = {kept.path: kept.why for kept in plan.kept}
            journal = RestoreJournal(str(self._capturer.workspace), plan.target.name, plan.undo.name, blocks, "staging")
            root = self._capturer.open()
            try:
                self._refuse_if_changed(plan)
                return self._carry_out(root, journal, plan.target, plan.undo, with_branch=with_branch)
            finally:
                os.close(root)

    def _refuse_if_changed(self, plan: RestorePlan) -> None:
        suspects = [pair.path for pair in self._pairs(plan.undo, plan.target)]
        changed = self._capturer.unlike(bytes.fromhex(plan.undo.tree), suspects, thorough=False)
        if changed:
            raise RestoreRefusedError(
                f"The workspace changed since the plan was made: {_some(changed)}. Nothing was restored.",
                way_out="Stop or freeze what writes there, and plan again.",
            )

    def _pairs(self, undo: Checkpoint, target: Checkpoint) -> list[Pair]:
        return list(differences(self._store, bytes.fromhex(undo.tree), bytes.fromhex(target.tree)))

    def _carry_out(
        self, root: int, journal: RestoreJournal, target: Checkpoint, undo: Checkpoint, *, with_branch: bool
    ) -> RestoreResult:
        work = without(self._pairs(undo, target), {bytes_of(path): why for path, why in journal.blocks.items()})
        fresh = journal.phase == "staging"
        staging, report = staging_name(undo.name), self._capturer.report
        application = Application(
            self._store, root, staging, work.pairs, self._step, from_the_start=fresh, report=report
        )
        if fresh:
            self._prepare(root, application, journal)
            journal = replace(journal, phase="applying")
        else:
            application.stage()
        try:
            application.carry_out()
            kept = self._verify(application, target, undo, work.kept)
        except (InTheWayError, OSError, StoreFullError) as error:
            self._return(root, application, journal, str(error))
            raise
        self._finish(root, application, replace(journal, phase="completed"))
        if not kept:
            self._capturer.believe(target)
        branch = self._move_branch(target) if with_branch else ""
        return RestoreResult(target, undo.name, len(describe(work.pairs)), tuple(kept), branch)

    def _prepare(self, root: int, application: Application, journal: RestoreJournal) -> None:
        """Write the journal and all new files aside, durably; until it says `applying`, the workspace is untouched."""
        self._journals.write(journal)
        try:
            application.stage()
            self._step("sync staging")
            sync_filesystem(root)  # or a power cut could leave a file in its place, and nothing in the file
            self._step("journal applying")
            self._journals.write(replace(journal, phase="applying"))
        except (StoreDamagedError, StoreFullError, OSError):
            application.clear()
            self._journals.remove()
            raise

    def _return(self, root: int, application: Application, journal: RestoreJournal, why: str) -> None:
        """Put everything back.

        Raises:
            RestoreFailedError: Always; it says how the workspace was left.
        """
        with contextlib.suppress(StoreFullError):
            self._journals.write(replace(journal, phase="returning"))
        stuck = application.undo()
        if stuck:
            raise RestoreFailedError(
                f"Going back to {journal.target} stopped: {why} {counted(len(stuck), 'file')} could not be put back ({_some(stuck)}); "
                f"they lie in {text_of(staging_name(journal.undo))}/old, and in checkpoint {journal.undo}.",
                way_out="Move what is in the way aside, and start chaperon again: it puts them back.",
            )
        self._finish(root, application, replace(journal, phase="returned"))
        raise RestoreFailedError(
            f"Going back to {journal.target} stopped: {why} The workspace is as it was before.",
            way_out="Stop or freeze what writes there, and plan again.",
        )

    def _verify(
        self, application: Application, target: Checkpoint, undo: Checkpoint, kept: Sequence[Kept]
    ) -> list[Kept]:
        """Compare with the target, and return what was kept; folders that had to stay are among it.

        Raises:
            InTheWayError: Something else differs.
        """
        stayed = [
            Kept(text_of(path), "The folder holds files that are not captured.") for path in application.left_folders
        ]
        all_kept = [*kept, *stayed]
        spared = [bytes_of(one.path) for one in all_kept]
        wrong = self._capturer.unlike(bytes.fromhex(target.tree), application.paths, thorough=False)
        for path in sorted(wrong):
            if any(is_within(path, one) or is_within(one, path) for one in spared):
                continue
            if self._has(undo, path) or self._has(target, path):
                raise InTheWayError(path, "it is not what the checkpoint has")
            all_kept.append(Kept(text_of(path), "It was not captured: it is new, or was ignored until now."))
        return all_kept

    def _ignored_at(self, target: Checkpoint) -> IgnoredThen:
        rules = repository.ignore_sources(repository.find(self._capturer.workspace)).rules()
        return IgnoredThen(self._store, bytes.fromhex(target.tree), rules, self._capturer.scope)

    def _has(self, checkpoint: Checkpoint, path: bytes) -> bool:
        return lookup(self._store, bytes.fromhex(checkpoint.tree), path) is not None

    def _finish(self, root: int, application: Application, journal: RestoreJournal) -> None:
        self._step("sync")
        sync_filesystem(root)
        self._step("journal finished")
        self._journals.write(journal)
        self._step("put staging away")
        application.put_away(self._store.restores)
        self._step("remove journal")
        self._journals.remove()

    def _move_branch(self, target: Checkpoint) -> str:
        folders = repository.find(self._capturer.workspace)
        return "" if folders is None else move_branch(folders, target)

    # ── after a crash ─────────────────────────────────────────────────────────────────────────────────────────────────

    def recover(self) -> RestoreResult | None:
        """Complete or undo the restore of this workspace that a crash interrupted; None if there was none.

        Call it before the first capture of a workspace, with no agent running in it.

        Raises:
            RestoreFailedError: It could not be completed; the sentence says how the workspace was left.
        """
        journal = self._journals.read()
        if journal is None:
            return None
        with self._capturer.lock:
            target, undo = self._store.find(journal.target), self._store.find(journal.undo)
            root = self._capturer.open()
            try:
                return self._go_on(root, journal, target, undo)
            finally:
                os.close(root)

    def _go_on(self, root: int, journal: RestoreJournal, target: Checkpoint, undo: Checkpoint) -> RestoreResult | None:
        if journal.phase == "applying":
            return self._carry_out(root, journal, target, undo, with_branch=False)
        work = without(self._pairs(undo, target), {bytes_of(path): why for path, why in journal.blocks.items()})
        application = Application(
            self._store, root, staging_name(undo.name), work.pairs, self._step, from_the_start=False
        )
        if journal.phase == "returning":
            self._return_again(application, journal)
            journal = replace(journal, phase="returned")
        self._finish(root, application, journal)
        if journal.phase != "completed":
            return None
        return RestoreResult(target, undo.name, len(describe(work.pairs)), work.kept)

    def _return_again(self, application: Application, journal: RestoreJournal) -> None:
        stuck = application.undo()
        if stuck:
            raise RestoreFailedError(
                f"{counted(len(stuck), 'file')} of an interrupted restore could not be put back ({_some(stuck)}); they lie in "
                f"{text_of(staging_name(journal.undo))}/old, and in checkpoint {journal.undo}.",
                way_out="Move what is in the way aside, and start chaperon again: it puts them back.",
            )


def _check_confirmed(plan: RestorePlan, *, confirmed: bool, unusual_confirmed: bool) -> None:
    if not confirmed:
        gone = sum(1 for change in plan.changes if change.change is Change.DELETED)
        raise RestoreRefusedError(
            f"Going back to {plan.target.name} would change {counted(len(plan.changes), 'path')} and remove {gone}; nothing was changed.",
            way_out=f"Confirm it to go on; `chaperon rollback {plan.undo.name}` would undo it.",
        )
    if plan.unusual and not unusual_confirmed:
        raise RestoreRefusedError(
            f"Going back to {plan.target.name} is of unusual size. {plan.unusual} Nothing was changed.",
            way_out="Look at what is lost, and confirm the size as well.",
        )


def _some(paths: Sequence[bytes] | set[bytes]) -> str:
    shown = [text_of(path) for path in sorted(paths)[:_SHOWN]]
    return ", ".join(shown) + (f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else "")


def _touched(differences_: Sequence[Difference], pairs: Sequence[Pair]) -> tuple[Difference, ...]:
    """Return the differences at these paths alone: whatever else is not as in the target stays as it is."""
    paths = {text_of(pair.path) for pair in pairs}
    return tuple(one for one in differences_ if one.path in paths)
