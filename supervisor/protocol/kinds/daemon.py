"""Events of the daemon itself."""

from dataclasses import dataclass
from typing import Literal

from interventions.decisions import Incident
from supervisor.protocol.kinds.stamp import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonStarted(Event):
    """A daemon took this state directory."""

    version: str
    pid: int
    boot_id: str
    """The machine's boot; `mono` compares only within one."""
    home: str = ""
    """The home directory of its agents, which reviews lean on."""
    protected: tuple[str, ...] = ()
    """Paths that no agent touches while it runs; reviews lean on them too."""
    policy: str = ""
    """The digest of the policy that counted from then on; empty in journals of before."""
    kind: Literal["daemon_started"] = "daemon_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkTakenOver(Event):
    """A daemon took over the work that the one before it left: what there is of it, and what is missing."""

    summary: str
    """All of it in a sentence."""
    agents: dict[str, int]
    """The fates of agents that lived, by name; `found` is their sum."""
    tasks: dict[str, int]
    """Stored tasks that are not over, by state."""
    missing: tuple[str, ...] = ()
    """Sentences about what could not be taken over whole; none if nothing is missing."""
    kind: Literal["work_taken_over"] = "work_taken_over"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChanged(Event):
    """The configuration changed while the daemon ran; the new policy counts from the next review of each agent on."""

    digest: str
    """Names the policy: its keys, its texts, and the code of its plugins."""
    before: str
    """The digest of the policy that it replaces."""
    changed: tuple[str, ...] = ()
    """The keys that changed; none if a text or a plugin did."""
    kind: Literal["policy_changed"] = "policy_changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonStopped(Event):
    """The daemon ended in order; its agents live on."""

    reason: str
    kind: Literal["daemon_stopped"] = "daemon_stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordDamaged(Event):
    """Lines about the agent are not what was written there: they count for nothing, and the agent is ended.

    It stands in the place of one such line, or behind the last good one, written by the start that found it. One
    without an agent is about lines of which nothing is known; it ends all agents that lived.
    """

    begins: int
    """The number that the first of them had, or said that it had."""
    lines: int
    """How many there are."""
    why: str
    """The fault. Example: `signature`."""
    kept: str
    """The file that has them as they were."""
    follows: str = ""
    """The hash that the next line names, if this one stands in the place of one; else empty."""
    kind: Literal["record_damaged"] = "record_damaged"


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultSeen(Event):
    """Something failed that a person should know of, outside what agents do."""

    incident: Incident
    kind: Literal["fault_seen"] = "fault_seen"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReached(Event):
    """The gateway connected an agent to a host that `sandbox.hosts` names, or that a person opened for it."""

    host: str
    """With its port."""
    times: int
    """How often, since the gateway told of it before."""
    allowance: str = ""
    """The allowance by which; empty for a host of the configuration."""
    kind: Literal["host_reached"] = "host_reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRefused(Event):
    """The gateway refused an agent a host that a person can open to it; the agent goes on without it."""

    id: str
    """Names it in a person's answer."""
    host: str
    """With its port."""
    why: str
    kind: Literal["host_refused"] = "host_refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentForgotten(Event):
    """A person had all of an ended agent forgotten. Which one is not said, and `agent` is empty."""

    by: str
    kind: Literal["agent_forgotten"] = "agent_forgotten"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordForgotten(Event):
    """A record of an agent that was forgotten stood here. The chain goes on from what it was; `agent` is empty."""

    kind: Literal["record_forgotten"] = "record_forgotten"
