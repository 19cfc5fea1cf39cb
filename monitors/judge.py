"""A place for asking a model what rules cannot tell: varied grinding, drift in meaning. Off by default.

Nothing here asks anybody. The core builds a request when the settings allow one, the runtime puts it to a model
through the CLI, and the answer becomes an issue like any other, with the confidence that the model gave.
"""

from dataclasses import dataclass

from supervisor.protocol.issues import Issue
from supervisor.protocol.words import Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """Whether a model is asked, and how often."""

    enabled: bool = False
    first_after_steps: int = 30
    """Steps before the first question; a peer that asks one begins at turn 30."""
    every_steps: int = 15
    """Steps between questions."""
    most_questions: int = 10
    """Questions in one session."""
    least_confidence: float = 0.9
    """Answers less sure are not raised."""
    last_steps: int = 20
    """Steps that the model is shown."""


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """What a model is asked."""

    task: str
    steps: tuple[str, ...]
    """The last steps, one line each, oldest first."""
    first_seq: int
    last_seq: int


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    """What it said."""

    stuck: bool
    confidence: float
    sentence: str


def is_due(settings: JudgeSettings, step: int, questions_asked: int) -> bool:
    """Whether a question may be put at this step."""
    waited = step - settings.first_after_steps
    return (
        settings.enabled
        and questions_asked < settings.most_questions
        and waited >= 0
        and waited % settings.every_steps == 0
    )


def issue_of(answer: JudgeAnswer, request: JudgeRequest, settings: JudgeSettings) -> Issue | None:
    """The answer as an issue, or None where it says that all is well or is not sure enough."""
    if not answer.stuck or answer.confidence < settings.least_confidence:
        return None
    return Issue(
        type="judged_stuck",
        severity=Severity.LOW,
        confidence=min(1.0, answer.confidence),
        impact_factor=0.2,
        began=request.first_seq,
        sentence=answer.sentence[:500],
        evidence=(request.first_seq, request.last_seq),
    )
