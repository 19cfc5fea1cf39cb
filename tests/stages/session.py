"""Play a session without any process: events in by name, commands out, time by hand."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import orjson

from interventions.choice.controller import Controller
from interventions.settings import InterventionSettings
from monitors.contract.actions import Action, Review, ReviewContext
from monitors.contract.issues import Detector
from monitors.contract.tasks import Task
from monitors.contract.words import Decision, Severity
from supervisor.core.decisions.decide import SessionSettings
from supervisor.core.session import Session
from supervisor.protocol import events
from supervisor.protocol.commands import Command, SendLine, WriteEvent


def verdict(decision: Decision, reasoning: str = "because", **more: Any) -> Review:
    return Review(decision, 0.5, 0.5, Severity.MEDIUM, reasoning, "test.rule", **more)


ALLOW = verdict(Decision.ALLOW)


@dataclass
class Rules:
    """A reviewer that looks its answers up by a word of the command; what it does not know it allows."""

    by_word: Mapping[str, Review | Callable[[], Review]]

    def review(self, action: Action, context: ReviewContext) -> Review:  # noqa: ARG002 - the protocol's
        for word, answer in self.by_word.items():
            if word in str(action.input):
                return answer() if callable(answer) else answer
        return ALLOW


class Play:
    """One session on a stage. Each verb feeds one event and returns the commands; `journal` has all that was recorded."""

    def __init__(self, rules: Mapping[str, Any] = {}, detectors: Sequence[Detector] = (), **task: Any) -> None:
        self.rules, self.detectors = rules, detectors
        self.task = Task("t-1", task.pop("prompt", "do it"), "/repo", **task)
        self.now = 100.0
        self.journal: list[tuple[int, events.AnyEvent]] = []
        self.offset = 0
        self._requests = itertools.count(1)
        self.session: Session | None = None

    def make(self, submitted: events.TaskSubmitted) -> Session:
        controller = Controller(InterventionSettings(), self.task)
        return Session(submitted, Rules(self.rules), list(self.detectors), controller, SessionSettings())

    def feed(self, event: events.AnyEvent) -> list[Command]:
        seq = self._write(event)
        if self.session is None:
            assert isinstance(event, events.TaskSubmitted)
            self.session = self.make(event)
        commands = self.session.see(seq, event)
        for command in commands:
            if isinstance(command, WriteEvent):
                self._write(command.event)
        return commands

    def _write(self, event: events.AnyEvent) -> int:
        self.journal.append((len(self.journal) + 1, event))
        return len(self.journal)

    def stamp(self) -> dict[str, Any]:
        return {"agent": "a1", "at": 1_700_000_000 + self.now, "mono": self.now}

    # ── verbs ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def submit(self) -> list[Command]:
        return self.feed(events.TaskSubmitted(**self.stamp(), task=self.task, workspace="/repo", session_id="s-1"))

    def launched(self) -> list[Command]:
        return self.feed(events.AgentLaunched(**self.stamp(), shim_pid=1, cli_pid=2, containment="subreaper"))

    def line(self, frame: Any) -> list[Command]:
        self.offset += 100
        return self.feed(events.LineReceived(**self.stamp(), end=self.offset, frame=frame))

    def init(self) -> list[Command]:
        return self.line({"type": "system", "subtype": "init", "session_id": "s-1", "cwd": "/repo"})

    def hook(self, event: str, **more: Any) -> list[Command]:
        request = {"subtype": "hook_callback", "callback_id": event, "input": {"hook_event_name": event, **more}}
        return self.line({"type": "control_request", "request_id": f"r{next(self._requests)}", "request": request})

    def call(self, command: str, **more: Any) -> list[Command]:
        given = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": f"u-{command}", **more}
        return self.hook("PreToolUse", cwd="/repo", **given)

    def permission(self, command: str) -> list[Command]:
        request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": command}}
        request["tool_use_id"] = f"u-{command}"
        return self.line({"type": "control_request", "request_id": f"r{next(self._requests)}", "request": request})

    def taken(self, text: str) -> list[Command]:
        return self.hook("UserPromptSubmit", prompt=text)

    def result(self, **more: Any) -> list[Command]:
        return self.line({"type": "result", "subtype": "success", "is_error": False, "result": "Done.", **more})

    def frozen(self) -> list[Command]:
        return self.feed(events.TreeFrozen(**self.stamp(), micros=300))

    def exited(self, code: int | None = 0, signal: int | None = None) -> list[Command]:
        return self.feed(events.AgentExited(**self.stamp(), code=code, signal=signal))

    def fired(self, name: str) -> list[Command]:
        return self.feed(events.TimerFired(**self.stamp(), name=name))

    def say(self, text: str) -> list[Command]:
        return self.feed(events.SayRequested(**self.stamp(), id=f"s{len(self.journal)}", text=text, by="ann"))

    def running(self) -> Self:
        """The session in its first turn."""
        self.submit()
        self.launched()
        self.taken(self.task.prompt)
        self.init()
        return self


def lines(commands: Sequence[Command]) -> list[dict[str, Any]]:
    """What is written to the CLI."""
    return [orjson.loads(command.line) for command in commands if isinstance(command, SendLine)]


def recorded(commands: Sequence[Command], kind: type[Any]) -> list[Any]:
    """The decisions of one kind."""
    return [
        command.event for command in commands if isinstance(command, WriteEvent) and isinstance(command.event, kind)
    ]


def answers(commands: Sequence[Command]) -> list[dict[str, Any]]:
    """What PreToolUse hooks are answered."""
    bodies = [line["response"]["response"] for line in lines(commands) if line["type"] == "control_response"]
    return [body["hookSpecificOutput"] for body in bodies if "hookSpecificOutput" in body]
