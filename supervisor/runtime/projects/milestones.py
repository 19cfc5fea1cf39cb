"""Milestones: a checkpoint of a project after every so many of its tasks that are done."""

from datetime import UTC, datetime

from checkpoints.model import Reason
from monitors.contract.errors import ChaperonError
from monitors.contract.wording import counted
from monitors.contract.words import Severity
from supervisor.runtime.incidents.feed import NoteFault
from supervisor.runtime.projects.checkpoints import ProjectCheckpoints, ProjectParts


async def mark_milestone(
    parts: ProjectParts, checkpoints: ProjectCheckpoints, fault: NoteFault, project: str, done: str, every: int
) -> None:
    """Make the checkpoint of a project that is due; a failure is reported and nothing else suffers it.

    Args:
        parts: The daemon.
        checkpoints: Makes it.
        fault: Notes an incident.
        project: The project of which a task has just been done.
        done: That task, or the agent if its task was given to it alone.
        every: How many tasks make one due.
    """
    finished = parts.board.projects.finished(project)
    if finished < every or parts.board.projects.going_back(project) is not None:
        return
    name = f"after-{done[:36]}-{moment(parts.stamp('')['at'])}"
    note = f"after {counted(finished, 'task')} done since the one before"
    try:
        await checkpoints.make(project, name, "chaperon", reason=Reason.PERIODIC, note=note, once=True)
    except ChaperonError as error:
        what = f"The checkpoint of {project} that was due after {counted(finished, 'task')} could not be made: {error}"
        fault("", "project_not_captured", what, Severity.MEDIUM, "The next task that is done makes it due again.")


def moment(at: float) -> str:
    """Return a time as a part of a name. Example: `20260113T110000`.

    Args:
        at: Unix time in seconds.
    """
    return datetime.fromtimestamp(at, UTC).strftime("%Y%m%dT%H%M%S")
