"""The same error again and again.

Two errors are the same if tool and text are the same, apart from paths, numbers, ids and times: the same 404 for
another id is the same error. A command that fails without a reason is the same only if the call is. Not counted are
calls cancelled because a call beside them failed (78 % of the errors of one long real session) and calls that a person
refused. A call that the gate or the CLI denies does count.

An agent that changes something between two errors works on the cause, so such an error counts half: an edit and test
cycle is reported later than a blind retry. A retry in another form, as the error advised, counts half as well (a file
too long, read with another limit); the same call at other places counts whole. Calls of one reply of the model count
once: the model made all of them before it saw the first fail.

Errors that the CLI itself prints on its error output count like those of a tool named `CLI`.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from monitors.contract.actions import CHANGING_TOOLS
from monitors.contract.bounds import Count
from monitors.contract.error_lines import ErrorLevel
from monitors.contract.issues import Issue
from monitors.contract.observations import ErrorLineSeen, Observation, ToolReturned
from monitors.sensitivity import PatternSettings, level_of
from monitors.signals.normalise import call_key, error_form, is_telling
from monitors.streaks import MAX_EVIDENCE, Streaks


@dataclass(frozen=True, slots=True, kw_only=True)
class RepetitiveErrorsSettings(PatternSettings):
    """The same error again and again: paths, numbers, ids and times aside."""

    threshold: Count = 3
    """How many times the same error makes an issue."""
    forget_after: Count = 12
    """Tool results without the error after which it is over."""
    weight_after_change: float = 0.5
    """Weight of an error if a file was changed since it was last seen, or the call took another form."""


_LOOKS = frozenset({"Read", "Grep", "Glob", "LS", "NotebookRead"})
_PLACES = frozenset({"file_path", "path", "pattern", "notebook_path"})

CLI = "CLI"
"""The name of the agent's program among its tools."""

MAX_ERRORS = 32
"""How many different errors are remembered at once; the one longest unseen is forgotten first."""


MAX_TEXT = 300
"""Characters of the last error as it came, for what is said about it: its normalised form names no path to look for."""


@dataclass(slots=True)
class _Error:
    began: int
    call: bytes
    weight: float = 0.0
    times: int = 0
    last_result: int = 0
    last_change: int = 0
    last_reply: str = ""
    last_manner: bytes = b""
    evidence: deque[int] = field(default_factory=lambda: deque(maxlen=MAX_EVIDENCE))


class RepetitiveErrors:
    """Raises `repetitive_errors`; the key is the normalised error."""

    name = "repetitive_errors"
    watches = frozenset({ToolReturned, ErrorLineSeen})

    def __init__(self, settings: RepetitiveErrorsSettings | None = None) -> None:
        self._settings = settings or RepetitiveErrorsSettings()
        self._threshold = self._settings.number(self._settings.threshold)
        self._streaks = Streaks(MAX_ERRORS)
        self._errors: dict[str, _Error] = {}
        self._results = 0
        self._changes = 0

    def see(self, observation: Observation) -> Sequence[Issue]:
        """Count the error that a tool result or a line of the CLI is, or close the streaks that it ends."""
        if isinstance(observation, ErrorLineSeen):
            return self._of_the_cli(observation)
        if not isinstance(observation, ToolReturned) or observation.collateral:
            return ()
        self._results += 1
        ended = self._forget_old() if self._errors else ()
        if observation.failed or observation.refused:
            return (*ended, *self._count(observation))
        if observation.tool in CHANGING_TOOLS:
            self._changes += 1
        return (*ended, *self._mended(observation)) if self._errors else ended

    def _count(self, observation: ToolReturned) -> Sequence[Issue]:
        if observation.refused and observation.refused_by == "person":
            return ()
        call = call_key(observation.tool, observation.input, observation.seq)
        form = error_form(observation.text)
        tells = is_telling(form) if observation.tool == "Bash" else bool(form)
        key = f"{observation.tool}: {form}" if tells else f"{observation.tool} {call.hex()}: {form}"
        error = self._errors.pop(key, None) or _Error(observation.seq, call)
        self._errors[key] = error
        if len(self._errors) > MAX_ERRORS:
            del self._errors[next(iter(self._errors))]
        error.last_result = self._results
        if observation.reply and observation.reply == error.last_reply:
            return ()
        manner = _manner(observation)
        changed = error.times > 0 and (error.last_change != self._changes or error.last_manner != manner)
        error.last_manner = manner
        error.weight += self._settings.weight_after_change if changed else 1.0
        error.times += 1
        error.call, error.last_change, error.last_reply = call, self._changes, observation.reply
        error.evidence.append(observation.seq)
        about = {
            "text": observation.text.strip()[:MAX_TEXT],
            "tool": observation.tool,
            "refused": observation.refused,
            "file_path": str(observation.input.get("file_path") or ""),
        }
        return self._judged(key, form, error, about)

    def _of_the_cli(self, line: ErrorLineSeen) -> Sequence[Issue]:
        """Count an error that the CLI printed; nothing that the agent does mends it, so each counts whole."""
        form = error_form(line.text)
        if line.level is not ErrorLevel.ERROR or not form:
            return ()
        key = f"{CLI}: {form}"
        error = self._errors.pop(key, None) or _Error(line.seq, b"")
        self._errors[key] = error
        if len(self._errors) > MAX_ERRORS:
            del self._errors[next(iter(self._errors))]
        error.last_result = self._results
        error.weight += 1.0
        error.times += 1
        error.evidence.append(line.seq)
        about = {"text": line.text.strip()[:MAX_TEXT], "tool": CLI, "refused": False, "file_path": ""}
        return self._judged(key, form, error, about)

    def _judged(self, key: str, form: str, error: _Error, about: Mapping[str, object]) -> Sequence[Issue]:
        level = level_of(error.weight, self._threshold)
        if not level or not self._streaks.worse(level, key):
            return ()
        return self._streaks.seen(self._issue(key, form, error, level, about), level)

    def _issue(self, key: str, form: str, error: _Error, level: int, about: Mapping[str, object]) -> Issue:
        shown = form[:160] or "no message, only the exit code"
        whose = "the CLI itself" if about["tool"] == CLI else about["tool"]
        return Issue(
            type=self.name,
            severity=self._settings.severity_at(level),
            confidence=self._settings.confidence_at(level),
            impact_factor=self._settings.impact_factor,
            began=error.began,
            sentence=f"The same error of {whose} came {error.times} times: {shown}.",
            evidence=tuple(error.evidence),
            details={"error": shown, "count": error.times, **about},
            key=key,
        )

    def _mended(self, observation: ToolReturned) -> Sequence[Issue]:
        """A call that failed and now succeeds ends its error."""
        call = call_key(observation.tool, observation.input, observation.seq)
        over = [key for key, error in self._errors.items() if error.call == call]
        return self._end(over)

    def _forget_old(self) -> Sequence[Issue]:
        oldest_kept = self._results - self._settings.forget_after
        return self._end([key for key, error in self._errors.items() if error.last_result < oldest_kept])

    def _end(self, keys: list[str]) -> Sequence[Issue]:
        for key in keys:
            del self._errors[key]
        return tuple(issue for key in keys for issue in self._streaks.close(key))


def _manner(step: ToolReturned) -> bytes:
    """How a look is asked for, its place aside; nothing for other tools."""
    if step.tool not in _LOOKS:
        return b""
    return call_key(step.tool, {field: value for field, value in step.input.items() if field not in _PLACES}, step.seq)
