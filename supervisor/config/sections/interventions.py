"""The section `interventions`: the settings of their controller, and what the daemon alone needs."""

from pydantic import Field

from checkpoints.choose import SafeCriteria
from interventions.settings import (
    CheckpointRollbackSettings,
    EmergencyStopSettings,
    InterventionSettings,
    SoftCorrectionSettings,
)
from monitors.contract.bounds import Count, Days
from supervisor.config.sections.base import FilePath, Section, Texts
from supervisor.config.sections.embedded import embeds


@embeds(SoftCorrectionSettings)
class SoftCorrectionSection(Section):
    """A word in the agent's ear."""

    custom_prompts_path: FilePath | None = None
    """File with texts of your own for each issue type; relative to the configuration file's directory. Empty: the
    built-in texts."""


@embeds(SafeCriteria)
class SafeCheckpointCriteria(Section):
    """When a checkpoint counts as a good moment to go back to."""


@embeds(CheckpointRollbackSettings)
class CheckpointRollbackSection(Section):
    """Files and conversation go back to a good moment."""

    checkpoint_retention_minutes: Count = 30
    """Minutes for which a checkpoint of a running agent may serve a rollback; files on disk are kept as
    `checkpoints` says."""
    safe_checkpoint_criteria: SafeCheckpointCriteria = SafeCheckpointCriteria()


@embeds(EmergencyStopSettings)
class EmergencyStopSection(Section):
    """Frozen, saved, ended: the whole process tree."""

    auto_cleanup: bool = False
    """Whether the workspace is removed after a stop; off, because it is the evidence."""
    notification_channels: Texts = ("email", "slack")
    """Names of the channels that are notified. A channel that is not set up is passed over; the incident log is
    always written."""
    preserve_incident_data_days: Days = 30
    """How long the full report of a stop is kept, in days."""


@embeds(InterventionSettings)
class Interventions(Section):
    """The response to issues, and its frequency."""

    hard_stop: bool = True
    """Whether an emergency stop ends the agent's processes. If not, they stay frozen until `chaperon stop` ends
    them."""
    max_retries: int = Field(default=3, ge=0, le=100)
    """How often a task whose agent crashed is tried again."""
    soft_correction: SoftCorrectionSection = SoftCorrectionSection()
    checkpoint_rollback: CheckpointRollbackSection = CheckpointRollbackSection()
    emergency_stop: EmergencyStopSection = EmergencyStopSection()
