"""Merges of agents without a stored task that did not come about: given back to an agent, a bounded number of times.

The agent goes on in the same workspace and session, with both sides of the conflict, or the output of the check on the
merged files. Its end proposes the same branch again. What a person asked for is left to that person.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio.to_thread

from interventions.texts import work_texts
from monitors.contract.errors import ChaperonError
from supervisor.core.board import Board
from supervisor.core.fold.summary import Summary
from supervisor.protocol.merges import CheckOutcome, Merge, MergePhase
from supervisor.runtime.daemon.submission import SESSION_ID, Claim, Submission
from supervisor.runtime.merging.merge_queue import MergeQueue
from supervisor.runtime.merging.merge_work import how_it_ended

BY = "chaperon"

OF_TASK = (
    "prompt", "goals", "constraints", "expected_paths", "limits", "model", "permission_mode", "monitoring_level",
    "approval", "labels",
)  # fmt: skip
"""Fields of a task that the agent has which goes on with it."""


def what_to_resolve(merge: Merge) -> str:
    """Return what an agent is told of a merge that did not come about; empty if it is for a person."""
    if merge.conflicts and not merge.level.for_a_person:
        told = [(one.path, one.what, one.excerpt) for one in merge.conflicts]
        return work_texts.disagrees(merge.branch, merge.target, told)
    if merge.check is not None and merge.check.outcome in (CheckOutcome.FAILED, CheckOutcome.TIMED_OUT):
        how = how_it_ended(merge.check).rpartition("` ")[2]
        return work_texts.merged_check_failed(merge.target, merge.check.command, how, merge.check.output)
    return ""


class Resolving:
    """Has agents resolve what their branch and its target disagree in.

    Args:
        board: All agents.
        merging: Merges branches.
        submit: Submits an agent, for whom, and with the claim that it goes on for another one.
        close: Closes the workspace of an ended agent.
    """

    def __init__(
        self,
        board: Board,
        merging: MergeQueue,
        submit: Callable[[Submission, str, Claim], Awaitable[object]],
        close: Callable[[str], Awaitable[None]],
    ) -> None:
        self._board, self._merging, self._submit, self._close = board, merging, submit, close

    async def settled(self, merge: Merge) -> None:
        """Give a merge back that was parked, or let the workspace go that was kept for it."""
        known = self._board.known(merge.id)
        if known is None or known.stored_task:
            return
        if merge.phase is MergePhase.PARKED and not merge.by and await self._give_back(merge, known):
            return
        if not self._merging.awaits_agent(merge.id):
            await self._close(merge.id)

    async def _give_back(self, merge: Merge, known: Summary) -> bool:
        """Have an agent go on with the work; returns whether one does."""
        text = what_to_resolve(merge)
        there = await anyio.to_thread.run_sync(Path(known.workspace).is_dir)
        if not text or not there or merge.rounds >= self._merging.work.rules.merge.rounds:
            return False
        about: dict[str, Any] = {name: getattr(known.task, name) for name in OF_TASK}
        if re.match(SESSION_ID, known.session_id or ""):
            about["resume_session"] = known.session_id
        wanted = Submission(repository=known.workspace, workspace="in-place", **about)
        merge = replace(merge, rounds=merge.rounds + 1)
        await self._merging.resolving(merge)
        try:
            await self._submit(wanted, BY, Claim(known.task.id, "", known.agent, text))
        except ChaperonError as error:
            await self._merging.not_resolved(merge, f"{merge.why}; no agent could be given it: {error}")
            return False
        return True
