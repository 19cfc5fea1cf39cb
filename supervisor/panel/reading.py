"""Questions to the daemon that several pages ask."""

from supervisor.cli.client_errors import RefusedError
from supervisor.cli.common import path_part
from supervisor.cli.output.view import View
from supervisor.panel.link import PanelLink, Record
from supervisor.panel.pages.agents import timeline
from supervisor.panel.pages.parts import Data
from supervisor.panel.task_groups import DUE

ROWS = 150
"""Rows of a timeline that a page begins with: some screens."""

WINDOW = 400
"""Events of one agent that are looked at first for them: a third of all events says something to people."""


def agent_path(name: str) -> str:
    """Return the API's path of an agent; raises UsageError like `common.path_part`."""
    return f"/v1/agents/{path_part(name, 'The board')}"


async def tasks_data(link: PanelLink) -> tuple[list[Data], list[Data]]:
    """Return all stored tasks, and the merges of agents' branches."""
    return await link.get("/v1/tasks"), await link.get("/v1/merges")


def task_path(id_: str) -> str:
    """Return the API's path of a stored task; raises UsageError like `common.path_part`."""
    return f"/v1/tasks/{path_part(id_, 'The list')}"


async def task_data(link: PanelLink, id_: str) -> tuple[Data, list[Data]]:
    """Return a stored task, and the merges of its work, the latest first."""
    task = await link.get(task_path(id_))
    merges = [one for one in await link.get("/v1/merges") if one["task"] == task["task"]]
    return task, merges[::-1]


async def agent_data(link: PanelLink, name: str) -> tuple[Data, list[Data], list[Data]]:
    """Return an agent, its actions that wait for a person, and the merge of its branch if that waits for one."""
    agent = await link.get(agent_path(name))
    waiting = await link.get("/v1/approvals") if agent.get("waiting") else []
    merges = await link.get("/v1/merges") if agent["ended_at"] is not None and agent["branch"] else []
    due = [one for one in merges if one["id"] == name and one["phase"] in DUE]
    return agent, [each for each in waiting if each["agent"] == name], due


async def changes(link: PanelLink, name: str) -> Data | None:
    """Return the changes in an agent's workspace; None if it has no checkpoints to compare with."""
    try:
        found: Data = await link.get(f"{agent_path(name)}/changes")
    except RefusedError:
        return None
    return found


class TimelinePart:
    """A part of an agent's timeline.

    Args:
        rows: Oldest first.
        first: The first event that was looked at.
        last: The last one.
    """

    def __init__(self, rows: list[timeline.TimelineRow], first: int, last: int) -> None:
        self.rows, self.first, self.last = rows, first, last


async def timeline_before(link: PanelLink, agent: Data, before: int) -> TimelinePart:
    """Return the rows of an agent before an event, few of them.

    Args:
        link: The daemon.
        agent: What is known of it.
        before: The first event not wanted.
    """
    window, begin = WINDOW, int(agent.get("first_event") or 1)
    while True:
        after = max(begin - 1, before - 1 - window)
        records = [one for one in await _records(link, agent, after) if int(one["n"]) < before]
        rows = timeline.timeline_rows(records, View())
        if len(rows) >= ROWS or after < begin:
            kept = rows[-ROWS:]
            first = kept[0].n if len(rows) > ROWS else after + 1
            return TimelinePart(kept, first, before - 1)
        window *= 4


async def _records(link: PanelLink, agent: Data, after: int) -> list[Record]:
    return await link.records("/v1/events", after=after, agent=agent["agent"])
