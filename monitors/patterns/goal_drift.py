"""Actions that have less and less to do with the goals.

The goals' words are those of the task, its goals, and what a person said since. An action is aligned when it shares a
word with them (1), or with the words of places where aligned actions were (0.5): a task named for a feature is worked
on in files that carry other names. The pattern is not a low alignment, for prompts are often terse, but a run that was
aligned and no longer is.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from monitors.contract.bounds import Count, Share
from monitors.contract.issues import Issue
from monitors.contract.observations import Observation, TaskReplaced, ToolCalled, UserSpoke
from monitors.contract.tasks import Task
from monitors.sensitivity import PatternSettings, level_of
from monitors.signals.lru import Recent
from monitors.signals.paths import is_scratch
from monitors.signals.shared import SharedSignals
from monitors.signals.vocabulary import words
from monitors.streaks import MAX_EVIDENCE, Streaks


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalDriftSettings(PatternSettings):
    """Actions that have less and less to do with the goals."""

    confidence: float = 0.5
    threshold: Share = 0.5
    """Mean alignment of the recent actions with the goals above which there is no drift."""
    # Healthy sessions of many small tasks were seen to fall by 0.3.
    fall: Share = 0.4
    """How much lower than before it must be."""
    window: Count = 20
    """Actions that are recent, and actions before those that they are compared with."""
    aligned_before: float = 0.6
    """Mean alignment that the actions before must have had: what never was aligned cannot drift."""
    least_words: int = 4
    """Goals of fewer words that mean something say too little to measure by."""


MAX_GOAL_WORDS = 150
"""Words of goals kept, the latest: with many more, everything is aligned with something once said."""
MAX_NEAR_WORDS = 400
"""Words of places of aligned actions kept, since a person last spoke."""
_MOST_OF_AN_ACTION = 600
"""Characters of an action that are read."""


class GoalDrift:
    """Raises `goal_drift`."""

    name = "goal_drift"
    watches = frozenset({ToolCalled, UserSpoke, TaskReplaced})

    def __init__(
        self, settings: GoalDriftSettings | None = None, task: Task | None = None, facts: SharedSignals | None = None
    ) -> None:
        self._facts = facts or SharedSignals()
        self._settings = settings or GoalDriftSettings()
        self._window = self._settings.number(self._settings.window)
        self._streaks = Streaks(1)
        self._root = task.repository if task else ""
        self._goals: Recent[str] = Recent(MAX_GOAL_WORDS)
        self._near: Recent[str] = Recent(MAX_NEAR_WORDS)
        self._recent: deque[tuple[float, int]] = deque()
        self._recent_sum = 0.0
        self._before = 0.0
        self._actions = 0
        self._adrift = 0
        self._called = ""
        if task:
            self._learn_task(task)

    def see(self, observation: Observation) -> Sequence[Issue]:
        """Score an action, or learn the goals from a message to the agent or from another task."""
        match observation:
            case UserSpoke() if observation.by != "chaperon":
                return self._listen(observation)
            case TaskReplaced(task=task):
                self._goals = Recent(MAX_GOAL_WORDS)
                self._learn_task(task)
                return self._afresh()
            case ToolCalled():
                return self._score(observation)
            case _:
                return ()

    def _listen(self, spoken: UserSpoke) -> Sequence[Issue]:
        """A new word of a person is a new goal beside the old ones: what follows is measured afresh."""
        self._learn(spoken.text)
        return self._afresh()

    def _afresh(self) -> Sequence[Issue]:
        self._near.clear()
        self._recent.clear()
        self._recent_sum, self._actions, self._adrift, self._before = 0.0, 0, 0, 0.0
        return self._streaks.close()

    def _learn_task(self, task: Task) -> None:
        self._learn(" ".join((task.prompt, *task.goals, *task.constraints, *task.expected_paths)))

    def _learn(self, text: str) -> None:
        for word in sorted(words(text, 3_000)):
            self._goals.add(word)

    def _score(self, call: ToolCalled) -> Sequence[Issue]:
        found = self._words_of(call)
        if len(self._goals) < self._settings.least_words or not found:
            return ()
        aligned = self._goals.has_any(found)
        score = 1.0 if aligned else 0.5 if self._near.has_any(found) else 0.0
        if aligned:
            for word in sorted(found):
                self._near.add(word)
        self._take_in(score, call.seq)
        return self._judge()

    def _words_of(self, call: ToolCalled) -> set[str]:
        """The words of where it acts and what it looks for; what it writes counts by its first lines."""
        places = [
            touch.path.removeprefix(self._root)
            for touch in self._facts.touches(call)
            if not is_scratch(touch.path, self._root)
        ]
        asked = [
            str(call.input.get(field) or "")[:400]
            for field in ("command", "pattern", "query", "prompt", "new_string", "content", "url")
        ]
        return words(" ".join((*places, *asked)), _MOST_OF_AN_ACTION)

    def _take_in(self, score: float, seq: int) -> None:
        self._actions += 1
        self._recent.append((score, seq))
        self._recent_sum += score
        if len(self._recent) > self._window:
            oldest, _ = self._recent.popleft()
            self._recent_sum -= oldest
            grown = min(self._actions - self._window, self._window)
            self._before += (oldest - self._before) / grown

    def _judge(self) -> Sequence[Issue]:
        if self._actions < 2 * self._window:
            return ()
        mean = self._recent_sum / len(self._recent)
        if (
            mean >= self._settings.threshold
            or self._before < self._settings.aligned_before
            or self._before - mean < self._settings.fall
        ):
            back = mean >= self._settings.threshold
            self._adrift = 0 if back else self._adrift
            return self._streaks.close() if back else ()
        self._adrift += 1
        level = level_of(self._adrift + self._window - 1, self._window)
        return self._streaks.seen(self._issue(mean, level), level) if self._streaks.worse(level) else ()

    def _issue(self, mean: float, level: int) -> Issue:
        adrift = [seq for score, seq in self._recent if score < 1]
        return Issue(
            type=self.name,
            severity=self._settings.severity_at(level),
            confidence=self._settings.confidence_at(level),
            impact_factor=self._settings.impact_factor,
            began=adrift[0] if adrift else self._recent[0][1],
            sentence=(
                f"The last {len(self._recent)} actions share little with the goals: alignment {mean:.2f}, {self._before:.2f} before them."
            ),
            evidence=tuple(adrift[-MAX_EVIDENCE:]),
            details={
                "alignment": round(mean, 3),
                "before": round(self._before, 3),
                "trend": round(mean - self._before, 3),
            },
        )
