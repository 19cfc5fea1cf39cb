"""Agents as a board has them: by what a person would do about them. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from supervisor.protocol.words import AgentState

Agent = Mapping[str, Any]

GROUPS: Mapping[str, tuple[AgentState, ...]] = {
    "At work": (AgentState.STARTING, AgentState.RUNNING, AgentState.FINISHING, AgentState.STOPPING),
    "Held": (AgentState.PAUSED, AgentState.WAITING),
    "Idle": (AgentState.IDLE,),
    "Ended": (AgentState.DONE, AgentState.FAILED, AgentState.STOPPED, AgentState.LOST),
}
"""The columns of the board and the states in each."""

MOST_ENDED = 50
"""Ended agents on a board, the latest first."""

LAST_WORDS = 300
"""Characters of an agent's last words in which a question counts: one before is mostly answered by what follows."""

QUESTION = re.compile(r"[^.!?\n]{2,}\?(?=[\s)*_`\"']|$)")
"""A sentence that asks; a question mark within an address ends none."""

MOST_LABELS = 200
"""Labels that a page offers to choose from; the address takes any."""


def grouped(agents: Iterable[Agent]) -> dict[str, list[Agent]]:
    """Return the agents of each group that has any; those that ended last come first, and few of them."""
    found: dict[str, list[Agent]] = {name: [] for name in GROUPS}
    place = {str(state): name for name, states in GROUPS.items() for state in states}
    for agent in agents:
        found[place.get(str(agent["state"]), "At work")].append(agent)
    found["Ended"] = sorted(found["Ended"], key=lambda agent: -(agent["ended_at"] or 0.0))[:MOST_ENDED]
    return {name: those for name, those in found.items() if those}


def labels_of(labels: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """Return each label that there is, the first by name."""
    return tuple(sorted({str(one) for those in labels for one in those})[:MOST_LABELS])


def with_label(agents: Iterable[Agent], label: str) -> list[Agent]:
    """Return the agents whose task has a label; all if it is empty."""
    return [one for one in agents if not label or label in one["task"]["labels"]]


def question(agent: Agent) -> str:
    """Return the question that an agent's last words ask, if it waits for words or is done; empty if there is none.

    A person who removed what an ended agent left has seen it.
    """
    if str(agent["state"]) not in (AgentState.IDLE, AgentState.DONE) or agent.get("removed_at") is not None:
        return ""
    said = str(agent.get("result") or agent.get("words") or "")[-LAST_WORDS:]
    asked = [one.strip() for one in QUESTION.findall(said)]
    return asked[-1] if asked else ""


def attention(agent: Agent) -> str:
    """Return why a person should look at an agent; empty if there is no reason beside what waits."""
    if agent.get("unwatched"):
        return f"Nobody watches over it: {agent['why']}"
    if agent.get("api"):
        return str(agent["api"])
    return "Its last turn ended in an error." if agent.get("failed") and agent["ended_at"] is None else ""


def steps(agent: Agent) -> int:
    """How many calls of an agent were reviewed."""
    return sum(agent["reviews"].values())


def verbs(agent: Agent) -> Sequence[str]:
    """Return what can be done with an agent in its state; the daemon has the last word."""
    state = str(agent["state"])
    if agent["ended_at"] is not None:
        return ()
    if state == "stopping":
        return ("stop",)
    if state in ("paused", "waiting"):
        return ("resume", "say", "stop")
    return ("pause", "say", "redirect", "stop")
