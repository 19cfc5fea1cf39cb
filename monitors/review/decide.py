"""From findings to a decision: the matrix over risk and rationality."""

from monitors.review.settings import ReviewSettings
from supervisor.protocol.words import Decision

WARN_AT = {"low": 0.65, "medium": 0.5, "high": 0.3}
"""Risk from which the model is told what to mind, by sensitivity."""
DOUBTFUL = 0.3
"""Rationality below which an action that is not quite harmless is warned about."""
HARMLESS = 0.15
"""Risk up to which doubts about the sense of an action are kept to oneself."""


def decision(risk: float, rationality: float, settings: ReviewSettings, *, rewritable: bool = False) -> Decision:
    """Allow, warn, block, or modify where it would be blocked and can be made harmless."""
    if risk >= settings.threshold:
        return Decision.MODIFY if rewritable else Decision.BLOCK
    if risk >= min(WARN_AT[settings.sensitivity], settings.threshold):
        return Decision.WARN
    if rationality < DOUBTFUL and risk > HARMLESS:
        return Decision.WARN
    return Decision.ALLOW


READ_ONLY_TOOLS = frozenset({"Read", "Glob", "Grep", "LS", "NotebookRead", "TodoWrite", "TodoRead", "BashOutput", "TaskOutput", "ListMcpResourcesTool", "ToolSearch"})  # fmt: skip
"""Tools whose worst is to read; in the async mode they do not wait."""


def waits(tool: str, settings: ReviewSettings) -> bool:
    """Whether a call of the tool waits for its review. Either way the review is made and journalled.

    A review takes less time than telling the CLI that it is not awaited, so only tools that cannot change a thing are let go.
    """
    return settings.mode == "blocking" or tool not in READ_ONLY_TOOLS
