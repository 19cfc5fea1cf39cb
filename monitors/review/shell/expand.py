"""Expansion: what a word becomes once variables, substitutions and braces are replaced, as far as that is known."""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from monitors.review.shell.invocation import Arg, Invocation, arg
from monitors.review.shell.tree import Group, Node, Part, Word
from monitors.review.shell.values import Scattered, Value

MAX_FIELDS = 64
"""Most words that braces and splitting make of one; `{1..100000}` is cut, and what is cut counts as not known."""

MAX_BRACED = 2_048
"""Longest word whose braces are expanded; a longer one is no command and no path."""
MAX_VALUE = 65_536
"""Longest word made by expansion, in characters: `a=$a$a` forty times over would fill any memory."""

Substitution = Callable[[list[Node]], tuple[str | None, tuple[Invocation, ...]]]
"""Runs a substitution's script and returns its output, if known, and the commands that print it."""

_SPLIT = re.compile(r"[ \t\n]+")
_BRACES = re.compile(r"\{((?=[^{}\s]*?(?:,|\.\.))[^{}\s]*+)\}")
_RANGE = re.compile(r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.-?\d+)?")
_GLOB = re.compile(r"[*?\[]")
_ALL = ("[@]", "[*]")
_SUBSCRIPT = re.compile(r"\w\[")
_SUBSTITUTIONS = ("$(", "`", "<(", ">(")


def substitutes(text: str) -> bool:
    """Whether something in the text may be a substitution."""
    return any(mark in text for mark in _SUBSTITUTIONS)


def subscripted(text: str) -> bool:
    """Whether something in the text may be a substitution in a subscript, which arithmetic expands once more."""
    if "[" not in text or not substitutes(text):
        return False
    found = _SUBSCRIPT.search(text)
    return found is not None and any(text.rfind(mark) >= found.end() for mark in _SUBSTITUTIONS)


class _Field:
    """A word in the making."""

    __slots__ = ("braces", "glob", "known", "source", "text")

    def __init__(self) -> None:
        self.text = ""
        self.known = True
        self.glob = False
        self.braces = False
        self.source: tuple[Invocation, ...] = ()

    def add(self, text: str) -> None:
        """Append, up to the longest word there may be."""
        room = MAX_VALUE - len(self.text)
        if len(text) > room:
            text = text[:room]
            self.known = False
        self.text += text

    def made(self) -> Arg:
        return arg(self.text, known=self.known, glob=self.glob, source=self.source)


def expand(word: Word, variables: dict[str, Value], substitute: Substitution) -> list[Arg]:
    """The words that a command gets for this one; mostly exactly one."""
    if word.parts is None:
        return [word.plain or arg(word.text)]
    fields = _fields(word.parts, variables, substitute)
    made: list[Arg] = []
    for field in fields:
        if field.braces and len(field.text) <= MAX_BRACED:
            made.extend(_braces(field))
        else:
            made.append(field.made())
    return limited(made)


def limited(words: Value) -> Value:
    """Return no more words than may be made of one: behind the last stands one that may be anything."""
    return words if len(words) <= MAX_FIELDS else type(words)([*words[:MAX_FIELDS], _more()])


def _more() -> Arg:
    """Return a word that stands for those past the cap: it may be anything."""
    return arg("$MORE_WORDS", known=False)


def expand_one(word: Word, variables: dict[str, Value], substitute: Substitution) -> Arg:
    """The same where the shell does not split: assignments, redirections, here-documents."""
    if word.parts is None:
        return arg(word.text)
    fields = _fields([_as_quoted(part) for part in word.parts], variables, substitute)
    if len(fields) > 1 and any(part.name in ("@", "*") or part.name[-3:] in _ALL for part in word.parts):
        joined = _Field()
        joined.add(" ".join(field.text for field in fields))
        joined.known = joined.known and all(field.known for field in fields)
        joined.source = tuple(one for field in fields for one in field.source)
        return joined.made()
    return fields[0].made() if fields else arg("")


def _as_quoted(part: Part) -> Part:
    if part.quoted or part.kind == "text":
        return part
    return Part(
        part.kind,
        part.text,
        quoted=True,
        name=part.name,
        operator=part.operator,
        default=part.default,
        script=part.script,
    )


def _fields(parts: list[Part], variables: dict[str, Value], substitute: Substitution) -> list[_Field]:
    fields: list[_Field] = []
    field = _Field()
    exists = False
    for part in parts:
        if part.kind in ("text", "quoted"):
            exists = True
            field.add(part.text)
            if part.kind == "text":
                field.glob = field.glob or bool(_GLOB.search(part.text))
                field.braces = field.braces or "{" in part.text
            continue
        values, source = _values(part, variables, substitute)
        if values is not None and field.text and _separates(part, variables):
            fields.append(field)
            field = _Field()
        if values is None:
            exists = True
            field.add(part.text)
            field.known = False
            field.source = (*field.source, *source)
            continue
        for index, value in enumerate(limited(values)):
            if index:
                if len(fields) >= MAX_FIELDS:
                    break
                fields.append(field)
                field = _Field()
            field.add(value)
            field.known = field.known and value.known
            field.source = (*field.source, *value.source)
            field.glob = field.glob or (value.glob and not part.quoted)
            exists = True
    if exists:
        fields.append(field)
    return fields


def _separates(part: Part, variables: dict[str, Value]) -> bool:
    """Whether an unquoted variable begins with a blank, and so ends the word before it: `rm${IFS}-rf`."""
    if part.kind != "variable" or part.quoted or part.operator:
        return False
    value = variables.get(part.name)
    return bool(value) and value is not None and value[0][:1] in (" ", "\t", "\n")


def _values(
    part: Part, variables: dict[str, Value], substitute: Substitution
) -> tuple[list[Arg] | None, tuple[Invocation, ...]]:
    if part.kind == "variable":
        value = _variable(part, variables, substitute)
        if value is None:
            return None, ()
        if part.quoted or part.name in ("@", "*"):
            return value, ()
        return list(islice(_split(value, variables.get("IFS")), MAX_FIELDS + 1)), ()  # one more says that there are
    if part.kind == "arithmetic":
        if part.default is not None:
            evaluate(expand_one(part.default, variables, substitute), substitute)
        return None, ()
    text, source = substitute(part.script or [])
    if part.kind == "process" or text is None:
        return None, source
    text = text.rstrip("\n")
    if part.quoted:
        return [arg(text)], ()
    return [arg(word) for word in _SPLIT.split(text, _MOST_SPLIT) if word], ()


def evaluate(text: Arg, substitute: Substitution) -> None:
    """Go through the substitutions that arithmetic finds in what a text of it is expanded to."""
    if text.known and subscripted(text):
        substitute([Group("$", [], [Word(str(text))])])


_PIECES = re.compile(r"(?:\$\((?:[^()]|\([^()]{0,40}\)){0,80}\)|`[^`]{0,80}`|\$\{[^{}]{0,80}\}|\S)+")
"""Words of a text in which substitutions stand for what they print: blanks within these part nothing."""
_USUAL_IFS = " \t\n"
_MOST_SPLIT = MAX_FIELDS + 2
"""Splits behind which no word counts; the first may leave nothing before it."""


def _split(value: list[Arg], separators: Value | None) -> Iterator[Arg]:
    own = str(separators[0]) if separators and separators[0] != _USUAL_IFS else ""
    if own:
        table = str.maketrans(dict.fromkeys(own[:MAX_FIELDS], " "))
        value = [arg(word.translate(table), known=word.known, source=word.source) for word in value]
    for word in value:
        if " " not in word and "\t" not in word and "\n" not in word:
            if word or len(value) > 1:
                yield word if not _GLOB.search(word) else arg(word, known=word.known, glob=True, source=word.source)
            continue
        for piece in _SPLIT.split(word, _MOST_SPLIT) if word.known else _PIECES.findall(word):
            if piece:
                yield arg(piece, known=word.known, glob=bool(_GLOB.search(piece)), source=word.source)


def _variable(part: Part, variables: dict[str, Value], substitute: Substitution) -> list[Arg] | None:
    if part.script:
        substitute(part.script)
    name, _, index = part.name.partition("[")
    if name[:1] == "#" and len(name) > 1:
        return None
    if name[:1] == "!" and index in ("@]", "*]"):
        value = variables.get(name[1:])
        return [arg(key) for key in value.of] or None if isinstance(value, Scattered) else None
    if name[:1] == "!" and len(name) > 1:
        pointer = variables.get(name[1:])
        name = pointer[0] if pointer else name
    value = variables.get(name)
    if value is not None and index:
        value = _element(index.removesuffix("]"), value, variables)
    if not part.operator:
        return value
    return _operated(part, value, variables, substitute)


def _element(index: str, value: Value, variables: Mapping[str, Value]) -> Value | None:
    """An element of an array by its key, or else by its number; None if it is not known."""
    if index in ("@", "*"):
        return value
    pointer = _INDEX_VARIABLE.fullmatch(index)
    held = variables.get(pointer[1]) if pointer else None
    key = str(held[0]) if held and len(held) == 1 and held[0].known else index.strip("\"'")
    if isinstance(value, Scattered):
        return [value.of[key]] if key in value.of else None
    number = int(key) if re.fullmatch(r"-?[0-9]{1,5}", key) else len(value)
    return [value[number]] if -len(value) <= number < len(value) else None


_INDEX_VARIABLE = re.compile(r"\"?\$\{?([A-Za-z_]\w{0,60})\}?\"?")


def _operated(
    part: Part, value: Value | None, variables: dict[str, Value], substitute: Substitution
) -> list[Arg] | None:
    operator = part.operator
    given = expand_one(part.default, variables, substitute) if part.default is not None else arg("")
    if operator in (":-", "-", ":=", "="):
        if value and (value[0] or operator in ("-", "=")):
            return value
        if operator[-1] == "=" and part.name.isidentifier():
            variables[part.name] = [given]
        elif operator[-1] == "=":
            variables.pop(part.name.partition("[")[0], None)
        return [given]
    if operator in (":+", "+"):
        return [given] if value else value
    if operator[:1] == ":" and operator != ":?":
        evaluate(arg(f"x{given}", known=given.known), substitute)  # its first character went with the colon
    elif operator == "@" and given == "P":
        substitute([Group("$", [], [Word(str(word)) for word in value or () if word.known and substitutes(word)])])
    if value and operator[:1] == ":" and part.name[-3:] in _ALL:
        return _sliced(value, part.text)
    if operator in (":?", "?") or not value or not all(word.known for word in value):
        return value
    texts = [_edited(operator, str(word), str(given), part.text) for word in value]
    return None if None in texts else [arg(text or "") for text in texts]


def _sliced(value: Value, written: str) -> Value:
    """`${x[@]:1}` and `${x[@]:1:2}`; if the numbers are not plain, it may be any word of the array."""
    numbers = [number.strip() for number in written.rstrip("}").partition("]")[2].split(":")[1:]]
    if not numbers or not all(number.lstrip("-").isdigit() for number in numbers):
        return [arg(written, known=False), *value]
    start = int(numbers[0])
    return value[start : start + int(numbers[1])] if len(numbers) > 1 else value[start:]


def _edited(operator: str, text: str, given: str, written: str) -> str | None:
    """`${x:1:2}`, `${x//a/b}`, `${x^^}`, `${x#a}` and the like, where plain text decides."""
    if operator[0] == ":":
        numbers = written.rstrip("}").split(":")[1:]
        if not all(number.strip().lstrip("-").isdigit() for number in numbers) or len(numbers) > 2:
            return None
        start = int(numbers[0])
        stop = start + int(numbers[1]) if len(numbers) == 2 else None
        return text[start:stop]
    if operator == "/":
        everywhere = given[:1] == "/"
        old, _, new = (given[1:] if everywhere else given).partition("/")
        return None if _GLOB.search(old) else text.replace(old, new, -1 if everywhere else 1) if old else text
    if operator in ("^", ","):
        change = str.upper if operator == "^" else str.lower
        return change(text) if given[:1] == operator else change(text[:1]) + text[1:]
    if operator in ("#", "%"):
        longest = given[:1] == operator
        pattern = given[1:] if longest else given
        return (_without_start if operator == "#" else _without_end)(text, pattern, longest=longest)
    return None


def _without_start(text: str, pattern: str, *, longest: bool) -> str | None:
    """`${x#a}` and `${x##*/}`; None if the pattern is more than one star in plain text."""
    before, star, after = pattern.partition("*")
    if _GLOB.search(before + after):
        return None
    if not text.startswith(before):
        return text
    if not star:
        return text[len(before) :]
    if not after:
        return "" if longest else text[len(before) :]
    found = text.rfind(after, len(before)) if longest else text.find(after, len(before))
    return text if found < 0 else text[found + len(after) :]


def _without_end(text: str, pattern: str, *, longest: bool) -> str | None:
    """`${x%a}` and `${0%/*}`; None if the pattern is more than one star in plain text."""
    before, star, after = pattern.partition("*")
    if _GLOB.search(before + after):
        return None
    if not text.endswith(after):
        return text
    stop = len(text) - len(after)
    if not star:
        return text[: len(text) - len(pattern)] if pattern else text
    if not before:
        return "" if longest else text[:stop]
    found = text.find(before, 0, stop) if longest else text.rfind(before, 0, stop)
    return text if found < 0 else text[:found]


def _braces(field: _Field) -> Iterator[Arg]:
    pending = [field.text]
    made = 0
    while pending and made < MAX_FIELDS:
        text = pending.pop(0)
        match = _BRACES.search(text)
        alternatives = _alternatives(match[1]) if match else None
        if match is None or alternatives is None:
            made += 1
            yield arg(text, known=field.known, glob=field.glob, source=field.source)
            continue
        before, after = text[: match.start()], text[match.end() :]
        pending[:0] = [before + middle + after for middle in alternatives[:MAX_FIELDS]]
        del pending[MAX_FIELDS:]


def _alternatives(inside: str) -> list[str] | None:
    span = _RANGE.fullmatch(inside)
    if span is None:
        return inside.split(",") if "," in inside else None
    first, last = span[1], span[2]
    if first.lstrip("-").isdigit() and last.lstrip("-").isdigit():
        low, high = int(first), int(last)
        step = 1 if high >= low else -1
        count = min(abs(high - low) + 1, MAX_FIELDS)
        return [str(low + step * index) for index in range(count)]
    if len(first) == len(last) == 1:
        step = 1 if last >= first else -1
        return [chr(code) for code in range(ord(first), ord(last) + step, step)]
    return None
