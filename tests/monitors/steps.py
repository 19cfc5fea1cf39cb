"""Runs in short form for the tests of detectors: each helper makes observations as the core would."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from monitors.contract.actions import Review, Touch
from monitors.contract.error_lines import read_error_line
from monitors.contract.issues import Detector, Issue
from monitors.contract.observations import (
    AgentSpoke,
    ErrorLineSeen,
    Observation,
    TaskReplaced,
    ToolCalled,
    ToolReturned,
    UserSpoke,
)
from monitors.contract.tasks import Task
from monitors.contract.words import Decision, Severity

_ACCESS = {"Read": "read", "Write": "write", "Edit": "write"}


class Run:
    """Makes observations with growing sequence numbers."""

    def __init__(self, workspace: str = "/w") -> None:
        self.workspace = workspace
        self._seq = count(1)
        self.seq = 0

    def next(self) -> dict[str, Any]:
        """The fields that each observation has."""
        self.seq = next(self._seq)
        return {"seq": self.seq, "mono": float(self.seq)}

    def step(self, tool: str, call: Mapping[str, Any], text: str = "ok", **result: Any) -> list[Observation]:
        """A call and its result."""
        path = call.get("file_path")
        touches = (Touch(str(path), _ACCESS.get(tool, "read")),) if path else ()
        review = Review(Decision.ALLOW, 0.0, 1.0, Severity.LOW, "", touches=touches)
        id_ = f"toolu_{self.seq}"
        called = ToolCalled(**self.next(), id=id_, tool=tool, input=call, review=review)
        failed = result.pop("failed", False) or result.get("refused", False)
        returned = ToolReturned(**self.next(), id=id_, tool=tool, input=call, text=text, failed=failed, **result)
        return [called, returned]

    def bash(self, command: str, text: str = "ok", **result: Any) -> list[Observation]:
        """A shell command and what it printed."""
        return self.step("Bash", {"command": command, "description": f"step {self.seq}"}, text, **result)

    def fails(self, command: str, text: str) -> list[Observation]:
        """A shell command that fails."""
        return self.bash(command, f"Exit code 1\n{text}", failed=True)

    def read(self, path: str, text: str = "", **call: Any) -> list[Observation]:
        """A file read."""
        return self.step("Read", {"file_path": path, **call}, text or f"     1\tcontents of {path}")

    def edit(self, path: str, old: str = "", new: str = "") -> list[Observation]:
        """A file edited; without texts, a different edit each time."""
        call = {"file_path": path, "old_string": old or f"a{self.seq}", "new_string": new or f"b{self.seq}"}
        return self.step("Edit", call, f"The file {path} has been updated.")

    def write(self, path: str, content: str = "x") -> list[Observation]:
        """A file written."""
        return self.step("Write", {"file_path": path, "content": content}, f"File created successfully at: {path}")

    def cli_prints(self, line: str) -> list[Observation]:
        """A line on the CLI's own error output."""
        read = read_error_line(line)
        return [ErrorLineSeen(**self.next(), level=read.level, topic=read.topic, text=read.text)]

    def says(self, text: str) -> list[Observation]:
        """The model's words."""
        return [AgentSpoke(**self.next(), text=text)]

    def told(self, text: str, by: str = "person") -> list[Observation]:
        """Words to the model."""
        return [UserSpoke(**self.next(), text=text, by=by)]


def given(run: Run, task: Task) -> list[Observation]:
    """The agent is given another task."""
    return [TaskReplaced(**run.next(), task=task)]


def play(detector: Detector, *parts: Iterable[Observation]) -> list[Issue]:
    """Show a detector the observations and return all that it said."""
    return [issue for part in parts for observation in part for issue in detector.see(observation)]


def opened(issues: Sequence[Issue]) -> list[Issue]:
    """Those that say that something is wrong, and not that it is over."""
    return [issue for issue in issues if not issue.closed]
