"""The restart of an agent whose CLI ended before its task was done: a wait and another launch, or the agent's end.

ended too early ──► recovery chosen ──► waiting ──► launched again, in the same session or in a new one
                └─► another try would change nothing: the agent has failed, and a person is notified
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from zlib import crc32

from interventions.contract import NothingSurveyed, Surveyed
from interventions.decisions import Recovery
from interventions.recovery.after_end import AgentEnd, Follow, RecoveryAnswer, RecoveryPlan, after_end
from interventions.recovery.backoff import Backoff
from interventions.recovery.crash_context import LastAttempt
from interventions.recovery.usage_limits import MOST_SECONDS, Offset
from interventions.texts.known_errors import ErrorKind, recognise
from monitors.contract.actions import CHANGING_TOOLS, PastCall
from supervisor.core.fold.memory import Memory
from supervisor.protocol.events import AgentExited, AgentVanished, Event
from supervisor.protocol.words import AgentState

AT_WORK = frozenset({AgentState.STARTING, AgentState.RUNNING})
"""The states in which an end comes too early. One that is idle had nothing left to do, and one that a person holds must
not begin again by itself."""

SERVICE = frozenset({ErrorKind.USAGE_LIMIT, ErrorKind.OVERLOADED, ErrorKind.TIMED_OUT})
"""The errors of a turn that pass by themselves."""

SENT_FROM_OUTSIDE = frozenset({1, 2, 9, 15})
"""The signals that no fault of a program raises by itself: SIGHUP, SIGINT, SIGKILL and SIGTERM, of a person, the
kernel or the system."""


@dataclass(frozen=True, slots=True)
class RetrySettings:
    """Settings for agents whose CLI ended too early."""

    max_retries: int = 3
    """How often one whose CLI crashed is started again; 0 starts none again, for whatever reason it ended."""
    backoff: Backoff = field(default_factory=Backoff)
    """How long a service that fails is waited for."""


def recovery(
    memory: Memory,
    now: Event,
    settings: RetrySettings,
    zones: Offset,
    plugins: Sequence[RecoveryAnswer] = (),
    workspace: Surveyed | None = None,
) -> Recovery | None:
    """How the agent goes on whose CLI has just ended; None if it does not.

    Args:
        memory: The session's state.
        now: The event that is being handled: when it is.
        settings: What the user decided.
        zones: Where the time zones are, for resets that are stated as a time of day.
        plugins: Asked first, in this order, for as long as another try is allowed at all.
        workspace: What can be looked up of the agent's files.
    """
    ended = memory.processes.ending
    if ended is None or settings.max_retries == 0 or memory.stopping.due or memory.going_back.phase is not None:
        return None
    if memory.submitted.origin:
        return None  # whoever started the CLI decides whether it is started again
    if not isinstance(ended, AgentExited | AgentVanished):
        return None
    said = _last_words(memory, ended)
    if said is None or (isinstance(ended, AgentVanished) and ended.ours):
        return None
    tried = memory.retries
    facts = AgentEnd(
        prompt=memory.asked,
        said=said,
        began=bool(memory.summary.cli_version),
        crashes=tried.crashes + 1,
        waits=tried.waits + 1,
        last=_last_attempt(memory, ended, workspace or NothingSurveyed()),
        killed=isinstance(ended, AgentVanished) or ended.signal in SENT_FROM_OUTSIDE,
        resume_refused=_resume_refused(memory),
        resets_at=tried.resets_at,
    )
    chance = crc32(f"{now.agent} {memory.going_back.launches}".encode()) / 2**32
    retries, backoff = settings.max_retries, settings.backoff
    plan = after_end(facts, now=now.at, offset=zones, max_retries=retries, backoff=backoff, chance=chance)
    allowed = facts.crashes <= retries and facts.waits <= backoff.retries
    return _as_recovery(_of_plugins(plugins, facts, plan) if allowed else plan)


def waits_out(memory: Memory, settings: RetrySettings) -> bool:
    """Whether the agent is to be ended for now.

    So it is if its last turn failed for a passing reason, and it may continue later.
    """
    error = recognise(memory.summary.result) if memory.summary.failed and settings.max_retries > 0 else None
    if error is None or error.kind not in SERVICE:
        return False
    return error.kind is ErrorKind.USAGE_LIMIT or memory.retries.waits < settings.backoff.retries


def _of_plugins(plugins: Sequence[RecoveryAnswer], ended: AgentEnd, built_in: RecoveryPlan) -> RecoveryPlan:
    """The plan of the first plugin that has one; where one fails, the plan that follows says so."""
    failed = ""
    for plugin in plugins:
        try:
            plan = plugin.after_end(ended)
            if plan is not None:
                return _checked(plan)
        except Exception as error:  # noqa: BLE001 - a recovery may be anybody's code, and an end is followed all the same
            failed += f" The recovery plugin {plugin.name} failed ({type(error).__name__}: {str(error)[:200]})."
    return replace(built_in, why=built_in.why + failed)


def _checked(plan: object) -> RecoveryPlan:
    """The plan, if it can be carried out.

    Raises:
        TypeError, ValueError: It cannot.
    """
    if not isinstance(plan, RecoveryPlan):
        raise TypeError(f"it answered with a {type(plan).__name__} and not with a RecoveryPlan or None")
    if not 0 <= plan.wait_seconds <= MOST_SECONDS:
        raise ValueError(f"it waits {plan.wait_seconds} s; 0 to {MOST_SECONDS} are allowed")
    if plan.follow is not Follow.PERSON and not plan.prompt.strip():
        raise ValueError("it says nothing to the agent that goes on")
    return plan


def _last_words(memory: Memory, ended: AgentExited | AgentVanished) -> str | None:
    """Return the CLI's reason for its end; None if its end is no reason to start it again."""
    if _resume_refused(memory) and isinstance(ended, AgentExited):
        return ended.stderr_tail  # the result that it wrote before is of no turn
    turn_over = memory.state is AgentState.FINISHING or memory.turns.ended is not None
    if turn_over and memory.summary.failed:
        error = recognise(memory.summary.result)
        return memory.summary.result if error is not None and error.kind in SERVICE else None
    if memory.state not in AT_WORK:
        return None
    return ended.stderr_tail if isinstance(ended, AgentExited) else ""


def _resume_refused(memory: Memory) -> bool:
    """Whether the CLI ended before it took up the session that an earlier launch, or agent, had begun.

    A session that a person named for a task of its own is no such: whether the task makes sense without it is theirs.
    """
    if memory.going_back.launches > 1:
        return bool(memory.summary.cli_version) and not memory.retries.began
    goes_on_for_another = memory.own_opening and memory.task.resume_session
    return bool(goes_on_for_another) and not memory.summary.cli_version


def _as_recovery(plan: RecoveryPlan) -> Recovery | None:
    if plan.follow is Follow.PERSON:
        return None
    return Recovery(plan.cause, plan.follow is Follow.FRESH, plan.why, plan.wait_seconds, plan.prompt)


def _last_attempt(memory: Memory, ended: AgentExited | AgentVanished, workspace: Surveyed) -> LastAttempt:
    steps, tests = memory.calls.steps, memory.calls.tests
    turn_over = memory.state is AgentState.FINISHING or memory.turns.ended is not None
    return LastAttempt(
        number=memory.going_back.launches,
        how=how_it_ended(ended),
        turns=memory.summary.turns,
        during_turn=0 if turn_over else memory.summary.turns + 1,
        history=steps,
        files_modified=_written(steps),
        uncommitted=workspace.changed_files(),
        done=tuple(item.text for item in memory.todo.items if item.done),
        still_open=tuple(item.text for item in memory.todo.items if not item.done),
        tests="" if tests is None else f"{tests.passed} pass, {tests.failed} fail ({tests.framework})",
        last_commit=workspace.last_commit(),
        unanswered=[f"{call.tool} {call.summary}".rstrip() for call in memory.calls.running],
        output_lost=isinstance(ended, AgentVanished),
        stderr=ended.stderr_tail if isinstance(ended, AgentExited) else "",
    )


def _written(steps: Sequence[PastCall]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(step.summary for step in steps if step.tool in CHANGING_TOOLS and not step.failed))


def how_it_ended(ended: AgentExited | AgentVanished) -> str:
    """In two words. Example: `signal 9`."""
    if isinstance(ended, AgentVanished):
        return "no exit record"
    return f"exit code {ended.code}" if ended.signal is None else f"signal {ended.signal}"
