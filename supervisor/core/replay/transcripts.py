"""Recorded sessions, line by line, in all the forms in which they are found.

- transcripts: files of the CLI below `~/.claude/projects`, of every 2.x version, subagents' lines among them;
- stream-json: output of the CLI, as in the shim's output file or a redirected run. That of a supervised run has the
  gate's requests, and the messages to the model.

A journal is read by `supervisor.core.replay.journal_replay` instead.

Damaged and foreign lines are counted and passed over: a recording that was cut, or is something else in part, is read
as far as possible. Nothing here raises on bad input.
"""

import re
from calendar import timegm
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from interventions.texts.fields import OPENING
from monitors.contract.errors import FrameError
from supervisor.core.replay.windows_paths import is_windows, posix, posix_frame
from supervisor.protocol.claude.messages import HookCallback, Json, Message, NotJson, Unknown, User, decode, parse_frame

MAX_LINE_BYTES = 64 * 1024 * 1024
"""Longest line that is decoded; twice what the live wire keeps, for a transcript line wraps a frame."""

_TIMESTAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d{1,9})?(?:Z|\+00:00)$")

_NOT_SAID = re.compile(
    r"\s*(?:<(?:command-\w+|local-command-\w+|bash-(?:input|stdout|stderr)|system-reminder|task-notification|user-memory-input)\b"
    r"|\[Request interrupted by user|Caveat: The messages below)"
)
"""Beginnings of texts that stand in the user's place in a transcript and are no message to the model."""

_COMMAND = re.compile(r"<command-name>(?P<name>/?[\w:.-]+)</command-name>")
_ARGUMENTS = re.compile(r"<command-args>(?P<said>.+?)</command-args>", re.DOTALL)

_COMMANDS_TO_THE_CLI = frozenset({
    "clear", "compact", "config", "context", "cost", "doctor", "exit", "export", "help", "hooks", "ide", "init",
    "login", "logout", "mcp", "memory", "model", "permissions", "plugin", "plugins", "resume", "rewind",
    "status", "statusline", "terminal-setup", "theme", "usage", "vim",
})  # fmt: skip
"""Commands that the CLI carries out itself; any other is a prompt to the model."""


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    """One line that could be read."""

    seq: int
    """Its line number from 1."""
    mono: float | None
    """When, in seconds; None if the line does not say."""
    message: Message
    """The CLI's message; `Unknown` if this line only has a message to the model."""
    said: str = ""
    """The message to the model in this line."""
    by: str = ""
    """The author, as in `UserSpoke`; empty if it follows from the order: the task first, then a person."""
    cwd: str = ""
    session_id: str = ""


class TranscriptReader:
    """Reads one recording and counts what it could not read."""

    def __init__(self) -> None:
        self.lines = 0
        """Lines seen, empty ones left out."""
        self.damaged = 0
        """Lines that are no JSON object, or a known kind that lacks what its kind must have."""
        self.foreign = 0
        """JSON objects that are no line of the CLI at all."""
        self._on_windows = False
        self._told: set[tuple[object, ...]] = set()

    def read(self, line: bytes) -> TranscriptLine | None:
        """Return what the line says, or None if it is empty, damaged, foreign or of no interest here."""
        if not line.strip():
            return None
        self.lines += 1
        frame = decode(line) if len(line) <= MAX_LINE_BYTES else None
        if frame is None:
            self.damaged += 1
            return None
        return self._of_frame(frame, self.lines)

    def _of_frame(self, frame: Json, seq: int) -> TranscriptLine | None:
        if not isinstance(frame.get("type"), str):
            self.foreign += 1
            return None
        if self._is_copy(frame):
            return None
        printed, cwd = _as_printed(frame), _text(frame.get("cwd"))
        self._on_windows = self._on_windows or is_windows(cwd)
        if self._on_windows:
            printed, cwd = posix_frame(printed), posix("cwd", cwd)
        try:
            message = parse_frame(printed)
        except FrameError:
            self.damaged += 1
            return None
        said = _said(message, frame)
        if isinstance(message, Unknown | NotJson) and not said:
            return None
        return TranscriptLine(
            seq,
            seconds(frame.get("timestamp")),
            message,
            said,
            _speaker(said, frame),
            cwd,
            _text(frame.get("sessionId")) or _text(frame.get("session_id")),
        )

    def _is_copy(self, frame: Json) -> bool:
        """Whether the line was there before: going back in a session, or forking it, writes its history once more."""
        message = frame.get("message")
        if "sessionId" not in frame or not isinstance(message, dict) or not isinstance(frame.get("timestamp"), str):
            return False
        content = message.get("content")
        blocks = content if isinstance(content, list) else [content]
        identity = (frame["timestamp"], frame["type"], *map(_identity, blocks))
        known = identity in self._told
        self._told.add(identity)
        return known


def _identity(block: object) -> object:
    """Return the identity of a block of a message among others of the same moment."""
    if not isinstance(block, dict):
        return _text(block)
    names = (block.get("type"), block.get("id"), block.get("tool_use_id"), block.get("text"))
    return tuple(_text(name) for name in names)


def seconds(timestamp: object) -> float | None:
    """Unix seconds of the CLI's time stamps, as `2026-02-11T17:15:22.624Z`; None for anything else."""
    match = _TIMESTAMP.match(timestamp) if isinstance(timestamp, str) else None
    if match is None:
        return None
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    return float(timegm((year, month, day, hour, minute, second))) + float(match[7] or 0)


def _as_printed(frame: Json) -> Json:
    """A transcript's line as the CLI would have printed it; a printed line as it is."""
    kind = frame["type"]
    if kind == "progress":
        return _subagents_line(frame)
    if kind == "system" and frame.get("subtype") == "turn_duration":
        return {"type": "result", "subtype": "success", "is_error": False}
    if kind not in {"user", "assistant"} or "sessionId" not in frame:
        return frame
    printed = dict(frame)
    if frame.get("isSidechain") is True:
        printed["parent_tool_use_id"] = _text(frame.get("agentId")) or "sidechain"
    if kind == "user":
        printed["tool_use_result"] = frame.get("toolUseResult")
        printed["tool_result_meta"] = _meta(frame)
    return printed


def _subagents_line(frame: Json) -> Json:
    """Return the subagent's line in a progress line; other progress is dropped.

    Versions before about 2.1.60 wrap it so.
    """
    data = frame.get("data")
    inner = data.get("message") if isinstance(data, dict) and data.get("type") == "agent_progress" else None
    if not isinstance(inner, dict) or inner.get("type") not in {"user", "assistant"}:
        return {"type": "progress"}
    return {**inner, "parent_tool_use_id": _text(frame.get("parentToolUseID")) or "sidechain"}


def _meta(frame: Json) -> list[dict[str, Any]]:
    """The permission decision, which a transcript keeps on the line, for each result of the line."""
    decision, message = frame.get("permissionDecision"), frame.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(decision, Mapping) or not isinstance(content, list):
        return []
    ids = [block.get("tool_use_id") for block in content if isinstance(block, dict)]
    return [{"id": id_, "permission_decision": dict(decision)} for id_ in ids if isinstance(id_, str)]


def _said(message: Message, frame: Json) -> str:
    """Return a person's message in this line. The CLI's own summaries, reminders and commands are left out."""
    if isinstance(message, HookCallback) and message.event == "UserPromptSubmit":
        return message.prompt.strip()
    quiet = frame.get("isMeta") or frame.get("isCompactSummary") or frame.get("isSidechain")
    if not isinstance(message, User) or quiet or message.parent_tool_use_id:
        return ""
    blocks = (
        [message.content]
        if isinstance(message.content, str)
        else [_text(block.get("text")) for block in message.content]
    )
    return "\n".join(said for text in blocks if (said := _spoken(text))).strip()


def _speaker(said: str, frame: Json) -> str:
    """Chaperon, which always says so, or a person, where one sits at the session; empty if that follows from the order.

    One sits there in a transcript of the CLI in a terminal, or of a version that did not say.
    """
    if said.startswith(OPENING):
        return "chaperon"
    at_a_terminal = "sessionId" in frame and not _text(frame.get("entrypoint")).startswith("sdk")
    return "person" if at_a_terminal else ""


def _spoken(text: str) -> str:
    if not _NOT_SAID.match(text):
        return text
    command, arguments = _COMMAND.search(text), _ARGUMENTS.search(text)
    if command is None or command["name"].lstrip("/") in _COMMANDS_TO_THE_CLI:
        return ""
    return f"{command['name']} {arguments['said']}" if arguments else command["name"]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
