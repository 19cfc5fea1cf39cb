"""The rules as people see them: a list, a test of each by its own examples, and rules out of a configuration."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from monitors.contract.effects import EffectType, as_effect_type
from monitors.review.knowledge.book import PROGRAMS, RULES
from monitors.review.languages.interpreters import code_uses
from monitors.review.rules import levels
from monitors.review.rules.patterns import PatternError, compiled
from monitors.review.rules.rules import Rule, RuleBook
from monitors.review.shell.invocation import Invocation
from monitors.review.shell.walk import Walk

RISKS = {
    "reads": levels.READS,
    "noted": levels.NOTED,
    "minor": levels.MINOR,
    "moderate": levels.MODERATE,
    "care": levels.CARE,
    "harm": levels.HARM,
    "doom": levels.DOOM,
}
"""Names of base risks for configurations; a number from 0 to 1 does as well."""

CHECKS = frozenset({
    "chaperon.self-protection", "code.connects", "code.hidden", "code.listens", "code.remote-shell", "environment.runs", "environment.unchecked",
    "files.delete", "files.delete-cache", "files.delete-device", "files.delete-elsewhere", "files.delete-empty", "files.delete-ignored",
    "files.delete-null", "files.delete-outside", "files.delete-recursive", "files.delete-repository", "files.delete-scratch", "files.delete-secret",
    "files.delete-system", "files.delete-top", "files.delete-unknown", "files.empty", "files.startup-handed", "files.write", "files.write-device",
    "files.write-elsewhere", "files.write-outside", "files.write-secret", "files.write-startup", "files.write-system", "git.worktree-remove",
    "network.fetch", "network.metadata", "network.private", "network.raw", "network.scheme", "network.search", "permissions.secret",
    "permissions.take-away", "secrets.project", "secrets.read", "secrets.send", "secrets.sought", "secrets.written", "shell.endless",
    "shell.fork-bomb", "shell.handed", "shell.hidden-text", "shell.in-container", "shell.interactive", "shell.look-alike", "shell.not-understood",
    "shell.run-download", "shell.run-generated", "shell.run-hidden", "shell.run-piped", "shell.sources", "shell.too-much",
    "shell.unknown-destructive", "shell.unknown-program", "skills.hooks", "tools.after-the-run", "tools.durable-schedule", "tools.kill-shell", "tools.malformed",
    "tools.mcp", "tools.mcp-destroys", "tools.mcp-read", "tools.message", "tools.remote", "tools.subagent", "tools.unknown", "unknown.destroys",
    "unknown.removes", "unknown.runs",
})  # fmt: skip
"""Rules that are code and no entry of the knowledge."""
NAMES = frozenset(
    (*(rule.name for rule in RULES), *CHECKS, *(f"program.{one.effect}" for one in PROGRAMS if one.effect))
)
"""Every rule that a review of the built-in reviewer can name."""

_TEXTS = ("match", "yes", "no")
_FIELDS = {"name": str, "why": str, "instead": str, "alternative": str, "effect": str}


@dataclass(frozen=True, slots=True)
class Failure:
    """A rule that does not do what its examples say."""

    rule: str
    command: str
    expected: bool
    """Whether the command should have matched."""

    def __str__(self) -> str:
        """Say so in a clause."""
        verb = "does not match" if self.expected else "matches"
        return f"rule `{self.rule}` {verb} its own example `{self.command}`"


class RuleError(ValueError):
    """A rule of a configuration that cannot be used; the message says which, where and what was expected."""


def listed(rules: Iterable[Rule] = RULES) -> list[dict[str, Any]]:
    """Every rule with what it means, for `chaperon rules`."""
    return [
        {
            "rule": rule.name,
            "risk": rule.risk,
            "why": rule.why,
            "instead": rule.instead,
            "alternative": rule.alternative,
            "match": list(rule.match),
            "examples": list(rule.yes),
        }
        for rule in rules
    ]


def near(name: str, own: Collection[str] = ()) -> list[str]:
    """The rules that a name may have been meant for; none where it is one, or begins like none of them.

    Args:
        name: What somebody wrote.
        own: Names of the user's own rules, and of plugins'.
    """
    known = {*NAMES, *own}
    if name in known:
        return []
    family = name.partition(".")[0] + "."
    return get_close_matches(name, known, 3, 0.6) or sorted(one for one in known if one.startswith(family))


def matching(command: str, rules: Iterable[Rule] = RULES) -> list[str]:
    """Names of the rules that some part of the command meets."""
    return _matching(command, RuleBook(PROGRAMS, rules))


def failures(rules: Iterable[Rule]) -> list[Failure]:
    """Run each rule's own examples and return those that fail; none is what one wants."""
    rules = tuple(rules)
    book = RuleBook(PROGRAMS, rules)
    return [
        Failure(rule.name, command, expected)
        for rule in rules
        for expected, commands in ((True, rule.yes), (False, rule.no))
        for command in commands
        if (rule.name in _matching(command, book)) != expected
    ]


def _matching(command: str, book: RuleBook) -> list[str]:
    walk = Walk(cwd="/", variables={}, code=_scripts_in_code)
    walk.script(command)
    found = [rule.name for one in walk.invocations for rule in book.matching(one, book.operands(one))]
    return list(dict.fromkeys(found))


def _scripts_in_code(invocation: Invocation) -> list[str]:
    """What the code given to an interpreter hands to a shell; the files that are named are not read."""
    found = code_uses(invocation, lambda _invocation, _path: None)
    return found.scripts if found else []


def rule_from(given: Mapping[str, Any], place: str) -> Rule:
    """Make a rule of what a configuration says.

    Args:
        given: `name`, `match`, `risk` and `why`, and as one likes `instead`, `alternative`, `effect`, `yes`, `no`.
        place: where it stands, for messages. Example: `chaperon.yaml: review.rules[2]`.

    Raises:
        RuleError: where a key or a value is wrong, or the rule fails its own examples.
    """
    unknown = set(given) - {*_FIELDS, *_TEXTS, "risk"}
    if unknown:
        raise RuleError(
            f"{place}: no key `{min(unknown)}` here; known are {', '.join(sorted([*_FIELDS, *_TEXTS, 'risk']))}"
        )
    texts = {name: _texts(given, name, place) for name in _TEXTS}
    words = {name: _word(given, name, place) for name in _FIELDS if name in given}
    if not words.get("name") or not texts["match"] or not words.get("why"):
        raise RuleError(f"{place}: a rule needs `name`, `match` and `why`")
    for pattern in texts["match"]:
        try:
            compiled(pattern)
        except PatternError as error:
            raise RuleError(f"{place}: {error}") from None
    rule = Rule(
        name=words["name"],
        match=texts["match"],
        risk=_risk(given.get("risk", "harm"), place),
        why=words["why"],
        instead=words.get("instead", ""),
        alternative=words.get("alternative", ""),
        effect=_effect(words.get("effect", "system_call"), place),
        yes=texts["yes"],
        no=texts["no"],
    )
    failed = failures([rule])
    if failed:
        raise RuleError(f"{place}: {failed[0]}")
    return rule


def _texts(given: Mapping[str, Any], name: str, place: str) -> tuple[str, ...]:
    value = given.get(name, ())
    value = (value,) if isinstance(value, str) else value
    if not isinstance(value, (list, tuple)) or not all(isinstance(text, str) for text in value):
        raise RuleError(f"{place}.{name}: expected a text or a list of texts, got {value!r}")
    return tuple(value)


def _word(given: Mapping[str, Any], name: str, place: str) -> str:
    if not isinstance(given[name], str):
        raise RuleError(f"{place}.{name}: expected a text, got {given[name]!r}")
    return str(given[name])


def _effect(name: str, place: str) -> EffectType | Literal[""]:
    try:
        return as_effect_type(name) if name else ""
    except ValueError as error:
        raise RuleError(f"{place}.effect: {error}") from None


def _risk(value: object, place: str) -> float:
    if isinstance(value, str) and value in RISKS:
        return RISKS[value]
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    raise RuleError(f"{place}.risk: expected a number from 0 to 1 or one of {', '.join(RISKS)}, got {value!r}")
