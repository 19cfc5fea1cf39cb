"""Settings of interventions. Names and defaults are those of the configuration file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from interventions.words import InterventionKind
from monitors.contract.bounds import Count, Flag, Key, Pause, Seconds, Share, Switch


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftCorrectionSettings:
    """A word in the agent's ear."""

    enabled: Switch = True
    """Whether this is used at all."""
    max_attempts: Count = 3
    """Corrections for one streak of an issue before a stronger intervention is taken; a fourth reminder of the same
    thing is noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextReinforcementSettings:
    """The request, constraints and goals said again."""

    enabled: Switch = True
    """Whether this is used at all."""
    # How the first one is; each further one for the same issue is a step stronger.
    reinforcement_strength: Annotated[Literal["light", "medium", "strong"], Key()] = "medium"
    """How much is said again: the request alone, with constraints and goals, or all of it with what matters now
    emphasised."""
    include_examples: Flag = True
    """Whether an example of what to do instead is added."""
    max_attempts: int = 3
    """As for corrections: there are three strengths, and none is said twice unchanged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReductionFactors:
    """Factors by which a limit is multiplied when it is tightened."""

    # For growth over 1.2.
    moderate: Share = 0.85
    """For moderate growth; a fraction of the limit in force."""
    # For growth over 2.
    aggressive: Share = 0.5
    """For extreme growth; halving is felt at once and still leaves room to finish."""
    # For growth over 2.
    severe: Share = 0.25
    """For growth that went on after a first tightening."""

    @property
    def high(self) -> float:
        """For growth over 1.5: between the two, 0.7 with the defaults."""
        return round((self.moderate + self.aggressive) / 2, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceThrottlingSettings:
    """Tighter limits, and a message to the agent."""

    enabled: Switch = True
    """Whether this is used at all."""
    metrics_window_seconds: Seconds = 60.0
    """How long usage must be calm before tightened limits are eased, in seconds."""
    smaller_model: Annotated[str | None, Key()] = None
    """The model that an agent goes down to near a limit of tokens, cost, time or file operations, by the name that
    the CLI takes. Example: `haiku`. Empty: its model stays."""
    reduction_factors: ReductionFactors = field(default_factory=ReductionFactors)
    max_attempts: int = 3
    """Tightenings for one streak: 0.5 three times leaves an eighth, below which nothing useful runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRollbackSettings:
    """Files and conversation go back to a good moment."""

    enabled: Switch = True
    """Whether this is used at all."""
    # Also the rollbacks in one run.
    max_rollback_depth: Count = 3
    """How many checkpoints back one rollback may go; beyond that more good work is lost than saved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmergencyStopSettings:
    """Frozen, saved, ended: the whole process tree."""

    enabled: Switch = True
    """Whether this is used at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategySettings:
    """How the next intervention is chosen."""

    type: Annotated[Literal["progressive", "pattern_specific", "custom"], Key()] = "progressive"
    """Stronger step by step, a ladder of its own for each pattern, or one that a plugin brings."""
    # The progressive strategy passes over a kind whose share is surely below it.
    effectiveness_threshold: Share = 0.6
    """Below this share of interventions that helped, the next one is stronger."""
    escalation_delay_seconds: Pause = 120.0
    """Least time between an intervention and a stronger one for the same issue, in seconds; an agent needs a few
    turns to act on a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterventionSettings:
    """The response to issues, and its frequency."""

    # What a critical rule blocks stays blocked.
    enabled: Flag = True
    """Whether interventions are made; if not, issues are only recorded. Reviews go on."""
    max_interventions_per_execution: Count = 10
    """Interventions in one run; after the last one a person is asked, and the agent waits at its next tool call.
    Emergency stops are not counted out."""
    intervention_cooldown_seconds: Pause = 30.0
    """Least time between two interventions for one agent, in seconds. An emergency stop never waits."""
    auto_rollback: Flag = False
    """Whether a rollback is done without asking. Where not, it is proposed in the incident log; off, because it
    discards work."""
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
