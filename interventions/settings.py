"""What the user may decide about interventions. Names and defaults are those of the configuration file."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from interventions.words import InterventionKind


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftCorrectionSettings:
    """A word in the agent's ear."""

    enabled: bool = True
    max_attempts: int = 3
    """Corrections for one streak of an issue; a fourth reminder of the same thing is noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextReinforcementSettings:
    """The request, constraints and goals said again."""

    enabled: bool = True
    reinforcement_strength: str = "medium"
    """`light`, `medium` or `strong`: how the first one is; each further one for the same issue is a step stronger."""
    include_examples: bool = True
    max_attempts: int = 3
    """As for corrections: there are three strengths, and none is said twice unchanged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReductionFactors:
    """What a limit is multiplied by when it is tightened."""

    moderate: float = 0.85
    """For growth over 1.2."""
    aggressive: float = 0.5
    """For growth over 2."""
    severe: float = 0.25
    """For growth over 2 that went on after a first tightening."""

    @property
    def high(self) -> float:
        """For growth over 1.5: between the two, 0.7 with the defaults."""
        return round((self.moderate + self.aggressive) / 2, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceThrottlingSettings:
    """Tighter limits, and the agent is told."""

    enabled: bool = True
    reduction_factors: ReductionFactors = field(default_factory=ReductionFactors)
    metrics_window_seconds: float = 60.0
    """How long usage must be calm before the limits are eased, in seconds."""
    max_attempts: int = 3
    """Tightenings for one streak: 0.5 three times leaves an eighth, below which nothing useful runs."""
    smaller_model: str | None = None
    """The model that a run goes down to near a limit, as the CLI calls it; None leaves the task's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRollbackSettings:
    """Files and conversation go back to a good moment."""

    enabled: bool = True
    max_rollback_depth: int = 3
    """Rollbacks in one run, and checkpoints back that one may go; beyond that more good work is lost than saved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmergencyStopSettings:
    """Frozen, saved, ended."""

    enabled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategySettings:
    """How the next intervention is chosen."""

    type: str = "progressive"
    """`progressive`, `pattern_specific`, or `custom`: the one that a plugin brought."""
    effectiveness_threshold: float = 0.6
    """A kind whose share of successes is surely below this is passed over by the progressive strategy, 0 to 1."""
    escalation_delay_seconds: float = 120.0
    """How long after an intervention the same issue, seen again, gets the same kind once more instead of a stronger one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterventionSettings:
    """What is done about issues, and how often."""

    enabled: bool = True
    """Where not, issues are only recorded. Reviews go on, so what a critical rule blocks stays blocked."""
    max_interventions_per_execution: int = 10
    """After so many a person decides; a stop is never counted out."""
    intervention_cooldown_seconds: float = 30.0
    """How long an agent is left alone after an intervention; a stop does not wait."""
    auto_rollback: bool = False
    """Whether a rollback is done without asking. Where not, it is proposed to a person, since it discards work."""
    soft_correction: SoftCorrectionSettings = field(default_factory=SoftCorrectionSettings)
    context_reinforcement: ContextReinforcementSettings = field(default_factory=ContextReinforcementSettings)
    resource_throttling: ResourceThrottlingSettings = field(default_factory=ResourceThrottlingSettings)
    checkpoint_rollback: CheckpointRollbackSettings = field(default_factory=CheckpointRollbackSettings)
    emergency_stop: EmergencyStopSettings = field(default_factory=EmergencyStopSettings)
    strategy: StrategySettings = field(default_factory=StrategySettings)
    custom_prompts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Texts of the user's by issue type, one for each attempt, as `interventions.texts.fields.load` checked them."""

    def allows(self, kind: InterventionKind) -> bool:
        """Whether the kind may be used at all."""
        return self.enabled and self._of(kind).enabled

    def attempts(self, kind: InterventionKind) -> int:
        """How many of the kind one streak of an issue may get."""
        section = self._of(kind)
        match section:
            case CheckpointRollbackSettings():
                return section.max_rollback_depth
            case EmergencyStopSettings():
                return 1
            case _:
                return section.max_attempts

    def _of(
        self, kind: InterventionKind
    ) -> (
        SoftCorrectionSettings
        | ContextReinforcementSettings
        | ResourceThrottlingSettings
        | CheckpointRollbackSettings
        | EmergencyStopSettings
    ):
        match kind:
            case InterventionKind.SOFT_CORRECTION:
                return self.soft_correction
            case InterventionKind.CONTEXT_REINFORCEMENT:
                return self.context_reinforcement
            case InterventionKind.RESOURCE_THROTTLING:
                return self.resource_throttling
            case InterventionKind.CHECKPOINT_ROLLBACK:
                return self.checkpoint_rollback
            case InterventionKind.EMERGENCY_STOP:
                return self.emergency_stop
