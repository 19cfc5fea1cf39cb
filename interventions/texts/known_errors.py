"""Errors that are well understood: recognised by their text, with what they are about."""

import re
from dataclasses import dataclass
from enum import StrEnum


class ErrorKind(StrEnum):
    """The kind of error that a text reports."""

    FILE_NOT_FOUND = "file_not_found"
    PERMISSION_DENIED = "permission_denied"
    IMPORT_ERROR = "import_error"
    USAGE_LIMIT = "usage_limit"
    OVERLOADED = "overloaded"
    TIMED_OUT = "timed_out"


@dataclass(frozen=True, slots=True)
class KnownError:
    """An error that was recognised."""

    kind: ErrorKind
    subject: str = ""
    """The path or module that it is about; empty if the text does not say."""


MOST_CHARACTERS = 16_384
"""How much of a text is looked at; an error stands at its beginning or end, and tool results are cut to as much."""

_PATH = r"(?<![^\s\"'`\u2018\u2019])(?P<subject>[^\s\"'`\u2018\u2019:]{1,400})[\"'`\u2018\u2019]?"
"""A path as a whole word: begun only where a word begins, and bounded, so that no text takes more than one pass."""

_TABLE: tuple[tuple[ErrorKind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        # The CLI's and the API's own words.
        (
            ErrorKind.USAGE_LIMIT,
            r"usage limit reached|hit your [\w -]{0,40}limit|\d+-hour limit reached|limit will reset at",
        ),
        (
            ErrorKind.OVERLOADED,
            r"overloaded_error|\boverloaded\b|API Error: (?:(?:Request rejected )?\(?429|529|503)|rate_limit_error",
        ),
        (
            ErrorKind.TIMED_OUT,
            r"API Error:[^\n]{0,200}time[d ]{0,2}out|\bETIMEDOUT\b|request timed out|command timed out after",
        ),
        # Python, Node, then shells and the CLI's tools.
        (ErrorKind.IMPORT_ERROR, r"No module named ['\"](?P<subject>[\w.]+)['\"]"),
        (ErrorKind.IMPORT_ERROR, r"Cannot find (?:module|package) ['\"](?P<subject>[^'\"\n]+)['\"]"),
        (ErrorKind.IMPORT_ERROR, r"cannot import name ['\"]\w+['\"] from ['\"](?P<subject>[\w.]+)['\"]"),
        (ErrorKind.FILE_NOT_FOUND, r"can't open file ['\"](?P<subject>[^'\"\n]+)['\"]: \[Errno 2\]"),
        (ErrorKind.FILE_NOT_FOUND, r"\[Errno 2\] No such file or directory: ['\"](?P<subject>[^'\"\n]+)['\"]"),
        (ErrorKind.FILE_NOT_FOUND, r"ENOENT: no such file or directory, \w+ ['\"](?P<subject>[^'\"\n]+)['\"]"),
        (ErrorKind.FILE_NOT_FOUND, rf"{_PATH}: No such file or directory"),
        (ErrorKind.FILE_NOT_FOUND, rf"(?:File|Path|Directory) does not exist[.:]?\s+[\"'`]?{_PATH}"),
        (ErrorKind.FILE_NOT_FOUND, r"(?:File|Path|Directory) does not exist|No such file or directory"),
        (ErrorKind.PERMISSION_DENIED, r"\[Errno 13\] Permission denied: ['\"](?P<subject>[^'\"\n]+)['\"]"),
        (ErrorKind.PERMISSION_DENIED, r"EACCES: permission denied, \w+ ['\"](?P<subject>[^'\"\n]+)['\"]"),
        (ErrorKind.PERMISSION_DENIED, rf"{_PATH}: Permission denied"),
        (ErrorKind.PERMISSION_DENIED, r"\bPermission denied\b(?! \(publickey)"),
    )
)
"""First match wins; those that name their subject come before those of the same kind that do not."""


def recognise(text: str) -> KnownError | None:
    """Return the known error in a text, or None."""
    if len(text) > MOST_CHARACTERS:
        text = text[: MOST_CHARACTERS // 2] + "\n" + text[-MOST_CHARACTERS // 2 :]
    for kind, pattern in _TABLE:
        if found := pattern.search(text):
            return KnownError(kind, found.groupdict().get("subject") or "")
    return None
