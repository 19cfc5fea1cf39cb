"""Lines that the CLI prints on its error output, and what kind of line each is.

Measured on version 2.1.329: a healthy run prints nothing there. An unknown model is reported as
`[claude-code:unrecognized_model] {…}`, a line that it cannot read as `Error parsing streaming input line (…)`, and with
`--debug-to-stderr` come lines such as `2026-11-22T10:31:39.609Z [DEBUG] …`. A crash prints a stack.
"""

import re
from dataclasses import dataclass
from enum import StrEnum


class ErrorLevel(StrEnum):
    """How grave a line is."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class ErrorLine:
    """A line of the error output, read."""

    level: ErrorLevel
    topic: str
    """The CLI's name for it. Examples: `unrecognized_model`, `TypeError`; empty if it gives none."""
    text: str
    """The line without time and level."""


_LOGGED = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]{1,20}Z? ?\[(?P<level>[A-Za-z]{3,9})\] ?")
_TOLD = re.compile(r"\[claude-code:(?P<topic>[\w.-]{1,80})\] ?")
_THROWN = re.compile(r"(?:Uncaught |error: )?(?P<topic>[A-Z]\w{0,60}(?:Error|Exception)|Error)\b")
_FRAME = re.compile(r"\s+at \S|\s*\d+ \| |\s+\^+\s*$")
_GRAVE = re.compile(
    r"\b(?:error|fatal|panic(?:ked)?|aborted|segmentation fault|out of memory|unhandled|"
    r"EACCES|EPERM|ENOENT|ENOSPC|EMFILE|ENFILE|ENOMEM|EIO|EROFS|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENOTFOUND|EPIPE)\b",
    re.IGNORECASE,
)
_WARNS = re.compile(r"\bwarn(?:ing)?\b|\bdeprecat", re.IGNORECASE)

_LEVELS = {
    "debug": ErrorLevel.DEBUG, "trace": ErrorLevel.DEBUG, "verbose": ErrorLevel.DEBUG, "info": ErrorLevel.INFO,
    "warn": ErrorLevel.WARNING, "warning": ErrorLevel.WARNING, "error": ErrorLevel.ERROR, "fatal": ErrorLevel.ERROR,
}  # fmt: skip


def read_error_line(line: str) -> ErrorLine:
    """Read a line; one of an unknown kind is information. Lines are bounded before: see `error_output`."""
    if logged := _LOGGED.match(line):
        level = _LEVELS.get(logged["level"].lower(), ErrorLevel.INFO)
        return ErrorLine(level, "", line[logged.end() :])
    if told := _TOLD.match(line):
        return ErrorLine(ErrorLevel.WARNING, told["topic"], line[told.end() :])
    if _FRAME.match(line):
        return ErrorLine(ErrorLevel.DEBUG, "stack", line.strip())
    if thrown := _THROWN.match(line):
        return ErrorLine(ErrorLevel.ERROR, thrown["topic"], line)
    if _GRAVE.search(line):
        return ErrorLine(ErrorLevel.ERROR, "", line)
    return ErrorLine(ErrorLevel.WARNING if _WARNS.search(line) else ErrorLevel.INFO, "", line)
