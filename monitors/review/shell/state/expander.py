"""Expansion of what a script writes, in the state of the shell: words, assignments and redirections."""

import re
from collections.abc import Iterable

from monitors.review.shell.expand import (
    MAX_VALUE,
    Substitution,
    evaluate,
    expand,
    expand_one,
    limited,
)
from monitors.review.shell.invocation import Arg, Input, Output, Redirection, arg
from monitors.review.shell.state.bounds import WalkBounds
from monitors.review.shell.state.overlay import Overlay
from monitors.review.shell.state.shell_state import ShellState
from monitors.review.shell.state.texts import Texts
from monitors.review.shell.tree import Assignment, Node, Redirect, Word
from monitors.review.shell.values import Scattered, Value

_ELEMENT = re.compile(r"\[[\"']?([^\]\"'\n]*)[\"']?\]\+?=")
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

    def words(self, written: Iterable[Word], variables: dict[str, Value] | None = None) -> list[Arg]:
        """Return the words that are made of these, with other variables if they are given."""
        made: list[Arg] = []
        for one in written:
            if one.plain is not None:
                made.append(one.plain)
            else:  # a substitution leaves another dictionary of variables behind
                made += expand(one, self._state.variables if variables is None else variables, self._substitute)
        return made

    def _word(self, written: Word) -> Arg:
        return expand_one(written, self._state.variables, self._substitute)

    def assigned(self, made: Assignment) -> tuple[Value, Arg | None]:
        """Return the value that an assignment gives its variable, and the subscript of the element that it is for."""
        index: Arg | None = None if made.index is None else self._word(made.index)
        values = self.words(made.values) if made.array else [self._word(made.values[0])]
        self._bounds.check(*values)
        if made.array and any(word.text[:1] == "[" for word in made.values):
            return limited(self._elements(made, values)), index
        if made.array and made.name in self._state.keyed:
            values = Scattered(values[1::2], values[::2])
        if not made.appends:
            return limited(values), index
        if index is not None:
            return [arg(value, known=False, source=value.source) for value in values], index
        old = self._state.variables.get(made.name, [])
        if made.array or not old or made.name in self._state.in_turn.of:
            return limited(type(old)([*old, *values])), index
        first = arg((old[0] + values[0])[:MAX_VALUE], known=old[0].known and values[0].known, source=values[0].source)
        return type(old)([first, *old[1:]]), index

    def _elements(self, made: Assignment, values: Value) -> Value:
        """Return the elements that words of the form `[subscript]=value` give an array."""
        for value in values:
            evaluate(arg(f"x{value}", known=value.known), self._substitute)
        found = [_ELEMENT.match(value) for value in values]
        bare = [
            arg(value[match.end() :] if match else value, known=value.known, source=value.source)
            for value, match in zip(values, found, strict=True)
        ]
        of = {match[1]: value for match, value in zip(found, bare, strict=True) if match}
        named = made.name in self._state.keyed or all(key.isdecimal() for key in of)
        old = self._state.variables.get(made.name, []) if made.appends else Scattered(())
        if named and all(found) and isinstance(old, Scattered) and len(old.of) == len(old):
            return self._state.scattered(made.name, {**old.of, **of})
        return Scattered(arg(word, known=word.known and len(bare) == 1, source=word.source) for word in (*old, *bare))

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
