"""How a run gets on, by what it does and not by how long it takes.

Strong progress is a test run that is better than the best before it, a commit, or a new file that matters. Weak
progress is doing something new at all: reading, trying or writing what was not read, tried or written before. Work of a
subagent is new if it is new to that subagent, which does not know the reads of others.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from monitors.contract.actions import CHANGING_TOOLS
from monitors.contract.observations import ToolReturned, WorkChecked
from monitors.signals.lru import Recent
from monitors.signals.paths import is_scratch, is_test
from monitors.signals.shared import SharedSignals
from monitors.signals.test_runs import TestTally

MAX_CALLS = 1024
"""Different calls remembered; an agent that returns to one after that many others does something new."""

MAX_SUITES = 64
"""Test commands whose best outcome is remembered."""

_COMMIT = re.compile(r"^\[\S+(?: \(root-commit\))? [0-9a-f]{7,40}\] ", re.MULTILINE)
_SCRATCH = re.compile(
    r"/node_modules/|\.(?:log|tmp|bak|orig|out)$|/(?:scratch|debug|temp|tmp)[^/]*$",
    re.IGNORECASE,
)
_WRITTEN = re.compile(
    r"(?<![0-9&])>>?\s*([\w./~$\"'-]+)|\btee\s+(?:-a\s+)?(\S+)|\b(?:sed\s+-[a-zE]*i|mv|cp|rm|patch|touch)\b[^\n;&|]*?(\S+)\s*(?:$|[\n;&|])"
)
_WRITERS = (">", "tee", "sed", "mv", "cp", "rm", "patch", "touch")
"""One of these is in whatever `_WRITTEN` matches; most commands have none, and the pattern is slow."""
_CHANGING_COMMAND = re.compile(
    r"\bgit\s+(?:apply|checkout|restore|revert|stash|merge|reset)\b|\b(?:npm|pnpm|yarn|pip|uv|cargo|go)\s+(?:install|add|i|get|remove|update)\b"
)
_PLUMBING = re.compile(
    r"(?<!\s)(?:\s+2>&1|\s*\|\s*(?:tail|head|grep|cat|tee|sed|awk)\b.*$|\s*;\s*echo\b.*$)", re.DOTALL
)


@dataclass(slots=True)
class _Best:
    passed: int
    failed: int


class Reading(NamedTuple):
    """The meaning of one step for progress."""

    strong: str = ""
    """The progress, for a person; empty for none."""
    new: bool = False
    """Whether the step did something not done before."""
    waits: bool = False
    """Whether it looked at something that it waits for."""
    changed: bool = False
    """Whether it changed something other than tests."""
    run: TestTally | None = None
    """The test run that it was."""


class Progress:
    """Remembers what was done, and the best outcome of each test command."""

    def __init__(self, facts: SharedSignals) -> None:
        self._facts = facts
        self._calls: Recent[bytes] = Recent(MAX_CALLS)
        self._best: dict[str, _Best] = {}
        self._last_of: dict[str, _Best] = {}
        self._paths: Recent[str] = Recent(MAX_CALLS)

    def read(self, step: ToolReturned) -> Reading:
        """Say what this step means."""
        run = self._facts.run(step)
        return Reading(
            strong=self._better(run, step.input) or _committed(step) or self._matters(step),
            new=self._calls.add(self._facts.of(step).call + step.subagent.encode()),
            waits=self._facts.waits(step),
            changed=self._changed(step),
            run=run,
        )

    def check(self, check: WorkChecked) -> Reading:
        """Say what a check of the work means: a test run by chaperon, of which at least the exit code is known."""
        run = self._facts.tally(check.text) or TestTally("check", int(check.passed), int(not check.passed))
        if not check.passed and not run.failed:
            run = run._replace(failed=1)
        return Reading(strong=self._better(run, {"command": check.command}), run=run)

    def _better(self, run: TestTally | None, call: Mapping[str, Any]) -> str:
        """Compare with the best that this test command, or else any of its framework, has given."""
        if run is None or run.passed + run.failed == 0:
            return ""
        suite = f"{run.framework} {_PLUMBING.sub('', str(call.get('command') or ''))[:200]}"
        best = self._best.pop(suite, None) or self._last_of.get(run.framework) or _Best(0, 1_000_000)
        better = run.passed > best.passed or run.failed < best.failed < 1_000_000
        broken = best.failed == 0 and run.failed > 0
        kept = (
            _Best(run.passed, run.failed)
            if broken
            else _Best(max(run.passed, best.passed), min(run.failed, best.failed))
        )
        self._best[suite], self._last_of[run.framework] = kept, _Best(run.passed, run.failed)
        if len(self._best) > MAX_SUITES:
            del self._best[next(iter(self._best))]
        return f"{run.passed} tests pass, {run.failed} fail" if better and not broken else ""

    def _matters(self, step: ToolReturned) -> str:
        """A file created for the first time that is no scratch, log or backup."""
        path = step.input.get("file_path")
        if not isinstance(path, str) or not self._paths.add(path) or step.tool != "Write" or step.failed:
            return ""
        created = "created" in step.text[:80]
        return f"{path} was created" if created and not self._is_scratch(path) else ""

    def _is_scratch(self, path: str) -> bool:
        return bool(_SCRATCH.search(path)) or is_scratch(path, self._facts.root)

    def _changed(self, step: ToolReturned) -> bool:
        if step.failed:
            return False
        if step.tool in CHANGING_TOOLS:
            return not is_test(str(step.input.get("file_path") or step.input.get("notebook_path") or ""))
        return step.tool == "Bash" and self._changes(str(step.input.get("command") or "")[:4_000])

    def _changes(self, command: str) -> bool:
        """Whether a command writes to something that is neither a test nor scratch."""
        if not any(sign in command for sign in _WRITERS):
            return bool(_CHANGING_COMMAND.search(command))
        targets = ("".join(groups).strip("\"'") for groups in _WRITTEN.findall(command))
        written = any(not is_test(target) and not self._is_scratch(target) for target in targets)
        return written or bool(_CHANGING_COMMAND.search(command))


def _committed(step: ToolReturned) -> str:
    command = step.input.get("command")
    if step.tool != "Bash" or step.failed or not isinstance(command, str) or "commit" not in command:
        return ""
    match = _COMMIT.search(step.text)
    return f"committed {match[0].strip()}" if match else ""
