"""Rules: what is known of one use of a program, with the commands that show it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from monitors.contract.effects import EffectType
from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect, severity_of
from monitors.review.rules.patterns import ArgumentPattern, compiled, programs
from monitors.review.script_files import as_program
from monitors.review.shell.invocation import Arg, Invocation, arg

Rewrite = Literal["", "force-with-lease", "dry-run", "rsync-dry-run", "time-limit", "narrow-mode", "trash"]
"""How a command is made harmless; `verdict.rewrites` has each."""
Undo = Literal["", "files", "git"]
"""Means to undo a command's change; see `findings`."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of the knowledge."""

    name: str
    """Family and what is done. Example: `git.push-force`."""
    match: tuple[str, ...]
    """Patterns, of which one must match; see `patterns` for their language."""
    risk: float
    """Base risk; see `levels`."""
    why: str
    """The problem, as a clause: `rewrites the remote branch`. Empty for a reading."""
    instead: str = ""
    """The alternative."""
    alternative: str = ""
    """A command to run instead; reviewed as allow, which the tests check."""
    effect: EffectType | Literal[""] = "system_call"
    """Type of the side effect; empty if nothing changes."""
    rewrite: Rewrite = ""
    undo: Undo = ""
    yes: tuple[str, ...] = ()
    """Commands that must match."""
    no: tuple[str, ...] = ()
    """Commands that must not match."""

    def __post_init__(self) -> None:
        """Refuse the slip that makes a tuple of one a text, and with it a pattern of each letter."""
        given: tuple[object, ...] = (self.match, self.yes, self.no)
        for texts in given:
            if not isinstance(texts, tuple):
                raise TypeError(f"rule {self.name}: {texts!r} stands where a tuple of texts belongs")

    def finding(self, invocation: Invocation) -> Finding:
        """Return the rule's finding about an invocation that it matches."""
        made = (
            effect(
                self.effect,
                f"{self.why or 'runs'}: `{invocation.text()}`",
                severity=severity_of(self.risk),
                reversible=bool(self.undo) and not invocation.inside,
                mitigation=self.instead,
            )
            if self.effect
            else None
        )
        return Finding(
            self.name,
            self.risk,
            self.why,
            self.instead,
            self.alternative,
            made,
            self.rewrite,
            "" if invocation.inside else self.undo,
            elevated=invocation.elevated,
        )


@dataclass(frozen=True, slots=True)
class Program:
    """Facts about a program as a whole."""

    names: str
    """Its names, separated by blanks."""
    values: str = ""
    """Options that take a value as the next word, so that the value is not taken for an operand."""
    reads: tuple[str, ...] = ()
    """Patterns, without the program, of uses that change nothing. `*` for all of them."""
    effect: EffectType | Literal[""] = ""
    """Type of the side effect of all other uses; empty if only rules and models say."""
    details: str = ""
    """That side effect, as a clause."""
    risk: float = levels.NOTED
    """Base risk of those uses."""
    data: bool = False
    """Whether its operands are text to it: a path or a command among them is neither read nor run."""
    fed: bool = False
    """Whether it takes commands from its input as it does from its words, as clients of databases do."""
    edits: str = ""
    """Options by which it changes the files that it is given; `*` if each use does that is not among `reads`."""
    yes: tuple[str, ...] = ()
    """Commands that are among `reads`."""
    no: tuple[str, ...] = ()
    """Commands that are not."""


def readings(program: Program) -> list[str]:
    """The patterns of the uses that change nothing, each with a name that stands for the program."""
    return [f"x {text}" if text != "*" else "x" for text in program.reads]


Meaning = TypeVar("Meaning")
Remembered = TypeVar("Remembered")


class ProgramRules(Generic[Meaning]):
    """The patterns of one program with what each means, found by the first operand that they want.

    Most want a certain one (`git push`, `docker rm`), so of a hundred patterns a command is compared with a few.
    """

    def __init__(self, entries: Iterable[tuple[str, Meaning]]) -> None:
        self._all = [(compiled(text), meaning) for text, meaning in entries]
        wanted = {word for pattern, _ in self._all for word in pattern.first or ()}
        self._by_first = {word: self._for(word) for word in wanted}
        self._for_any = self._for("")

    def _for(self, word: str) -> list[tuple[ArgumentPattern, Meaning]]:
        return [entry for entry in self._all if entry[0].first is None or word in entry[0].first]

    def that_may_match(self, ways: Sequence[list[Arg]]) -> list[tuple[ArgumentPattern, Meaning]]:
        """Those that one of these lists of operands may match, in their order."""
        firsts = {way[0].lower() if way else "" for way in ways}
        return self._by_first.get(firsts.pop(), self._for_any) if len(firsts) == 1 else self._all


class RuleBook:
    """Rules and programs, found by program name. A pattern is compiled when its program is first met."""

    def __init__(self, known: Iterable[Program], rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self.programs: dict[str, Program] = {}
        self._values: dict[str, frozenset[str]] = {}
        self._reads: dict[str, list[tuple[str, None]]] = {}
        self._rules: dict[str, list[tuple[str, Rule]]] = {}
        self._readings: dict[str, ProgramRules[None]] = {}
        self._uses: dict[str, ProgramRules[Rule]] = {}
        self._reading_of: dict[Line, bool] = {}
        self._matching_of: dict[Line, list[Rule]] = {}
        for program in known:
            self._add_program(program)
        for rule in self.rules:
            for text in rule.match:
                for name in programs(text):
                    self._rules.setdefault(name, []).append((text, rule))

    def _add_program(self, program: Program) -> None:
        values = frozenset(program.values.split())
        for name in program.names.split():
            self.programs[name] = program
            self._values[name] = values
        reads = [(text, None) for text in readings(program)]
        for name in program.names.split():
            self._reads[name] = reads

    def operands(self, invocation: Invocation) -> list[Arg]:
        """The words that are no options and no options' values."""
        return invocation.operands(self._values.get(invocation.name, _NO_VALUES))

    def rules_for(self, name: str) -> bool:
        """Whether any rule is about the program."""
        return name in self._rules

    def searched(self, invocation: Invocation) -> int:
        """Return the characters in which the rules of the program are sought; 0 if it has none."""
        if invocation.name not in self._rules:
            return 0
        return sum(map(len, invocation.args)) + len(self._fed(invocation))

    def matching(self, invocation: Invocation, operands: list[Arg]) -> list[Rule]:
        """The rules that mean this invocation, or the script file that it has run, each once, in their order."""
        return self._matched(_line(invocation, operands), invocation, operands)

    def meaning(self, invocation: Invocation, operands: list[Arg]) -> tuple[list[Rule], bool]:
        """The rules that mean this invocation, and if there are none, whether it is known to change nothing."""
        line = _line(invocation, operands)
        rules = self._matched(line, invocation, operands)
        return rules, not rules and self._reads_only(line, invocation, operands)

    def _matched(self, line: "Line | None", invocation: Invocation, operands: list[Arg]) -> list[Rule]:
        if line is None:
            return self._of_both(invocation, operands)
        known = self._matching_of.get(line)
        return _kept(self._matching_of, line, self._of_both(invocation, operands)) if known is None else known

    def _reads_only(self, line: "Line | None", invocation: Invocation, operands: list[Arg]) -> bool:
        if line is None:
            return self._only_reads(invocation, operands)
        known = self._reading_of.get(line)
        return _kept(self._reading_of, line, self._only_reads(invocation, operands)) if known is None else known

    def _of_both(self, invocation: Invocation, operands: list[Arg]) -> list[Rule]:
        found = {rule.name: rule for rule in self._matching(invocation, operands)}
        script = as_program(invocation)
        if script is not None and script.name in self._rules:
            found |= {rule.name: rule for rule in self._matching(script, self.operands(script))}
        return list(found.values())

    def _matching(self, invocation: Invocation, operands: list[Arg]) -> list[Rule]:
        uses = _met(invocation.name, self._rules, self._uses)
        if uses is None:
            return []
        found: dict[str, Rule] = {}
        loose = loose_operands(invocation)
        fed = self._fed(invocation)
        ways = [
            operands,
            *([loose] if loose != operands else []),
            *([[*operands, *map(arg, fed.split())]] if fed else []),
        ]
        for pattern, rule in uses.that_may_match(ways):
            if rule.name not in found and any(pattern.matches(invocation, way, fed) for way in ways):
                found[rule.name] = rule
        return list(found.values())

    def _fed(self, invocation: Invocation) -> str:
        """Return the program's input; empty if it reads none, or if it is not known."""
        program = self.programs.get(invocation.name)
        return (invocation.input.text or "")[:MAX_FED] if program is not None and program.fed else ""

    def only_reads(self, invocation: Invocation, operands: list[Arg]) -> bool:
        """Whether this use of the program is known to change nothing."""
        return self._reads_only(_line(invocation, operands), invocation, operands)

    def _only_reads(self, invocation: Invocation, operands: list[Arg]) -> bool:
        readings = _met(invocation.name, self._reads, self._readings)
        if readings is None:
            return False
        fed = self._fed(invocation)
        return any(pattern.matches(invocation, operands, fed) for pattern, _ in readings.that_may_match([operands]))

    def known(self) -> Mapping[str, Program]:
        """Every program known as a whole, by name."""
        return self.programs


Line = tuple[str, ...]
"""A program's name with its words: all that patterns look at, if it is fed nothing."""
MAX_LINES = 512
"""Most command lines whose rules are remembered; then they are found anew."""
MAX_LINE = 30
"""Most words of a command line that is remembered."""
MAX_CHARACTERS = 500
"""Most characters of these words, so that what is remembered stays below a megabyte."""


def _line(invocation: Invocation, operands: list[Arg]) -> Line | None:
    """Return what the patterns see of an invocation; None if it is fed, or too long to be remembered."""
    args = invocation.args
    if invocation.input.given or len(args) > MAX_LINE or sum(map(len, args)) > MAX_CHARACTERS:
        return None
    return (invocation.name, *map(str, args), "\0", *map(str, operands))  # a word would keep the whole walk


def _kept(known: dict[Line, Remembered], line: Line, found: Remembered) -> Remembered:
    if len(known) >= MAX_LINES:
        known.clear()
    known[line] = found
    return found


def _met(
    name: str, known: Mapping[str, Iterable[tuple[str, Meaning]]], met: dict[str, ProgramRules[Meaning]]
) -> ProgramRules[Meaning] | None:
    """The patterns of a program, compiled once; None if there are none."""
    if name not in met and name in known:
        met[name] = ProgramRules(known[name])
    return met.get(name)


_NO_VALUES: frozenset[str] = frozenset()
MAX_FED = 8_192
"""Most characters of a program's input that are searched."""


def loose_operands(invocation: Invocation) -> list[Arg]:
    """The operands where every long option without `=` takes a value: the other way to read what is not known."""
    found: list[Arg] = []
    skip = False
    for word in invocation.args:
        if word[:1] == "-" and len(word) > 1:
            skip = "=" not in word and word != "--"
        elif skip:
            skip = False
        else:
            found.append(word)
    return found
