"""The state of a shell as its script goes on: the working directory, variables, functions and aliases."""

import posixpath
from collections.abc import Mapping

from monitors.review.shell.expand import Value
from monitors.review.shell.invocation import Arg, arg
from monitors.review.shell.state.turns import Columns
from monitors.review.shell.tree import Node


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
        self.in_turn.put({name: [[each] for each in value] if in_turn else [] for name, value in values.items()})

    def set_parameters(self, words: list[Arg]) -> None:
        """Give the positional parameters from the first on their values."""
        self.variables.update({str(index + 1): [word] for index, word in enumerate(words)})
        self.variables["@"] = self.variables["*"] = words

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
