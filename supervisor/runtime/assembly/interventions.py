"""Interventions, strategies and recoveries of plugins, as the daemon runs them: each with an end to its patience.

A whole file of them, for `plugins.interventions`, `plugins.strategy` and `plugins.recovery`:

    from interventions import Follow, InterventionKind, LadderPosition, Plan, RecoveryPlan, Unfit

    class AskForTheLog:
        name = "ask_for_the_log"
        kind = InterventionKind.SOFT_CORRECTION
        types = ("repetitive_errors",)

        def plan(self, case):
            error = case.issue.details.get("error")
            if not error:
                return Unfit("the issue names no error")
            return Plan(f"[chaperon] Show the 20 lines of the log around: {str(error)[:300]} (attempt {case.attempt})")

    class WordsFirst:
        name = "words_first"

        def ladder(self, issue):
            return (InterventionKind.SOFT_CORRECTION, InterventionKind.EMERGENCY_STOP)

        def position(self, ladder, past):
            return LadderPosition(min(len(past.tried) // 3, len(ladder) - 1), "three words come before a stop")

    class TrainsOnly:
        name = "trains_only"

        def after_end(self, ended):
            if "no route to host" not in ended.said:
                return None  # the built-in plan is asked
            return RecoveryPlan(Follow.RESUME, "The tunnel is long.", wait_seconds=300, prompt="Go on with the task.")

    make_intervention, make_strategy, make_recovery = AskForTheLog, WordsFirst, TrainsOnly

They must keep to `interventions.contract`; `supervisor.testing` has the checks. One that raises, or takes
longer than a review may, is not asked again in the run; an incident says so, and the built-in ones answer in its place.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from interventions.contract import Answer, Case, LadderPosition, Past, Plan, Strategy, Unfit
from interventions.recovery.after_end import AgentEnd, RecoveryAnswer, RecoveryPlan
from interventions.words import InterventionKind
from monitors.contract.errors import ChaperonError
from monitors.contract.issues import Issue
from monitors.contract.tasks import Task
from supervisor.config.model import Config
from supervisor.runtime.assembly import plugins
from supervisor.runtime.assembly.plugins import Plugin, PluginError
from supervisor.runtime.assembly.reviewer import DEADLINE_SECONDS, LONGEST_SECONDS, Result, ReviewDeadlineError, within


class TooSlowError(ChaperonError):
    """A plugin took more time than it may."""


class Patience:
    """How long plugins may take. Once one of them took too long it is not asked again, for it holds up all agents.

    Args:
        deadline_seconds: Processor seconds that one answer may use.
        longest_seconds: Seconds that it may take on the wall.
    """

    def __init__(self, deadline_seconds: float = DEADLINE_SECONDS, longest_seconds: float = LONGEST_SECONDS) -> None:
        self._limits = (deadline_seconds, longest_seconds)
        self._slow: set[str] = set()

    def of(self, name: str, work: Callable[[], Result]) -> Result:
        """Return what a plugin answers, and end it once it takes too long.

        Raises:
            TooSlowError: It does, or this plugin did before. What the plugin raises comes through.
        """
        if name in self._slow:
            raise TooSlowError(
                f"the plugin {name} took too long before and is switched off until the daemon is restarted"
            )
        try:
            return within(*self._limits, work)
        except ReviewDeadlineError:
            self._slow.add(name)
            seconds = " or ".join(f"{limit:g} s" for limit in self._limits)
            what = f"the plugin {name} took longer than {seconds} and was ended"
            raise TooSlowError(what) from None


class WatchedAnswer:
    """An intervention of a plugin.

    Raises:
        ValueError: Its kind is none of the five.
    """

    def __init__(self, answer: Answer, patience: Patience) -> None:
        self.name = answer.name
        self.kind = InterventionKind(answer.kind)
        self.types = tuple(getattr(answer, "types", ()))
        self._answer = answer
        self._patience = patience

    def plan(self, case: Case) -> Plan | Unfit:
        """Return the plugin's plan; its exceptions pass through."""
        return self._patience.of(self.name, partial(self._answer.plan, case))


class WatchedStrategy:
    """A strategy of a plugin."""

    def __init__(self, strategy: Strategy, patience: Patience) -> None:
        self.name = strategy.name
        self._strategy = strategy
        self._patience = patience

    def ladder(self, issue: Issue) -> Sequence[InterventionKind]:
        """The plugin's ladder; what it raises comes through."""
        return self._patience.of(self.name, lambda: tuple(self._strategy.ladder(issue)))

    def position(self, ladder: Sequence[InterventionKind], past: Past) -> LadderPosition:
        """The plugin's position; what it raises comes through."""
        return self._patience.of(self.name, partial(self._strategy.position, ladder, past))


class WatchedRecovery:
    """A recovery of a plugin."""

    def __init__(self, recovery: RecoveryAnswer, patience: Patience) -> None:
        self.name = recovery.name
        self._recovery = recovery
        self._patience = patience

    def after_end(self, ended: AgentEnd) -> RecoveryPlan | None:
        """The plugin's plan; what it raises comes through."""
        return self._patience.of(self.name, partial(self._recovery.after_end, ended))


class PluginInterventions:
    """Interventions, strategy and recoveries of plugins.

    Args:
        config: Names the plugins.
        patience: How long they may take.

    Raises:
        PluginError: One of them cannot be loaded, or does not make what it should.
    """

    def __init__(self, config: Config, patience: Patience | None = None) -> None:
        wanted = config.plugins
        self._patience = patience or Patience()
        self._answers = plugins.load(plugins.INTERVENTIONS, wanted.interventions)
        self._strategy = next(iter(plugins.load(plugins.STRATEGY, wanted.wanted("strategy"))), None)
        self.recoveries: tuple[RecoveryAnswer, ...] = tuple(
            WatchedRecovery(plugin.make(), self._patience) for plugin in plugins.load(plugins.RECOVERY, wanted.recovery)
        )
        """They are asked in this order."""
        nothing = Task("", "", "/")
        for plugin in self._answers:
            _watched(plugin, nothing, self._patience)
        if self._strategy is not None:
            self._strategy.make(nothing)

    def answers(self, task: Task) -> tuple[Answer, ...]:
        """The interventions for one session."""
        return tuple(self._answer(plugin, task) for plugin in self._answers)

    def strategy(self, task: Task) -> Strategy | None:
        """The strategy for one session, where a plugin brings one."""
        if self._strategy is None:
            return None
        try:
            return WatchedStrategy(self._strategy.make(task), self._patience)
        except PluginError as error:
            return _Unmade(self._strategy.origin, error)

    def _answer(self, plugin: Plugin[Answer], task: Task) -> Answer:
        try:
            return _watched(plugin, task, self._patience)
        except PluginError as error:
            return _Unmade(plugin.origin, error)


def _watched(plugin: Plugin[Answer], task: Task, patience: Patience) -> Answer:
    made = plugin.make(task)
    try:
        return WatchedAnswer(made, patience)
    except ValueError as error:
        raise PluginError("interventions", plugin.origin, f"has a wrong kind: {error}") from None


class _Unmade:
    """Takes the place of a part that could not be made for this task alone.

    Each call raises, which makes an incident.
    """

    kind = InterventionKind.SOFT_CORRECTION
    types: tuple[str, ...] = ()

    def __init__(self, origin: str, error: PluginError) -> None:
        self.name = Path(origin).stem
        self._error = error

    def plan(self, case: Case) -> Plan | Unfit:  # noqa: ARG002 - the protocol's
        raise self._error

    def ladder(self, issue: Issue) -> Sequence[InterventionKind]:  # noqa: ARG002 - the protocol's
        raise self._error

    def position(self, ladder: Sequence[InterventionKind], past: Past) -> LadderPosition:  # noqa: ARG002 - the protocol's
        raise self._error
