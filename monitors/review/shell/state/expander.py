"""Expansion of what a script writes, in the state of the shell: words, assignments and redirections."""

import re
from collections.abc import Iterable, Mapping

from monitors.review.shell.expand import MAX_FIELDS, MAX_VALUE, Substitution, Value, expand, expand_one
from monitors.review.shell.invocation import Arg, Input, Output, Redirection, arg
from monitors.review.shell.state.bounds import WalkBounds
from monitors.review.shell.state.overlay import Overlay
from monitors.review.shell.state.shell_state import ShellState
from monitors.review.shell.state.texts import Texts
from monitors.review.shell.tree import Assignment, Node, Redirect, Word

_KEY = re.compile(r"\[[\"']?([^\]\"'\n]{1,80})[\"']?\]\+?=")
"""The key before an element of an array."""


class Expander:
    """Expands.

    Args:
        state: The shell's state.
        overlay: The files.
        texts: Finds the texts of files that are read.
        bounds: Told of words that are too long.
        substitute: Goes through a substitution.
    """

    def __init__(
        self, state: ShellState, overlay: Overlay, texts: Texts, bounds: WalkBounds, substitute: Substitution
    ) -> None:
        self._state = state
        self._overlay = overlay
        self._texts = texts
        self._bounds = bounds
        self._substitute = substitute

    def let_go(self) -> None:
        """Drop what goes through substitutions."""
        self._substitute = _unknown

    def words(self, written: Iterable[Word], variables: Mapping[str, Value] | None = None) -> list[Arg]:
        """Return the words that are made of these, with other variables if they are given."""
        return [
            word
            for one in written  # a substitution leaves another dictionary of variables behind
            for word in expand(one, self._state.variables if variables is None else variables, self._substitute)
        ]

    def _word(self, written: Word) -> Arg:
        return expand_one(written, self._state.variables, self._substitute)

    def assigned(self, made: Assignment) -> Value:
        """Return the value that an assignment gives its variable."""
        single = len(made.values) == 1 and not made.array
        values = [self._word(made.values[0])] if single else self.words(made.values)
        self._bounds.check(*values)
        if made.array:
            values = [self._keyed(made.name, value) for value in values]
        old = self._state.variables.get(made.name) if made.appends else None
        if old and len(values) == 1 and len(old) == 1:
            return [
                arg((old[0] + values[0])[:MAX_VALUE], known=old[0].known and values[0].known, source=values[0].source)
            ]
        return [*(old or []), *values][:MAX_FIELDS]

    def _keyed(self, name: str, value: Arg) -> Arg:
        """Return an element of an array without its key, by which it is kept besides."""
        found = _KEY.match(value) if value[:1] == "[" else None
        if found is None:
            return value
        bare = arg(value[found.end() :], known=value.known, source=value.source)
        self._state.variables[f"{name}[{found[1]}]"] = [bare]
        return bare

    def redirects(self, written: list[Redirect]) -> tuple[list[Redirection], Input | None]:
        """Return the redirections, and what is read by the last one of the input."""
        made: list[Redirection] = []
        opened: Input | None = None
        for redirect in written:
            if redirect.body is not None:
                text = self._word(redirect.body)
                self._bounds.check(text)
                newline = "\n" if redirect.operator == "<<<" else ""
                if redirect.fd not in ("", "0"):
                    self._overlay.write(f"/dev/fd/{redirect.fd}", text + newline if text.known else None, text.source)
                else:
                    opened = Input(text + newline if text.known else text, text.source, known=text.known)
                continue
            targets = self.words([redirect.target]) or [arg("")]
            made += [Redirection(redirect.operator, redirect.fd, target) for target in targets]
            if redirect.operator in ("<", "<>", "<&") and redirect.fd in ("", "0"):
                opened = self._texts.opened(made[-1])
        return made, opened


def _unknown(_nodes: list[Node]) -> Output:
    return None, ()
