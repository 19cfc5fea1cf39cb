"""Milestones: a checkpoint after every so many tasks done in a workspace.

Pure: takes the facts about all agents, returns a capture.
"""

from collections.abc import Iterable

from checkpoints.model import Reason
from supervisor.core.fold.summary import Summary
from supervisor.protocol.commands import Capture
from supervisor.protocol.moments import RunMoment
from supervisor.protocol.words import AgentState


def after_task(ended: Summary, agents: Iterable[Summary], every: int, seq: int) -> Capture | None:
    """Return the capture that the end of an agent makes due, or None.

    Args:
        ended: The agent that has just ended.
        agents: All agents, that one included.
        every: How many tasks make one due; 0 for none.
        seq: Sequence number of the last event.
    """
    if not every or ended.state is not AgentState.DONE:
        return None
    done = sum(one.state is AgentState.DONE and one.workspace == ended.workspace for one in agents)
    if done % every:
        return None
    moment = RunMoment(seq, ended.session_id, state=ended.state)
    note = f"after {done} tasks done here"
    return Capture(f"periodic:{done}", Reason.PERIODIC, moment, ended.task, ended.workspace, note=note)
