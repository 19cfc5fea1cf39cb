"""Hooks put into the text of a settings file of the CLI, and taken out of it again, with every other byte as it was.

The text is edited and not written anew, since a tool that adds a line to a file should not format the rest. What
is no JSON as the standard has it is refused: of a file with a comment or a comma at the end the CLI itself takes
nothing (measured, 2.1.329). Pure.
"""

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from hashlib import sha256
from json.decoder import py_scanstring  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from monitors.contract.errors import UsageError

SPACE = " \t\r\n"

BYTE_ORDER_MARK = "\ufeff"
"""The first character of files of some editors; the CLI reads such a file (measured, 2.1.329)."""

MARK = "supervisor/runtime/attached/hook."
"""The part of a command by which a hook is known as ours."""

HTTP_MARK = "/chaperon-hooks/"
"""The same of a hook's address."""

Handlers = Mapping[str, Mapping[str, Any]]
"""For each hook's name, the entry that is put into the settings."""


class _Member(NamedTuple):
    """A value in an object or an array, by its place in the text."""

    key: str
    begin: int
    """The place of its key, or of the value in an array."""
    value: int
    end: int


class _Holder(NamedTuple):
    """An object or an array, by its place in the text."""

    begin: int
    members: Sequence[_Member]
    end: int
    """Behind its closing bracket."""


def with_hooks(text: str, handlers: Handlers, top: Mapping[str, Any] | None = None) -> str:
    """Return the text with these hooks in it; those of ours that it had are replaced.

    Args:
        text: The text.
        handlers: The hooks.
        top: Other members that the settings must have, which are added if they are not there.

    Raises:
        UsageError: It is not the text of settings.
    """
    ours = [(event, json.loads(text[entry.value : entry.end])) for event, _, entry in _entries(text)]
    if sorted(event for event, _ in ours) == sorted(handlers) and dict(ours) == handlers:
        return text
    text = without_hooks(text)
    if not text.strip():
        text = "{}\n"
    for key, value in (top or {}).items():
        if _member(root := _root(text), key) is None:
            text = _added(text, root, key, value)
    for event, entry in handlers.items():
        root = _root(text)
        hooks = _member(root, "hooks")
        if hooks is None:
            text = _added(text, root, "hooks", {event: [entry]})
            continue
        held = _holder(text, hooks.value, "{", "the value of `hooks`")
        found = _member(held, event)
        if found is None:
            text = _added(text, held, event, [entry])
        else:
            text = _added(text, _holder(text, found.value, "[", f"the value of `hooks.{event}`"), "", entry)
    return text


def without_hooks(text: str, known: Container[str] | None = None) -> str:
    """Return the text without hooks of ours, and without what held nothing else.

    Args:
        text: The text.
        known: Digests of the hooks that go, as `digests` has them; None: all that look like ours.

    Raises:
        UsageError: It is not the text of settings.
    """
    while (span := _ours(text, known)) is not None:
        text = text[: span[0]] + text[span[1] :]
    return text


def digests(text: str) -> list[str]:
    """The digest of each hook of ours that the text has, however it is laid out; raises like `without_hooks`."""
    return [_digest(text, event, entry) for event, _, entry in _entries(text)]


def hooks_in(text: str) -> tuple[str, ...]:
    """The names of hooks of ours that the text has; raises like `without_hooks`."""
    return tuple(event for event, _, _ in _entries(text))


def holds_token(text: str) -> bool:
    """Whether a hook of ours in the text goes by HTTP, with a token beside it."""
    return any(HTTP_MARK in text[entry.value : entry.end] for _, _, entry in _entries(text))


def _digest(text: str, event: str, entry: _Member) -> str:
    return sha256(json.dumps([event, json.loads(text[entry.value : entry.end])], sort_keys=True).encode()).hexdigest()


def _ours(text: str, known: Container[str] | None) -> tuple[int, int] | None:
    """Return the place of the first hook of ours, or of the largest thing that holds nothing but it; None for none."""
    for event, holders, entry in _entries(text):
        if known is not None and _digest(text, event, entry) not in known:
            continue
        holder = next((holder for holder in holders if len(holder.members) > 1), holders[-1])
        return _cut(holder, next(one for one in holder.members if one.begin <= entry.begin < one.end))
    return None


def _entries(text: str) -> Iterator[tuple[str, tuple[_Holder, ...], _Member]]:
    """Yield each entry of ours: the hook's name, what holds it from within outwards, and its place."""
    if not text.strip():
        return
    root = _root(text)
    hooks = _member(root, "hooks")
    if hooks is None or text[hooks.value] != "{":
        return
    by_event = _holder(text, hooks.value, "{", "the value of `hooks`")
    for event in by_event.members:
        if text[event.value] != "[":
            continue
        entries = _holder(text, event.value, "[", event.key)
        for entry in entries.members:
            if any(mark in text[entry.value : entry.end] for mark in (MARK, HTTP_MARK)):
                yield event.key, (entries, by_event, root), entry


def _cut(holder: _Holder, member: _Member) -> tuple[int, int]:
    """Return the place of a member with the comma and the white space that go with it."""
    number = holder.members.index(member)
    if number + 1 < len(holder.members):
        if number:
            return holder.members[number - 1].end, member.end
        return member.begin, holder.members[1].begin
    begin = holder.members[number - 1].end if number else holder.begin + 1
    return (begin, member.end) if number else (begin, holder.end - 1)


def _root(text: str) -> _Holder:
    begin = _skip(text, len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0)
    try:
        found = json.loads(text.removeprefix(BYTE_ORDER_MARK))
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"It is not JSON ({error}); nothing was changed.",
            way_out="Comments and commas at the end are not taken. Mend the file, and ask again.",
        ) from None
    if not isinstance(found, dict):
        raise UsageError(f"It holds a {type(found).__name__} and not an object; nothing was changed.")
    return _holder(text, begin, "{", "it")


def _member(holder: _Holder, key: str) -> _Member | None:
    """Return the member of that name: the last one, as every reader of JSON takes it."""
    return next((member for member in reversed(holder.members) if member.key == key), None)


def _holder(text: str, begin: int, bracket: str, what: str) -> _Holder:
    """Read the members of an object or an array; the text is JSON."""
    if text[begin] != bracket:
        kind = "an object" if bracket == "{" else "a list"
        raise UsageError(f"In it {what} is not {kind}; nothing was changed.")
    members, place = list[_Member](), _skip(text, begin + 1)
    while text[place] not in "]}":
        key, start = "", place
        if bracket == "{":
            key, place = py_scanstring(text, place + 1)
            place = _skip(text, _skip(text, place) + 1)
        _, end = json.JSONDecoder().raw_decode(text, place)
        members.append(_Member(key, start, place, end))
        place = _skip(text, end)
        if text[place] == ",":
            place = _skip(text, place + 1)
    return _Holder(begin, members, place + 1)


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in SPACE:
        place += 1
    return place


def _added(text: str, holder: _Holder, key: str, value: object) -> str:
    """Return the text with a member behind the others, laid out like them."""
    members = holder.members
    newline = "\r\n" if "\r\n" in text else "\n"
    outer = _indent(text, holder.begin)
    if members:
        between = text[members[-2].end : members[-1].begin] if len(members) > 1 else ""
        lead = text[holder.begin + 1 : members[0].begin]
        on_lines = "\n" in lead
        inner = lead.rpartition("\n")[2] if on_lines else outer
        separator = between or ("," + (newline + inner if on_lines else " "))
        return (
            text[: members[-1].end]
            + separator
            + _member_text(key, value, inner, newline, _unit(text))
            + text[members[-1].end :]
        )
    unit = _unit(text)
    inner = outer + unit
    body = f"{newline}{inner}{_member_text(key, value, inner, newline, unit)}{newline}{outer}"
    return text[: holder.begin + 1] + body + text[holder.end - 1 :]


def _member_text(key: str, value: object, indent: str, newline: str, unit: str) -> str:
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    laid = (newline + indent).join(lines)
    return f"{json.dumps(key)}: {laid}" if key else laid


def _indent(text: str, place: int) -> str:
    """Return the white space at the beginning of the line of a place."""
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """Return by what the text indents: the white space of its first line that has some."""
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        if indent and line.strip():
            return indent
    return "  "
