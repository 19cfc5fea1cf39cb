"""The state of a shell as its script goes on: the working directory, variables, functions and aliases."""

import posixpath
import re
from collections.abc import Mapping, Set

from monitors.review.shell.expand import Value
from monitors.review.shell.invocation import Arg, arg
from monitors.review.shell.state.turns import Columns
from monitors.review.shell.tree import Node

_ELSEWHERE = re.compile(r"[/~]|\.\.(?:/|\Z)|[\w.+-]+ ")
"""A place by its whole path, or words that may be a command."""

MAX_ELEMENTS = 64
"""Most elements of an array that are kept of those that are assigned one by one."""
SHIFTED = "@ shifted"
"""Stands among the variables for the parameters that `shift` leaves."""


def _parameters(words: list[Arg]) -> dict[str, Value]:
    return {"@": words, "*": words, **{str(index + 1): [word] for index, word in enumerate(words)}}


class ShellState:
    """The traces that commands leave to those after them, but for files.

    Args:
        cwd: The working directory.
        variables: Those of the environment.
    """

    def __init__(self, cwd: str, variables: Mapping[str, str]) -> None:
        self.cwd = cwd
        self.variables: dict[str, Value] = {name: [arg(value)] for name, value in variables.items()}
        self.variables.setdefault("IFS", [arg(" \t\n")])
        self.in_turn = Columns()
        """The variables that are each of several values in turn."""
        self.functions: dict[str, list[Node]] = {}
        self.aliases: dict[str, list[Arg]] = {}
        self.branches: list[dict[str, list[Arg]]] = []
        """Of each condition around a command the variables assigned in it, with their values so far."""

    def here(self) -> tuple[str, dict[str, Value]]:
        """Return what a subshell has of its own: the directory and the variables."""
        return self.cwd, dict(self.variables)

    def back(self, before: tuple[str, dict[str, Value]]) -> None:
        """Go back to what `here` returned."""
        self.cwd, self.variables = before

    def set(self, name: str, value: Value | None) -> None:
        """Give a variable a value, or none."""
        if value is None:
            self.variables.pop(name, None)
        else:
            self.variables[name] = value

    def assign(self, values: Mapping[str, Value], *, in_turn: bool = False) -> None:
        """Give variables their values, all at once or one after another."""
        self.variables.update(values)
        for name in values:
            if name[-1:] == "]":  # an element is one of the whole array besides
                whole = name.partition("[")[0]
                self.variables[whole] = [*self.variables.get(whole, []), *values[name]][:MAX_ELEMENTS]
        self.in_turn.put({name: [[each] for each in value] if in_turn else [] for name, value in values.items()})

    def branch(self, values: Mapping[str, Value], goes_on: Set[str]) -> None:
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
            before = self.variables.get(name, [])
            earlier = within.setdefault(name, list(before) if len(before) == 1 else [arg("")])
            if name in goes_on and len(earlier) > 1:
                earlier.pop()
            earlier.append(value[0])

    def join_branches(self) -> None:
        """Leave a condition: a variable that is set in several branches of it is each of its values in turn.

        Of the earlier values those count that name a place elsewhere, or a command: others only make work.
        """
        for name, (before, *each) in self.branches.pop().items():
            values = each if len(each) > 1 else [before, *each]
            kept = [value for value in values[:-1] if value.known and _ELSEWHERE.match(value)]
            if kept and self.variables.get(name) == [values[-1]]:
                self.assign({name: list(dict.fromkeys([*kept, values[-1]]))}, in_turn=True)
            if self.branches:
                self.branch({name: [values[-1]]}, set())

    def stand_for(self, name: str, value: Value) -> None:
        """Have a word stand for a program or a command, as an entry of `BASH_CMDS` or `BASH_ALIASES` does."""
        word = name.partition("[")[2][:-1].strip("\"'")
        pieces = [arg(piece) for piece in value[0].split()] if value and value[0].known else []
        if word and pieces:
            self.aliases[word] = pieces

    def set_parameters(self, words: list[Arg]) -> None:
        """Give the positional parameters from the first on their values."""
        self.variables.update(_parameters(words))
        self.variables.pop(SHIFTED, None)

    def shift(self, count: int) -> None:
        """Note that the first parameters may be gone: `shift` often stands where it may not be run."""
        words = self.variables.get(SHIFTED, self.variables.get("@"))
        if words is not None:
            self.variables[SHIFTED] = words[count:]

    def shifted(self) -> dict[str, Value] | None:
        """Return the variables with the parameters as they are if each `shift` was run; None if there was none."""
        words = self.variables.get(SHIFTED)
        return None if words is None else {**self.variables, **_parameters(words)}

    def path(self, target: str) -> str:
        """Return a path of a command in full; one below a home that is not known keeps its `~`."""
        if target == "~" or target[:2] == "~/":
            target = self.variables.get("HOME", [arg("~")])[0] + target[1:]
        return posixpath.normpath(posixpath.join(self.cwd or "/", target)) if target[:1] != "~" else target

    def move(self, cwd: str) -> None:
        """Go on in another directory."""
        self.variables["OLDPWD"] = self.variables.get("PWD", [arg("$OLDPWD", known=False)])
        self.cwd = cwd
        self.variables["PWD"] = [arg(cwd) if cwd[:1] in ("/", "~") else arg("$PWD", known=False)]
