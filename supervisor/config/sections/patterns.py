"""The sections `patterns` and `progress`: the settings of the detectors, and patterns of the user's own."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from monitors.contract.bounds import Count
from monitors.contract.words import Sensitivity
from monitors.detectors import DetectorSettings
from monitors.patterns.no_progress import ProgressSettings
from supervisor.config.sections.base import Expression, Section, Texts
from supervisor.config.sections.embedded import embeds

_BUILT_IN = frozenset(DetectorSettings.__dataclass_fields__)


class CustomPatternSection(Section):
    """A pattern of your own: something that must not happen again and again."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*$")]
    """The issue's type: lower case letters, digits and underscores."""
    description: Annotated[str, Field(min_length=1)]
    """One sentence for people and for the agent."""
    match: Expression
    """Regular expression that is searched in each tool call (its tool and the values of its input) and its result, and
    in each line that the CLI prints on its error output (behind a line `CLI`)."""
    threshold: Count = 3
    """How many matches in the window make an issue."""
    window: Count = 20
    """Over how many latest tool calls matches are counted."""
    severity: Literal["low", "medium", "high", "critical"] = "medium"
    """How bad it is; chooses the intervention."""

    @model_validator(mode="after")
    def _of_its_own(self) -> "CustomPatternSection":
        if self.name in _BUILT_IN:
            raise ValueError(f"{self.name!r} is the name of a built-in pattern; give yours another")
        return self


@embeds(DetectorSettings, own_first=True)
class PatternsSection(Section):
    """The detectors that see when a run goes wrong."""

    enabled_patterns: Texts = ("all",)
    """Names of the detectors in use, yours among them, or `all`."""
    custom_patterns: Annotated[tuple[CustomPatternSection, ...], Field(strict=False)] = ()
    """Patterns of your own."""

    if TYPE_CHECKING:

        @property
        def sensitivity(self) -> Sensitivity:
            """How early detectors speak up; declared by `DetectorSettings`."""


@embeds(ProgressSettings)
class ProgressSection(Section):
    """When a run counts as stuck: by what the agent does, not by how many steps it took."""
