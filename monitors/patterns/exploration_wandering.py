"""Looking around without getting anywhere: many directories, back and forth, no focus, and nothing made of it.

Measured over the last looks (reads, listings, searches) since something was last changed or a person spoke. Three
things make the score: how many directories the looks are in, how many go back to what was seen before, and how few are
in the directory most looked at. Reading a code base in order is broad and never goes back, and stays below the
threshold; so does going back and forth between the few files that matter.
"""

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from posixpath import dirname
from typing import Annotated, NamedTuple

from annotated_types import Ge, Le

from monitors.contract.bounds import Key, Share
from monitors.contract.issues import Issue
from monitors.contract.observations import Observation, ToolCalled, UserSpoke
from monitors.contract.words import Severity
from monitors.sensitivity import PatternSettings, level_of
from monitors.signals.shared import SharedSignals
from monitors.streaks import MAX_EVIDENCE, Streaks


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplorationWanderingSettings(PatternSettings):
    """Looking around without getting anywhere."""

    severity: Annotated[Severity, Key()] = Severity.LOW
    confidence: float = 0.6
    threshold: Share = 0.7
    """Score of many directories, going back and lost focus from which it is wandering."""
    # Healthy research of 40 looks was seen with a score of 0.7.
    window: Annotated[int, Key(), Ge(2), Le(1_000)] = 60
    """Looks over which is measured; fewer say nothing."""
    max_directories: int = 20
    """Directories in the window that count as fully broad."""
    max_backtracking: float = 0.4
    """Share of looks at what was seen before that counts as fully going back; below it nothing is reported."""
    focus: float = 0.5
    """Share of looks in the directory most looked at from which there is full focus."""


_WEIGHTS = (0.3, 0.45, 0.25)
"""Of directories, backtracking and lost focus. Going back weighs most, for reading in order does not do it; no two of
the others reach the threshold without it."""


class _Look(NamedTuple):
    path: str
    directory: str
    seq: int


class ExplorationWandering:
    """Raises `exploration_wandering`."""

    name = "exploration_wandering"
    watches = frozenset({ToolCalled, UserSpoke})

    def __init__(
        self, settings: ExplorationWanderingSettings | None = None, facts: SharedSignals | None = None
    ) -> None:
        self._facts = facts or SharedSignals()
        self._settings = settings or ExplorationWanderingSettings()
        self._threshold = self._settings.share(self._settings.threshold)
        self._streaks = Streaks(1)
        self._looks: deque[_Look] = deque(maxlen=self._settings.window)
        self._paths: Counter[str] = Counter()
        self._directories: Counter[str] = Counter()
        self._since_change = 0

    def see(self, observation: Observation) -> Sequence[Issue]:
        """Take in a look; a change, or a person's word, starts anew."""
        match observation:
            case ToolCalled():
                if self._facts.changes(observation):
                    return self._start_anew()
                looks = [touch.path for touch in self._facts.touches(observation) if touch.access == "read"]
                for path in looks[:4]:
                    self._look(path.rstrip("/"), observation.seq)
                return self._judge() if looks else ()
            case UserSpoke() if observation.by != "chaperon":
                return self._start_anew()
            case _:
                return ()

    def _start_anew(self) -> Sequence[Issue]:
        self._looks.clear()
        self._paths.clear()
        self._directories.clear()
        self._since_change = 0
        return self._streaks.close()

    def _look(self, path: str, seq: int) -> None:
        if len(self._looks) == self._looks.maxlen:
            oldest = self._looks[0]
            _take(self._paths, oldest.path)
            _take(self._directories, oldest.directory)
        directory = dirname(path)
        self._looks.append(_Look(path, directory, seq))
        self._paths[path] += 1
        self._directories[directory] += 1
        self._since_change += 1

    def _judge(self) -> Sequence[Issue]:
        total = len(self._looks)
        if total < self._settings.window:
            return ()
        directories, backtracking = len(self._directories), 1 - len(self._paths) / total
        focus = max(self._directories.values()) / total
        score = self._score(directories, backtracking, focus)
        if score < self._threshold or backtracking < self._settings.max_backtracking:
            return self._streaks.close()
        level = level_of(self._since_change, self._settings.window)
        if not self._streaks.worse(level):
            return ()
        return self._streaks.seen(self._issue(score, directories, backtracking, focus, level), level)

    def _score(self, directories: int, backtracking: float, focus: float) -> float:
        parts = (
            min(1.0, directories / self._settings.max_directories),
            min(1.0, backtracking / self._settings.max_backtracking),
            1 - min(1.0, focus / self._settings.focus),
        )
        return sum(weight * part for weight, part in zip(_WEIGHTS, parts, strict=True))

    def _issue(self, score: float, directories: int, backtracking: float, focus: float, level: int) -> Issue:
        return Issue(
            type=self.name,
            severity=self._settings.severity_at(level),
            confidence=self._settings.confidence_at(level),
            impact_factor=self._settings.impact_factor,
            began=self._looks[0].seq,
            sentence=(
                f"{self._since_change} looks since anything was changed: the last {len(self._looks)} are in {directories} "
                f"directories, {backtracking:.0%} go back to what was seen before, and {focus:.0%} are in the directory most looked at."
            ),
            evidence=tuple(dict.fromkeys(look.seq for look in list(self._looks)[-MAX_EVIDENCE:])),
            details={
                "score": round(score, 3),
                "directories": directories,
                "backtracking": round(backtracking, 3),
                "focus": round(focus, 3),
                "suggested_focus": self._directories.most_common(1)[0][0],
            },
        )


def _take(counter: Counter[str], item: str) -> None:
    counter[item] -= 1
    if counter[item] <= 0:
        del counter[item]
