"""The knowledge as people see it: a list of the rules, and a check of every entry by its own examples."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from monitors.review.knowledge.book import LAUNCHERS, PROGRAMS, RULES
from monitors.review.languages.interpreters import code_uses
from monitors.review.rules.definitions import NOTHING, Knowledge, RuleError
from monitors.review.rules.patterns import PatternError, compiled
from monitors.review.rules.rules import Program, Rule, RuleBook, readings
from monitors.review.shell.invocation import Invocation
from monitors.review.shell.launch import LauncherBook
from monitors.review.shell.walk import Walk
from monitors.review.verdict.scopes import SHARED

CHECKS = frozenset({
    "chaperon.self-protection", "ci.runs-strangers", "code.connects", "code.harmful-source", "code.hidden", "code.listens", "code.remote-shell", "environment.runs", "environment.unchecked",
    "files.delete", "files.delete-cache", "files.delete-device", "files.delete-elsewhere", "files.delete-empty", "files.delete-ignored",
    "files.delete-null", "files.delete-outside", "files.delete-recursive", "files.delete-repository", "files.delete-scratch", "files.delete-secret",
    "files.delete-system", "files.delete-top", "files.delete-unknown", "files.empty", "files.startup-handed", "files.write", "files.write-device",
    "files.write-elsewhere", "files.write-outside", "files.write-secret", "files.write-startup", "files.write-system", "git.worktree-remove",
    "infrastructure.opens", "network.fetch", "network.metadata", "network.open", "network.private", "network.raw", "network.scheme", "network.search", "permissions.secret",
    "git.delete-all", "message.many", "message.telephone", "page.acts", "source.gives-away", "code.unchecked", "web.orders", "deploy.production", "git.in-name-of", "process.burns", "abuse.hammer", "packages.run-foreign", "process.of-others", "permissions.take-away", "secrets.project", "secrets.read", "secrets.send", "secrets.sought", "secrets.written", "shell.endless",
    "shell.fork-bomb", "shell.handed", "shell.hidden-text", "shell.in-container", "shell.interactive", "shell.look-alike", "shell.not-understood",
    "shell.run-brought", "shell.run-download", "shell.run-generated", "shell.run-hidden", "shell.run-piped", "shell.sources", "shell.too-much",
    "shell.unknown-destructive", "shell.unknown-program", "statements.lose", "skills.hooks", "skills.too-long", "skills.unread", "tools.after-the-run", "tools.durable-schedule", "tools.kill-shell", "tools.malformed",
    "tools.mcp", "tools.mcp-destroys", "tools.mcp-opens", "tools.mcp-shared", "tools.mcp-production", "tools.mcp-weakens", "tools.mcp-read", "tools.message", "tools.remote", "tools.subagent", "tools.unknown", "tools.worktree", "unknown.destroys",
    "unknown.removes", "unknown.runs",
})  # fmt: skip
"""Rules that are code and no entry of the knowledge."""
NAMES = frozenset(
    (
        *(rule.name for rule in RULES),
        *CHECKS,
        *(f"program.{one.effect}" for one in PROGRAMS if one.effect),
        *(f"{kind}.{end}" for kind in SHARED for end in ("verb", "production")),
    )
)
"""Every rule that a review of the built-in reviewer can name."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An entry that does not do what its examples say."""

    kind: Literal["rule", "program", "launcher"]
    at: int
    """Its place among those of its kind, from 0."""
    name: str
    command: str
    expected: bool
    """Whether the command is among the examples `yes`."""

    def __str__(self) -> str:
        """Say so in a clause."""
        says = _FAILS[self.kind, self.expected]
        return f"{self.kind} `{self.name}` {says} its own example `{self.command}`"


_FAILS = {
    ("rule", True): "does not match",
    ("rule", False): "matches",
    ("program", True): "is not known to read only in",
    ("program", False): "is taken to read only in",
    ("launcher", True): "does not start `true` in",
}


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
    """Return the rules that a name may have been meant for; none if it is one, or begins like none of them.

    Args:
        name: The name as written.
        own: Names of the user's own rules, and of plugins'.
    """
    known = {*NAMES, *own}
    if name in known:
        return []
    family = name.partition(".")[0] + "."
    return get_close_matches(name, known, 3, 0.6) or sorted(one for one in known if one.startswith(family))


def matching(command: str, rules: Iterable[Rule] = RULES, own: Knowledge = NOTHING) -> list[str]:
    """Names of the rules that some part of the command meets, with programs and launchers beside the built-in ones."""
    return _matching(_walked(command, _launchers(own)), RuleBook((*PROGRAMS, *own.programs), rules))


def failures(known: Knowledge) -> list[Failure]:
    """Run the examples of each entry, beside the built-in programs and launchers, and return those that fail."""
    book, launchers = RuleBook((*PROGRAMS, *known.programs), known.rules), _launchers(known)
    of_rules = [
        Failure("rule", at, rule.name, command, expected)
        for at, rule in enumerate(known.rules)
        for command, expected in _examples(rule)
        if (rule.name in _matching(_walked(command, launchers), book)) != expected
    ]
    of_programs = [
        Failure("program", at, program.names, command, expected)
        for at, program in enumerate(known.programs)
        for command, expected in _examples(program)
        if _only_reads(_walked(command, launchers), book) != expected
    ]
    of_launchers = [
        Failure("launcher", at, launcher.command, command, expected=True)
        for at, launcher in enumerate(known.launchers)
        for command in launcher.yes
        if not _starts_true(_walked(command, launchers))
    ]
    return [*of_rules, *of_programs, *of_launchers]


def check(own: Knowledge, place: str) -> None:
    """Check the patterns and the examples of what a person has defined.

    Args:
        own: As `knowledge_from` read it.
        place: Where it stands, for messages. Example: `reviewer`.

    Raises:
        RuleError: A pattern cannot be read, or an example does not hold.
    """
    for kind, entries in (("rules", [rule.match for rule in own.rules]), ("programs", [*map(readings, own.programs)])):
        for at, patterns in enumerate(entries):
            for pattern in patterns:
                try:
                    compiled(pattern)
                except PatternError as error:
                    raise RuleError(f"{place}.{kind}[{at}]: {error}") from None
    failed = failures(own)
    if failed:
        raise RuleError(f"{place}.{failed[0].kind}s[{failed[0].at}]: {failed[0]}")


def _examples(given: Rule | Program) -> list[tuple[str, bool]]:
    return [*((command, True) for command in given.yes), *((command, False) for command in given.no)]


def _launchers(own: Knowledge) -> LauncherBook:
    return LauncherBook((*own.launchers, *LAUNCHERS))


def _walked(command: str, launchers: LauncherBook) -> Walk:
    walk = Walk(cwd="/", variables={}, launchers=launchers, code=_scripts_in_code)
    walk.script(command)
    return walk


def _matching(walk: Walk, book: RuleBook) -> list[str]:
    found = [rule.name for one in walk.invocations for rule in book.matching(one, book.operands(one))]
    return list(dict.fromkeys(found))


def _only_reads(walk: Walk, book: RuleBook) -> bool:
    return book.only_reads(walk.invocations[0], book.operands(walk.invocations[0]))


def _starts_true(walk: Walk) -> bool:
    """Whether `true` is started, alone or with what `xargs` would put for the braces."""
    return any(one.name == "true" and one.args in ([], ["{}"], ["$PIPED"]) for one in walk.invocations)


def _scripts_in_code(invocation: Invocation) -> list[str]:
    """Return the scripts that an interpreter's code hands to a shell; files that it names are not read."""
    found = code_uses(invocation, lambda _invocation, _path: None)
    return found.scripts if found else []
