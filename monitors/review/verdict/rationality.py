"""Rationality: whether an action looks like the next step of its task. It may warn, never block.

Four questions, each answered with 0 to 1 and a reason if it is not plainly yes. If nothing speaks for or against, the
answer is `UNKNOWN`, so that a bare `chaperon review` without a task neither praises nor blames.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import lru_cache
from itertools import islice
from typing import Any

from monitors.contract.actions import Action, PastCall, ReviewContext, Touch

UNKNOWN = 0.7
"""Nothing is known that speaks against it."""
WEIGHTS = {"goal alignment": 0.4, "logical progression": 0.3, "efficiency": 0.15, "completeness": 0.15}
"""Weight of each question. Alignment and progression say most about a run gone astray; the other two are hints."""
MAX_WORDS = 2_000
"""Most words taken of a prompt."""

_WORD = re.compile(r"[a-z][a-z0-9_]{3,}")
_PLACEHOLDER = re.compile(r"<[a-z][a-z_ -]{2,30}>|\bpath/to/|\byour[-_](?:\w+)|\bTODO\b|\bxxx+\b", re.IGNORECASE)
_PLACEHOLDER_MARKS = ("<", "path/to/", "your", "YOUR", "Your", "TODO", "xxx", "XXX")
_COMMON = frozenset({"this", "that", "with", "from", "into", "file", "files", "when", "then", "make", "should", "must", "please", "code", "also", "have", "need", "want", "some", "true", "false", "none", "null", "home", "echo", "bash", "user", "work", "using"})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rationality:
    """A score, its parts, and what speaks against the action."""

    score: float
    parts: Mapping[str, float]
    reasons: tuple[str, ...]


def rationality(action: Action, context: ReviewContext, touches: Sequence[Touch]) -> Rationality:
    """Say how far the action looks like the next step.

    Args:
        action: the tool call.
        context: task and history; without them everything is unknown.
        touches: the paths that the action would reach, as the reviewer found them.
    """
    summary = summarised(action)
    answers = (
        _alignment(summary, context, touches, action.workspace),
        _progression(action, summary, context.history),
        _efficiency(action, summary, context.history),
        _completeness(summary),
    )
    score, parts, reasons = 0.0, dict[str, float](), list[str]()
    for (name, weight), (part, reason) in zip(WEIGHTS.items(), answers, strict=True):
        score += weight * part
        parts[name] = part
        if reason:
            reasons.append(reason)
    return Rationality(round(score, 3), parts, tuple(reasons))


def summarised(action: Action) -> str:
    """Return the text that stands for an action in comparisons: the command, path or pattern, shortened."""
    given = _given(action.input)
    for name in ("command", "file_path", "notebook_path", "pattern", "path", "url", "query", "prompt", "description"):
        found = given.get(name)
        if isinstance(found, str):
            return found[:200]
    return ""


def _given(given: object) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


def _alignment(summary: str, context: ReviewContext, touches: Sequence[Touch], workspace: str) -> tuple[float, str]:
    task = context.task
    if task is None:
        return UNKNOWN, ""
    changed = [touch.path for touch in touches if touch.access in ("write", "delete")]
    if task.expected_paths and changed:
        outside = [path for path in changed if not _expected(path, task.expected_paths, (workspace, task.repository))]
        if outside:
            share = len(outside) / len(changed)
            return round(
                0.6 * (1 - share), 3
            ), f"{outside[0]} is not among the paths that the task is expected to touch"
        return 1.0, ""
    met = not _wanted(task.prompt, task.goals).isdisjoint(_WORD.findall(summary.lower()))  # no common word is wanted
    return (1.0, "") if met else (UNKNOWN, "")


@lru_cache(maxsize=64)
def _wanted(prompt: str, goals: tuple[str, ...]) -> frozenset[str]:
    """The words of a task; remembered, for each call of its agent is compared with them."""
    return frozenset(islice(_words(" ".join((prompt[:20_000], *goals))), MAX_WORDS))


def _expected(path: str, globs: Sequence[str], roots: Sequence[str]) -> bool:
    if path.startswith(("/tmp/", "/var/tmp/", "$TMPDIR")):  # noqa: S108 — scratch is always expected
        return True
    relative = next(
        (path[len(root) :].lstrip("/") for root in roots if root and path.startswith(root.rstrip("/") + "/")), path
    )
    return any(fnmatch(relative, glob) or fnmatch(relative, glob.rstrip("/") + "/*") for glob in globs)


def _words(text: str) -> Iterator[str]:
    return (word for word in _WORD.findall(text.lower()) if word not in _COMMON)


def _progression(action: Action, summary: str, history: Sequence[PastCall]) -> tuple[float, str]:
    tool = action.tool
    same = [step for step in history if step.tool == tool and step.summary[:200] == summary] if summary else []
    failed = 0
    for step in reversed(same):
        if not step.failed:
            break
        failed += 1
    if failed >= 2:
        return max(0.0, 0.4 - 0.2 * (failed - 2)), f"the same step failed {failed} times already"
    if same and same[-1].decision == "block":
        return 0.1, "the same step was blocked before"
    return UNKNOWN if not history else 0.9, ""


def _efficiency(action: Action, summary: str, history: Sequence[PastCall]) -> tuple[float, str]:
    last = history[-3:]
    if summary and len(last) == 3 and all(step.tool == action.tool and step.summary[:200] == summary for step in last):
        return 0.1, "it is the fourth time in a row"
    return UNKNOWN if not history else 0.9, ""


def _completeness(summary: str) -> tuple[float, str]:
    for mark in _PLACEHOLDER_MARKS:
        if mark in summary:
            found = _PLACEHOLDER.search(summary)
            return (0.3, f"`{found[0]}` looks like a place to be filled in") if found else (0.9, "")
    return 0.9, ""
