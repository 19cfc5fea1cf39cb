"""The life of an agent as a table of states and steps.

The table is the whole truth: the documentation's picture is drawn from it, and a step that is not in it is refused with
the commands that a person can type instead.
"""

from enum import StrEnum

from monitors.contract.errors import IllegalStepError
from supervisor.protocol.words import AgentState


class Transition(StrEnum):
    """Steps of an agent, each as the text that completes "cannot …"."""

    BEGIN = "begin a turn"
    REST = "wait for more"
    FINISH = "finish"
    PAUSE = "be paused"
    RESUME = "be resumed"
    WAIT = "wait to be started again"
    GO_ON = "be started again"
    STOP = "be stopped"
    SUCCEED = "end well"
    FAIL = "fail"
    END = "be ended"
    VANISH = "vanish"
    GO_BACK = "go back to a checkpoint"
    LEAVE = "end its session"


_LIVE = {
    Transition.GO_BACK: AgentState.STARTING,
    Transition.LEAVE: AgentState.DONE,
    Transition.STOP: AgentState.STOPPING,
    Transition.FAIL: AgentState.FAILED,
    Transition.VANISH: AgentState.LOST,
}

TABLE: dict[AgentState, dict[Transition, AgentState]] = {
    AgentState.STARTING: {Transition.BEGIN: AgentState.RUNNING, Transition.WAIT: AgentState.WAITING, **_LIVE},
    AgentState.RUNNING: {
        Transition.PAUSE: AgentState.PAUSED,
        Transition.REST: AgentState.IDLE,
        Transition.FINISH: AgentState.FINISHING,
        Transition.WAIT: AgentState.WAITING,
        **_LIVE,
    },
    AgentState.IDLE: {Transition.BEGIN: AgentState.RUNNING, Transition.PAUSE: AgentState.PAUSED, **_LIVE},
    AgentState.PAUSED: {Transition.RESUME: AgentState.RUNNING, Transition.REST: AgentState.IDLE, **_LIVE},
    AgentState.WAITING: {
        Transition.GO_ON: AgentState.STARTING,
        Transition.RESUME: AgentState.STARTING,
        Transition.END: AgentState.STOPPED,
        Transition.VANISH: AgentState.LOST,
    },
    AgentState.FINISHING: {Transition.SUCCEED: AgentState.DONE, Transition.WAIT: AgentState.WAITING, **_LIVE},
    AgentState.STOPPING: {Transition.END: AgentState.STOPPED, Transition.VANISH: AgentState.LOST},
    AgentState.DONE: {},
    AgentState.FAILED: {},
    AgentState.STOPPED: {},
    AgentState.LOST: {},
}
"""From each state, each legal step and where it leads."""


def take(agent: str, state: AgentState, step: Transition) -> AgentState:
    """Return the state after the step.

    Raises:
        IllegalStepError: The state has no such step.
    """
    try:
        return TABLE[state][step]
    except KeyError:
        raise IllegalStepError(agent, state, step, way_out(agent, state)) from None


_HELD_BY_A_PERSON = ("chaperon resume {agent}", "chaperon say {agent} TEXT", "chaperon stop {agent}")
_AT_WORK = ("chaperon say {agent} TEXT", "chaperon pause {agent}", "chaperon stop {agent}")

COMMANDS: dict[AgentState, tuple[str, ...]] = {
    AgentState.STARTING: _AT_WORK,
    AgentState.RUNNING: _AT_WORK,
    AgentState.IDLE: _AT_WORK,
    AgentState.PAUSED: _HELD_BY_A_PERSON,
    AgentState.WAITING: ("chaperon resume {agent}", "chaperon pause {agent}", "chaperon stop {agent}"),
    AgentState.FINISHING: ("chaperon tail -f --agent {agent}", "chaperon stop {agent}"),
    AgentState.STOPPING: ("chaperon stop {agent} --force",),
    AgentState.DONE: ("chaperon show {agent}", "chaperon diff {agent}"),
    AgentState.FAILED: ("chaperon show {agent}", "chaperon diff {agent}"),
    AgentState.STOPPED: ("chaperon show {agent}", "chaperon diff {agent}"),
    AgentState.LOST: ("chaperon show {agent}", "chaperon diff {agent}"),
}
"""The commands of chaperon that a person can type in each state, the likeliest first."""


def way_out(agent: str, state: AgentState) -> str:
    """Return a sentence with the commands about an agent in this state."""
    ended = "It has ended. " if state.ended else ""
    commands = ", ".join(command.format(agent=agent) for command in COMMANDS[state])
    return f"{ended}What you can do now: {commands}"


def legal(state: AgentState) -> tuple[str, ...]:
    """The steps that the state knows, as text."""
    return tuple(TABLE[state])


def draw() -> str:
    """The table as a Mermaid state diagram, for the documentation."""
    lines = ["stateDiagram-v2", "    [*] --> starting"]
    for state, steps in TABLE.items():
        lines += [f"    {state} --> {after}: {step}" for step, after in steps.items()]
        if state.ended:
            lines.append(f"    {state} --> [*]")
    return "\n".join(lines)
