"""Another task for an agent that is at work, in place of the one that it has."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Annotated
from uuid import uuid4

import anyio.to_thread
from pydantic import Field

from checkpoints.workspace.repository import project_of
from host.apart import ApartError, run_apart
from monitors.contract.errors import UsageError
from supervisor.core.board import Board
from supervisor.core.decisions.validation import refuse_illegal
from supervisor.core.fold.summary import Summary
from supervisor.core.tasks.records import StoredTask
from supervisor.core.tasks.states import IllegalTaskStepError, take_step
from supervisor.protocol import events
from supervisor.protocol.events import EventStamp, TaskClaimed, TaskMoved, TaskReordered
from supervisor.protocol.tasks import TaskState, TaskStep
from supervisor.protocol.words import AgentState
from supervisor.runtime.daemon.submission import Claim, Submission, SubmissionRequest
from supervisor.runtime.merging.loose_work import commit_unfinished
from supervisor.runtime.tasks.dispatcher import Submit


class RedirectBody(SubmissionRequest):
    """Another task for an agent: in words, or one of the store."""

    text: str = ""
    """The prompt of the new task."""
    task: str | None = None
    """A pending task of the store, instead."""
    goals: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    expected_paths: tuple[str, ...] = ()
    new_workspace: bool = False
    """Whether the new task is done by a new agent in a workspace of its own; the agent ends, and its work is kept."""
    wip_commit: bool = False
    """Whether unfinished work is committed on the agent's own branch before."""
    request_id: Annotated[str, Field(max_length=200)] = ""
    """Names the request, which is taken once however often it is sent."""


@dataclass
class Redirecting:
    """Gives agents other tasks."""

    board: Board
    happened: Callable[[events.AnyEvent], int]
    stamp: Callable[[str], EventStamp]
    request: Callable[[events.AgentRequest], Awaitable[Summary]]
    submit: Submit

    async def redirect(self, agent: str, wanted: RedirectBody, by: str) -> Summary:
        """Give an agent another task, or its place to another agent. A stored task that it had goes back to the queue.

        Raises:
            NotFoundError: There is no such agent, or no such task.
            IllegalStepError: The agent's state does not allow it.
            IllegalTaskStepError: The stored task is not pending.
            UsageError: There is no task in the request, the stored one cannot be done there, or there is no branch
                for unfinished work. Nothing was changed.
            ChaperonError: No agent could be started in a new workspace: see `Daemon.submit`. Nothing was changed.
        """
        known = self.board.summary(agent)
        if wanted.new_workspace:
            return await self._elsewhere(known, wanted, by)
        if wanted.request_id and any(past.request_id == wanted.request_id for past in known.past_tasks):
            return known
        self._refuse(agent)
        stored = await self._stored(known, wanted)
        prompt = stored.spec.prompt if stored else wanted.text
        Submission(prompt=prompt, repository=known.workspace).check_words()
        if wanted.wip_commit:
            await anyio.to_thread.run_sync(_commit_apart, known.workspace, known.branch, known.task.prompt)
        self._refuse(agent)  # that took its time
        if stored is not None:
            self._refuse_unready(stored.id)
        of = stored.spec if stored else wanted
        task = replace(
            known.task,
            id=stored.id if stored else f"t-{uuid4().hex[:8]}",
            prompt=prompt,
            goals=of.goals,
            constraints=of.constraints,
            expected_paths=of.expected_paths,
            labels=stored.spec.labels if stored else known.task.labels,
        )
        self._give_back(agent, by)
        run_id = self._claim(agent, stored) if stored else ""
        id_ = wanted.request_id or uuid4().hex[:12]
        return await self.request(
            events.RedirectRequested(**self.stamp(agent), id=id_, text=prompt, by=by, task=task, run_id=run_id)
        )

    async def _elsewhere(self, known: Summary, wanted: RedirectBody, by: str) -> Summary:
        """Have the task done in a workspace of its own, and end the agent; returns the agent that follows it.

        A workspace is an agent's for life: its session, its sandbox and its checkpoints are of it. The new agent is
        there before the old one is asked to end, so that a crash between the two loses nothing.
        """
        request = wanted.request_id or uuid4().hex[:12]
        id_ = f"t-{sha256(f'{known.agent} {request}'.encode()).hexdigest()[:8]}"
        follower = next((one for one in self.board.summaries() if one.task.id == id_), None)
        if follower is None and self.board.orders.carried_out(request, known.agent):
            return known  # its place was for a task of the store
        if follower is None:
            follower = await self._follower(known, wanted, by, id_)
        known = self.board.summary(known.agent)
        if not known.state.ended and known.state is not AgentState.STOPPING:
            why = f"its place is for {f'agent {follower.agent}' if follower else f'task {wanted.task}'}"
            stop = events.StopRequested(**self.stamp(known.agent), by=by, reason=why, request_id=request)
            known = await self.request(stop)
        return follower or known

    async def _follower(self, known: Summary, wanted: RedirectBody, by: str, id_: str) -> Summary | None:
        """Start the agent that follows; None if a task of the store is wanted, which the queue gives to one."""
        self._refuse(known.agent)
        if known.origin:
            raise UsageError(
                f"Agent {known.agent} was started by a person, who alone can move it; nothing was changed.",
                way_out="Leave --new-workspace out, or start another with chaperon run --workspace new.",
            )
        stored = await self._stored(known, wanted)
        if stored is None:
            Submission(prompt=wanted.text, repository=known.workspace).check_words()
        if wanted.wip_commit:
            await anyio.to_thread.run_sync(_commit_apart, known.workspace, known.branch, known.task.prompt)
            self._refuse(known.agent)  # that took its time
        if stored is None:
            return await self.submit(_following(known, wanted), by, Claim(id_, ""))
        self._refuse_unready(stored.id)
        own = self.board.tasks.of_agent(known.agent)  # it comes back to its old place
        ahead = [*self.board.tasks.pending(), *([own] if own else [])]
        first = min(ahead, key=lambda task: (-task.spec.priority, task.rank, task.number))
        if first.id != stored.id:
            self.happened(TaskReordered(**self.stamp(""), task=stored.id, before=first.id, by=by))
        return None

    def _refuse(self, agent: str) -> None:
        """Refuse what the agent's state does not allow."""
        self.board.refuse_unmade(agent)
        asked = events.RedirectRequested(**self.stamp(agent), id="", text="", by="")
        refuse_illegal(agent, self.board.summary(agent).state, asked)

    async def _stored(self, known: Summary, wanted: RedirectBody) -> StoredTask | None:
        """Return the stored task that is wanted, if one is."""
        if wanted.task is None:
            return None
        if wanted.text or wanted.goals or wanted.constraints or wanted.expected_paths:
            raise UsageError(
                "A task of the store has its own words; nothing was changed.", way_out="Give the task, or words."
            )
        task = self._refuse_unready(wanted.task)
        project = str(await anyio.to_thread.run_sync(project_of, Path(task.spec.repository)))
        if known.project and project != known.project:
            raise UsageError(
                f"Task {task.id} is to be done in {project}, and agent {known.agent} works on {known.project}; "
                "nothing was changed.",
                way_out="Leave it to the queue, which gives it an agent there.",
            )
        return task

    def _refuse_unready(self, id_: str) -> StoredTask:
        task = self.board.tasks.get(id_)
        if task.state is not TaskState.PENDING:
            raise IllegalTaskStepError(id_, task.state, TaskStep.CLAIM)
        if waits := ", ".join(f"{one.id} ({one.state})" for one in self.board.tasks.unmet(task)):
            raise UsageError(
                f"Task {id_} waits for {waits}; nothing was changed.",
                way_out=f"See what holds it back, and what helps: chaperon task show {id_}",
            )
        return task

    def _give_back(self, agent: str, by: str) -> None:
        """Have the stored task that the agent has go back to the queue."""
        run, task = self.board.tasks.holder(agent), self.board.tasks.of_agent(agent)
        if run is None or task is None:
            return
        self.happened(
            TaskMoved(
                **self.stamp(""),
                task=task.id,
                before=task.state,
                after=take_step(task.id, task.state, task.spec.step_back),
                step=task.spec.step_back,
                why=f"{by} gave agent {agent} another task",
                by=by,
                run_id=run.run_id,
            )
        )

    def _claim(self, agent: str, task: StoredTask) -> str:
        run_id = f"r-{uuid4().hex[:8]}"
        self.happened(TaskClaimed(**self.stamp(""), task=task.id, run_id=run_id, worker=agent))
        return run_id


def _following(known: Summary, wanted: RedirectBody) -> Submission:
    """Return the submission of another task, to be done like the one before in a workspace of its own."""
    task = known.task
    return Submission.model_validate(
        {
            "prompt": wanted.text,
            "repository": known.project or known.workspace,
            "workspace": "new",
            "goals": wanted.goals,
            "constraints": wanted.constraints,
            "expected_paths": wanted.expected_paths,
            "limits": task.limits,
            "model": task.model,
            "permission_mode": task.permission_mode,
            "monitoring_level": task.monitoring_level,
            "keep_open": task.keep_open,
            "approval": task.approval,
            "labels": task.labels,
        }
    )


def _commit_apart(workspace: str, branch: str, prompt: str) -> str:
    try:
        return run_apart(commit_unfinished, workspace, branch, prompt)
    except ApartError as error:
        raise UsageError(
            f"The unfinished work in {workspace} was not committed: {error}.",
            way_out="Look for files without end in it, and ask again; or leave --wip-commit out.",
        ) from error
