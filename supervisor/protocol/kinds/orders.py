"""Events of people's orders: to many agents at once, to remove what an agent left, to take no new tasks."""

from dataclasses import dataclass
from typing import Literal

from supervisor.protocol.kinds.stamp import Event

OrderControl = Literal["pause", "resume", "stop", "say"]
"""Controls that can be given to many agents at once."""


@dataclass(frozen=True, slots=True)
class OrderResult:
    """The outcome of an order for one agent."""

    agent: str
    done: bool
    """Whether the agent was asked."""
    what: str
    """The consequence, or why it was not asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderGiven(Event):
    """A person gives one control to many agents; what each of them is asked follows behind it, under its id.

    A pause stands until it is lifted: agents that start meanwhile are held as well.
    """

    id: str
    control: OrderControl
    by: str
    """The person: the peer of the socket, by user name."""
    project: str = ""
    """The repository whose agents it is for, as `TaskSubmitted.project`; empty for all."""
    label: str = ""
    """The label of the agents that it is for; empty for those with and without one."""
    agents: tuple[str, ...] = ()
    """The agents that it is for: those that were live when it was given."""
    reason: str = ""
    text: str = ""
    """The message to them, if they are told something."""
    at_turn_end: bool = False
    force: bool = False
    lifts: str = ""
    """Of a resume, the id of the only pause that it lifts; empty lifts all."""
    kind: Literal["order_given"] = "order_given"


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderCarriedOut(Event):
    """Every agent of an order was asked, or could not be."""

    id: str
    """The order's."""
    results: tuple[OrderResult, ...] = ()
    """One for each of its agents, in their order."""
    kind: Literal["order_carried_out"] = "order_carried_out"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRemoved(Event):
    """A person had the remains of an ended agent removed: its workspace, its branch and its files."""

    by: str
    removed: tuple[str, ...] = ()
    """The things that were removed, in words."""
    lost: tuple[str, ...] = ()
    """The things that were lost with them, in words; empty unless it was forced."""
    kind: Literal["agent_removed"] = "agent_removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class AutopilotBegan(Event):
    """A stretch without a person begins: agents work on, until its end or until its budget is spent."""

    id: str
    by: str
    until: float | None
    """Its end in Unix seconds; None if its budget alone bounds it."""
    max_cost_usd: float | None
    """Most that all agents may cost in it, in US dollars; None if its end alone bounds it."""
    spent_before_usd: float
    """The cost of all agents before it."""
    checkpoints: tuple[str, ...] = ()
    """The project checkpoints made before it, each as `project: name`."""
    reason: str = ""
    boot_id: str = ""
    """The boot in which it began: within it, its length is measured by `mono` too."""
    kind: Literal["autopilot_began"] = "autopilot_began"


@dataclass(frozen=True, slots=True, kw_only=True)
class AutopilotEnded(Event):
    """The stretch is over. All agents are held as their turns end, unless a person ended it: then they go on."""

    id: str
    why: Literal["time", "budget", "person"]
    by: str
    spent_usd: float
    """Cost of all agents in it, in US dollars."""
    report: str = ""
    """Path of the report; empty if it could not be written."""
    kind: Literal["autopilot_ended"] = "autopilot_ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainChanged(Event):
    """A person has no new tasks taken, or has them taken again; agents that run go on."""

    on: bool
    by: str
    reason: str = ""
    project: str = ""
    """The repository whose tasks are meant; empty for all. Tasks are taken again wherever the end of a drain covers."""
    label: str = ""
    """The label of the tasks that are meant; empty for those with and without one."""
    kind: Literal["drain_changed"] = "drain_changed"
