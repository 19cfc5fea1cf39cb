"""The follow-up of an agent that ended before its task was done and was not stopped.

| end | follow-up |
| --- | --- |
| at a usage limit | wait until the stated reset, and resume the same session |
| because the service was overloaded or timed out | wait, longer each time, and resume the same session |
| by a crash, for the first time | resume the same session with what is known |
| because the CLI refused to resume the session | a new session with what is known |
| by a crash again | a new session with what is known: the old one may be the cause of the crash |
| by a signal from outside, to it or its shim, however often | resume the same session: it was not the cause |
| by a crash more often than `max_retries` | a person |
| before it ever began a turn | a person: a retry would change nothing |
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from interventions.decisions import EndCause
from interventions.recovery.backoff import Backoff
from interventions.recovery.crash_context import LastAttempt, context
from interventions.recovery.usage_limits import Offset, wait_seconds
from interventions.texts.fields import OPENING
from interventions.texts.known_errors import ErrorKind, recognise
from monitors.contract.wording import counted


class Follow(StrEnum):
    """The follow-up of an end."""

    RESUME = "resume"
    """The same session goes on, after the wait."""
    FRESH = "fresh"
    """A new session begins in the same workspace, after the wait."""
    PERSON = "person"
    """Nothing is done until a person decides."""


@dataclass(frozen=True, slots=True)
class AgentEnd:
    """How an agent ended."""

    prompt: str
    """The prompt of its task, and what else it was told at its start as one that goes on with another's work."""
    said: str
    """The last result or the tail of its standard error, whichever there is."""
    began: bool
    """Whether it ever began a turn; a session that never did has nothing to resume."""
    crashes: int
    """How often this task's agents crashed, this time counted."""
    waits: int
    """How often this task has waited for the service, this time counted."""
    last: LastAttempt
    killed: bool = False
    """Whether it was ended from outside, by a signal or with its shim; the session is not the cause."""
    resume_refused: bool = False
    """Whether the CLI ended before it took its session up again."""
    resets_at: float | None = None
    """When the CLI's own notice says that the limit ends, in Unix seconds; None without a notice."""


@dataclass(frozen=True, slots=True)
class RecoveryPlan:
    """The follow-up to carry out."""

    follow: Follow
    why: str
    """For the incident log; a whole sentence."""
    cause: EndCause = EndCause.CRASHED
    wait_seconds: float = 0.0
    prompt: str = ""
    """With what the next attempt begins."""


class RecoveryAnswer(Protocol):
    """A recovery of a plugin, asked before the plan of `after_end`."""

    @property
    def name(self) -> str:
        """The name in incidents."""
        ...

    def after_end(self, ended: AgentEnd) -> RecoveryPlan | None:
        """Return the follow-up of an end; None to leave it to the built-in rules."""
        ...


GO_ON = f"{OPENING}The service can be reached again. Go on with the task from where it stands."


def go_on(prompt: str) -> str:
    """Return what an agent is told that goes on in its session after a wait.

    The task is said again, as after a crash: on a busy machine the CLI 2.1.329 was seen to write a session's record
    without its first message, so that the session that it resumed knew nothing of the task.
    """
    return f"{GO_ON}\n\nThe task:\n{prompt}"


def after_end(
    ended: AgentEnd,
    *,
    now: float,
    offset: Offset,
    max_retries: int = 3,
    backoff: Backoff | None = None,
    chance: float = 0.5,
) -> RecoveryPlan:
    """Return the follow-up of an end.

    Args:
        ended: The end.
        now: Unix time now, in seconds.
        offset: Returns the offset of a named time zone.
        max_retries: How often a task whose agent crashed is tried again.
        backoff: How long to wait for an overloaded service.
        chance: 0 to 1, from outside; see `Backoff.delay`.
    """
    error = recognise(ended.said)
    if error is not None and error.kind is ErrorKind.USAGE_LIMIT:
        wait = wait_seconds(ended.said, now, offset, ended.resets_at)
        why = f"A usage limit was reached; it goes on in {wait / 60:.0f} minutes."
        return _go_on(ended, why, EndCause.USAGE_LIMIT, wait)
    if error is not None and error.kind in (ErrorKind.OVERLOADED, ErrorKind.TIMED_OUT):
        delay = (backoff or Backoff()).delay(ended.waits, chance)
        if delay is None:
            why = f"The service failed {counted(ended.waits, 'time')} ({error.kind}); it is given up."
            return RecoveryPlan(Follow.PERSON, why, EndCause.SERVICE_FAILED)
        why = f"The service failed ({error.kind}); retry {ended.waits} in {delay:.0f} s."
        return _go_on(ended, why, EndCause.SERVICE_FAILED, delay)
    return _after_crash(ended, max_retries)


def _go_on(ended: AgentEnd, why: str, cause: EndCause, wait: float) -> RecoveryPlan:
    if ended.began:
        return RecoveryPlan(Follow.RESUME, why, cause, wait, go_on(ended.prompt))
    return RecoveryPlan(Follow.FRESH, why, cause, wait, ended.prompt)


def _after_crash(ended: AgentEnd, max_retries: int) -> RecoveryPlan:
    refused = ended.resume_refused and not ended.killed
    if not ended.began and not refused:
        return RecoveryPlan(Follow.PERSON, "It ended before it began; see what its CLI said, and chaperon doctor.")
    if ended.crashes > max_retries:
        return RecoveryPlan(
            Follow.PERSON,
            f"Its agents crashed {counted(ended.crashes, 'time')}, and {max_retries} retries are the most.",
        )
    if refused:
        said = " ".join(ended.said.split())[:200] or ended.last.how
        why = f"Its CLI refused to resume its session ({said}); it begins anew, with what is known."
        return RecoveryPlan(Follow.FRESH, why, prompt=context(ended.prompt, replace(ended.last, same_session=False)))
    again = ended.crashes > 1 and not ended.killed
    follow = Follow.FRESH if again else Follow.RESUME
    how = "begins anew, since the session may be what crashes it" if again else "goes on in the same session"
    last = replace(ended.last, same_session=not again)
    return RecoveryPlan(follow, f"Its agent crashed ({ended.last.how}); it {how}.", prompt=context(ended.prompt, last))
