r"""Rules, programs and launchers out of plain mappings, as a configuration and the built-in knowledge write them.

    words:                        # pieces that patterns share: `<sql>` in a pattern is the piece named so
      sql: psql|mysql
    programs:
      - names: psql mysql
        reads: /select /
        yes: psql -c 'select 1'
    rules:
      - name: own.drop
        match: <sql> ... /drop\s+table/
        why: deletes tables
        yes: psql -c 'drop table x'
    launchers:
      - command: with-secrets
        skip: 1
        yes: with-secrets prod true

A list of texts may be written as one text. What is not written has the default of the object's field.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

from monitors.contract.effects import as_effect_type
from monitors.review.rules import levels
from monitors.review.rules.rules import Program, Rewrite, Rule, Undo
from monitors.review.shell.launchers import Inside, LauncherLayout

RISKS = {
    "reads": levels.READS,
    "noted": levels.NOTED,
    "minor": levels.MINOR,
    "moderate": levels.MODERATE,
    "care": levels.CARE,
    "harm": levels.HARM,
    "doom": levels.DOOM,
}
"""Names of base risks; a number from 0 to 1 does as well."""

Words = Mapping[str, str]
"""Pieces of patterns by name."""


class RuleError(ValueError):
    """A definition that cannot be used. The message says which, where it stands and what was expected."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Rules, programs and launchers, in the order in which they are tried."""

    rules: tuple[Rule, ...] = ()
    programs: tuple[Program, ...] = ()
    launchers: tuple[LauncherLayout, ...] = ()


NOTHING = Knowledge()


def knowledge_from(given: Mapping[str, Any], place: str) -> Knowledge:
    """Read everything that one mapping defines.

    Args:
        given: `words`, `rules`, `programs` and `launchers`, each if there are any.
        place: Where the mapping stands, for messages. Example: `reviewer`.

    Raises:
        RuleError: A key or a value is wrong. Patterns and examples are checked by `catalogue.check`.
    """
    words = given.get("words", {})
    return Knowledge(
        tuple(rule_from(each, f"{place}.rules[{at}]", words) for at, each in enumerate(given.get("rules", ()))),
        tuple(
            program_from(each, f"{place}.programs[{at}]", words) for at, each in enumerate(given.get("programs", ()))
        ),
        tuple(launcher_from(each, f"{place}.launchers[{at}]") for at, each in enumerate(given.get("launchers", ()))),
    )


def rule_from(given: Mapping[str, Any], place: str, words: Words = {}) -> Rule:  # noqa: B006 — never written to
    """Make a rule of a mapping; each key is a field of `Rule`.

    Args:
        given: The mapping.
        place: Where it stands, for messages. Example: `reviewer.rules[2]`.
        words: Pieces that its patterns may name.

    Raises:
        RuleError: A key or a value is wrong.
    """
    made = _read(given, place, _RULE)
    made["match"] = _whole(made.get("match", ()), words)
    made.setdefault("risk", levels.HARM)
    if not made.get("name") or not made["match"] or (not made.setdefault("why", "") and made["risk"] >= levels.CARE):
        raise RuleError(f"{place}: a rule needs `name` and `match`, and from the risk `care` on `why`")
    return Rule(**made)


def program_from(given: Mapping[str, Any], place: str, words: Words = {}) -> Program:  # noqa: B006
    """Make a program of a mapping; each key is a field of `Program`. Arguments and errors as for `rule_from`."""
    made = _read(given, place, _PROGRAM)
    made["reads"] = _whole(made.get("reads", ()), words)
    if not made.get("names", "").split():
        raise RuleError(f"{place}: a program needs `names`")
    if bool(made.get("effect")) != bool(made.get("details")):
        raise RuleError(f"{place}: `effect` and `details` of a program belong together")
    return Program(**made)


def launcher_from(given: Mapping[str, Any], place: str) -> LauncherLayout:
    """Make a launcher of a mapping; each key is a field of `LauncherLayout`. Errors as for `rule_from`."""
    made = _read(given, place, _LAUNCHER)
    if not made.get("command", "").split():
        raise RuleError(f"{place}: a launcher needs `command`")
    return LauncherLayout(**made)


_PIECE = re.compile(r"<([a-z][a-z-]*)>")


def _whole(patterns: Sequence[str], words: Words) -> tuple[str, ...]:
    """Put the pieces into the patterns that name them. A name that is none of them is text, as in `(?P<name>…)`."""
    if not words:
        return tuple(patterns)
    return tuple(_PIECE.sub(lambda found: words.get(found[1], found[0]), pattern) for pattern in patterns)


# ── values ────────────────────────────────────────────────────────────────────────────────────────────────────────────

Reader = Callable[[Any, str], Any]
"""Takes what is written and its place; returns the field's value or raises `RuleError`."""


def _read(given: Mapping[str, Any], place: str, readers: Mapping[str, Reader]) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise RuleError(f"{place}: expected a mapping, got {given!r}")
    if not given.keys() <= readers.keys():
        unknown = min(map(str, given.keys() - readers.keys()))
        raise RuleError(f"{place}: no key `{unknown}` here; known are {', '.join(sorted(readers))}")
    return {key: readers[key](value, f"{place}.{key}") for key, value in given.items()}


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise RuleError(f"{place}: expected a text, got {value!r}")
    return value


def _texts(value: Any, place: str) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, (list, tuple)) or not all(isinstance(text, str) for text in value):
        raise RuleError(f"{place}: expected a text or a list of texts, got {value!r}")
    return tuple(value)


def _truth(value: Any, place: str) -> bool:
    if not isinstance(value, bool):
        raise RuleError(f"{place}: expected true or false, got {value!r}")
    return value


def _count(value: Any, place: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise RuleError(f"{place}: expected a number of words, got {value!r}")
    return value


def _risk(value: Any, place: str) -> float:
    if isinstance(value, str) and value in RISKS:
        return RISKS[value]
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    raise RuleError(f"{place}: expected a number from 0 to 1 or one of {', '.join(RISKS)}, got {value!r}")


def _effect(value: Any, place: str) -> str:
    try:
        return as_effect_type(_text(value, place)) if value else ""
    except ValueError as error:
        raise RuleError(f"{place}: {error}") from None


def _one_of(values: tuple[str, ...], value: Any, place: str) -> str:
    if value is not None and value not in values:
        raise RuleError(f"{place}: expected one of {', '.join(filter(None, values))}, or nothing, got {value!r}")
    return value or ""


_RULE: Mapping[str, Reader] = {
    "name": _text,
    "match": _texts,
    "risk": _risk,
    "why": _text,
    "instead": _text,
    "alternative": _text,
    "effect": _effect,
    "rewrite": partial(_one_of, get_args(Rewrite)),
    "undo": partial(_one_of, get_args(Undo)),
    "yes": _texts,
    "no": _texts,
}
_PROGRAM: Mapping[str, Reader] = {
    "names": _text,
    "values": _text,
    "reads": _texts,
    "effect": _effect,
    "details": _text,
    "risk": _risk,
    "data": _truth,
    "fed": _truth,
    "edits": _text,
    "yes": _texts,
    "no": _texts,
}
_LAUNCHER: Mapping[str, Reader] = {
    "command": _text,
    "skip": _count,
    "values": _text,
    "code": _text,
    "joined": _truth,
    "elevates": _truth,
    "inside": partial(_one_of, get_args(Inside)),
    "where": _text,
    "assigns": _truth,
    "dashes": _truth,
    "behind": _text,
    "directory": _text,
    "unless": _text,
    "alone": _text,
    "yes": _texts,
}
