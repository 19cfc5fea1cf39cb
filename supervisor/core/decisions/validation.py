"""Validation of people's requests about an agent, before they are journalled."""

from interventions.approval import refuse_agent
from monitors.contract.errors import IllegalStepError, NotFoundError
from supervisor.core.fold.memory import Memory
from supervisor.core.states import Transition, legal
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

LISTENING = frozenset({AgentState.STARTING, AgentState.RUNNING, AgentState.IDLE, AgentState.PAUSED})
"""The states in which something said reaches the model."""


def refuse_illegal(agent: str, state: AgentState, request: AnyEvent) -> None:
    """Refuse a person's request that the state does not allow.

    Raises:
        IllegalStepError: It does not.
    """
    match request:
        case SayRequested() | RedirectRequested() if state not in LISTENING:
            raise IllegalStepError(agent, state, "be told anything", legal(state))
        case PauseRequested() if Transition.PAUSE not in legal(state):
            raise IllegalStepError(agent, state, Transition.PAUSE, legal(state))
        case ResumeRequested() if Transition.RESUME not in legal(state):
            raise IllegalStepError(agent, state, Transition.RESUME, legal(state))
        case StopRequested() if state.ended:
            raise IllegalStepError(agent, state, Transition.STOP, legal(state))
        case RollbackRequested() if Transition.GO_BACK not in legal(state):
            raise IllegalStepError(agent, state, Transition.GO_BACK, legal(state))
        case _:
            return


def check(memory: Memory, request: AnyEvent) -> None:
    """Refuse a request for which there is no place in what is known of the agent.

    Raises:
        IllegalStepError: Its state does not allow it.
        UsageError: An agent may not request it, or there is nothing that it is about.
    """
    agent = memory.submitted.agent
    refuse_illegal(agent, memory.state, request)
    match request:
        case ApprovalGiven():
            _check_answer(memory, request)
        case AllowanceGiven() | AllowanceRevoked():
            memory.allowances.check(request)
        case RollbackRequested() if memory.going_back.cause is not None:
            raise IllegalStepError(agent, memory.state, "go back while it goes back", legal(memory.state))
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
