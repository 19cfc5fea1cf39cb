"""The same thing said twice looks the same: calls, results and errors without what changes by itself.

Kept on purpose: offsets, limits and page numbers of a call, for reading on is not reading again. Dropped on purpose:
the free text `description` and the `timeout` of a Bash call (96 % of real calls carry a description, so that raw
inputs hardly ever repeat), ids, and times. A value that a transcript has REDACTED is taken as distinct each time.
"""

import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import orjson

from monitors.contract import anyjson

VOLATILE_FIELDS = frozenset(
    {
        "description", "timeout", "request_id", "requestId", "tool_use_id", "toolUseId", "trace_id", "nonce",
        "idempotency_key", "timestamp", "task_progress", "explanation",
    }
)  # fmt: skip
"""Fields of an input that say nothing of what is asked for."""

LINES_OF_AN_ERROR = 6
"""How many telling lines of an error make its identity: a test run's list of failures is longer, its first ones do."""

# Each of these begins with the characters that it may begin with, and looks behind only then: so the search skips from
# one such character to the next, which is five times as fast as trying each alternative everywhere.
_TIME = re.compile(
    r"\d(?<!\w\d)(?:\d{3}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?|\d:\d\d:\d\d(?:[.,]\d+)?|x[0-9a-fA-F]+\b"
    r"|\d*(?:\.\d+)?\s?(?:ms|s|sec|secs|seconds|µs|us|ns|m|min)\b)"
)
_HEX = re.compile(
    r"[0-9a-f](?<!\w[0-9a-f])(?:[0-9a-f]{7}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|(?:(?<=\d)|(?=[a-f]*\d))[0-9a-f]{6,63}\b)"
)
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_NAMED_ID = re.compile(r"(?:toolu|msg|req|call)_\w+")
_PREFIXES = ("toolu_", "msg_", "req_", "call_")
_PATH = re.compile(
    r"(?:(?<![\w/.:~-])(?:~|\.{1,2})?/[^\s:'\"`,;()\[\]<>|]+)|(?:\b[A-Za-z]:\\[^\s:'\"`,;()]+)|(?:\b[\w.-]+/[\w./-]+)"
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SPACE = re.compile(r"\s+")
_TELLING = re.compile(
    r"error|fail|exception|fatal|denied|not found|no such|cannot|can't|unable|invalid|undefined|unknown|missing|refused"
    r"|timed? ?out|panic|abort|unexpected|illegal|traceback|blocked|rejected|does not exist|is not",
    re.IGNORECASE,
)
_BARE = re.compile(r"^\s*(?:error: )?exit code \d+\s*$", re.IGNORECASE)
_HEAD = 1_024


def digest(data: bytes) -> bytes:
    """Eight bytes that stand for the data; equal in every process, so that replays agree."""
    return blake2b(data, digest_size=8).digest()


def call_key(tool: str, call: Mapping[str, Any], seq: int) -> bytes:
    """Return the key of a call, eight bytes: tool and input, keys sorted, volatile fields dropped.

    Args:
        tool: The tool's name.
        call: Its input.
        seq: The event's number, which makes an input with a redacted value one of its own.
    """
    kept = {field: value for field, value in call.items() if field not in VOLATILE_FIELDS}
    try:
        data = orjson.dumps(kept, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS, default=str)
    except TypeError:  # half characters, or nested deeper than it writes
        data = anyjson.dumps(kept)
    redacted = b"#%d" % seq if b"REDACTED" in data else b""
    return digest(tool.encode("utf-8", "replace") + b"\0" + data + redacted)


_BEGINS_IDLE = re.compile(r"\s*(?:(?::|true|false|echo|printf|sleep 0|exit 0)(?![\w./-])|#)")
_IDLE = re.compile(r"\s*(?:(?::|true|false|echo|printf|sleep 0|exit 0)(?:\s[^&|<>`$()]*)?|#.*)?\Z")
_QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")
_JOINT = re.compile(r"\n|;|&&|\|\|")
MOST_IDLE = 4_000
"""Characters of a command that may do nothing: a longer one is a text that is written somewhere."""
NOTHING = digest(b"a call that does nothing")
"""The key of every call that does nothing, whatever its words."""


def does_nothing(tool: str, call: Mapping[str, Any]) -> bool:
    """Whether a command changes and looks at nothing: `true`, `: words`, `echo` of its own words, or several such."""
    command = call.get("command")
    if tool != "Bash" or not isinstance(command, str) or len(command) > MOST_IDLE or not _BEGINS_IDLE.match(command):
        return False
    return all(_IDLE.match(part) for part in _JOINT.split(_QUOTED.sub("_", command)))


def steady(text: str) -> str:
    """The text without times, durations, ids and colours."""
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    if any(prefix in text for prefix in _PREFIXES):
        text = _NAMED_ID.sub("~", text)
    return _HEX.sub("~", _TIME.sub("~", text))


def result_key(text: str) -> bytes:
    """Return the key of a result, eight bytes: volatile parts are dropped at both ends.

    The middle of a long text counts as it is.
    """
    if len(text) <= 2 * _HEAD:
        return digest(steady(text).encode("utf-8", "replace"))
    middle = digest(text[_HEAD:-_HEAD].encode("utf-8", "replace")).hex()
    return digest(f"{steady(text[:_HEAD])}{middle}{steady(text[-_HEAD:])}".encode("utf-8", "replace"))


def is_telling(form: str) -> bool:
    """Whether an error's form says what went wrong; `grep` that finds nothing fails with whatever else was printed."""
    return _TELLING.search(form) is not None


def error_form(text: str) -> str:
    """The error's identity: its telling lines, with paths, numbers, ids and times replaced; empty if it tells nothing.

    Example: `cat: /home/a/x1.txt: No such file or directory` becomes `cat: <path>: No such file or directory`.
    """
    whole = text if len(text) <= 8 * _HEAD else f"{text[: 4 * _HEAD]}\n{text[-4 * _HEAD :]}"
    lines = [line for line in whole.splitlines() if line.strip() and not _BARE.match(line)]
    telling = [line for line in lines if _TELLING.search(line)] or lines[:2] + lines[-2:]
    kept = (
        telling
        if len(telling) <= LINES_OF_AN_ERROR
        else telling[: LINES_OF_AN_ERROR // 2] + telling[-(LINES_OF_AN_ERROR // 2) :]
    )
    plain = "\n".join(line[:400] for line in kept)
    plain = _NUMBER.sub("<n>", _PATH.sub("<path>", steady(plain)))
    return _SPACE.sub(" ", plain).strip()[:400]
