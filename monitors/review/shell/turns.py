"""Variables that are each of several values in turn: those of a loop, and what `read` takes of several lines.

Most commands are gone through once, with all values at once: `rm "$file"` deletes each of the files. If a value decides
what is run, the command is gone through once for each: in `for c in ls 'rm -rf x'; do $c; done` the values are no list
of files.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from monitors.review.shell.invocation import Arg, Input, Invocation, arg, program_name
from monitors.review.shell.shells import SHELLS
from monitors.review.shell.tree import Part, Redirect, Simple, Word

MAX_TURNS = 128
"""Most commands that are gone through a second time or more, for one action. A loop over 20 commands takes 19."""
_RUNS_TEXT = frozenset({"eval", "source", ".", "trap", "alias", "exec", "command", "builtin", *SHELLS})
_VALUES = frozenset("dinNptu")
"""Options of `read` with a value."""


def turning(command: Simple, values: Mapping[str, Sequence[Arg]], launches: Callable[[str], bool]) -> str:
    """Return the variable for whose values the command is to be gone through one after another; empty if for none.

    Args:
        command: As it is written.
        values: The values of each such variable.
        launches: Whether a program starts what its words name.
    """
    if not values:
        return ""
    named = [part for part in _parts(command) if part.name in values]
    if not named:
        return ""
    first = command.words[0] if command.words else None
    opens = program_name(first.text) if first else ""
    runs = first is None or first.parts is not None or opens in _RUNS_TEXT or launches(opens)
    for part in named:
        if runs or any(" " in value or "\n" in value for value in values[part.name]):
            return part.name
    return ""


def _parts(command: Simple) -> Iterator[Part]:
    words = [*command.words, *(word for made in command.assignments for word in made.values)]
    words += [body for redirect in command.redirects for body in _bodies(redirect)]
    for word in words:
        yield from word.parts or ()


def _bodies(redirect: Redirect) -> list[Word]:
    return [redirect.body] if redirect.body is not None else []


def read_values(invocation: Invocation, given: Input, separators: Sequence[Arg]) -> dict[str, list[Arg]]:
    """Return what a `read` takes into which variables: a value for each line, since loops run once.

    Args:
        invocation: The `read`.
        given: What it reads.
        separators: The value of IFS.
    """
    names, whole = _names(invocation.args)
    own = str(separators[0]) if separators and separators[0].strip() else ""
    table = str.maketrans(dict.fromkeys(own, " "))
    text = None if given.text is None else str(given.text)
    lines = [line for line in (text or "").split("\n") if line.strip()]
    if text is None or not lines:
        return {name: [arg(f"${name}", known=False, source=given.source)] for name in names}
    if whole == "array":
        return {names[0]: [arg(word, source=given.source) for line in lines for word in line.translate(table).split()]}
    if whole == "text":
        return {names[0]: [arg(text, source=given.source)]}
    taken: dict[str, list[Arg]] = {name: [] for name in names}
    for line in lines:
        pieces = (line.translate(table) if len(names) > 1 else line).strip().split(None, len(names) - 1)
        for at, name in enumerate(names):
            taken[name].append(arg(pieces[at] if at < len(pieces) else "", source=given.source))
    return taken


def _names(args: Sequence[Arg]) -> tuple[list[str], str]:
    """Return the variables of a `read`, and whether they take an `array`, the whole `text` or a line."""
    names: list[str] = []
    whole = ""
    at = 0
    while at < len(args):
        word = args[at]
        if word[:1] == "-" and len(word) > 1 and not names:
            option = next((letter for letter in word[1:] if letter in _VALUES), "")
            if "a" in word[1:].partition(option)[0] if option else "a" in word[1:]:
                whole = "array"
            if option:
                if option in "dN":
                    whole = whole or "text"
                at += word.endswith(option)
        elif word.partition("[")[0].isidentifier():
            names.append(word.partition("[")[0])
        at += 1
    return names or ["REPLY"], whole


def in_each_place(words: Sequence[Arg], mark: str, lines: Sequence[str]) -> list[Arg]:
    """Return the words that `xargs -I` starts for the lines, all at once: scripts as one, other words one for each."""
    made: list[Arg] = []
    for word in words:
        placed = [word.replace(mark, line) for line in lines] if mark in word else [str(word)]
        script = program_name(words[0]) in _RUNS_TEXT and word is not words[0]
        texts = ["\n".join(placed)] if script else placed
        made += [arg(text, known=word.known, source=word.source) for text in texts]
    return made


def split_for_xargs(text: str, options: Sequence[str]) -> list[str]:
    """Return the words that `xargs` makes of its input: by blanks, or by the separator that it is told."""
    own = next((word for word in options if word[:2] == "-d" or word.startswith("--delimiter")), "")
    if "-0" in options or "--null" in options:
        return [word for word in text.split("\0") if word]
    if not own:
        return text.replace("\0", " ").split()
    following = options[list(options).index(own) + 1 :]
    said = own.partition("=")[2] if own[:2] == "--" else own[2:] or (following[0] if following else "")
    separator = {"\\n": "\n", "\\0": "\0", "\\t": "\t"}.get(said, said)[:1] or "\n"
    return [word for word in text.split(separator) if word]
