"""What people ask of checkpoints: make one, look what going back would do, go back.

A live agent's session decides, as with every request; an ended one has no session, so its files are dealt with here.
"""

import re
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import uuid4

import anyio

from checkpoints.model import Checkpoint, Difference, Reason, RestorePlan
from monitors.contract.errors import ChaperonError, UsageError
from supervisor.protocol import events
from supervisor.protocol.commands import Capture, RestoreCheckpoint
from supervisor.protocol.moments import RunMoment
from supervisor.protocol.records import decode
from supervisor.runtime.daemon.daemon import Daemon

Good = TypeVar("Good", bound=events.Event)
Bad = TypeVar("Bad", bound=events.Event)

WORKSPACE_CHARACTERS = 50
"""Of a checkpoint's name, those that the name of its workspace keeps: a number may follow, and 60 are allowed."""

OUTCOME_SECONDS = 600.0
"""How long an outcome is waited for: restoring thousands of files takes seconds, and the agent's queue may be busy."""


class NotDoneError(ChaperonError):
    """A checkpoint was not made, or nothing was gone back to; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Going:
    """How somebody wants to go back."""

    checkpoint: str
    files_only: bool = False
    fresh: bool = False
    with_branch: bool = False
    unusual: bool = False
    text: str = ""


@dataclass(frozen=True, slots=True)
class Preview:
    """What going back would do, and to whom."""

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
    before, id_ = daemon.journal.last, uuid4().hex[:12]
    facts: dict[str, Any] = {"id": id_, "name": name, "by": by, "note": note}
    if summary.state.ended:
        seq = daemon.happened(events.CheckpointRequested(**daemon.stamp(agent), **facts))
        moment = RunMoment(seq, summary.session_id, state=summary.state)
        wanted = Capture(f"person:{id_}", Reason.PERSON, moment, summary.task, summary.workspace, name, note)
        daemon.checkpointing.capture(agent, wanted)
    else:
        await daemon.request(events.CheckpointRequested(**daemon.stamp(agent), **facts))
    made = await _outcome(daemon, before, f"person:{id_}", events.CheckpointMade, events.CaptureFailed)
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


async def roll_back(daemon: Daemon, agent: str, how: Going, by: str) -> events.CheckpointRestored:
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
    before, id_ = daemon.journal.last, uuid4().hex[:12]
    facts = {name: getattr(how, name) for name in Going.__slots__}
    if summary.state.ended:
        _ended(daemon, agent, events.RollbackRequested(**daemon.stamp(agent), id=id_, by=by, **facts))
    else:
        asked = events.RollbackRequested(**daemon.stamp(agent), id=id_, by=by, **facts)
        daemon.board.session(agent).check(asked)
        await daemon.request(events.RollbackRequested(**daemon.stamp(agent), id=id_, by=by, **facts))
    outcome = await _outcome(daemon, before, id_, events.CheckpointRestored, events.RestoreFailed)
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
    """What changed from one checkpoint to another, or to the present where no other is named; raises like `preview`."""
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
        files_only=True,
        with_branch=asked.with_branch,
        unusual=asked.unusual,
    )
    daemon.checkpointing.restore(agent, wanted)


async def _outcome(daemon: Daemon, after: int, id_: str, good: type[Good], bad: type[Bad]) -> Good | Bad:
    """The event that says what became of a request."""
    with anyio.move_on_after(OUTCOME_SECONDS):
        async for line in daemon.journal.follow(after, live=True):
            if id_.encode() not in line.data:
                continue
            event = decode(line.data).event
            if isinstance(event, (good, bad)) and id_ in (
                getattr(event, "key", ""),
                getattr(event, "intervention", ""),
            ):
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
    """Who goes back, where nobody is named: the one at work there, or whose checkpoint it is."""
    if not living or target.facts.agent in living:
        return target.facts.agent
    return min(living)
