"""A pattern of the user's own: something that must not happen again and again, named by a regular expression."""

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from monitors.contract.issues import Issue
from monitors.contract.observations import ErrorLineSeen, Observation, ToolReturned
from monitors.contract.wording import counted
from monitors.sensitivity import PatternSettings, level_of
from monitors.streaks import MAX_EVIDENCE, Streaks


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomPatternSettings(PatternSettings):
    """A pattern of the user."""

    name: str
    """The issue's type."""
    description: str
    """Its meaning, for a person and for the agent."""
    match: str
    """Regular expression that is searched in the tool's name, the values of its input, and its result; and in each line
    that the CLI prints on its error output, behind a line `CLI`."""
    threshold: int = 3
    """Matching calls and lines in the window that make an issue."""
    window: int = 20
    """Tool calls over which matches are counted."""


_MOST_OF_AN_INPUT = 4_000
_MOST_OF_A_RESULT = 8_000
"""Characters that are searched, at each end of a result the half: the expression is the user's, and may be slow."""


class CustomPatternDetector:
    """Raises an issue of the name that the user gave."""

    watches = frozenset({ToolReturned, ErrorLineSeen})

    def __init__(self, settings: CustomPatternSettings) -> None:
        self.name = settings.name
        self._settings = settings
        self._match = re.compile(settings.match)
        self._threshold = max(1, round(settings.threshold * settings.factor))
        self._matches: deque[tuple[int, int]] = deque()
        self._streaks = Streaks(1)
        self._calls = 0

    def see(self, observation: Observation) -> Sequence[Issue]:
        """Search a call that ended or a line of the CLI, and count it with the latest."""
        if not isinstance(observation, (ToolReturned, ErrorLineSeen)):
            return ()
        self._calls += isinstance(observation, ToolReturned)
        while self._matches and self._matches[0][0] <= self._calls - self._settings.window:
            self._matches.popleft()
        matches = self._match.search(_read(observation)) is not None
        if matches:
            self._matches.append((self._calls, observation.seq))
        level = level_of(len(self._matches), self._threshold)
        if not level:
            return self._streaks.close()
        return self._streaks.seen(self._issue(level), level) if matches else ()

    def _issue(self, level: int) -> Issue:
        seqs = tuple(seq for _, seq in self._matches)
        settings = self._settings
        return Issue(
            type=self.name,
            severity=settings.severity_at(level),
            confidence=settings.confidence_at(level),
            impact_factor=settings.impact_factor,
            began=seqs[0],
            sentence=f"{settings.description.rstrip('.')}: {counted(len(seqs), 'time')} in the last {settings.window} calls.",
            evidence=seqs[-MAX_EVIDENCE:],
            details={"count": len(seqs)},
        )


def _read(step: ToolReturned | ErrorLineSeen) -> str:
    """Return the text that is searched in a step, a line each: the tool, its input's values, its result."""
    if isinstance(step, ErrorLineSeen):
        return f"CLI\n{step.text}"
    text, half = step.text, _MOST_OF_A_RESULT // 2
    shown = text if len(text) <= _MOST_OF_A_RESULT else f"{text[:half]}\n{text[-half:]}"
    asked = "\n".join(str(value) for value in step.input.values())[:_MOST_OF_AN_INPUT]
    return f"{step.tool}\n{asked}\n{shown}"
