"""The reviewer as the daemon runs it: timed, and with an end to its patience.

A reviewer is pure and quick; a plug-in may not be. Its deadline counts the processor time that it uses, not the wall
clock: under load honest reviews take longer on the wall, and a deadline there would block honest work. One that waits
for something uses no processor time, so there is a second deadline on the wall, far behind what load can explain.

Reviewers, rules and a risk calculator may come from plugins. A whole file of them, for `plugins.reviewers`,
`plugins.rules` and `plugins.risk`; `supervisor.testing` checks what they must keep to:

    from monitors import Decision, Review, Risk, Rule, Severity, StandardRisk

    class Offline:
        def review(self, action, context):
            if action.tool != "WebFetch" and "https://" not in str(action.input):
                return Review(Decision.ALLOW, 0.0, 1.0, Severity.LOW, "It stays on this machine.")
            return Review(Decision.BLOCK, 0.9, 0.5, Severity.HIGH, "This project is built offline.", "own.offline")

    class Careful:
        def score(self, findings, context, *, strict):
            risk = StandardRisk().score(findings, context, strict=strict)
            return Risk(min(risk.score * 1.2, 1.0), risk.factors, risk.worst)

    def make_rules():
        why, instead = "changes what customers use", "Ask a person to deploy."
        return [Rule("own.deploy", ("deploy prod",), 0.8, why, instead, yes=("deploy prod",), no=("deploy test",))]

    make_reviewer, make_risk = Offline, Careful
"""

import gc
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import FrameType
from typing import Any, TypeVar

from monitors.contract.actions import Action, Review, ReviewContext, Reviewer
from monitors.contract.errors import ChaperonError, ReviewDeferredError
from monitors.contract.words import Profile
from monitors.review import StepReviewer, make_reviewer
from monitors.review.chain import Chain, NamedRisk
from monitors.review.rules.definitions import Knowledge
from monitors.review.scene.lookups import FileLookups
from monitors.review.user_rules import OwnRules
from supervisor.runtime.assembly import plugins
from supervisor.runtime.assembly.review_settings import ReviewerSetup
from supervisor.runtime.clock import Clock
from supervisor.runtime.filesystem import FileFacts

Result = TypeVar("Result")

DEADLINE_SECONDS = 0.5
"""Processor seconds a review may use: a thousand times the usual fraction of a millisecond, ten times the most that
an input of 64 KB takes. The gate answers no other agent meanwhile."""


HELD_SECONDS = 0.05
"""Processor seconds that a review may hold the gate's loop, in which every other agent waits as well: a hundred times
the usual, and what the largest inputs that are no attack stay below."""

HELD_LONGEST_SECONDS = 0.5
"""Seconds on the wall that a review may hold the loop: one that waits for a slow disk, or for what a plugin asks. It
is ten times the processor time, since a loaded machine stretches an honest review as much."""

LONGEST_SECONDS = 10.0
"""Seconds on the wall that a review may take. The daemon does nothing else meanwhile, so it is less than the 20 s
and more that service managers wait for a heartbeat."""

AGAIN_SECONDS = 0.1
"""Interval at which the signal is repeated, for a reviewer that catches the end of its time, as `except Exception`
does."""


NOBODY = (0.0, 0.0)
"""The value of a timer that is not set."""


class ReviewDeadlineError(ChaperonError):
    """A review took more time than it may; the action is blocked."""

    def __init__(self, seconds: float, of: str) -> None:
        """Say how much it may take, and of what."""
        super().__init__(f"the review took more than {seconds:g} s {of} and was ended")


class WatchedReviewer:
    """Asks another reviewer, notes how long it took, and ends it when it takes too long.

    Args:
        reviewer: Does the reviewing.
        clock: Tells the time that reviews take.
        deadline_seconds: Processor seconds that one review may use.
        longest_seconds: Seconds that it may take on the wall.
        defers: Whether a review that takes longer is to be made elsewhere, and not at an end.
    """

    def __init__(
        self,
        reviewer: Reviewer,
        clock: Clock,
        deadline_seconds: float = DEADLINE_SECONDS,
        longest_seconds: float = LONGEST_SECONDS,
        *,
        defers: bool = False,
    ) -> None:
        self._defers = defers
        self._reviewer = reviewer
        self._clock = clock
        self._deadline_seconds = deadline_seconds
        self._longest_seconds = longest_seconds

    def review(self, action: Action, context: ReviewContext) -> Review:
        """Review the action.

        Raises:
            ReviewDeadlineError: It took too long. Whatever else the reviewer raises comes through as well.
            ReviewDeferredError: It took too long for here, and is to be made elsewhere.
        """
        started = self._clock.mono()
        try:
            work = partial(self._reviewer.review, action, context)
            review = within(self._deadline_seconds, self._longest_seconds, work)
        except ReviewDeadlineError as error:
            if self._defers:
                raise ReviewDeferredError(str(error)) from None
            raise
        return replace(review, micros=round((self._clock.mono() - started) * 1e6))


def make_gate_reviewer(
    setup: ReviewerSetup,
    clock: Clock,
    *,
    profile: Profile | None = None,
    facts: FileLookups | None = None,
    defers: bool = False,
    step: Reviewer | None = None,
) -> WatchedReviewer:
    """The reviewer that the gate, the socket and the command line share, so that all give the same answer.

    Args:
        setup: The user's settings and rules.
        clock: Tells the time that reviews take.
        profile: Where actions are judged; as the configuration says where None. Under `strict` nothing of this machine
            is looked up.
        facts: Looks things up; in this machine's file system where None.
        defers: Whether it holds its caller for a moment only, and what takes longer is to be made elsewhere.
        step: The built-in reviewer, if there is one already; it then has its profile and its look-ups.

    Raises:
        PluginError: A plugin that the configuration names cannot be used.
    """
    step = step or make_step_reviewer(setup, profile=profile, facts=facts)
    more = [(plugin.origin, plugin.make()) for plugin in plugins.load(plugins.REVIEWERS, setup.reviewers)]
    if more:
        step = Chain([("built-in", step), *more])
    if defers:
        return WatchedReviewer(OwnRules(setup.own_rules, step), clock, HELD_SECONDS, HELD_LONGEST_SECONDS, defers=True)
    return WatchedReviewer(OwnRules(setup.own_rules, step), clock)


def make_step_reviewer(
    setup: ReviewerSetup, *, profile: Profile | None = None, facts: FileLookups | None = None
) -> StepReviewer:
    """The built-in reviewer within it, with the user's settings and the plugins' rules and risk.

    Raises:
        PluginError: A plugin that the configuration names cannot be used.
    """
    rules, profile = own_knowledge(setup).rules, profile or setup.settings.profile
    settings = replace(setup.settings, rules=rules, profile=profile)
    weighing = plugins.load(plugins.RISK, setup.risk)
    risk = next((NamedRisk(plugin.origin, plugin.make()) for plugin in weighing), None)
    return make_reviewer(settings, facts or FileFacts(), risk)


def own_knowledge(setup: ReviewerSetup) -> Knowledge:
    """Return the additions of the configuration and its plugins to the built-in knowledge.

    Raises:
        UsageError: An entry cannot be used.
    """
    settings = setup.settings
    added = (rule for plugin in plugins.load(plugins.RULES, setup.rules) for rule in plugin.make())
    return Knowledge((*settings.rules, *added), settings.programs, settings.launchers)


def own_rule_names(setup: ReviewerSetup) -> frozenset[str] | None:
    """Return the names of all rules beside the built-in ones; None if a plugin reviews.

    A plugin may name any rule. Raises like `own_knowledge`.
    """
    if setup.reviewers:
        return None
    own = own_knowledge(setup)
    of_programs = (f"program.{program.effect}" for program in own.programs if program.effect)
    return frozenset((*(rule.name for rule in setup.own_rules), *(rule.name for rule in own.rules), *of_programs))


class _Timer:
    """The signals of a deadline: they are the process's, so there is one of these."""

    def __init__(self) -> None:
        self._seconds = self._longest_seconds = 0.0
        self._running = self._ours = False
        self._others = NOBODY
        self.expired: ReviewDeadlineError | None = None
        """The end that was raised; a reviewer may have caught it and gone on."""

    def start(self, seconds: float, longest_seconds: float) -> dict[int, Any]:
        """Start; returns the earlier handlers of the signals, if they are to be restored."""
        self._others = signal.getitimer(signal.ITIMER_REAL)
        before = self._take()
        self._seconds, self._longest_seconds, self._running = seconds, longest_seconds, True
        self.expired = None
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds, AGAIN_SECONDS)
        signal.setitimer(signal.ITIMER_REAL, longest_seconds, AGAIN_SECONDS)
        return before

    def stop(self, before: dict[int, Any]) -> None:
        """Stop; the clock's timer is given back to its earlier owner, such as a test's time limit."""
        self._running = False
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_REAL, *self._others)
        for number, handler in before.items():
            signal.signal(number, handler)

    def _take(self) -> dict[int, Any]:
        """Install the signal handlers.

        While no other code has set the clock they stay: to change them takes 30 microseconds.
        """
        if self._ours and self._others == NOBODY:
            return {}
        before: dict[int, Any] = {n: signal.signal(n, self._expired) for n in (signal.SIGVTALRM, signal.SIGALRM)}
        self._ours = self._others == NOBODY
        return {} if self._ours else before

    def _expired(self, number: int, frame: FrameType | None) -> None:
        """Raise the end if the work runs just now.

        A signal that comes a moment before or behind it, on a machine that stood still, raises nothing: it would pass
        the place where the timers are stopped, and the next one would end the daemon.
        """
        while frame is not None and frame.f_code is not _interruptible.__code__:
            frame = frame.f_back
        if not self._running or frame is None:
            return
        if number == signal.SIGVTALRM:
            self.expired = ReviewDeadlineError(self._seconds, "of processor time")
        else:
            self.expired = ReviewDeadlineError(self._longest_seconds, "on the clock")
        raise self.expired


_timer = _Timer()


def within(seconds: float, longest_seconds: float, work: Callable[[], Result]) -> Result:
    """Return what the work returns, and end it once it has used so much processor time, or taken so long.

    Signals are handled by the main thread alone; elsewhere, as in tests, there is no deadline.

    Raises:
        ReviewDeadlineError: It was ended, or went on although it was told to end. What it raises comes through.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    collects = gc.isenabled()
    gc.disable()  # else the end may be raised in a finalizer of somebody else's object, which swallows it
    before = _timer.start(seconds, longest_seconds)
    try:
        result = _interruptible(work)
    finally:
        _timer.stop(before)
        if collects:
            gc.enable()
    if _timer.expired is not None:
        raise _timer.expired
    return result


def _interruptible(work: Callable[[], Result]) -> Result:
    """Do the work; beneath this call alone the end of its time is raised."""
    return work()
