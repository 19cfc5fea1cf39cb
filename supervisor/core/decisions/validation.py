"""Validation of people's requests about an agent, before they are journalled."""

from interventions.approval import refuse_agent
from monitors.contract.errors import IllegalStepError, NotFoundError
from supervisor.core.fold.memory import Memory
from supervisor.core.states import Transition, legal, way_out
from supervisor.protocol.events import (
    AllowanceGiven,
    AllowanceRevoked,
    AnyEvent,
    ApprovalGiven,
    PauseRequested,
    RedirectRequested,
    ResumeRequested,
    RollbackRequested,
    SayRequested,
    StopRequested,
)
from supervisor.protocol.words import AgentState

PAUSABLE = frozenset({AgentState.STARTING, AgentState.RUNNING, AgentState.IDLE, AgentState.WAITING})
"""The states in which a pause can be asked for; one that starts or waits to be started is held at its first call."""

LISTENING = frozenset({AgentState.STARTING, AgentState.RUNNING, AgentState.IDLE, AgentState.PAUSED})
"""The states in which something said reaches the model."""


def refuse_illegal(agent: str, state: AgentState, request: AnyEvent, *, pause_asked: bool = False) -> None:
    """Refuse a person's request that the state does not allow.

    Args:
        agent: Its name.
        state: Its state.
        request: What a person asks.
        pause_asked: Whether a pause was asked for and not lifted, which can be lifted before it is carried out.

    Raises:
        IllegalStepError: It does not.
    """
    match request:
        case SayRequested() | RedirectRequested() if state not in LISTENING:
            step = "be told anything" if isinstance(request, SayRequested) else "be given something else to do"
            raise IllegalStepError(agent, state, step, way_out(agent, state))
        case PauseRequested() if state not in PAUSABLE:
            raise IllegalStepError(agent, state, Transition.PAUSE, way_out(agent, state))
        case ResumeRequested() if not pause_asked and Transition.RESUME not in legal(state):
            raise IllegalStepError(agent, state, Transition.RESUME, way_out(agent, state))
        case StopRequested() if state.ended:
            raise IllegalStepError(agent, state, Transition.STOP, way_out(agent, state))
        case RollbackRequested() if Transition.GO_BACK not in legal(state):
            raise IllegalStepError(agent, state, Transition.GO_BACK, way_out(agent, state))
        case _:
            return


def check(memory: Memory, request: AnyEvent) -> None:
    """Refuse a request for which there is no place in what is known of the agent.

    Raises:
        IllegalStepError: Its state does not allow it.
        UsageError: An agent may not request it, or there is nothing that it is about.
    """
    agent = memory.submitted.agent
    refuse_illegal(agent, memory.state, request, pause_asked=memory.pausing.asked)
    match request:
        case ApprovalGiven():
            _check_answer(memory, request)
        case AllowanceGiven() | AllowanceRevoked():
            memory.allowances.check(request)
        case RollbackRequested() if memory.going_back.cause is not None:
            raise IllegalStepError(agent, memory.state, "go back while it goes back", way_out(agent, memory.state))
        case _:
            return


def _check_answer(memory: Memory, given: ApprovalGiven) -> None:
    refuse_agent(given.by, given.from_agent)
    if given.request_id not in memory.requests.approvals:
        waiting = ", ".join(memory.requests.approvals) or "none"
        raise NotFoundError(
            f"No action {given.request_id!r} of agent {memory.submitted.agent!r} waits for approval.",
            way_out=f"Waiting: {waiting}.",
        )
