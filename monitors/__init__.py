"""Pure: the reviewer of each tool call, and the detectors of patterns over many.

contract/          the words of monitors
patterns/          the detectors, one pattern a module
review/            the step reviewer
signals/           signals in a run that several detectors use
detectors          the detectors of a session, in order, and all their settings
faces              names of a package, each looked up in its module at its first use
guarded            around each detector
learning           learning from outcomes
masking            records without secrets and personal data
per_subagent       subagents watched apart
personal_patterns  the shapes of personal data
secret_patterns    the shapes of secrets
sensitivity        how eagerly patterns are reported, and what each pattern's settings share
streaks            issues of one detector that are open
"""

from typing import TYPE_CHECKING

from monitors.faces import lazily

if TYPE_CHECKING:
    from monitors.contract.actions import Action, Review, ReviewContext, Reviewer
    from monitors.contract.errors import ChaperonError, UsageError
    from monitors.contract.issues import Detector, Issue
    from monitors.contract.observations import (
        AgentSpoke,
        ContextCompacted,
        ErrorLineSeen,
        Observation,
        ResourcesSampled,
        TokensUsed,
        ToolCalled,
        ToolReturned,
        TurnEnded,
        UsageSeen,
        UserSpoke,
        WorkChecked,
    )
    from monitors.contract.tasks import Limits, Task
    from monitors.contract.words import Decision, MonitoringLevel, Severity
    from monitors.review.rules.rules import Rule
    from monitors.review.verdict.risk import Risk, RiskCalculator, StandardRisk

__all__ = [
    "Action",
    "AgentSpoke",
    "ChaperonError",
    "ContextCompacted",
    "Decision",
    "Detector",
    "ErrorLineSeen",
    "Issue",
    "Limits",
    "MonitoringLevel",
    "Observation",
    "ResourcesSampled",
    "Review",
    "ReviewContext",
    "Reviewer",
    "Risk",
    "RiskCalculator",
    "Rule",
    "Severity",
    "StandardRisk",
    "Task",
    "TokensUsed",
    "ToolCalled",
    "ToolReturned",
    "TurnEnded",
    "UsageError",
    "UsageSeen",
    "UserSpoke",
    "WorkChecked",
]

__getattr__ = lazily(
    __name__,
    {
        "monitors.contract.actions": ("Action", "Review", "ReviewContext", "Reviewer"),
        "monitors.contract.errors": ("ChaperonError", "UsageError"),
        "monitors.contract.issues": ("Detector", "Issue"),
        "monitors.contract.observations": (
            "AgentSpoke",
            "ContextCompacted",
            "ErrorLineSeen",
            "Observation",
            "ResourcesSampled",
            "TokensUsed",
            "ToolCalled",
            "ToolReturned",
            "TurnEnded",
            "UsageSeen",
            "UserSpoke",
            "WorkChecked",
        ),
        "monitors.contract.tasks": ("Limits", "Task"),
        "monitors.contract.words": ("Decision", "MonitoringLevel", "Severity"),
        "monitors.review.rules.rules": ("Rule",),
        "monitors.review.verdict.risk": ("Risk", "RiskCalculator", "StandardRisk"),
    },
)
