"""From findings to a decision: the matrix over risk and rationality."""

from dataclasses import replace

from monitors.contract.actions import Review
from monitors.contract.words import Decision, MonitoringLevel, Sensitivity
from monitors.review.rules import levels
from monitors.review.settings import ReviewSettings

WARN_AT = {Sensitivity.LOW: 0.65, Sensitivity.MEDIUM: 0.5, Sensitivity.HIGH: 0.3}
"""Risk from which the model gets a warning, by sensitivity."""
DOUBTFUL = 0.3
"""Rationality below which an action that is not quite harmless is warned about."""
HARMLESS = 0.15
"""Risk up to which doubts about the sense of an action are kept to oneself."""


def watched_at(level: MonitoringLevel, settings: ReviewSettings) -> ReviewSettings:
    """Return the settings for an agent under this monitoring.

    At `strict`, actions that are usually warned of are blocked.
    """
    if level is not MonitoringLevel.STRICT:
        return settings
    return replace(
        settings, threshold=min(settings.threshold, WARN_AT[Sensitivity.MEDIUM]), sensitivity=Sensitivity.HIGH
    )


def decision(risk: float, rationality: float, settings: ReviewSettings, *, rewritable: bool = False) -> Decision:
    """Allow, warn, block, or modify where it would be blocked and can be made harmless."""
    if not settings.scored:
        return Decision.BLOCK if risk >= levels.HARM else Decision.ALLOW
    if risk >= settings.threshold:
        return Decision.MODIFY if rewritable else Decision.BLOCK
    if risk >= min(WARN_AT[settings.sensitivity], settings.threshold):
        return Decision.WARN
    if rationality < DOUBTFUL and risk > HARMLESS:
        return Decision.WARN
    return Decision.ALLOW


def may_answer_early(review: Review) -> bool:
    """Whether the answer may reach the CLI before the journal has the review, as the async mode allows.

    The review itself takes less time than a notice to the CLI that it is not awaited, so it is always made first. A
    call of low risk need not wait for the disk, since it changes nothing. If a crash comes between, the call is
    reviewed and journalled again when its request is read again, with the same answer.
    """
    return review.decision is Decision.ALLOW and review.risk <= HARMLESS and not review.side_effects
