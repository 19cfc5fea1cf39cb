"""Requests of people about checkpoints: make one, preview a rollback, go back.

A live agent's session decides, as with every request; an ended one has no session, so its files are dealt with here.
"""

import re
from dataclasses import asdict, dataclass, replace
from uuid import uuid4

from checkpoints.model import Checkpoint, Difference, Reason, RestorePlan
from monitors.contract.errors import ChaperonError, UsageError
from supervisor.protocol import events
from supervisor.protocol.commands import Capture, RestoreCheckpoint
from supervisor.protocol.moments import RunMoment
from supervisor.protocol.rollbacks import RollbackRequest
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.daemon.outcomes import Either, ExpectedOutcome

WORKSPACE_CHARACTERS = 50
"""Of a checkpoint's name, those that the name of its workspace keeps: a number may follow, and 60 are allowed."""

OUTCOME_SECONDS = 600.0
"""How long an outcome is waited for: restoring thousands of files takes seconds, and the agent's queue may be busy."""


class NotDoneError(ChaperonError):
    """A checkpoint was not made, or nothing was gone back to; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Preview:
    """The plan of a rollback, and its agent."""

    agent: str
    live: bool
    """Whether its conversation can go back as well."""
    plan: RestorePlan


async def make(daemon: Daemon, agent: str, name: str, note: str, by: str) -> events.CheckpointMade:
    """Make a checkpoint of an agent's workspace under a name; it is durable when this returns.

    Raises:
        NotFoundError: There is no such agent.
        UsageError: The name is taken, another is taking it, or it cannot be one.
        NotDoneError: The workspace could not be captured.
    """
    async with daemon.checkpoint_manager.naming(daemon.board.summary(agent).workspace, name):
        return await _make(daemon, agent, name, note, by)


async def _make(daemon: Daemon, agent: str, name: str, note: str, by: str) -> events.CheckpointMade:
    summary = daemon.board.summary(agent)
    id_ = uuid4().hex[:12]
    key, asked = f"person:{id_}", events.CheckpointRequested(**daemon.stamp(agent), id=id_, name=name, by=by, note=note)
    with daemon.outcomes.expect(key, events.CheckpointMade, events.CaptureFailed) as outcome:
        if summary.state.ended:
            moment = RunMoment(daemon.happened(asked), summary.session_id, state=summary.state)
            wanted = Capture(key, Reason.PERSON, moment, summary.task, summary.workspace, name, note)
            daemon.checkpointing.capture(agent, wanted)
        else:
            await daemon.request(asked)
        made = await _come(daemon, outcome)
    if isinstance(made, events.CaptureFailed):
        raise NotDoneError(f"No checkpoint was made: {made.error}")
    return made


async def preview(daemon: Daemon, name: str, agent: str, *, with_branch: bool = False) -> Preview:
    """Say what going back would do, or why it would be refused.

    Raises:
        NotFoundError: There is no such checkpoint.
        UsageError: Several agents work in its workspace, or another than the one named; or several projects have one of
            this name.
    """
    target = await daemon.checkpoint_manager.stores.find(name, agent)
    living = _living(daemon, target.workspace)
    who = agent or _whose(target, living)
    _refuse_company(who, target.workspace, living)
    return Preview(
        who, who in living, await daemon.checkpoint_manager.preview(target.workspace, name, with_branch=with_branch)
    )


async def roll_back(daemon: Daemon, agent: str, how: RollbackRequest, by: str) -> events.CheckpointRestored:
    """Go back; done when this returns.

    Raises:
        NotFoundError: There is no such agent or checkpoint.
        IllegalStepError: The agent is being stopped, or goes back already.
        UsageError: Another agent works in the same workspace.
        NotDoneError: It was not done; the sentence says why, and how the workspace was left.
    """
    summary = daemon.board.summary(agent)
    (await daemon.checkpoint_manager.place(summary.workspace)).store.find(how.checkpoint)
    _refuse_company(agent, summary.workspace, _living(daemon, summary.workspace))
    asked = events.RollbackRequested(
        **daemon.stamp(agent), id=uuid4().hex[:12], checkpoint=how.checkpoint, by=by, **asdict(how.options())
    )
    with daemon.outcomes.expect(asked.id, events.CheckpointRestored, events.RestoreFailed) as expected:
        if summary.state.ended:
            _ended(daemon, agent, asked)
        else:
            daemon.board.session(agent).check(asked)
            await daemon.request(asked)
        outcome = await _come(daemon, expected)
    if isinstance(outcome, events.RestoreFailed):
        raise NotDoneError(f"Nothing was gone back to: {outcome.error}")
    return outcome


@dataclass(frozen=True, slots=True)
class Written:
    """A checkpoint that was written into a workspace of its own."""

    checkpoint: str
    workspace: str
    branch: str
    kept: tuple[str, ...]
    """Paths that could not be written, each with the reason."""


async def to_new_workspace(daemon: Daemon, name: str, agent: str) -> Written:
    """Write a checkpoint into a new workspace, whatever became of its own; no agent and no file of another is touched.

    Raises:
        NotFoundError: There is no such checkpoint.
        UsageError: Several projects have one of this name, or the project is no git repository.
        CheckpointError: It could not be done.
    """
    target = await daemon.checkpoint_manager.stores.find(name, agent)
    project, called = (
        str(daemon.checkpoint_manager.stores.holding(target).project),
        re.sub(r"[^A-Za-z0-9_-]", "-", target.name)[:WORKSPACE_CHARACTERS],
    )
    try:
        made = await daemon.worktrees.create(called, project, target.repository.head or "HEAD")
    except UsageError:  # the commit that stood there then is gone
        made = await daemon.worktrees.create(called, project, "HEAD")
    kept = await daemon.checkpoint_manager.write_out(target, made.path)
    await daemon.checkpoint_manager.release(made.path)
    await daemon.worktrees.keep(made, f"it was made for checkpoint {name}")
    return Written(name, made.path, made.branch, kept)


async def forget_project(daemon: Daemon, project: str) -> None:
    """Delete all checkpoints of a project; workspaces are not touched.

    Raises:
        UsageError: An agent works in it.
        NotFoundError: There are none.
        CheckpointError: A restore is under way; nothing was deleted.
    """
    places = {
        workspace
        for workspace, place in daemon.checkpoint_manager.places.items()
        if str(place.store.project) == project
    }
    at_work = [one.agent for one in daemon.board.at_work() if one.workspace in {*places, project}]
    if at_work:
        raise UsageError(
            f"Agent {', '.join(at_work)} works in {project}; no checkpoint was deleted.", way_out="Stop it first."
        )
    await daemon.checkpoint_manager.forget_project(project)


async def difference(daemon: Daemon, name: str, other: str, agent: str) -> tuple[Difference, ...]:
    """Return the changes from one checkpoint to another, or to the present if no other is named.

    Raises like `preview`.
    """
    one = await daemon.checkpoint_manager.stores.find(name, agent)
    if not other:
        return (await daemon.checkpoint_manager.preview(one.workspace, name)).lost
    return await daemon.checkpoint_manager.stores.difference(
        one, await daemon.checkpoint_manager.stores.find(other, "")
    )


def _ended(daemon: Daemon, agent: str, asked: events.RollbackRequested) -> None:
    """Bring the files of an agent back that has ended; its conversation can be resumed by hand."""
    summary = daemon.board.summary(agent)
    moment = RunMoment(daemon.happened(asked), summary.session_id, state=summary.state)
    wanted = RestoreCheckpoint(
        asked.id,
        asked.checkpoint,
        summary.workspace,
        summary.task,
        moment,
        replace(asked, files_only=True),
    )
    daemon.checkpointing.restore(agent, wanted)


async def _come(daemon: Daemon, expected: ExpectedOutcome[Either]) -> Either:
    """Return what came of a request, once the journal has it on disk."""
    if (came := await expected.wait(OUTCOME_SECONDS)) is not None:
        seq, event = came
        await daemon.journal.written(seq)
        return event
    raise NotDoneError(
        f"Nothing was heard of it for {OUTCOME_SECONDS:g} s.", way_out="chaperon tail -f says when it is done."
    )


def _refuse_company(agent: str, workspace: str, living: set[str]) -> None:
    if names := ", ".join(sorted(living - {agent})):
        raise UsageError(
            f"Agent {names} works in {workspace} as well; nothing was changed.", way_out=f"Stop {names} first."
        )


def _living(daemon: Daemon, workspace: str) -> set[str]:
    """Agents at work in a workspace."""
    return {one.agent for one in daemon.board.at_work() if one.workspace == workspace}


def _whose(target: Checkpoint, living: set[str]) -> str:
    """Return the agent that goes back, if none is named: the one at work there, or the checkpoint's."""
    if not living or target.facts.agent in living:
        return target.facts.agent
    return min(living)
