"""The intake of tasks: each that is taken gets a name and a workspace, and its agent is launched."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypedDict
from uuid import uuid4

import anyio.to_thread

from checkpoints.workspace.repository import project_of
from checkpoints.worktrees import Workspace
from monitors.contract.errors import UsageError
from monitors.contract.tasks import Task
from monitors.contract.words import Severity
from supervisor.core.board import Board
from supervisor.core.discoveries import briefing
from supervisor.core.fold.summary import Summary
from supervisor.protocol import events
from supervisor.protocol.kinds.tasks import TaskClaimed, TasksAdded
from supervisor.runtime.checkpointing.worktrees import Worktrees
from supervisor.runtime.daemon.hooks import HookRunner, VetoError
from supervisor.runtime.daemon.orders import held_by, refuse_drained, refuse_stopped
from supervisor.runtime.daemon.project_work import ProjectWork
from supervisor.runtime.daemon.running.runners import Runners
from supervisor.runtime.daemon.submission import Claim, Defaults, Submission, UnavailableError
from supervisor.runtime.daemon_parts import EndingParts, EventParts, FaultParts, NeighbourParts
from supervisor.runtime.journal.journal import Journal
from supervisor.runtime.log import log
from supervisor.runtime.processes.launcher import ProcessLauncher


class IntakeParts(EndingParts, EventParts, NeighbourParts, FaultParts, Protocol):
    """The parts of the daemon that the intake uses."""


class Intake:
    """Takes tasks.

    Args:
        parts: The daemon.
        board: All agents.
        journal: Receives the tasks that are taken.
        launcher: Knows the folders of agents.
        worktrees: Makes workspaces for agents that do not work in place.
        hooks: The user's scripts, of which one may veto.
        runners: Starts the runner of each agent.
        project_work: Knows which projects are being rolled back.
        defaults: Values for tasks without their own.
    """

    def __init__(
        self,
        parts: IntakeParts,
        board: Board,
        journal: Journal,
        launcher: ProcessLauncher,
        worktrees: Worktrees,
        hooks: HookRunner,
        runners: Runners,
        project_work: ProjectWork,
        defaults: Defaults,
    ) -> None:
        self.defaults = defaults
        self._parts = parts
        self._board = board
        self._journal = journal
        self._launcher = launcher
        self._worktrees = worktrees
        self._hooks = hooks
        self._runners = runners
        self._project_work = project_work
        self._submitting: set[str] = set()
        """Names of agents whose tasks are being taken."""

    async def submit(self, wanted: Submission, by: str, claim: Claim | None = None) -> Summary:
        """Take a task; its agent is launched once the journal has it.

        Args:
            wanted: The task, and how its agent is to work.
            by: The person who asks, or `chaperon`.
            claim: The claim of a stored task that the agent is for; None if it is for none.

        Raises:
            UsageError: The task is impossible: see `Submission.check`; or the name is taken, or no session can be made
                for it.
            CheckpointError, SetUpError: No workspace could be made for it, or set up.
            UnavailableError: The daemon is ending, or the disk is full.
        """
        since = self._journal.last
        self.refuse_tasks_for_now()
        workspace = await wanted.check()
        self.refuse_tasks_for_now()  # the check took its time
        name = wanted.name or self.free_name()
        with self._naming(name):
            return await self._submit(name, wanted, workspace, by, since, claim)

    @contextmanager
    def _naming(self, name: str) -> Iterator[None]:
        """Hold a name for the task that is being taken, so that of several who want it at once one gets it."""
        self._board.refuse_taken(name)
        if name in self._submitting:
            raise UsageError(f"There is an agent {name!r} already; nothing was started.", way_out="Take another name.")
        self._submitting.add(name)
        try:
            yield
        finally:
            self._submitting.discard(name)

    async def _submit(
        self, name: str, wanted: Submission, workspace: str, by: str, since: int, claim: Claim | None
    ) -> Summary:
        self._refuse_shared_session(wanted.resume_session)
        base, named = wanted.base_of_new(self.defaults), workspace
        made: Workspace | None = None
        if base is not None:
            made = await self._worktrees.make(name, workspace, base)
            workspace = made.path
            self.refuse_tasks_for_now()  # where it is refused now, the workspace goes at the next start
        self.defaults.refuse_off_limits(workspace)
        task = wanted.task(claim.task if claim else f"t-{uuid4().hex[:8]}", workspace, self.defaults)
        project = str(await anyio.to_thread.run_sync(project_of, Path(workspace)))
        try:
            await self._hooks.before_start(name, task.id, workspace, project)
        except VetoError:
            if made is not None:
                await self._worktrees.close(workspace)
            raise
        await self._make_room(name)
        self.refuse_tasks_for_now()  # so did these
        refuse_drained(self._board.orders, project, task.labels)
        refuse_stopped(self._board.orders, since, project, task.labels)
        self._project_work.refuse_going_back(project)
        session_id = task.resume_session or str(uuid4())
        own: tuple[events.AnyEvent, ...] = ()
        if wanted.verify:
            spec = wanted.stored(task, name, named, base)
            claim = Claim(task.id, f"r-{uuid4().hex[:8]}")
            own = (
                TasksAdded(**self._parts.stamp(""), request_id=uuid4().hex, tasks=(spec,), by=by),
                TaskClaimed(**self._parts.stamp(""), task=task.id, run_id=claim.run_id, worker=name),
            )
        submitted = events.TaskSubmitted(
            **self._parts.stamp(name),
            task=task,
            workspace=workspace,
            session_id=session_id,
            project=project,
            briefing=self._briefing(task, project, beside_others=made is not None or bool(claim and claim.goes_on_for)),
            **(_made_before(self._board.summary(claim.goes_on_for)) if claim and claim.goes_on_for else _made_of(made)),
            factors=dict(self._board.lessons.factors),
            run_id=claim.run_id if claim else "",
            opening=claim.opening if claim else "",
        )
        self._board.admit(submitted)
        for event in own:
            self._parts.happened(event)
        self._runners.start(name)
        seq = self._parts.happened(submitted)
        if (pause := self._board.orders.pause_of(project, task.labels)) is not None:
            self._parts.happened(held_by(pause, self._parts.stamp(name)))
        log.info("%s submitted %s for agent %s in %s", by, task.id, name, workspace)
        self.tell_of_company(name, workspace)
        await self._journal.written(seq)
        return self._board.summary(name)

    def _briefing(self, task: Task, project: str, *, beside_others: bool) -> str:
        known = self._board.discoveries.bearing_on(project, task.id)
        return briefing(known, task.prompt, self.defaults.discoveries, beside_others=beside_others)

    def tell_of_company(self, name: str, workspace: str) -> None:
        """Warn of agents that work in the same files.

        Changes of one are counted for all, and rollbacks are refused.
        """
        if others := ", ".join(sorted(self._parts.beside(name))):
            what = f"Agent {name} works in {workspace}, and so does {others}: each sees, and may undo, what the other changes."
            way_out = (
                "Start agents with --workspace new to keep them apart; rollbacks wait until one works there alone."
            )
            self._parts.fault(name, "workspace_shared", what, Severity.LOW, way_out)

    async def _make_room(self, name: str) -> None:
        """Set aside the files of an earlier agent of this name that the journal does not know, and report it."""
        try:
            aside = await anyio.to_thread.run_sync(self._launcher.set_aside, name)
        except OSError as error:
            raise UnavailableError(
                f"The folder {self._launcher.directory(name)} of an earlier agent could not be set aside ({error}); "
                "nothing was started.",
                way_out="Move it away by hand, or choose another name.",
            ) from error
        if aside is not None:
            what = f"The folder {self._launcher.directory(name)} was of an agent that the journal knows nothing of."
            way_out = f"It was moved to {aside}, with what that agent printed. Remove it if nobody needs it."
            self._parts.fault(name, "earlier_life", what, Severity.MEDIUM, way_out)

    def refuse_tasks_for_now(self) -> None:
        """Refuse new agents while none can be started; raises UnavailableError."""
        refuse_drained(self._board.orders)
        self.refuse_additions_for_now()

    def refuse_additions_for_now(self) -> None:
        """Refuse what cannot be kept now; raises UnavailableError."""
        if self._parts.ending:
            raise UnavailableError(
                "The daemon is ending and takes no new task.", way_out="Start it again, and then ask."
            )
        if lacks := self._journal.lacks:
            raise UnavailableError(
                f"{lacks} No new task is taken until then; nothing was started.",
                way_out="Make room there, and ask again.",
            )

    def free_name(self) -> str:
        """Return the first name that no agent has or had; a task that could not be taken uses none up."""
        taken = {*self._board.names(), *self._submitting}
        return next(name for number in itertools.count(1) if (name := f"a{number}") not in taken)

    def _refuse_shared_session(self, session_id: str | None) -> None:
        """A session of the CLI has one owner: two at once would spoil its file."""
        for one in self._board.at_work():
            if session_id is not None and one.session_id == session_id:
                raise UsageError(
                    f"Agent {one.agent} is at work in session {session_id}; nothing was started.",
                    way_out=f"Tell it what you want (chaperon say {one.agent}), or stop it first.",
                )

    def usual(self, task: Task) -> Task:
        """Return a task with the usual limits."""
        return replace(task, limits=self.defaults.limits)


class _MadeOf(TypedDict):
    """The fields of a submission that are about a workspace that was made for it."""

    branch: str
    base: str
    target: str


def _made_of(made: Workspace | None) -> _MadeOf:
    if made is None:
        return _MadeOf(branch="", base="", target="")
    return _MadeOf(branch=made.branch, base=made.base, target=made.target)


def _made_before(known: Summary) -> _MadeOf:
    """Return the facts of the workspace that was made for an earlier agent of the task."""
    return _MadeOf(branch=known.branch, base=known.base, target=known.target)
