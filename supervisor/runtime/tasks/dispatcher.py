"""Claims of tasks by agents, and the steps that follow from the agents' lives.

What is due is read off the states of task and agent each time, and not off what happened: so a daemon that was killed
anywhere finds the same due at its next start.
"""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from checkpoints.workspace.repository import project_of
from interventions.recovery.crash_context import context
from monitors.contract.errors import ChaperonError, NotFoundError
from monitors.contract.words import Severity
from supervisor.core.board import Board
from supervisor.core.fold.summary import Summary
from supervisor.core.registers.standing import AUTOPILOT_PAUSE
from supervisor.core.settings import TaskSettings
from supervisor.core.tasks.breaker import all_crash, crashed
from supervisor.core.tasks.queue import NOT_LOOKED_AT, AccountFacts, LocalQueue, MachineFacts, TaskQueue
from supervisor.core.tasks.records import StoredTask
from supervisor.core.tasks.states import take_step
from supervisor.protocol import events
from supervisor.protocol.events import (
    EventStamp,
    MergeChanged,
    TaskClaimed,
    TaskEdited,
    TaskMoved,
    TaskReordered,
    TasksAdded,
)
from supervisor.protocol.tasks import TaskState, TaskStep
from supervisor.protocol.words import AgentState
from supervisor.runtime.daemon.orders import drained
from supervisor.runtime.daemon.submission import Claim, Submission, UnavailableError
from supervisor.runtime.journal.errors import JournalError
from supervisor.runtime.log import log
from supervisor.runtime.tasks.agents import agent_start
from supervisor.runtime.tasks.completion import Completion, FinishedRun, LostClaimError, NextStep, NothingToComplete
from supervisor.runtime.tasks.earlier_attempts import ChangedFiles, last_attempt
from supervisor.runtime.tasks.machine import machine_facts
from supervisor.runtime.waiting import becomes

LOOK_SECONDS = 2.0
"""Time between two looks at the queue while tasks are pending and nothing happens: gates of the machine open by
themselves."""

STILL_SECONDS = 60.0
"""Longest time until completions that were broken off, and agents that are being started, are through."""

AGENT_MB = 256.0
"""Memory that a task which has just been claimed will take, in MiB, before its CLI is seen to have it: an idle one has
205."""

LONGEST_RETRY_SECONDS = 3_600.0
"""The longest time until a task whose attempts failed is claimed again: an hour outlasts most outages."""

MIRRORED = {
    TaskState.ACTIVE: TaskStep.GO_ON,
    TaskState.PAUSED: TaskStep.PAUSE,
    TaskState.WAITING: TaskStep.ASK,
}
"""The step by which a task follows its living agent into a state."""


class Submit(Protocol):
    """Starts an agent for a claim."""

    async def __call__(self, wanted: Submission, by: str, claim: Claim) -> Summary:
        """Submit it; raises as `Daemon.submit`."""
        ...


@dataclass(frozen=True, slots=True)
class TaskTools:
    """The parts of the daemon that work on tasks needs."""

    board: Board
    happened: Callable[[events.AnyEvent], int]
    stamp: Callable[[str], EventStamp]
    submit: Submit
    request: Callable[[events.AgentRequest], Awaitable[object]]
    close_workspace: Callable[[str], Awaitable[None]]
    fault: Callable[[str, str, str, Severity, str], None]
    is_ending: Callable[[], bool]
    changed: ChangedFiles
    folders: tuple[Path, ...] = ()
    """Folders whose disks must have room before a task is claimed."""
    account: Callable[[], AccountFacts] = AccountFacts
    """The account that would pay for the next agent."""


@dataclass
class Dispatcher:
    """Has agents claim tasks, for as long as `run` runs."""

    tools: TaskTools
    settings: TaskSettings = field(default_factory=TaskSettings)
    completion: Completion = field(default_factory=NothingToComplete)
    claims: bool = True
    """Whether tasks are claimed at all; what was claimed before is followed to its end either way."""

    def __post_init__(self) -> None:
        """Make the queue."""
        self._store = self.tools.board.tasks
        held_back = self._drained, self.tools.board.merges.awaited, self._drained_of, self.tools.account
        self.queue: TaskQueue = LocalQueue(self._store, lambda: self.settings, *held_back)
        self._projects: dict[str, str] = {}
        """The repository of each worktree of pending tasks, looked up while a drain is of one."""
        self.facts = NOT_LOOKED_AT
        """The facts of the machine when they were last looked at, which they are while a task is pending."""
        self._wake = anyio.Event()
        self._busy: set[str] = set()
        """Tasks for which something is under way here: an agent's start, or the completion of its work."""
        self._scopes: dict[str, anyio.CancelScope] = {}
        """The scopes that break completions off."""
        self._told_to_stop: set[str] = set()
        """Agents that were ended because their run had lost its claim."""

    def facts_now(self) -> MachineFacts:
        """The facts of the machine as they were seen last, and the time as it is."""
        return replace(self.facts, now=self.tools.stamp("")["at"])

    def saw(self, event: events.AnyEvent) -> None:
        """Look again soon if the event may change what is due."""
        if isinstance(event, _TELLING):
            self._wake.set()

    async def run(self) -> None:
        """Follow the tasks that are claimed, and have others claimed, until it is cancelled."""
        async with anyio.create_task_group() as under_way:
            while True:
                self._wake = anyio.Event()
                await self._let_go()
                for task in self._store.held():
                    if task.id not in self._busy and not self._goes_back(task):
                        self._follow(task, under_way)
                await self._claim(under_way)
                with anyio.move_on_after(inf if self.queue.is_empty() else LOOK_SECONDS):
                    await self._wake.wait()

    async def stand_still(self, repositories: Collection[str]) -> None:
        """Break off completions of a project that goes back, and wait for agents of it that are being started."""

        def mine() -> list[str]:
            return [id_ for id_ in self._busy if self._store.get(id_).spec.repository in repositories]

        for id_ in mine():
            if id_ in self._scopes:
                self._scopes[id_].cancel()
        if not await becomes(lambda: not mine(), STILL_SECONDS):
            raise ChaperonError(f"Work on {', '.join(mine())} did not stand still within {STILL_SECONDS:g} s.")

    def _goes_back(self, task: StoredTask) -> bool:
        """Whether the project of a task goes back, so that nothing follows from its agent meanwhile."""
        return bool(self.tools.board.projects.holds(task.spec.repository))

    def _drained(self) -> str:
        orders = self.tools.board.orders
        if (pause := orders.pauses.get("")) is not None and pause.id.startswith(AUTOPILOT_PAUSE):
            return f"{pause.reason}; to go on: chaperon resume --all"
        return drained(orders.drain) if orders.drain is not None else ""

    def _drained_of(self, task: StoredTask) -> str:
        """Say why a task is not taken, by an order for some or since its project goes back; empty if it may be."""
        if why := self.tools.board.projects.holds(task.spec.repository):
            return why
        project = self._projects.get(task.spec.repository, task.spec.repository)
        order = self.tools.board.orders.drain_of(project, task.spec.labels)
        return drained(order) if order is not None else ""

    async def _know_projects(self) -> None:
        """Look up of which repositories the worktrees of pending tasks are, if there is a drain of one."""
        if not any(drain.project for drain in self.tools.board.orders.drains.values()):
            return
        for place in {task.spec.repository for task in self._store.pending()} - self._projects.keys():
            self._projects[place] = str(await anyio.to_thread.run_sync(project_of, Path(place)))

    # ── claims ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _claim(self, under_way: TaskGroup) -> None:
        if self.queue.is_empty():
            self.facts = NOT_LOOKED_AT
            return
        await self._know_projects()
        now = self.tools.stamp("")["at"]
        self.facts = await anyio.to_thread.run_sync(machine_facts, self.tools.folders, now)
        while self.claims and not self.tools.is_ending() and (task := self.queue.next(self.facts)) is not None:
            self.facts = replace(self.facts, free_memory_mb=self.facts.free_memory_mb - AGENT_MB)
            self._begin(task, under_way)

    def _begin(self, task: StoredTask, under_way: TaskGroup, rework: str = "") -> None:
        """Give the task to an agent of a new name."""
        before = self._agent_before(task)
        run_id = f"r-{uuid4().hex[:8]}"
        prefix = task.spec.name_prefix or self.settings.name_prefix
        worker = self._store.next_name(prefix, lambda name: self._agent(name) is not None)
        stamp = self.tools.stamp("")
        self.tools.happened(TaskClaimed(**stamp, task=task.id, run_id=run_id, worker=worker, rework=rework))
        self._busy.add(task.id)
        under_way.start_soon(self._start, task.id, run_id, before, rework, name=f"start for {task.id}")

    async def _start(self, id_: str, run_id: str, before: Summary | None, rework: str) -> None:
        try:
            if before is not None and (before.stored_task != id_ or self._is_worked_in(before.workspace)):
                before = None  # another task has the workspace, or had it last
            task, told = self._store.get(id_), ""
            if before is not None and not rework:
                told = context(task.spec.prompt, await last_attempt(task, before, self.tools.changed))
            start = await anyio.to_thread.run_sync(agent_start, task, before, rework, told)
            await self.tools.submit(start.wanted, "chaperon", start.claim)
        except JournalError:
            raise
        except UnavailableError as error:
            self._move(id_, run_id, TaskStep.GIVE_BACK, str(error))
        except ChaperonError as error:
            self._move(id_, run_id, TaskStep.FAIL, f"no agent could be started: {error}")
        except Exception as error:  # noqa: BLE001 - whatever it is, the other tasks must not suffer it
            log.exception("the start of an agent for %s failed", id_)
            self._move(id_, run_id, TaskStep.PARK, f"no agent could be started: {error!r}")
        finally:
            self._busy.discard(id_)
            self._wake.set()

    def _agent_before(self, task: StoredTask) -> Summary | None:
        """Return the last agent that worked on it."""
        for run in reversed(task.runs):
            if (found := self._agent(run.agent)) is not None:
                return found
        return None

    def _is_worked_in(self, workspace: str) -> bool:
        return any(one.workspace == workspace for one in self.tools.board.at_work())

    def _agent(self, name: str) -> Summary | None:
        try:
            return self.tools.board.summary(name)
        except NotFoundError:
            return None

    # ── what follows from an agent's life ─────────────────────────────────────────────────────────────────────────

    def _follow(self, task: StoredTask, under_way: TaskGroup) -> None:
        """Have a task that a run has take the step that is due."""
        run = task.run
        assert run is not None
        agent = self._agent(run.agent)
        if agent is None:
            self._give_back(task.id, run.run_id, "its agent was never started: the daemon ended before", tried=False)
        elif agent.run_id != run.run_id:
            self._give_back(task.id, run.run_id, f"agent {run.agent} was never told of it", tried=False)
        elif task.state in (TaskState.VERIFYING, TaskState.MERGING) or agent.state is AgentState.DONE:
            self._busy.add(task.id)
            under_way.start_soon(self._complete, task, agent, under_way, name=f"completion of {task.id}")
        elif not agent.state.ended:
            self._mirror(task, run.run_id, agent)
        elif agent.state is AgentState.STOPPED:
            self._stopped(task, run.run_id, agent)
        else:
            self._failed(task, run.run_id, agent)

    def _mirror(self, task: StoredTask, run_id: str, agent: Summary) -> None:
        """Have the task follow its living agent: held by a person, waiting for one, or at work."""
        paused = agent.state is AgentState.PAUSED
        state = TaskState.PAUSED if paused else TaskState.WAITING if agent.waiting else TaskState.ACTIVE
        if state is not task.state:
            waits = f"{agent.waiting[0].tool} waits: {agent.waiting[0].why}" if agent.waiting else "it goes on"
            self._move(task.id, run_id, MIRRORED[state], agent.why if paused else waits)

    def _stopped(self, task: StoredTask, run_id: str, agent: Summary) -> None:
        why = f"agent {agent.agent} was {agent.why}" if agent.stopped_by else f"agent {agent.agent}: {agent.why}"
        if agent.stopped_by and agent.stopped_by != "chaperon":
            self._give_back(task.id, run_id, why, tried=False, seconds=self.settings.stopped_seconds)
        else:
            self._move(task.id, run_id, TaskStep.PARK, why)

    def _failed(self, task: StoredTask, run_id: str, agent: Summary) -> None:
        why = f"agent {agent.agent} is {agent.state}: {agent.why}"
        retries = self.settings.retries if task.spec.retries is None else task.spec.retries
        if task.tries >= retries and task.tries and self._always_crashed(task):
            why = f"each of its {task.tries + 1} attempts crashed: chaperon task retry {task.id} begins anew; {why}"
            self._move(task.id, run_id, TaskStep.PARK, why, tried=True)
        elif task.tries >= retries:
            attempts = f"{task.tries + 1} attempts failed" if task.tries else "the attempt failed"
            self._move(task.id, run_id, TaskStep.FAIL, f"{attempts}; {why}", tried=True)
        else:
            seconds = min(self.settings.retry_seconds * 2**task.tries, LONGEST_RETRY_SECONDS)
            self._give_back(task.id, run_id, why, tried=True, seconds=seconds)
        self._break()

    def _always_crashed(self, task: StoredTask) -> bool:
        agents = (self._agent(run.agent) for run in task.runs[-task.tries - 1 :])
        return all(one is not None and crashed(one) for one in agents)

    def _break(self) -> None:
        """Begin no other task if agents crash whatever their task; a person has them taken again."""
        board = self.tools.board
        if board.orders.drain is not None or not (why := all_crash(board.summaries(), self.tools.stamp("")["at"])):
            return
        self.tools.happened(events.DrainChanged(**self.tools.stamp(""), on=True, by="chaperon", reason=why))
        what = f"No other task is begun: {why}. Tasks keep their places, and agents that run go on."
        way_out = "See what its CLI said (chaperon show), and chaperon doctor; then: chaperon drain --off."
        self.tools.fault("", "all_agents_crash", what, Severity.HIGH, way_out)

    async def _complete(self, task: StoredTask, agent: Summary, under_way: TaskGroup) -> None:
        """Bring the work of an agent that is done to its end."""
        self._scopes[task.id] = anyio.CancelScope()
        with self._scopes[task.id] as scope:
            await self._bring_to_its_end(task, agent, under_way)
        del self._scopes[task.id]
        if scope.cancelled_caught:
            self._busy.discard(task.id)

    async def _bring_to_its_end(self, task: StoredTask, agent: Summary, under_way: TaskGroup) -> None:
        run_id = task.runs[-1].run_id
        where = agent.workspace, agent.branch, agent.session_id
        try:
            try:
                finished = FinishedRun(task, run_id, agent.agent, *where)
                due = await self.completion.complete(
                    finished, lambda step, why: self._moved_on(task.id, run_id, step, why)
                )
            except (JournalError, LostClaimError):
                raise
            except ChaperonError as error:
                due = NextStep(TaskStep.PARK, str(error))
            except Exception as error:  # noqa: BLE001 - whatever it is, the other tasks must not suffer it
                log.exception("the completion of %s failed", task.id)
                what = f"Chaperon failed at the completion of task {task.id}: {error!r}. The task was parked, with all of its work."
                self.tools.fault(agent.agent, "completion_failed", what, Severity.HIGH, "Please report this.")
                due = NextStep(TaskStep.PARK, f"chaperon failed: {error!r}")
            if due.step is TaskStep.REWORK and self.queue.holds(task.id, run_id):
                self._begin(self._store.get(task.id), under_way, due.why)
                return
            self._move(task.id, run_id, due.step, due.why, tried=due.tried)
            self._busy.discard(task.id)
            if self._store.get(task.id).state is TaskState.DONE:
                await self.tools.close_workspace(agent.agent)
        except LostClaimError as lost:
            log.info("%s", lost)
            self._busy.discard(task.id)
        finally:
            self._wake.set()

    async def _let_go(self) -> None:
        """End the agents whose runs have lost their claims: what they do from here on counts no more."""
        for agent in self.tools.board.at_work():
            lost = agent.run_id and not self.queue.holds(agent.stored_task, agent.run_id)
            if not lost or agent.agent in self._told_to_stop or agent.state is AgentState.STOPPING:
                continue
            self._told_to_stop.add(agent.agent)
            reason = f"run {agent.run_id} has lost its claim of task {agent.stored_task}"
            stamp = self.tools.stamp(agent.agent)
            try:
                await self.tools.request(events.StopRequested(**stamp, by="chaperon", reason=reason, force=True))
            except JournalError:
                raise
            except ChaperonError as error:
                log.warning("agent %s could not be ended: %s", agent.agent, error)

    # ── steps ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _give_back(self, id_: str, run_id: str, why: str, *, tried: bool, seconds: float = 0.0) -> None:
        now, step = self.tools.stamp("")["at"], self._store.get(id_).spec.step_back
        self._move(id_, run_id, step, why, tried=tried, not_before=now + seconds if seconds else 0.0)

    def _move(
        self, id_: str, run_id: str, step: TaskStep, why: str, *, tried: bool = False, not_before: float = 0.0
    ) -> None:
        """Have the task take a step, if the run still has it."""
        if not self.queue.holds(id_, run_id):
            log.info("run %s has lost its claim of %s, so that the task could not %s", run_id, id_, step)
            return
        before = self._store.get(id_).state
        self.tools.happened(
            TaskMoved(
                **self.tools.stamp(""),
                task=id_,
                before=before,
                after=take_step(id_, before, step),
                step=step,
                why=why,
                by="chaperon",
                run_id=run_id,
                tried=tried,
                not_before=not_before,
            )
        )

    def _moved_on(self, id_: str, run_id: str, step: TaskStep, why: str) -> StoredTask:
        """Have the task take a step of a completion.

        Raises:
            LostClaimError: The run has lost its claim.
        """
        if not self.queue.holds(id_, run_id):
            raise LostClaimError(id_, run_id)
        self._move(id_, run_id, step, why)
        return self._store.get(id_)


_TELLING = (
    events.StateChanged,
    MergeChanged,
    events.ApprovalAsked,
    events.ApprovalGiven,
    events.DrainChanged,
    TasksAdded,
    TaskEdited,
    TaskReordered,
    TaskMoved,
    events.ProjectRollbackChanged,
)
"""Events after which something may be due."""
