"""The syntax tree of a script: words in parts, simple commands, and the constructs around them.

Plain slotted classes and no frozen dataclasses: a review makes some dozens of these in microseconds, and none leaves
this package.
"""

from typing import Literal

from monitors.review.shell.invocation import Arg, arg

PartKind = Literal["text", "quoted", "variable", "command", "process", "arithmetic"]


class Part:
    """A piece of a word."""

    __slots__ = ("default", "kind", "name", "operator", "quoted", "script", "text")

    def __init__(
        self,
        kind: PartKind,
        text: str = "",
        *,
        quoted: bool = False,
        name: str = "",
        operator: str = "",
        default: "Word | None" = None,
        script: "list[Node] | None" = None,
    ) -> None:
        self.kind = kind
        self.text = text
        """Literal text; for the other kinds the text as written, which stands in where the value is unknown."""
        self.quoted = quoted
        self.name = name
        self.operator = operator
        self.default = default
        self.script = script


class Word:
    """One word of a command, before expansion. `parts` is None if the text is all there is to it."""

    __slots__ = ("parts", "plain", "text")

    def __init__(self, text: str, parts: list[Part] | None = None) -> None:
        self.text = text
        self.parts = parts
        self.plain: Arg | None = arg(text) if parts is None else None
        """The word that a command gets, if the text is all there is to it: made once for all reviews of a script."""


class Redirect:
    """One redirection. A here-document's or here-string's text is in `body`."""

    __slots__ = ("body", "fd", "operator", "target")

    def __init__(self, operator: str, target: Word, fd: str = "", body: Word | None = None) -> None:
        self.operator = operator
        self.target = target
        self.fd = fd
        self.body = body


class Assignment:
    """`NAME=value` before a command, or alone; with the words of an array, `NAME=(one two)`."""

    __slots__ = ("appends", "array", "index", "name", "values")

    def __init__(
        self, name: str, values: list[Word], *, appends: bool, array: bool = False, index: Word | None = None
    ) -> None:
        self.array = array
        self.name = name
        self.values = values
        self.appends = appends
        self.index = index
        """The subscript of `NAME[subscript]=value`."""


class Simple:
    """A simple command."""

    __slots__ = ("assignments", "redirects", "words")

    def __init__(self) -> None:
        self.assignments: list[Assignment] = []
        self.words: list[Word] = []
        self.redirects: list[Redirect] = []


class Pipeline:
    """Commands joined by `|` or `|&`."""

    __slots__ = ("stages",)

    def __init__(self, stages: "list[Node]") -> None:
        self.stages = stages


class Group:
    """Any compound command: its words are evaluated, its body runs."""

    __slots__ = ("body", "kind", "redirects", "variable", "words")

    def __init__(self, kind: str, body: "list[Node]", words: list[Word] | None = None, variable: str = "") -> None:
        self.kind = kind
        """`{`, `(`, `if`, `while`, `for`, `case`, `[[`, `((`; `&` for what the shell does not wait for.

        `$` for words whose substitutions the shell goes through once more.
        `||` for what runs if the command before it fails, and `&&||` if one of several before it does.
        """
        self.body = body
        self.words = words or []
        self.variable = variable
        """The loop variable of `for` and `select`."""
        self.redirects: list[Redirect] = []


class Function:
    """A function's definition; its body runs where it is called."""

    __slots__ = ("body", "name")

    def __init__(self, name: str, body: "list[Node]") -> None:
        self.name = name
        self.body = body


Node = Simple | Pipeline | Group | Function


class ShellScript:
    """A text as read."""

    __slots__ = ("nodes", "problem", "too_much")

    def __init__(self, nodes: list[Node], problem: str, too_much: str) -> None:
        self.nodes = nodes
        self.problem = problem
        """The part that is not proper shell; empty if all is. The rest was read."""
        self.too_much = too_much
        """The cap that was passed; empty for none. The text after it was not read."""


def simples(nodes: list[Node]) -> list[Simple]:
    """Return the simple commands of these nodes, however deep they stand."""
    found: list[Simple] = []
    pending: list[Node] = list(nodes)
    while pending:
        node = pending.pop()
        if isinstance(node, Simple):
            found.append(node)
        elif isinstance(node, Pipeline):
            pending.extend(node.stages)
        else:
            pending.extend(node.body)
    return found
