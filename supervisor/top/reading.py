"""Requests to the daemon, and rows of the board. Pure but for the requests."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from monitors.contract.wording import counted, dollars
from supervisor.cli.client import Client
from supervisor.cli.output.words import clean, rest_of_call, what
from supervisor.panel.grouping import GROUPS, attention, grouped, question, steps
from supervisor.panel.task_groups import DUE

Connect = Callable[[], Client]

COLUMNS = ("AGENT", "STATE", "CALLS", "BLK", "COST", "NOW")

NAME, NOW = 18, 36
"""Characters of a name, and of what an agent does now, so that all columns fit into 80."""


SETTLING_SECONDS = 0.8
"""Time for which no key answers what came under the cursor by itself. A person reacts to a change after 0.25 s,
and after 0.5 s and more if they must choose what to do: a key that comes sooner was meant for what stood there before.
"""

NEW = "new    it came just now"
"""The line that says so; it ends before what a notice covers."""


class BoardRow(NamedTuple):
    """A row of the board."""

    agent: Mapping[str, Any]
    waiting: Mapping[str, Any] | None
    """Its oldest action that waits for a person, from `GET /v1/approvals`."""
    merge: Mapping[str, Any] | None = None
    """The merge of its branch, if that waits for a person."""

    @property
    def name(self) -> str:
        """The agent's name."""
        return str(self.agent["agent"])

    @property
    def proposal(self) -> Mapping[str, Any] | None:
        """Return the oldest rollback that is proposed for it."""
        return next(iter(self.agent.get("proposed") or ()), None)

    @property
    def waits(self) -> bool:
        """Whether a person is to answer, to merge, to approve, or to decide a rollback."""
        return bool(self.waiting or self.proposal or self.merge or question(self.agent))

    @property
    def asked(self) -> tuple[str, str]:
        """Return what a key answers: the agent, and its action or its proposal; the latter is empty for none."""
        if self.waiting:
            return self.name, str(self.waiting["request_id"])
        return self.name, str(self.proposal["checkpoint"]) if self.proposal else ""

    @property
    def word(self) -> str:
        """Return what it waits for, or its state."""
        kinds = (("ASKS", self.waiting), ("ROLLBACK", self.proposal), ("MERGE", self.merge))
        return next((word for word, there in kinds if there), clean(self.agent["state"], 9))

    def cells(self) -> tuple[str, ...]:
        """Return the texts of the columns."""
        agent = self.agent
        return (
            clean(self.name, NAME),
            self.word,
            f"{steps(agent):,}",
            f"{agent['reviews'].get('block', 0):,}",
            dollars(agent["cost_usd"]) if agent["cost_usd"] else "-",
            clean(self.now(), NOW),
        )

    def now(self) -> str:
        """Return what the agent does, or waits for, or did last."""
        agent = self.agent
        if self.waiting:
            return f"{self.waiting['tool']} {what(self.waiting['input'])}"
        if self.proposal:
            return f"{self.proposal['issue']}: back to {self.proposal['checkpoint']}?"
        if told := attention(agent) or question(agent):
            return told
        if agent["ended_at"] is not None:
            return str(agent["result"] or agent["why"])
        if calls := agent.get("calls"):
            return f"{calls[-1]['tool']} {calls[-1]['summary']}"
        return str(agent.get("words") or agent["task"]["prompt"])


class Shown:
    """The row under the cursor, and its age: a key answers nothing that took another's place just now.

    Args:
        clock: Gives seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._asked: tuple[str, str] | None = None
        self._came_at = float("-inf")

    def refreshed(self, asked: tuple[str, str] | None) -> bool:
        """Take note of what is there after a look at the daemon; return whether that came by itself."""
        came = asked is not None and asked[1] != "" and asked != self._asked
        if came:
            self._came_at = self._clock()
        self._asked = asked
        return came

    def moved(self, asked: tuple[str, str] | None) -> None:
        """Take note of where a person moved the cursor, who looks there."""
        self._asked = asked

    @property
    def is_new(self) -> bool:
        """Whether it came just now, so that a key may be meant for what stood there before."""
        return self._clock() - self._came_at < SETTLING_SECONDS


def unread(waiting: Mapping[str, Any] | None) -> list[str]:
    """Return all of an action that waits, if its line has not."""
    return rest_of_call(waiting["tool"], waiting["input"]) if waiting else []


def read_board(daemon: Client) -> list[BoardRow]:
    """Return the rows, those that wait for a person first; raises like `Client.get`."""
    return rows(daemon.get("/v1/agents", recent="true"), daemon.get("/v1/approvals"), daemon.get("/v1/merges"))


def rows(
    agents: Sequence[Mapping[str, Any]],
    waiting: Sequence[Mapping[str, Any]],
    merges: Sequence[Mapping[str, Any]] = (),
) -> list[BoardRow]:
    """Return the rows of agents, in the order of the board."""
    oldest: dict[str, Mapping[str, Any]] = {}
    for each in waiting:
        oldest.setdefault(str(each["agent"]), each)
    due = {str(one["id"]): one for one in merges if one["phase"] in DUE}
    groups = grouped(agents)
    ordered = [
        BoardRow(agent, oldest.get(str(agent["agent"])), due.get(str(agent["agent"])))
        for name in GROUPS
        for agent in groups.get(name, ())
    ]
    return sorted(ordered, key=lambda row: (row.waiting is None, row.proposal is None, not row.waits))


def details(row: BoardRow, *, is_new: bool = False) -> list[str]:
    """Return some lines about the chosen row, with one that says if its question is new."""
    agent = row.agent
    lines = [f"task   {clean(agent['task']['prompt'], 300)}", f"state  {clean(agent.get('api') or agent['why'], 300)}"]
    if row.waiting:
        lines += [
            *([NEW] if is_new else []),
            f"asks   {row.waiting['tool']} {what(row.waiting['input'])}",
            f"why    {clean(row.waiting['why'], 400)}",
            *(["       a: read all of it, d: deny"] if unread(row.waiting) else []),
        ]
    elif row.proposal:
        lines += [
            *([NEW] if is_new else []),
            f"back   {clean(row.proposal['sentence'], 400)}",
            "       a: read the plan, d: decline",
        ]
    elif agent.get("words"):
        lines.append(f"says   {clean(agent['words'], 300)}")
    if row.merge:
        size = f"{counted(row.merge['commits'], 'commit')}, {counted(row.merge['files'], 'file')}"
        lines += [
            f"merge  {clean(row.merge['branch'], 200)} into {clean(row.merge['target'], 100)}: {size}",
            f"       {clean(row.merge['why'], 300)}",
            f"       chaperon merge {row.name}",
        ]
    return lines
