"""The state of a shell as its script goes on: the working directory, variables, functions and aliases."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import NamedTuple

from monitors.review.shell.expand import MAX_FIELDS, limited
from monitors.review.shell.invocation import Arg, arg
from monitors.review.shell.state.turns import Columns
from monitors.review.shell.tree import Node, Simple
from monitors.review.shell.values import Scattered, Value

_ELSEWHERE = re.compile(r"[/~]|\.\.(?:/|\Z)|[\w.+-]+ ")
"""A place by its whole path, or words that may be a command."""
_NUMBER = re.compile(r"0|[1-9][0-9]{0,3}")
_IFS = arg(" \t\n")

SHIFTED = "@ shifted"
"""Stands among the variables for how many of the parameters may be gone by a `shift` that may not be run."""
MAX_MAYBE = 8
"""Most values that a variable may have as well."""
MAX_ELSEWHERE = 4
"""Most directories beside the latest where a script may work."""
MAX_SHIFTED = 20
"""Most of these numbers; past it a parameter may be anything."""


def _with(word: Arg, *, known: bool) -> Arg:
    return word if word.known == known else arg(word, known=known, glob=word.glob, source=word.source)


def _parameters(words: list[Arg]) -> dict[str, Value]:
    return {"@": words, "*": words, **{str(index + 1): [word] for index, word in enumerate(words)}}


class OutsideSubshell(NamedTuple):
    """The state that a subshell cannot change."""

    cwd: str
    elsewhere: tuple[str, ...]
    variables: dict[str, Value]
    functions: dict[str, list[Node]]
    aliases: dict[str, list[Arg]]
    in_turn: Columns


class ShellState:
    """The traces that commands leave to those after them, but for files.

    Args:
        cwd: The working directory.
        variables: Those of the environment.
    """

    def __init__(self, cwd: str, variables: Mapping[str, str]) -> None:
        self.cwd = cwd
        self.elsewhere: tuple[str, ...] = ()
        """Other directories where it may work, since a condition may leave out a `cd`."""
        self.variables: dict[str, Value] = {
            name: [value if isinstance(value, Arg) else arg(value)] for name, value in variables.items()
        }
        self.variables.setdefault("IFS", [_IFS])
        self.in_turn = Columns()
        """The variables that are each of several values in turn."""
        self.keyed: set[str] = set()
        """The arrays that have keys: those of `declare -A`."""
        self.references: dict[str, str] = {}
        """The variables that stand for another one: those of `declare -n`."""
        self.functions: dict[str, list[Node]] = {}
        self.aliases: dict[str, list[Arg]] = {}
        self.branches: list[dict[str, tuple[Value, list[Arg]]]] = []
        """Of each condition around a command the variables assigned in it, with their values before and so far."""
        self.maybe: dict[str, list[Arg]] = {}
        """Values that variables may have as well, since they are assigned others in a condition."""

    def enter(self) -> OutsideSubshell:
        """Go on in a subshell, and return what is left as it is: `leave` takes it up again."""
        kept = OutsideSubshell(self.cwd, self.elsewhere, self.variables, self.functions, self.aliases, self.in_turn)
        self.variables, self.functions, self.aliases = dict(self.variables), dict(self.functions), dict(self.aliases)
        self.in_turn = self.in_turn.copy()
        return kept

    def leave(self, kept: OutsideSubshell) -> None:
        """Go on behind a subshell."""
        self.cwd, self.elsewhere, self.variables, self.functions, self.aliases, self.in_turn = kept

    def set(self, name: str, value: Value | None) -> None:
        """Give a variable a value, or none."""
        if value is None:
            self.variables.pop(name, None)
        else:
            self.variables[name] = value

    def assign(self, values: Mapping[str, Value], *, in_turn: bool = False) -> None:
        """Give variables their values, all at once or one after another."""
        if self.maybe and not self.branches:
            for name in values:
                self.maybe.pop(name, None)
        if any("[" in name for name in values):
            for name, value in values.items():
                base, bracket, index = name.partition("[")
                if bracket:
                    self.put(base, arg(index[:-1]), value)
            values = {name: value for name, value in values.items() if "[" not in name}
        if self.references:
            values = {self.references.get(name, name): value for name, value in values.items()}
        self.variables.update(values)
        self.in_turn.put({name: [[each] for each in value] if in_turn else [] for name, value in values.items()})

    def put(self, name: str, index: Arg, value: Value) -> None:
        """Give an element of an array its value.

        Which one it is, is known by a number, or by a key if the array has keys.
        """
        held = self.variables.get(name, [])
        at = int(index) if index.known and _NUMBER.fullmatch(index) and name not in self.keyed else len(held) + 1
        if at <= len(held) and len(value) == 1 and not isinstance(held, Scattered):
            self.variables[name] = limited([*held[:at], *value, *held[at + 1 :]])
        elif (of := self._elements(name, index)) is not None and len(value) == 1:
            self.variables[name] = self.scattered(name, {**of, index.strip("\"'"): value[0]})
        else:
            words = limited([*held, *value])
            self.variables[name] = Scattered(_with(word, known=word.known and not held) for word in words)
        self.in_turn.put({name: []})

    def _elements(self, name: str, index: Arg) -> dict[str, Arg] | None:
        """Return the elements of an array by their keys; None if one of these, or that of the index, is not known."""
        held = self.variables.get(name, [])
        of = held.of if isinstance(held, Scattered) else {str(at): word for at, word in enumerate(held)}
        known = index.known and (name in self.keyed or _NUMBER.fullmatch(index)) and len(of) == len(held)
        return of if known and len(of) < MAX_FIELDS else None

    def scattered(self, name: str, of: Mapping[str, Arg]) -> Scattered:
        """Return an array of elements by their keys, which bash puts in their order if they are numbers."""
        keys = sorted(of, key=int) if name not in self.keyed and all(map(_NUMBER.fullmatch, of)) else list(of)
        return Scattered([of[key] for key in keys], keys)

    def remove(self, name: str) -> None:
        """Take a variable away, or an element of an array."""
        base, bracket, rest = name.partition("[")
        held = self.variables.get(base)
        if not bracket or held is None:
            self.set(name, None)
            return
        index = arg(rest[:-1])
        if (of := self._elements(base, index)) is not None:
            key = index.strip("\"'")
            self.variables[base] = self.scattered(base, {one: word for one, word in of.items() if one != key})
        else:
            self.variables[base] = Scattered(_with(word, known=False) for word in held)

    def branch(self, values: Mapping[str, Value], goes_on: Set[str] = frozenset()) -> None:
        """Note what is assigned within a condition, before it is.

        A branch may be left out, so that what is assigned once leaves what was there before it as possible; what is
        assigned twice has a branch for each.

        Args:
            values: The variables with what they are given.
            goes_on: Those whose value is made of the one before it.
        """
        within = self.branches[-1]
        for name, value in values.items():
            if len(value) != 1:
                within.pop(name, None)
                continue
            _, each = within.setdefault(name, (self.variables.get(name) or [arg("")], []))
            if name in goes_on and each:
                each.pop()
            each.append(value[0])

    def join_branches(self, held: Mapping[str, Value]) -> None:
        """Leave a condition: a variable that is set in several branches of it is each of its values in turn.

        Of the earlier values those count everywhere that name a place elsewhere, or a command. Others would only make
        work: they count where the variable is run.

        Args:
            held: The variables before it.
        """
        within = self.branches.pop()
        for name, value in self.variables.items():
            if name not in within and held.get(name) is not value:
                self.may_be(name, held.get(name) or [arg("")])
        for name, (before, each) in within.items():
            others = [*before, *each[:-1]] if len(each) == 1 or before[0] else each[:-1]
            if self.variables.get(name) == each[-1:]:
                maybe = [*self.maybe.get(name, ()), *others]
                counting = each[:-1] if len(each) > 1 else before
                counted = [*(value for value in counting if value.known and _ELSEWHERE.match(value)), each[-1]]
                if len(counted) > 1:
                    self.assign({name: list(dict.fromkeys(counted))}, in_turn=True)
                self.may_be(name, [one for one in maybe if one not in counted])
            if self.branches:
                self.branch({name: each[-1:]})

    def assigned_later(self, commands: Iterable[Simple]) -> None:
        """Note the constants that commands of a loop assign: the next round has them from its beginning on."""
        for made in (one for command in commands if not command.words for one in command.assignments):
            if not made.array and made.values[0].parts is None and made.values[0].text:
                self.may_be(made.name, [arg(made.values[0].text)])

    def may_be(self, name: str, values: Iterable[Arg]) -> None:
        """Note values that a variable may have as well."""
        if each := (*self.maybe.get(name, ()), *values):
            self.maybe[name] = list(dict.fromkeys(each))[-MAX_MAYBE:]

    def readings(self, names: Iterable[str]) -> Iterator[dict[str, Value]]:
        """Yield the variables as they may be as well where these are run.

        A condition may leave out what is assigned to one of them, or a `shift`.
        """
        for name in names:
            if name in ("@", "*"):
                words = self.variables.get("@", [])
                yield from ({**self.variables, **_parameters(words[gone:])} for gone in self._maybe_gone())
            for value in self.maybe.get(name, ()):
                yield {**self.variables, name: [value]}

    def stand_for(self, index: str, value: Value) -> None:
        """Have a word stand for a program or a command, as an entry of `BASH_CMDS` or `BASH_ALIASES` does."""
        word = index.strip("\"'")
        pieces = [arg(piece) for piece in value[0].split()] if value and value[0].known else []
        if word and pieces:
            self.aliases[word] = pieces

    def set_parameters(self, words: list[Arg]) -> None:
        """Give the positional parameters from the first on their values."""
        for gone in range(len(words), len(self.variables.get("@", ()))):
            self.variables.pop(str(gone + 1), None)
        self.variables.update(_parameters(words))
        if self.variables.pop(SHIFTED, None):
            self.in_turn.put({str(at + 1): [] for at in range(MAX_SHIFTED)})

    def shift(self, count: int | None) -> None:
        """Take the first parameters away; within a condition they may be gone, or not.

        Args:
            count: How many; None if it is not known.
        """
        words, maybe = self.variables.get("@", []), self._maybe_gone()
        if count is None:
            self.shift_by_any()
        elif count > len(words):  # then it fails
            return
        elif self.branches:
            self._may_be_gone([*maybe, *(one + count for one in (0, *maybe))])
        else:
            self.set_parameters(words[count:])
            self._may_be_gone(maybe)

    def shift_by_any(self) -> None:
        """Note that any number of parameters may be gone, as in a loop that takes them away."""
        self._may_be_gone(range(1, len(self.variables.get("@", ())) + 1))

    def _maybe_gone(self) -> list[int]:
        return [int(one) for one in self.variables.get(SHIFTED, ())]

    def _may_be_gone(self, numbers: Iterable[int]) -> None:
        """Note how many parameters may be gone: each place has one of several in turn."""
        words = self.variables.get("@", [])
        gone = sorted({one for one in numbers if 0 < one <= len(words)})
        if not gone:
            return
        self.variables[SHIFTED] = [arg(str(one)) for one in gone[:MAX_SHIFTED]]
        padded = [*words, *[arg("")] * len(words)]
        rest = [arg("$@", known=False)] if len(gone) > MAX_SHIFTED else []
        places = range(min(len(words), MAX_SHIFTED))
        self.assign(
            {str(at + 1): [*(padded[one + at] for one in (0, *gone[:MAX_SHIFTED])), *rest] for at in places},
            in_turn=True,
        )

    def path(self, target: str) -> str:
        """Return a path of a command in full; one below a home that is not known keeps its `~`."""
        if target == "~" or target[:2] == "~/":
            target = self.variables.get("HOME", [arg("~")])[0] + target[1:]
        if target[:1] == "~":
            return target
        return posixpath.normpath(target if target[:1] == "/" else f"{self.cwd.rstrip('/')}/{target}")

    def may_be_in(self, places: Iterable[str]) -> None:
        """Note the directories where a script works still if a condition left out a `cd`."""
        each = dict.fromkeys((*self.elsewhere, *places))
        self.elsewhere = tuple(place for place in each if place != self.cwd)[-MAX_ELSEWHERE:]

    def move(self, cwd: str, target: str = "/") -> None:
        """Go on in another directory.

        Args:
            cwd: The directory.
            target: How it is named, which may lead elsewhere from where a script may be as well.
        """
        if self.elsewhere:
            each = (posixpath.normpath(posixpath.join(place, target)) for place in self.elsewhere)
            self.elsewhere = () if target[:1] in ("/", "~") else tuple(place for place in each if place != cwd)
        self.variables["OLDPWD"] = self.variables.get("PWD", [arg("$OLDPWD", known=False)])
        self.cwd = cwd
        self.variables["PWD"] = [arg(cwd) if cwd[:1] in ("/", "~") else arg("$PWD", known=False)]
