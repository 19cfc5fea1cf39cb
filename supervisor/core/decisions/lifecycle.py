"""The agent's life: which step of the state table is due, and which step of a stop."""

from supervisor.core.decisions.restart import RetrySettings, waits_out
from supervisor.core.decisions.stop_sequence import StopSequence
from supervisor.core.fold.life.rollback import Phase
from supervisor.core.fold.memory import Memory
from supervisor.core.states import Transition, legal
from supervisor.protocol.claude.messages import ControlResponse
from supervisor.protocol.events import (
    AgentExited,
    AgentVanished,
    LaunchFailed,
    PersonNeeded,
    ResumeRequested,
    StopRequested,
)
from supervisor.protocol.words import AgentState, StopStep

Due = tuple[Transition, str] | None
"""A step, and why it is taken."""


def step(memory: Memory, retries: RetrySettings) -> Due:
    """The step that is due, if one is."""
    return (
        _went_back(memory)
        or _waits(memory)
        or _ended(memory)
        or _stopped(memory)
        or _turned(memory, retries)
        or _requested(memory)
    )


def stop_step(memory: Memory, sequence: StopSequence) -> StopStep | None:
    """Return the stop step that is due; None if the stop waits, or if nothing is being stopped."""
    if memory.state is not AgentState.STOPPING:
        return None
    if _is_forced(memory) and memory.stopping.step not in (StopStep.FREEZE, StopStep.KILL):
        return StopStep.FREEZE
    if memory.stopping.step is None:
        return StopStep.INTERRUPT
    if memory.stopping.step is StopStep.FREEZE and _left_to_a_person(memory, sequence):
        return None
    following = sequence.after(memory.stopping.step) if memory.stopping.step_over else None
    return following[0] if following else None


def _is_forced(memory: Memory) -> bool:
    """Whether the tree is to be ended at once instead of being asked to end."""
    forced = memory.stopping.asked is not None and memory.stopping.asked.force
    return forced or memory.stopping.emergency is not None or memory.stopping.unfit is not None


def _left_to_a_person(memory: Memory, sequence: StopSequence) -> bool:
    """Whether an emergency stop alone asks for the end, and the user wants to decide about that."""
    return (
        not sequence.hard_stop
        and memory.stopping.emergency is not None
        and memory.stopping.asked is None
        and memory.stopping.unfit is None
    )


def _went_back(memory: Memory) -> Due:
    """A rollback is done and its processes have gone: the agent begins again, in another session."""
    if memory.going_back.phase is not Phase.ENDING or memory.processes.ending is None:
        return None
    if memory.state is AgentState.STOPPING or memory.stopping.due:
        return None
    return Transition.GO_BACK, "it went back to a checkpoint"


def _waits(memory: Memory) -> Due:
    """The CLI ended too early, and another is launched in its place once the wait is over."""
    due = memory.retries.due
    if due is None:
        return None
    if memory.state is not AgentState.WAITING:
        return Transition.WAIT, due.recovery.why
    if memory.stopping.asked is not None:
        return Transition.END, asked(memory.stopping.asked)
    return (Transition.GO_ON, "the wait is over") if memory.retries.over else None


def _ended(memory: Memory) -> Due:
    """Return the step that follows from the end of the processes, by the state in which it came."""
    stopping = memory.state is AgentState.STOPPING
    match memory.processes.ending:
        case None if memory.processes.unborn and stopping:
            return Transition.END, "stopped before it was launched"
        case None:
            return None
        case AgentExited() | AgentVanished() if memory.going_back.phase is not None and not stopping:
            return None  # a rollback ends them too; what it comes to says whether the agent goes on
        case AgentExited() if memory.stopping.emergency is not None and not stopping:
            return None  # it died under the stop, which comes first and stays one
        case LaunchFailed(error=error):
            return (Transition.END, "stopped before it was launched") if stopping else (Transition.FAIL, error)
        case AgentVanished(reason=reason):
            return Transition.VANISH, reason
        case AgentExited() if stopping:
            return Transition.END, memory.summary.why
        case AgentExited(code=0) if memory.submitted.origin:
            return Transition.LEAVE, "its session ended"
        case AgentExited() if memory.submitted.origin:
            return Transition.VANISH, "its process is gone, and did not say that its session ended"
        case AgentExited(code=0) if memory.state is AgentState.FINISHING and not memory.summary.failed:
            return Transition.SUCCEED, f"the task's last turn succeeded{_expired(memory)}"
        case AgentExited() as ended if memory.state is AgentState.FINISHING and memory.summary.failed:
            return Transition.FAIL, f"the turn ended in an error: {memory.summary.result[:300] or f'exit {ended.code}'}"
        case AgentExited() as ended:
            how = f"exit code {ended.code}" if ended.signal is None else f"signal {ended.signal}"
            return Transition.FAIL, f"the CLI ended in state {memory.state} with {how}"


def _expired(memory: Memory) -> str:
    """Name the actions that were not run for lack of a reply, for an agent that ended well."""
    count = memory.summary.expired
    actions = "1 action was" if count == 1 else f"{count} actions were"
    return f", though {actions} not run: nobody answered in time" if count else ""


def _stopped(memory: Memory) -> Due:
    """Return the step that ends the agent before its task does."""
    if memory.state in (AgentState.STOPPING, AgentState.WAITING):
        return None
    if memory.stopping.emergency is not None:
        return Transition.STOP, memory.stopping.emergency.intervention.issue.sentence
    if memory.stopping.asked is not None:
        return Transition.STOP, asked(memory.stopping.asked)
    if isinstance(memory.stopping.unfit, ControlResponse):
        refused = f"the CLI refused the hooks ({memory.stopping.unfit.error[:200]}), so that no call could be reviewed"
        return Transition.STOP, f"stopped by chaperon: {refused}"
    if memory.stopping.unfit is not None:
        return Transition.STOP, "stopped by chaperon: the CLI did not answer its first line"
    if memory.stopping.lingers:
        return Transition.STOP, "stopped by chaperon: the CLI did not end after its input was closed"
    return None


def asked(stop: StopRequested) -> str:
    """Name the person who stopped it, and the reason if one was given."""
    return f"stopped by {stop.by}" + (f": {stop.reason}" if stop.reason else "")


def _turned(memory: Memory, retries: RetrySettings) -> Due:
    """Return the step that follows from a turn that began or ended.

    Input stays open while a message or background work will start another turn, for a while if it is a command that
    may, and during a rollback. The end of a turn that may be undone is handled after the rollback.
    """
    if memory.turns.begun and memory.state in (AgentState.STARTING, AgentState.IDLE):
        return Transition.BEGIN, "a turn began"
    turn = memory.turns.ended
    if turn is None or memory.state is not AgentState.RUNNING or memory.going_back.cause is not None:
        return None
    if turn.queued_turn_count or memory.turns.background or memory.turns.owed:
        return None
    if not memory.task.keep_open:
        waits = memory.turns.commands_awaited and not memory.summary.failed
        return None if waits else (Transition.FINISH, "its last turn ended")
    waits = waits_out(memory, retries) and not memory.submitted.origin
    return (Transition.FINISH if waits else Transition.REST), _how_it_ended(memory)


def _how_it_ended(memory: Memory) -> str:
    if not memory.summary.failed:
        return "its turn ended"
    return f"its turn ended in an error: {memory.summary.result[:300] or 'the CLI does not say which'}"


def _requested(memory: Memory) -> Due:
    """Return the step by which the agent is held, or goes on."""
    match memory.requested:
        case None if memory.pausing.due(memory.state, memory.summary.turns):
            due = Transition.PAUSE, memory.pausing.why
        case None:
            return None
        case ResumeRequested(by=by):
            rests = memory.state is AgentState.PAUSED and memory.turns.idle
            due = Transition.REST if rests else Transition.RESUME, f"resumed by {by}"
        case PersonNeeded():
            due = Transition.PAUSE, "paused by chaperon"
    return due if due[0] in legal(memory.state) else None
