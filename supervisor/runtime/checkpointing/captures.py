"""Captures and restores for sessions: performed beside the agents' work, each with its outcome as an event."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from uuid import uuid4

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from checkpoints.model import Reason
from monitors.contract.actions import Review
from monitors.contract.errors import ChaperonError, UsageError
from monitors.contract.words import Severity
from monitors.review.prediction import in_changes
from monitors.review.verdict.grounds import Shaken, shaken
from supervisor.protocol import events
from supervisor.protocol.commands import Capture, LookAtChanges, LookAtGrounds, RestoreCheckpoint
from supervisor.protocol.events import EventStamp
from supervisor.runtime.checkpointing.capture_turns import CaptureTurns
from supervisor.runtime.checkpointing.manager import CheckpointManager, NeedlessError, Restored
from supervisor.runtime.clock import Clock
from supervisor.runtime.filesystem import FileFacts
from supervisor.runtime.log import log

CAPTURES = 32
"""Captures at once: four for each thread. One has its turn for some rounds of the loop, and a thread for a moment."""


TURNS_ENDS = 2
"""Captures of ends of turns at once, for which no call waits. Each is a thread that takes Python's lock from the loop.

If a thousand agents end, 60 a second, a decision takes 231 ms at the 99th percentile with as many as there are threads.
"""


class Checkpointing:
    """Performs captures and restores.

    Neither holds up an agent's other commands: a stop goes through while a disk hangs.

    Args:
        manager: Does the work.
        clock: Gives the time of events.
        tasks: Where the work lives.
        happened: Receives each outcome.
        fault: Notes an incident: the agent, the incident's type, a sentence, how severe, and the way out.
        beside: The other live agents that work in an agent's workspace: their files must not be set back under them.
        is_waited_for: Whether a call of an agent waits for an answer; its captures come first.
    """

    def __init__(
        self,
        manager: CheckpointManager,
        clock: Clock,
        tasks: TaskGroup,
        happened: Callable[[events.AnyEvent], object],
        fault: Callable[[str, str, str, Severity, str], object],
        beside: Callable[[str], set[str]],
        is_waited_for: Callable[[str], bool],
    ) -> None:
        self._manager = manager
        self._clock = clock
        self._tasks = tasks
        self._happened = happened
        self._fault = fault
        self._beside = beside
        self._turns = CaptureTurns(CAPTURES, is_waited_for)
        self._turns_ends = anyio.CapacityLimiter(TURNS_ENDS)
        self.together: Callable[[str, RestoreCheckpoint, str], object] = lambda *_: None
        """Receives what is to be restored with all other agents of a project: agent, command, and the rollback's id."""
        self._told_of: set[str] = set()
        self._unwatched: set[str] = set()
        """Workspaces of which it was reported that they cannot be watched."""
        self._restoring: set[str] = set()

    def capture(self, agent: str, wanted: Capture) -> None:
        """Have a checkpoint made; `CheckpointMade` or `CaptureFailed` follows."""
        if wanted.reason == Reason.TURN:
            self._manager.awaits_end(agent, wanted.key)
        self._tasks.start_soon(self.make, agent, wanted, name=f"capture {wanted.key} of {agent}")

    def restore(self, agent: str, wanted: RestoreCheckpoint) -> None:
        """Have a checkpoint's files restored; `CheckpointRestored` or `RestoreFailed` follows.

        It follows once, even if the command is repeated meanwhile.
        """
        how = wanted.how
        if isinstance(how, events.RollbackRequested) and how.together:
            self.together(agent, wanted, how.together)
        elif wanted.intervention not in self._restoring:
            self._restoring.add(wanted.intervention)
            self._tasks.start_soon(self._restore, agent, wanted, name=f"restore {wanted.checkpoint} of {agent}")

    def look(self, agent: str, wanted: LookAtChanges) -> None:
        """Look for changes: at once before a call; in the background, with a report, after one."""
        if wanted.review is None:
            self._manager.pass_over_changes(wanted.workspace)
        else:
            self._tasks.start_soon(self._compare, agent, wanted, wanted.review, name=f"look at changes of {agent}")

    def look_again(self, agent: str, wanted: LookAtGrounds) -> None:
        """Look whether what a review rests on still holds, beside all else."""
        self._tasks.start_soon(self._look_again, agent, wanted, name=f"look at the grounds of {agent}")

    async def _look_again(self, agent: str, wanted: LookAtGrounds) -> None:
        def look() -> Shaken:
            return shaken(wanted.review, wanted.given, FileFacts(), succeeded=wanted.succeeded)

        found = await anyio.to_thread.run_sync(look)
        if found:
            stamp, call = self._clock.stamp(agent), wanted.tool_use_id
            self._happened(
                events.GroundsShaken(**stamp, tool_use_id=call, scripts=found.scripts, elsewhere=found.elsewhere)
            )

    async def _compare(self, agent: str, wanted: LookAtChanges, review: Review) -> None:
        """Report changes that the review did not predict; none if another agent works in that workspace."""
        changed = await self._manager.changed(wanted.workspace)
        if in_changes(review, changed) and not self._beside(agent):
            stamp = self._clock.stamp(agent)
            self._happened(events.ChangesSeen(**stamp, tool_use_id=wanted.tool_use_id, paths=tuple(changed)))

    async def make(self, agent: str, wanted: Capture) -> None:
        """Make a checkpoint; returns once the outcome is reported."""
        try:
            await self._make(agent, wanted)
        finally:
            if wanted.reason == Reason.TURN:
                self._manager.has_end(agent, wanted.key)

    async def _make(self, agent: str, wanted: Capture) -> None:
        started, key, reason = self._clock.mono(), wanted.key, str(wanted.reason)
        try:
            calm = self._turns_ends if wanted.reason == Reason.TURN else nullcontext()
            async with calm, self._turns.of(agent):
                made = await self._manager.capture(agent, wanted)
        except Exception as error:  # noqa: BLE001 - whatever failed, an action may wait for the answer
            if not isinstance(error, ChaperonError):
                log.exception("the capture %s of %s failed", wanted.key, agent)
            if not isinstance(error, UsageError):  # a name that is taken is told to whoever chose it
                self._not_captured(agent, wanted, error)
            stamp = self._clock.stamp(agent)
            self._happened(events.CaptureFailed(**stamp, key=key, reason=reason, error=str(error)))
            return
        self._told_of.discard(wanted.workspace)
        self._look_whether_watched(agent, wanted.workspace)
        self._happened(
            events.CheckpointMade(
                **self._clock.stamp(agent),
                key=key,
                reason=reason,
                name=made.name,
                tree=made.tree,
                number=made.number,
                moment=wanted.moment,
                micros=round((self._clock.mono() - started) * 1e6),
            )
        )

    def _not_captured(self, agent: str, wanted: Capture, error: Exception) -> None:
        """Tell a person once that a workspace cannot be captured, until it can be again."""
        if wanted.workspace not in self._told_of:
            self._told_of.add(wanted.workspace)
            what = f"The workspace {wanted.workspace} of agent {agent} could not be captured: {error}"
            way_out = "Actions that could not be undone are blocked meanwhile."
            self._fault(agent, "capture_failed", what, Severity.HIGH, way_out)

    def _look_whether_watched(self, agent: str, workspace: str) -> None:
        """Report that captures are slow, and why.

        It is reported once for all such workspaces, since they have one cause.
        """
        problem = self._manager.unwatched(workspace)
        if not problem or workspace in self._unwatched:
            return
        self._unwatched.add(workspace)
        what = f"Changes in the workspace {workspace} of agent {agent} cannot be watched. {problem}"
        if len(self._unwatched) > 1:
            log.warning("%s", what)
            return
        way_out = "Start chaperon again once that is mended. If other workspaces follow, the log names them."
        self._fault(agent, "workspace_unwatched", what, Severity.MEDIUM, way_out)

    async def _restore(self, agent: str, wanted: RestoreCheckpoint) -> None:
        id_, name = wanted.intervention, wanted.checkpoint
        try:
            self._refuse_company(agent)
            done = await self._manager.roll_back(agent, wanted)
        except Exception as error:  # noqa: BLE001 - whatever failed, the agent stands still until it is told
            if not isinstance(error, ChaperonError):
                log.exception("the restore of %s for %s failed", wanted.checkpoint, agent)
            needless, why = isinstance(error, NeedlessError), str(error)
            stamp = self._clock.stamp(agent)
            self._happened(
                events.RestoreFailed(**stamp, intervention=id_, checkpoint=name, error=why, needless=needless)
            )
        else:
            self._happened(_restored(self._clock.stamp(agent), wanted, done))
        finally:
            self._restoring.discard(wanted.intervention)

    def _refuse_company(self, agent: str) -> None:
        if others := self._beside(agent):
            raise ChaperonError(f"{', '.join(sorted(others))} works in the same workspace; no file was changed.")


def _restored(stamp: EventStamp, wanted: RestoreCheckpoint, done: Restored) -> events.CheckpointRestored:
    """Return the result of a restore, and the session in which the conversation continues."""
    restored = events.CheckpointRestored(
        **stamp,
        intervention=wanted.intervention,
        checkpoint=wanted.checkpoint,
        undo=done.undo,
        restored=done.restored,
        kept=done.kept,
        commits_kept_as=done.commits_kept_as,
        session_id="" if wanted.how.files_only else str(uuid4()),
        files_only=wanted.how.files_only,
    )
    position = done.target.facts.position
    if wanted.how.files_only or wanted.how.fresh or done.target.facts.agent != stamp["agent"]:
        return restored
    return replace(restored, resume_session=position.session_id, resume_at=position.message_uuid)
