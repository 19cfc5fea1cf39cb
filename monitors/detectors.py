"""The detectors of a session, in order, and all their settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, TypeVar

from monitors.contract.bounds import Key
from monitors.contract.issues import Detector
from monitors.contract.tasks import Task
from monitors.contract.words import MonitoringLevel, Sensitivity
from monitors.guarded import Guarded, OpenIssues
from monitors.learning import LearningSettings
from monitors.patterns.blocked_on_human import BlockedOnHuman, BlockedOnHumanSettings
from monitors.patterns.combinations import Combinations, CombinationsSettings
from monitors.patterns.custom_pattern import CustomPatternDetector, CustomPatternSettings
from monitors.patterns.exploration_wandering import ExplorationWandering, ExplorationWanderingSettings
from monitors.patterns.goal_drift import GoalDrift, GoalDriftSettings
from monitors.patterns.hallucination import Hallucination, HallucinationSettings
from monitors.patterns.model_judge import JudgeSettings
from monitors.patterns.no_progress import NoProgress, NoProgressSettings, patterns_of
from monitors.patterns.repetition import Repetition, RepetitionSettings
from monitors.patterns.repetitive_errors import RepetitiveErrors, RepetitiveErrorsSettings
from monitors.patterns.resource_spiral import ResourceSpiral, ResourceSpiralSettings
from monitors.patterns.scope_creep import ScopeCreep, ScopeCreepSettings
from monitors.patterns.tampering import TestTampering, TestTamperingSettings
from monitors.patterns.text_loop import TextLoop, TextLoopSettings
from monitors.per_subagent import Apart
from monitors.sensitivity import PatternSettings
from monitors.signals.shared import SharedSignals


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorSettings:
    """Patterns to watch for, and the sensitivity. One field for each pattern, named as its issues are."""

    sensitivity: Annotated[Sensitivity, Key()] = Sensitivity.MEDIUM
    """How early detectors speak up. Low: fewer false alarms. High: sooner."""
    repetitive_errors: RepetitiveErrorsSettings = field(default_factory=RepetitiveErrorsSettings)
    repetition: RepetitionSettings = field(default_factory=RepetitionSettings)
    scope_creep: ScopeCreepSettings = field(default_factory=ScopeCreepSettings)
    resource_spiral: ResourceSpiralSettings = field(default_factory=ResourceSpiralSettings)
    goal_drift: GoalDriftSettings = field(default_factory=GoalDriftSettings)
    exploration_wandering: ExplorationWanderingSettings = field(default_factory=ExplorationWanderingSettings)
    hallucination: HallucinationSettings = field(default_factory=HallucinationSettings)
    text_loop: TextLoopSettings = field(default_factory=TextLoopSettings)
    blocked_on_human: BlockedOnHumanSettings = field(default_factory=BlockedOnHumanSettings)
    test_tampering: TestTamperingSettings = field(default_factory=TestTamperingSettings)
    no_progress: NoProgressSettings = field(default_factory=NoProgressSettings)
    combinations: CombinationsSettings = field(default_factory=CombinationsSettings)
    custom: tuple[CustomPatternSettings, ...] = ()
    """The user's own."""
    learning: LearningSettings = field(default_factory=LearningSettings)
    judge: JudgeSettings = field(default_factory=JudgeSettings)


def pattern_names(settings: DetectorSettings) -> tuple[str, ...]:
    """The names of all patterns, the user's own among them."""
    built_in = (each.name for each in fields(settings) if isinstance(getattr(settings, each.name), PatternSettings))
    return (*built_in, *(each.name for each in settings.custom))


Settings = TypeVar("Settings", bound=PatternSettings)


def make_detectors(
    settings: DetectorSettings,
    task: Task,
    *,
    workspace: str = "",
    plugins: tuple[Detector, ...] = (),
    factors: Mapping[str, float] | None = None,
) -> tuple[Guarded, ...]:
    """Make fresh detectors for one session; each remembers, so none may be shared between sessions.

    Args:
        settings: What to watch for.
        task: What the agent is to do. Its prompt may be empty if the run itself begins with it.
        workspace: Where the agent works, absolute, if that is not the task's repository itself but a worktree of it.
        plugins: Detectors from elsewhere, made for this session; they come after ours and before the combinations.
        factors: What learning multiplies thresholds with, by pattern.
    """
    task = replace(task, repository=workspace) if workspace else task
    board, shared = OpenIssues(), SharedSignals(patterns_of(settings.no_progress), task.repository)

    closely = Sensitivity.HIGH if task.monitoring_level is MonitoringLevel.STRICT else None

    def own(pattern: Settings, name: str) -> Settings:
        factor = (factors or {}).get(name, pattern.learned)
        return replace(pattern, sensitivity=closely or pattern.sensitivity or settings.sensitivity, learned=factor)

    repetition, text_loop = own(settings.repetition, "repetition"), own(settings.text_loop, "text_loop")
    wandering = own(settings.exploration_wandering, "exploration_wandering")
    detectors: tuple[tuple[PatternSettings, Detector], ...] = (
        (settings.repetitive_errors, RepetitiveErrors(own(settings.repetitive_errors, "repetitive_errors"))),
        (repetition, Apart(lambda: Repetition(repetition, shared))),
        (text_loop, Apart(lambda: TextLoop(text_loop))),
        (settings.no_progress, NoProgress(own(settings.no_progress, "no_progress"), shared)),
        (settings.scope_creep, ScopeCreep(own(settings.scope_creep, "scope_creep"), task, shared)),
        (settings.resource_spiral, ResourceSpiral(own(settings.resource_spiral, "resource_spiral"), task, shared)),
        (settings.goal_drift, GoalDrift(own(settings.goal_drift, "goal_drift"), task, shared)),
        (wandering, Apart(lambda: ExplorationWandering(wandering, shared))),
        (settings.hallucination, Hallucination(own(settings.hallucination, "hallucination"), shared)),
        (settings.blocked_on_human, BlockedOnHuman(own(settings.blocked_on_human, "blocked_on_human"))),
        (settings.test_tampering, TestTampering(own(settings.test_tampering, "test_tampering"), shared)),
        *((custom, CustomPatternDetector(own(custom, custom.name))) for custom in settings.custom),
    )
    chosen = [Guarded(detector, board) for pattern, detector in detectors if pattern.enabled]
    last = [Guarded(Combinations(board, settings.combinations))] if settings.combinations.enabled else []
    return (*chosen, *(Guarded(plugin, board) for plugin in plugins), *last)
