"""`chaperon review --jsonl`: one action a line in, one answer a line out, in order and none lost."""

import posixpath
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import orjson

from monitors.contract import anyjson
from monitors.contract.actions import Action, Review, ReviewContext, Reviewer
from monitors.contract.words import Decision, Severity
from monitors.review.chain import safe_review

MAX_LINE = 16 * 1024 * 1024
"""Longest line read, in bytes. The CLI's own lines stay below."""
Clock = Callable[[], int]
"""Nanoseconds of a clock that never goes back, from outside."""


def review_jsonl(
    lines: Iterable[bytes],
    reviewer: Reviewer,
    clock: Clock,
    context: ReviewContext | None = None,
    *,
    workspace: str = "",
    cwd: str = "",
) -> Iterator[bytes]:
    """Review each line's action. A bad line gets an object with `error` in its place.

    Args:
        lines: `{"command": …}` or `{"tool": …, "input": {…}}`, with optional `cwd`, `workspace` and `id`. Blank lines
            are skipped.
        reviewer: Reviews each action; if it raises, the answer is a block that names the exception.
        clock: Measures `micros`.
        context: Facts common to all lines.
        workspace: For rows that name none.
        cwd: For rows that name none; if empty, the row's workspace, from which a relative one counts.
    """
    context = context or ReviewContext()
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield anyjson.dumps(_answer(line, number, reviewer, clock, context, (workspace, cwd))) + b"\n"


def _answer(
    line: bytes, number: int, reviewer: Reviewer, clock: Clock, context: ReviewContext, where: tuple[str, str]
) -> dict[str, Any]:
    parsed = _parsed(line, number)
    if isinstance(parsed, str):
        return _refused(None, parsed)
    action = _action(parsed, number, *where)
    if isinstance(action, str):
        return _refused(_plain(parsed.get("id")), action)
    began = clock()
    review = safe_review(reviewer, action, context)
    return {"id": _plain(parsed.get("id")), **as_dict(review), "micros": (clock() - began) // 1000}


def _refused(id_: Any, error: str) -> dict[str, Any]:
    """Return the answer to a line that holds no action: as at the gate a block, and the fault in `error`."""
    review = Review(Decision.BLOCK, 1.0, 0.0, Severity.MEDIUM, f"{error}.", "tools.malformed")
    return {"id": id_, **as_dict(review), "micros": 0, "error": error}


def _parsed(line: bytes, number: int) -> dict[str, Any] | str:
    if len(line) > MAX_LINE:
        return f"line {number} is longer than {MAX_LINE} bytes; it was not read"
    try:
        parsed = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return f"line {number} is no JSON: {error}"
    return (
        parsed
        if isinstance(parsed, dict)
        else f"line {number} is a JSON {type(parsed).__name__}, where an object belongs"
    )


def _action(parsed: dict[str, Any], number: int, workspace: str, cwd: str) -> Action | str:
    given = {name: value for name, value in parsed.items() if value is not None}
    where = {"workspace": given.get("workspace", workspace), "cwd": given.get("cwd", cwd)}
    for name, value in where.items():
        if not isinstance(value, str):
            return f"line {number}: `{name}` is {type(value).__name__}, where a text belongs"
    if "workspace" in given and "cwd" not in given:
        where["cwd"] = ""  # of that workspace, and not the directory of the others
    elif where["cwd"]:
        where["cwd"] = posixpath.join(where["workspace"], where["cwd"])
    if "command" in given or ("command" in parsed and "tool" not in given):
        if not isinstance(parsed["command"], str):
            return f"line {number}: `command` is {type(parsed['command']).__name__}, where a text belongs"
        return Action("Bash", {"command": parsed["command"]}, where["cwd"], where["workspace"])
    if not isinstance(parsed.get("tool"), str) or not isinstance(parsed.get("input"), dict):
        return f"line {number} has neither `command` nor `tool` with `input`"
    return Action(parsed["tool"], parsed["input"], where["cwd"], where["workspace"])


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, int, float)) or value is None else str(value)


def as_dict(review: Review) -> dict[str, Any]:
    """The review's fields as the contract names them, without `id` and `micros`."""
    return {
        "decision": review.decision.value,
        "risk": review.risk,
        "rationality": review.rationality,
        "severity": review.severity.value,
        "side_effects": [
            {
                "type": made.type,
                "severity": made.severity.value,
                "reversible": made.reversible,
                "details": made.details,
            }
            for made in review.side_effects
        ],
        "reasoning": review.reasoning,
        "rule": review.rule,
        "updated_input": _jsonable(review.updated_input),
    }


def _jsonable(value: Any) -> Any:
    """The value with whatever a plugin put into it that JSON has not as text."""
    if isinstance(value, dict):
        return {str(key): _jsonable(found) for key, found in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(found) for found in value]
    return _plain(value)
