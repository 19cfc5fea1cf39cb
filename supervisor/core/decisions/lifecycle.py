"""The agent's life: which step of the state table is due, and which rung of a stop."""

from supervisor.core.decisions.restart import RetrySettings, waits_out
from supervisor.core.decisions.stop_ladder import StopLadder
from supervisor.core.fold.memory import Memory
from supervisor.core.fold.rollback import Phase
from supervisor.core.states import Transition, legal
from supervisor.protocol.events import (
    AgentExited,
    AgentVanished,
    LaunchFailed,
    PersonNeeded,
    ResumeRequested,
    StopRequested,
)
from supervisor.protocol.messages import ControlResponse
from supervisor.protocol.words import AgentState, Rung

Due = tuple[Transition, str] | None
"""A step, and why it is taken."""


def step(known: Memory, retries: RetrySettings) -> Due:
    """The step that is due, if one is."""
    return (
        _went_back(known)
        or _waits(known)
        or _ended(known)
        or _stopped(known)
        or _turned(known, retries)
        or _wished(known)
    )


def rung(known: Memory, ladder: StopLadder) -> Rung | None:
    """The rung that a stop climbs now; None where it waits, or where nothing is being stopped."""
    if known.state is not AgentState.STOPPING:
        return None
    if _hurried(known) and known.stopping.rung not in (Rung.FREEZE, Rung.KILL):
        return Rung.FREEZE
    if known.stopping.rung is None:
        return Rung.INTERRUPT
    if known.stopping.rung is Rung.FREEZE and _left_to_a_person(known, ladder):
        return None
    following = ladder.after(known.stopping.rung) if known.stopping.rung_over else None
    return following[0] if following else None


def _hurried(known: Memory) -> bool:
    """Whether the tree is to be ended at once instead of being asked to end."""
    forced = known.stopping.asked is not None and known.stopping.asked.force
    return forced or known.stopping.emergency is not None or known.stopping.unfit is not None


def _left_to_a_person(known: Memory, ladder: StopLadder) -> bool:
    """Whether an emergency stop alone asks for the end, and the user wants to decide about that."""
    return (
        not ladder.hard_stop
        and known.stopping.emergency is not None
        and known.stopping.asked is None
        and known.stopping.unfit is None
    )


def _went_back(known: Memory) -> Due:
    """A rollback is done and its processes have gone: the agent begins again, in another session."""
    if known.going_back.phase is not Phase.ENDING or known.processes.ending is None:
        return None
    if known.state is AgentState.STOPPING or known.stopping.due:
        return None
    return Transition.GO_BACK, "it went back to a checkpoint"


def _waits(known: Memory) -> Due:
    """The CLI ended too early, and another is launched in its place once the wait is over."""
    due = known.retries.due
    if due is None:
        return None
    if known.state is not AgentState.WAITING:
        return Transition.WAIT, due.recovery.why
    if known.stopping.asked is not None:
        return Transition.END, asked(known.stopping.asked)
    return (Transition.GO_ON, "the wait is over") if known.retries.over else None


def _ended(known: Memory) -> Due:
    """What the end of the processes means, by the state in which it came."""
    stopping = known.state is AgentState.STOPPING
    match known.processes.ending:
        case None if known.processes.unborn and stopping:
            return Transition.END, "stopped before it was launched"
        case None:
            return None
        case AgentExited() | AgentVanished() if known.going_back.phase is not None and not stopping:
            return None  # a rollback ends them too; what it comes to says whether the agent goes on
        case AgentExited() if known.stopping.emergency is not None and not stopping:
            return None  # it died under the stop, which comes first and stays one
        case LaunchFailed(error=error):
            return (Transition.END, "stopped before it was launched") if stopping else (Transition.FAIL, error)
        case AgentVanished(reason=reason):
            return Transition.VANISH, reason
        case AgentExited() if stopping:
            return Transition.END, known.summary.why
        case AgentExited(code=0) if known.state is AgentState.FINISHING and not known.summary.failed:
            return Transition.SUCCEED, f"the task's last turn succeeded{_expired(known)}"
        case AgentExited() as ended if known.state is AgentState.FINISHING and known.summary.failed:
            return Transition.FAIL, f"the turn ended in an error: {known.summary.result[:300] or f'exit {ended.code}'}"
        case AgentExited() as ended:
            how = f"exit code {ended.code}" if ended.signal is None else f"signal {ended.signal}"
            return Transition.FAIL, f"the CLI ended in state {known.state} with {how}"


def _expired(known: Memory) -> str:
    """What a person should know of an agent that ended well without all that it wanted to do."""
    count = known.summary.expired
    actions = "1 action was" if count == 1 else f"{count} actions were"
    return f", though {actions} not run: nobody answered in time" if count else ""


def _stopped(known: Memory) -> Due:
    """What ends the agent before its task does."""
    if known.state in (AgentState.STOPPING, AgentState.WAITING):
        return None
    if known.stopping.emergency is not None:
        return Transition.STOP, known.stopping.emergency.intervention.issue.sentence
    if known.stopping.asked is not None:
        return Transition.STOP, asked(known.stopping.asked)
    if isinstance(known.stopping.unfit, ControlResponse):
        refused = f"the CLI refused the hooks ({known.stopping.unfit.error[:200]}), so that no call could be reviewed"
        return Transition.STOP, f"stopped by chaperon: {refused}"
    if known.stopping.unfit is not None:
        return Transition.STOP, "stopped by chaperon: the CLI did not answer its first line"
    if known.stopping.lingers:
        return Transition.STOP, "stopped by chaperon: the CLI did not end after its input was closed"
    return None


def asked(stop: StopRequested) -> str:
    """Who stopped it, and why where that was said."""
    return f"stopped by {stop.by}" + (f": {stop.reason}" if stop.reason else "")


def _turned(known: Memory, retries: RetrySettings) -> Due:
    """What a turn that began or ended means.

    Input stays open while a message or background work will start another, for a while where it is a command that may, and
    while the agent goes back: what follows from the end of a turn that is perhaps undone is decided when that is over.
    """
    if known.turns.begun and known.state in (AgentState.STARTING, AgentState.IDLE):
        return Transition.BEGIN, "a turn began"
    turn = known.turns.ended
    if turn is None or known.state is not AgentState.RUNNING or known.going_back.cause is not None:
        return None
    if turn.queued_turn_count or known.turns.background or known.turns.owed:
        return None
    if not known.task.keep_open:
        waits = known.turns.commands_awaited and not known.summary.failed
        return None if waits else (Transition.FINISH, "its last turn ended")
    return (Transition.FINISH if waits_out(known, retries) else Transition.REST), _how_it_ended(known)


def _how_it_ended(known: Memory) -> str:
    if not known.summary.failed:
        return "its turn ended"
    return f"its turn ended in an error: {known.summary.result[:300] or 'the CLI does not say which'}"


def _wished(known: Memory) -> Due:
    """What is to be held, or to go on."""
    match known.wish:
        case None:
            return None
        case ResumeRequested(by=by):
            rests = known.state is AgentState.PAUSED and known.turns.idle
            due = Transition.REST if rests else Transition.RESUME, f"resumed by {by}"
        case PersonNeeded():
            due = Transition.PAUSE, "paused by chaperon"
        case wish:
            due = Transition.PAUSE, f"paused by {wish.by}"
    return due if due[0] in legal(known.state) else None
