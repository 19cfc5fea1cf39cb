"""Words that commands make of their input: the variables of `read`, and the words that `xargs` adds."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice, zip_longest
from typing import NamedTuple

from monitors.review.shell.invocation import Arg, Input, Invocation, arg, program_name
from monitors.review.shell.state.turns import RUNS_TEXT

MAX_PIPED = 50
"""Most words that `xargs` is taken to add."""
MAX_TAKEN = 1_000
"""Most values that a `read` gives a variable, one for each line. Behind them stands one that may be anything."""
_VALUES = frozenset("dinNptu")
"""Options of `read` with a value."""
_FLAGS = frozenset("aers")
"""Its other options; with one that it does not know it fails."""


class ReadOptions(NamedTuple):
    """The command line of a `read`."""

    names: list[str]
    """Its variables."""
    whole: str
    """Whether they take an `array`, the whole `text`, or a line if empty."""
    descriptor: Arg | None
    """The descriptor that it reads from; None for its input."""
    delimiter: str = ""
    """The character that ends each of the texts that it takes, if that is no line's end."""
    sure: bool = True
    """Whether it takes what it is given: not if it may take nothing, or may fail."""
    size: int = 0
    """How many characters it takes at a time; 0 for a whole line."""


def read_options(args: Sequence[Arg]) -> ReadOptions:
    """Return what the words of a `read` say: options end at the first variable."""
    names: list[str] = []
    whole = delimiter = ""
    descriptor: Arg | None = None
    sure, size = True, 0
    at = 0
    while at < len(args):
        word = args[at]
        if word[:1] == "-" and len(word) > 1 and not names:
            option = next((letter for letter in word[1:] if letter in _VALUES), "")
            flags, _, joined = word[1:].partition(option) if option else (word[1:], "", "")
            whole = "array" if "a" in flags else whole
            if option and not joined:
                at += 1
            value = arg(joined) if joined else args[at] if option and at < len(args) else None
            sure = sure and _FLAGS.issuperset(flags) and (option, value) != ("t", "0")
            if option in ("n", "N"):
                size = int(value[:4]) if value is not None and value.known and value.isdecimal() else 0
                sure = sure and size > 0
            if option == "d":
                whole, delimiter = whole or "text", (value or "")[:1].strip("\0")
            elif option == "u":
                descriptor = value
        elif word.partition("[")[0].isidentifier():
            names.append(str(word))
        else:
            sure = False
        at += 1
    return ReadOptions(names or ["REPLY"], whole, descriptor, delimiter, sure, size)


def read_word(text: str, given: Input) -> Arg:
    """Return a word of the input; not known if the input is not, and what is not known stands in the word."""
    return arg(text, known=given.known or not ("$" in text or "`" in text), source=given.source)


def read_values(options: ReadOptions, given: Input, separators: Sequence[Arg]) -> dict[str, list[Arg]]:
    """Return what a `read` takes into which variables: a value for each line, since loops run once.

    Args:
        options: Its command line.
        given: What it reads.
        separators: The value of IFS.
    """
    names, whole = options.names, options.whole
    own = str(separators[0]) if separators and separators[0].strip() else ""
    table = str.maketrans(dict.fromkeys(own, " "))
    text = None if given.text is None else str(given.text)
    lines = _first(line for line in (text or "").split("\n") if line.strip())
    plain = not options.size or (len(names) == 1 and not whole)
    if text is None or not lines or not options.sure or not plain:
        return {name: [arg(f"${name}", known=False, source=given.source)] for name in names}
    pieces: Iterable[str]
    if options.size:
        pieces = (line[at : at + options.size] for line in lines for at in range(0, len(line), options.size))
    elif whole == "array":
        pieces = (word for line in lines for word in line.translate(table).split())
    elif whole == "text":
        parts = text.split(options.delimiter) if options.delimiter else [text]
        pieces = (piece for piece in parts if piece.strip())
    elif len(names) == 1:
        pieces = (line.strip() for line in lines)
    else:
        columns = _columns(names, [line.translate(table) for line in lines])
        return {name: _taken(values, given) for name, values in columns.items()}
    return {names[0]: _taken(_first(pieces) or [""], given)}


def _first(texts: Iterable[str]) -> list[str]:
    """Return as many of these as are taken, and one more that says that there are more."""
    return list(islice(texts, MAX_TAKEN + 1))


def _columns(names: Sequence[str], lines: Sequence[str]) -> dict[str, list[str]]:
    """Return what each variable takes of the lines: a word, and the last one all that is left."""
    columns: dict[str, list[str]] = {name: [] for name in names}
    for line in lines:
        row = dict(zip_longest(names, line.strip().split(None, len(names) - 1), fillvalue=""))  # one may be named twice
        for name, piece in row.items():
            columns[name].append(piece)
    return columns


def _taken(texts: Sequence[str], given: Input) -> list[Arg]:
    words = [read_word(text, given) for text in texts[:MAX_TAKEN]]
    return words if len(texts) <= MAX_TAKEN else [*words, arg("$MORE", known=False, source=given.source)]


def option_values(args: Sequence[Arg], positional: Sequence[Arg] | None) -> dict[str, list[Arg]]:
    """Return what `getopts` takes in turn: the letters into its variable, their values into OPTARG.

    Args:
        args: The words of the `getopts`: the letters, the variable, and what it reads instead of the parameters.
        positional: The parameters of the script; None if they are not known.
    """
    if len(args) < 2 or not args[0].known:
        return {}
    words = args[2:] or positional
    if words is None:
        return {str(args[1]): [arg(f"${args[1]}", known=False)], "OPTARG": [arg("$OPTARG", known=False)]}
    letters: list[Arg] = []
    values: list[Arg] = []
    left = list(words[:MAX_PIPED])
    while left and left[0][:1] == "-" and left[0] != "-" and left[0] != "--":
        word = left.pop(0)
        for at, letter in enumerate(word[1:], 1):
            taking = f"{letter}:" in args[0]
            letters.append(arg(letter))
            if taking:
                values.append(arg(word[at + 1 :]) if word[at + 1 :] else left.pop(0) if left else arg(""))
                break
            values.append(arg(""))
    return {str(args[1]): letters or [arg("?")], "OPTARG": values or [arg("")]}


def with_piped(invocation: Invocation, words: list[Arg]) -> list[Arg]:
    """The command that `xargs` starts, with what it adds to it: behind it, or where its placeholder stands."""
    text, source = invocation.input.text, invocation.input.source
    if any(word[:2] == "-a" or word.startswith("--arg-file") for word in invocation.args):
        text, source = ("" if "/dev/null" in invocation.args else None), ()
    mark = _placeholder(invocation.args)
    if mark:
        if text is None:
            return [_placed(word, mark, source) if mark in word else word for word in words]
        lines = text.replace("\0", "\n").splitlines()
        placed = in_each_place(words, mark, lines[:MAX_PIPED])
        return [*placed, arg("{}", known=False)] if len(lines) > MAX_PIPED else placed
    if text is None:
        return [*words, arg("{}", known=False, source=source)]
    given_words = split_for_xargs(text, invocation.args)
    rest = [arg("{}", known=False)] if len(given_words) > MAX_PIPED else []
    return [*words, *(read_word(word, invocation.input) for word in given_words[:MAX_PIPED]), *rest]


def _placed(word: Arg, mark: str, source: tuple[Invocation, ...]) -> Arg:
    """Return a word of `xargs -I` for input that is not known; within a script it is a variable."""
    text = str(word) if word == mark else word.replace(mark, "$PIPED")
    return arg(text, known=False, source=source)


def _placeholder(args: list[Arg]) -> str:
    """Return the placeholder for which `xargs` substitutes its words; empty if it appends them."""
    for at, word in enumerate(args):
        if word == "-I" and at + 1 < len(args):
            return args[at + 1]
        if word[:2] == "-I" or word.startswith("--replace="):
            return word.partition("=")[2] if word[:2] == "--" else word[2:]
        if word in ("-i", "--replace"):
            return "{}"
        if word[:2] == "-i":
            return word[2:]
        if word[:1] != "-":
            return ""
    return ""


def in_each_place(words: Sequence[Arg], mark: str, lines: Sequence[str]) -> list[Arg]:
    """Return the words that `xargs -I` starts for the lines, all at once: scripts as one, other words one for each."""
    made: list[Arg] = []
    for word in words:
        placed = [word.replace(mark, line) for line in lines] if mark in word else [str(word)]
        script = program_name(words[0]) in RUNS_TEXT and word is not words[0]
        texts = ["\n".join(placed)] if script else placed
        made += [arg(text, known=word.known, source=word.source) for text in texts]
    return made


_SEPARATES = re.compile(r"-[0oprtx]*d|--delimiter")
_ZERO = re.compile(r"-[oprtx]*0")
"""Options of `xargs`, behind others without a value in one word: `-rd,` and `-r0`."""


def split_for_xargs(text: str, options: Sequence[str]) -> list[str]:
    """Return the words that `xargs` makes of its input: by blanks, or by the separator that it is told."""
    own = next((word for word in options if _SEPARATES.match(word)), "")
    if "--null" in options or any(_ZERO.match(word) for word in options):
        return [word for word in text.split("\0") if word]
    if not own:
        return text.replace("\0", " ").split()
    following = options[list(options).index(own) + 1 :]
    said = own.partition("=")[2] if own[:2] == "--" else own.partition("d")[2] or (following[0] if following else "")
    separator = {"\\n": "\n", "\\0": "\0", "\\t": "\t"}.get(said, said)[:1] or "\n"
    return [word for word in text.split(separator) if word]
