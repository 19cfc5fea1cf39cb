"""The configuration of what is done about an issue."""

from typing import Literal

from pydantic import Field

from monitors.contract.bounds import Count, Days, Pause, Seconds, Share
from supervisor.config.base import FilePath, Section, Switchable, Texts


class SoftCorrectionSection(Switchable):
    """A word in the agent's ear."""

    max_attempts: Count = 3
    """Corrections for one streak of an issue before a stronger intervention is taken; a fourth reminder of the same
    thing is noise."""
    custom_prompts_path: FilePath | None = None
    """File with texts of your own for each issue type; relative to the configuration file's directory. Empty: the
    built-in texts."""


class ContextReinforcementSection(Switchable):
    """The request, constraints and goals said again."""

    reinforcement_strength: Literal["light", "medium", "strong"] = "medium"
    """How much is said again: the request alone, with constraints and goals, or all of it with what matters now emphasised."""
    include_examples: bool = True
    """Whether an example of what to do instead is added."""


class ReductionFactorsSection(Section):
    """What a limit is multiplied by when it is tightened."""

    moderate: Share = 0.85
    """For moderate growth; a fraction of the limit in force."""
    aggressive: Share = 0.5
    """For extreme growth; halving is felt at once and still leaves room to finish."""
    severe: Share = 0.25
    """For growth that went on after a first tightening."""


class ResourceThrottlingSection(Switchable):
    """Tighter limits, and the agent is told."""

    reduction_factors: ReductionFactorsSection = ReductionFactorsSection()
    metrics_window_seconds: Seconds = 60
    """Over how long growth is measured, in seconds; a build's burst is shorter."""
    smaller_model: str | None = None
    """The model that an agent goes down to near a limit of tokens, cost, time or file operations, by the name that
    the CLI takes. Example: `haiku`. Empty: its model stays."""


class SafeCheckpointCriteria(Section):
    """When a checkpoint counts as a good moment to go back to."""

    min_success_rate: Share = 0.8
    """Least share of tool calls before it that succeeded, 0 to 1."""
    no_errors_duration_seconds: Pause = 60
    """How long before it no tool call may have failed, in seconds."""


class CheckpointRollbackSection(Switchable):
    """Files and conversation go back to a good moment."""

    max_rollback_depth: Count = 3
    """How many checkpoints back one rollback may go; beyond that more good work is lost than saved."""
    checkpoint_retention_minutes: Count = 30
    """How long a checkpoint of a running agent may serve a rollback, in minutes; files on disk are kept as `checkpoints` says."""
    safe_checkpoint_criteria: SafeCheckpointCriteria = SafeCheckpointCriteria()


class EmergencyStopSection(Switchable):
    """Frozen, saved, ended: the whole process tree."""

    auto_cleanup: bool = False
    """Whether the workspace is removed after a stop; off, because it is the evidence."""
    notification_channels: Texts = ("email", "slack")
    """Names of the channels that are told. A channel that is not set up is passed over; the incident log is always written."""
    preserve_incident_data_days: Days = 30
    """How long the full report of a stop is kept, in days."""


class StrategySection(Section):
    """How the next intervention is chosen."""

    type: Literal["progressive", "pattern_specific", "custom"] = "progressive"
    """Stronger step by step, a ladder of its own for each pattern, or one that a plugin brings."""
    effectiveness_threshold: Share = 0.6
    """Below this share of interventions that helped, the next one is stronger."""
    escalation_delay_seconds: Pause = 120
    """Least time between an intervention and a stronger one for the same issue, in seconds; an agent needs a few
    turns to act on what it was told."""


class Interventions(Section):
    """What is done about an issue, and how often."""

    enabled: bool = True
    """Whether anything is done about issues; where not, they are only recorded. Reviews go on."""
    max_interventions_per_execution: Count = 10
    """Interventions in one run; after the last one a person is asked, and the agent waits at its next tool call.
    Emergency stops are not counted out."""
    intervention_cooldown_seconds: Pause = 30
    """Least time between two interventions for one agent, in seconds. An emergency stop never waits."""
    hard_stop: bool = True
    """Whether an emergency stop ends the agent's processes. Where not, they stand still until `chaperon stop` ends them."""
    auto_rollback: bool = False
    """Whether a rollback is done without asking. Where not, it is proposed in the incident log; off, because it discards work."""
    max_retries: int = Field(default=3, ge=0, le=100)
    """How often a task whose agent crashed is tried again."""
    soft_correction: SoftCorrectionSection = SoftCorrectionSection()
    context_reinforcement: ContextReinforcementSection = ContextReinforcementSection()
    resource_throttling: ResourceThrottlingSection = ResourceThrottlingSection()
    checkpoint_rollback: CheckpointRollbackSection = CheckpointRollbackSection()
    emergency_stop: EmergencyStopSection = EmergencyStopSection()
    strategy: StrategySection = StrategySection()
