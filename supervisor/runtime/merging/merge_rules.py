"""Settings of checks and merges, and where files of theirs are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from supervisor.core.settings import MergeSettings, VerifySettings
from supervisor.runtime.processes.user_program import Trusted, as_it_is


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRules:
    """Settings of checks and merges, and where files of theirs are."""

    merge: MergeSettings = field(default_factory=MergeSettings)
    verify: VerifySettings = field(default_factory=VerifySettings)
    projects: Mapping[str, str] = field(default_factory=dict)
    """Check commands of projects, instead of that of `verify`."""
    folder: Path = Path("/nonexistent")
    """The folder where merged files are checked."""
    notes: Path = Path("/nonexistent")
    """The folder where running checks are noted."""
    set_up: str | None = None
    """The program that prepares workspaces, and so also these files."""
    set_up_seconds: float = 600.0
    trusted: Trusted = as_it_is
    """Tells by which path the program is run."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment of that program."""

    def command_of(self, project: str) -> str:
        """Return the check command for a project; empty if there is none."""
        return self.projects.get(project, self.verify.command)
