"""Expectations of a scenario: the part of its file below `expect`."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from interventions.words import InterventionKind
from monitors.contract.words import Decision, Severity
from supervisor.config.sections.base import Section
from supervisor.protocol.words import AgentState


def one_or_many(value: Any) -> Any:
    """Take a single value for a list of one."""
    return value if isinstance(value, (list, tuple)) else [value]


Texts = Annotated[tuple[str, ...], Field(strict=False), BeforeValidator(one_or_many)]
"""One text, or a list of them."""


class DecisionExpected(Section):
    """The gate's answer to the calls of a step."""

    step: str
    """The step."""
    call: int | None = Field(default=None, ge=1)
    """Number of the step's parallel call, from 1; left out, each of them."""
    decision: Annotated[Decision, Field(strict=False)]
    """The decision."""
    rule: str | None = None
    """The rule that decided; left out means any."""


class ToldExpected(Section):
    """Text that the model got, beyond its own words."""

    at: str | None = None
    """Step: its answer, in which the text must be."""
    after: str | None = None
    """Step: its answer or a later one, in which the text must be. Without `at` and `after`: in the whole run."""
    contains: Texts = ()
    """Texts that must all be in it."""
    lacks: Texts = ()
    """Texts of which none may be in it."""


class FileExpected(Section):
    """A file when the run has ended."""

    path: str
    """Relative to the workspace, or absolute, with placeholders."""
    exists: bool = True
    """Whether it is there."""
    content: str | None = None
    """All of it, byte for byte."""
    contains: Texts = ()
    """Texts that are all in it."""
    lacks: Texts = ()
    """Texts of which none is in it."""


class IncidentExpected(Section):
    """An incident that was opened."""

    type: str
    """Its type. Example: `emergency_stop`."""
    severity: Annotated[Severity | None, Field(strict=False)] = None
    """Its severity; left out means any."""


class IssueExpected(Section):
    """An issue that was seen."""

    type: str
    """Its type. Example: `repetitive_errors`."""
    severity: Annotated[Severity | None, Field(strict=False)] = None
    """Its severity; left out means any."""


class InterventionExpected(Section):
    """An intervention that was chosen."""

    kind: Annotated[InterventionKind, Field(strict=False)]
    """Its kind."""
    issue: str | None = None
    """The type of the issue behind it; left out means any."""
    told: bool = False
    """Whether its message must stand, word for word, in a request to the model."""


class Expect(Section):
    """Expected events. A field that is left out is not checked; an empty list means that there was none."""

    decisions: Annotated[tuple[DecisionExpected, ...], Field(strict=False)] = ()
    """The gate's answers."""
    told: Annotated[tuple[ToldExpected, ...], Field(strict=False)] = ()
    """Texts that the model got."""
    files: Annotated[tuple[FileExpected, ...], Field(strict=False)] = ()
    """Files when the run has ended."""
    incidents: Annotated[tuple[IncidentExpected, ...] | None, Field(strict=False)] = None
    """Incidents, each at least as often as it is listed."""
    issues: Annotated[tuple[IssueExpected, ...] | None, Field(strict=False)] = None
    """Issues, each at least as often as it is listed."""
    interventions: Annotated[tuple[InterventionExpected, ...] | None, Field(strict=False)] = None
    """Interventions, each at least as often as it is listed."""
    last_step: str | None = None
    """The last step of the agent's own that was played."""
    state: Annotated[AgentState | None, Field(strict=False)] = None
    """The agent's state at the end."""
    exit: int | None = None
    """The CLI's exit code."""
