"""Requests of people about checkpoints: make one, preview a rollback, go back.

A live agent's session decides, as with every request; an ended one has no session, so its files are dealt with here.
"""

import re
from dataclasses import asdict, dataclass, replace
from typing import Protocol
from uuid import uuid4

from checkpoints.model import Checkpoint, Difference, Reason, RestorePlan
from monitors.contract.errors import ChaperonError, UsageError
from supervisor.protocol import events
from supervisor.protocol.commands import Capture, RestoreCheckpoint
from supervisor.protocol.moments import RunMoment
from supervisor.protocol.rollbacks import RollbackRequest
from supervisor.runtime.checkpointing.captures import Checkpointing
from supervisor.runtime.daemon.outcomes import Either, ExpectedOutcome, Outcomes
from supervisor.runtime.daemon_parts import RequestParts, WorktreeParts

WORKSPACE_CHARACTERS = 50
"""Of a checkpoint's name, those that the name of its workspace keeps: a number may follow, and 60 are allowed."""

OUTCOME_SECONDS = 600.0
"""How long an outcome is waited for: restoring thousands of files takes seconds, and the agent's queue may be busy."""


class RollbackParts(WorktreeParts, RequestParts, Protocol):
    """The parts of the daemon that requests about checkpoints need."""

    outcomes: Outcomes
    """Outcomes of requests, as they come."""
    checkpointing: Checkpointing
    """Captures and restores of agents that have ended."""


class NotDoneError(ChaperonError):
    """A checkpoint was not made, or nothing was gone back to; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Preview:
    """The plan of a rollback, and its agent."""

    agent: str
    live: bool
    """Whether its conversation can go back as well."""
    plan: RestorePlan


async def make(parts: RollbackParts, agent: str, name: str, note: str, by: str) -> events.CheckpointMade:
    """Make a checkpoint of an agent's workspace under a name; it is durable when this returns.

    Raises:
        NotFoundError: There is no such agent.
        UsageError: The name is taken, another is taking it, or it cannot be one.
        NotDoneError: The workspace could not be captured.
    """
    async with parts.checkpoint_manager.naming(parts.board.summary(agent).workspace, name):
        return await _make(parts, agent, name, note, by)


async def _make(parts: RollbackParts, agent: str, name: str, note: str, by: str) -> events.CheckpointMade:
    summary = parts.board.summary(agent)
    id_ = uuid4().hex[:12]
    key, asked = f"person:{id_}", events.CheckpointRequested(**parts.stamp(agent), id=id_, name=name, by=by, note=note)
    with parts.outcomes.expect(key, events.CheckpointMade, events.CaptureFailed) as outcome:
        if summary.state.ended:
            moment = RunMoment(parts.happened(asked), summary.session_id, state=summary.state)
            wanted = Capture(key, Reason.PERSON, moment, summary.task, summary.workspace, name, note)
            parts.checkpointing.capture(agent, wanted)
        else:
            await parts.request(asked)
        made = await _come(parts, outcome)
    if isinstance(made, events.CaptureFailed):
        raise NotDoneError(f"No checkpoint was made: {made.error}")
    return made


async def preview(parts: RollbackParts, name: str, agent: str, *, with_branch: bool = False) -> Preview:
    """Say what going back would do, or why it would be refused.

    Raises:
        NotFoundError: There is no such checkpoint.
        UsageError: Several agents work in its workspace, or another than the one named; or several projects have one of
            this name.
    """
    target = await parts.checkpoint_manager.stores.find(name, agent)
    living = _living(parts, target.workspace)
    who = agent or _whose(target, living)
    _refuse_company(who, target.workspace, living)
    return Preview(
        who, who in living, await parts.checkpoint_manager.preview(target.workspace, name, with_branch=with_branch)
    )


async def roll_back(parts: RollbackParts, agent: str, how: RollbackRequest, by: str) -> events.CheckpointRestored:
    """Go back; done when this returns.

    Raises:
        NotFoundError: There is no such agent or checkpoint.
        IllegalStepError: The agent is being stopped, or goes back already.
        UsageError: Another agent works in the same workspace.
        NotDoneError: It was not done; the sentence says why, and how the workspace was left.
    """
    summary = parts.board.summary(agent)
    (await parts.checkpoint_manager.place(summary.workspace)).store.find(how.checkpoint)
    _refuse_company(agent, summary.workspace, _living(parts, summary.workspace))
    asked = events.RollbackRequested(
        **parts.stamp(agent), id=uuid4().hex[:12], checkpoint=how.checkpoint, by=by, **asdict(how.options())
    )
    with parts.outcomes.expect(asked.id, events.CheckpointRestored, events.RestoreFailed) as expected:
        if summary.state.ended:
            _ended(parts, agent, asked)
        else:
            parts.board.session(agent).check(asked)
            await parts.request(asked)
        outcome = await _come(parts, expected)
    if isinstance(outcome, events.RestoreFailed):
        raise NotDoneError(f"Nothing was gone back to: {outcome.error}")
    return outcome


@dataclass(frozen=True, slots=True)
class WrittenCheckpoint:
    """A checkpoint that was written into a workspace of its own."""

    checkpoint: str
    workspace: str
    branch: str
    kept: tuple[str, ...]
    """Paths that could not be written, each with the reason."""


async def to_new_workspace(parts: RollbackParts, name: str, agent: str) -> WrittenCheckpoint:
    """Write a checkpoint into a new workspace, whatever became of its own; no agent and no file of another is touched.

    Raises:
        NotFoundError: There is no such checkpoint.
        UsageError: Several projects have one of this name, or the project is no git repository.
        CheckpointError: It could not be done.
    """
    target = await parts.checkpoint_manager.stores.find(name, agent)
    project, called = (
        str(parts.checkpoint_manager.stores.holding(target).project),
        re.sub(r"[^A-Za-z0-9_-]", "-", target.name)[:WORKSPACE_CHARACTERS],
    )
    try:
        made = await parts.worktrees.create(called, project, target.repository.head or "HEAD")
    except UsageError:  # the commit that stood there then is gone
        made = await parts.worktrees.create(called, project, "HEAD")
    kept = await parts.checkpoint_manager.write_out(target, made.path)
    await parts.checkpoint_manager.release(made.path)
    await parts.worktrees.keep(made, f"it was made for checkpoint {name}")
    return WrittenCheckpoint(name, made.path, made.branch, kept)


async def forget_project(parts: RollbackParts, project: str) -> None:
    """Delete all checkpoints of a project; workspaces are not touched.

    Raises:
        UsageError: An agent works in it.
        NotFoundError: There are none.
        CheckpointError: A restore is under way; nothing was deleted.
    """
    places = {
        workspace for workspace, place in parts.checkpoint_manager.places.items() if str(place.store.project) == project
    }
    at_work = [one.agent for one in parts.board.at_work() if one.workspace in {*places, project}]
    if at_work:
        raise UsageError(
            f"Agent {', '.join(at_work)} works in {project}; no checkpoint was deleted.", way_out="Stop it first."
        )
    await parts.checkpoint_manager.forget_project(project)


async def difference(parts: RollbackParts, name: str, other: str, agent: str) -> tuple[Difference, ...]:
    """Return the changes from one checkpoint to another, or to the present if no other is named.

    Raises like `preview`.
    """
    one = await parts.checkpoint_manager.stores.find(name, agent)
    if not other:
        return (await parts.checkpoint_manager.preview(one.workspace, name)).lost
    return await parts.checkpoint_manager.stores.difference(one, await parts.checkpoint_manager.stores.find(other, ""))


def _ended(parts: RollbackParts, agent: str, asked: events.RollbackRequested) -> None:
    """Bring the files of an agent back that has ended; its conversation can be resumed by hand."""
    summary = parts.board.summary(agent)
    moment = RunMoment(parts.happened(asked), summary.session_id, state=summary.state)
    wanted = RestoreCheckpoint(
        asked.id,
        asked.checkpoint,
        summary.workspace,
        summary.task,
        moment,
        replace(asked, files_only=True),
    )
    parts.checkpointing.restore(agent, wanted)


async def _come(parts: RollbackParts, expected: ExpectedOutcome[Either]) -> Either:
    """Return what came of a request, once the journal has it on disk."""
    if (came := await expected.wait(OUTCOME_SECONDS)) is not None:
        seq, event = came
        await parts.journal.written(seq)
        return event
    raise NotDoneError(
        f"Nothing was heard of it for {OUTCOME_SECONDS:g} s.", way_out="chaperon tail -f says when it is done."
    )


def _refuse_company(agent: str, workspace: str, living: set[str]) -> None:
    if names := ", ".join(sorted(living - {agent})):
        raise UsageError(
            f"Agent {names} works in {workspace} as well; nothing was changed.", way_out=f"Stop {names} first."
        )


def _living(parts: RollbackParts, workspace: str) -> set[str]:
    """Agents at work in a workspace."""
    return {one.agent for one in parts.board.at_work() if one.workspace == workspace}


def _whose(target: Checkpoint, living: set[str]) -> str:
    """Return the agent that goes back, if none is named: the one at work there, or the checkpoint's."""
    if not living or target.facts.agent in living:
        return target.facts.agent
    return min(living)
