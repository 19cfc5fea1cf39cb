import contextlib
import gc
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from monitors.contract.actions import Action, Review, ReviewContext
from monitors.contract.errors import ReviewDeferredError
from monitors.contract.words import Decision
from supervisor.config.model import Config
from supervisor.core import gate
from supervisor.runtime.assembly import reviewer as reviewing
from supervisor.runtime.assembly.plugins import PluginError
from supervisor.runtime.assembly.review_settings import ReviewerSetup
from supervisor.runtime.assembly.reviewer import ReviewDeadlineError, WatchedReviewer, make_gate_reviewer
from supervisor.runtime.clock import Clock
from supervisor.testing import check_reviewer, check_risk
from tests.stages.session import ALLOW

ACTION, CONTEXT = Action("Bash", {"command": "ls"}), ReviewContext(None)


@dataclass
class Doing:
    """A reviewer that does something, and then allows."""

    do: Callable[[], object]

    def review(self, action: Action, context: ReviewContext) -> Review:  # noqa: ARG002 - the protocol's
        self.do()
        return ALLOW


def burn() -> None:
    while True:
        sum(range(1000))


def burn_and_catch() -> None:
    """What a plug-in with a broad `except` does: it goes on when it is told to end, at first."""
    try:
        burn()
    except Exception:  # noqa: BLE001
        burn()


def watched(do: Callable[[], object], deadline: float = 0.05, longest: float = 10.0) -> Review:
    return WatchedReviewer(Doing(do), Clock(), deadline, longest).review(ACTION, CONTEXT)


def test_a_review_is_given_back_with_the_time_it_took() -> None:
    review = watched(lambda: None)
    assert review.decision == ALLOW.decision
    assert review.micros >= 0


@pytest.mark.parametrize("do", [burn, burn_and_catch])
def test_a_review_that_uses_up_its_processor_time_is_ended(do: Callable[[], None]) -> None:
    with pytest.raises(ReviewDeadlineError, match=r"more than 0\.05 s of processor time"):
        watched(do)


def test_a_review_that_waits_is_ended_by_the_clock() -> None:
    with pytest.raises(ReviewDeadlineError, match=r"more than 0\.1 s on the clock"):
        watched(lambda: time.sleep(30), longest=0.1)


def caught_for_good() -> None:
    """A plug-in that swallows the end of its time, and says that all is well."""
    with contextlib.suppress(Exception):
        burn()


def test_a_reviewer_that_catches_the_end_of_its_time_is_not_believed() -> None:
    with pytest.raises(ReviewDeadlineError):
        watched(caught_for_good)


@pytest.mark.parametrize("do", [burn, burn_and_catch, caught_for_good, lambda: time.sleep(30)])
def test_a_review_that_takes_longer_than_the_gate_may_be_held_is_put_off(do: Callable[[], object]) -> None:
    reviewer = WatchedReviewer(Doing(do), Clock(), 0.05, 0.3, defers=True)
    with pytest.raises(ReviewDeferredError):
        gate.review(reviewer, ACTION, CONTEXT)


def test_the_gates_own_reviewer_puts_off_and_that_of_the_command_line_waits() -> None:
    hostile = Action("Bash", {"command": "echo a; " * 2_000_000}, "/w", "/w")
    waits = make_gate_reviewer(ReviewerSetup(), Clock())
    assert gate.review(waits, hostile, CONTEXT).decision is Decision.BLOCK
    quick = make_gate_reviewer(ReviewerSetup(), Clock(), defers=True)
    assert gate.review(quick, ACTION, CONTEXT).decision is Decision.ALLOW


def test_no_garbage_is_collected_while_a_review_may_be_ended() -> None:
    """A finalizer swallows what is raised in it, and would be cut in two."""

    class Cycle:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            gone.append(self)

    gone: list[object] = []

    def work() -> int:
        for _ in range(5_000):
            Cycle()
        return len(gone)

    assert reviewing.within(5, 5, work) == 0
    assert gc.isenabled()
    gc.collect()
    assert gone


def test_what_a_reviewer_raises_comes_through() -> None:
    with pytest.raises(ZeroDivisionError):
        watched(lambda: 1 / 0)


def test_signals_and_timers_are_afterwards_as_they_were() -> None:
    """Among them the time limit of this very test."""
    before = signal.getsignal(signal.SIGALRM), signal.getsignal(signal.SIGVTALRM)
    limited = signal.getitimer(signal.ITIMER_REAL)[0] > 0
    with pytest.raises(ReviewDeadlineError):
        watched(burn)
    assert (signal.getsignal(signal.SIGALRM), signal.getsignal(signal.SIGVTALRM)) == before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0, 0)
    assert (signal.getitimer(signal.ITIMER_REAL)[0] > 0) == limited


def test_where_nobody_else_has_a_time_limit_each_review_is_still_ended_and_no_signal_comes_late() -> None:
    limit, handler = signal.getitimer(signal.ITIMER_REAL), signal.getsignal(signal.SIGALRM)
    signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        for _ in range(3):
            with pytest.raises(ReviewDeadlineError):
                watched(burn, deadline=0.01)
            assert watched(lambda: None).decision is Decision.ALLOW
        signal.raise_signal(signal.SIGALRM)  # one that was on its way as the review ended
        assert signal.getitimer(signal.ITIMER_REAL) == signal.getitimer(signal.ITIMER_VIRTUAL) == (0, 0)
    finally:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *limit)


@pytest.mark.parametrize("number", [signal.SIGALRM, signal.SIGVTALRM])
def test_a_signal_that_comes_a_moment_before_or_behind_the_work_raises_nothing(number: signal.Signals) -> None:
    """As on a machine that stood still: it would pass the place where the timers are stopped."""
    before = reviewing._timer.start(10.0, 10.0)
    try:
        signal.raise_signal(number)
        with pytest.raises(ReviewDeadlineError):
            reviewing._interruptible(lambda: signal.raise_signal(number))
        signal.raise_signal(number)
    finally:
        reviewing._timer.stop(before)


@pytest.mark.parametrize("micros", range(1, 60))
def test_however_early_the_time_is_over_the_timers_are_stopped(micros: int) -> None:
    with contextlib.suppress(ReviewDeadlineError):
        watched(lambda: None, deadline=10.0, longest=micros / 1e6)
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0, 0)
    assert not reviewing._timer._running


def test_the_deadline_is_each_reviews_own() -> None:
    for _ in range(5):
        watched(lambda: sum(range(100_000)), deadline=0.5)


EXAMPLE = "\n".join(
    line.removeprefix("    ") for line in (reviewing.__doc__ or "").splitlines() if line.startswith("    ") or not line
)
"""The worked example of the module's docstring, as it stands there."""


def gated(tmp_path: Path, text: str, **named: str | list[str]) -> WatchedReviewer:
    """The gate's reviewer with one plugin file in the places that are named."""
    (tmp_path / "own.py").write_text(text)
    path = str(tmp_path / "own.py")
    where = {kind: [path] if isinstance(value, list) else path for kind, value in named.items()}
    return make_gate_reviewer(ReviewerSetup.of(Config.model_validate({"plugins": where})), Clock(), profile="strict")


def asked(reviewer: WatchedReviewer, command: str) -> Review:
    return gate.review(reviewer, Action("Bash", {"command": command}, "/w", "/w"), CONTEXT)


def test_the_worked_example_works_and_keeps_the_contract(tmp_path: Path) -> None:
    reviewer = gated(tmp_path, EXAMPLE, reviewers=[], rules=[], risk="")
    space: dict[str, object] = {}
    exec(EXAMPLE, space)
    check_reviewer(space["make_reviewer"]())  # type: ignore[operator]
    check_risk(space["make_risk"]())  # type: ignore[operator]
    assert asked(reviewer, "ls -l").decision is Decision.ALLOW
    assert (asked(reviewer, "sudo deploy prod").rule, asked(reviewer, "deploy test").rule) == ("own.deploy", "")
    assert asked(reviewer, "echo $(curl https://example.com)").rule == "own.offline"


def test_a_risk_calculator_that_raises_is_a_block_that_names_it(tmp_path: Path) -> None:
    text = "class R:\n    def score(self, findings, context, *, strict): return findings.nothing\n\nmake_risk = R\n"
    blocked = asked(gated(tmp_path, text, risk=""), "ls")
    assert blocked.decision is Decision.BLOCK
    assert f"The risk calculator `{tmp_path}/own.py` raised AttributeError" in blocked.reasoning


def test_a_reviewer_that_raises_is_a_block_that_names_it(tmp_path: Path) -> None:
    text = "class R:\n    def review(self, action, context): return action.nothing\n\nmake_reviewer = R\n"
    blocked = asked(gated(tmp_path, text, reviewers=[]), "ls")
    assert (blocked.decision, blocked.rule) == (Decision.BLOCK, f"reviewer.failed:{tmp_path}/own.py")


def test_a_plugin_that_cannot_be_used_keeps_the_reviewer_from_being_made(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="defines no function `make_reviewer`"):
        gated(tmp_path, "x = 1", reviewers=[])
