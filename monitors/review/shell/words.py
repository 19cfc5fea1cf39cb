"""Reads the words of Bash: quotes, variables, substitutions. The commands in a substitution are read by `reader`.

Work is counted here for both: past a cap, reading stops.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import islice
from typing import Self

from monitors.review.shell.tree import Node, Part, Word

MAX_PIECES = 2_500
"""Most words, parts and commands in one script. The longest of 11,000 collected commands has 130; scripts need the
rest."""
MAX_DEPTH = 40
"""Deepest nesting of substitutions and compound commands. Real scripts stay below 10, and Python's stack holds."""
_PLAIN = re.compile(r"[^\s|&;<>()$`'\"\\#{}*?\[\]~!=]+(?=[\s|&;<>)]|\Z)")
PLAIN_INDEX = r"(?:\"[\w ./-]*\"|'[\w ./-]*'|(?:[^\[\]$`'\"\\(){}<>\n]|\$\w|\$\{\w+\})*+)"
"""A subscript in which nothing is quoted or substituted."""
LITERAL = re.compile(r"[^\s|&;<>()$`'\"\\]+")
_SUM = re.compile(r"[^\\$`()'\"]+")
_INDEX = re.compile(r"[^\\$`\[\]'\"]+")
_DOUBLE = re.compile(r"[^\"\\$`]+")
_BRACED = re.compile(r"[^\\$`}'\"<>]+")
_PARAMETER = re.compile(r"\{([!#]?(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]))(\[" + PLAIN_INDEX + r"\])?")
_SPECIAL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!_-]")
_ANSI = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c.|.)", re.DOTALL)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_LOOKS_LIKE_COMMANDS = re.compile(r"[ \t(]*[A-Za-z_./][\w./-]*[ \t]+[-\w./~\"'$]")
_OLD_ARITHMETIC = re.compile(r"\$\[((?:[^\[\]\n]|\[[^\[\]\n]{0,200}\]){0,500}+)\]")
"""Arithmetic as it was written before `$((…))`; quotes protect nothing in it."""
_OF_VALUES = frozenset({":-", ":=", ":?", ":+"})
"""Operators behind a colon that ask for a value; any other has the numbers of a part of one."""
_PROCESS = re.compile(r"[<>]\(")
MAX_SUBSTITUTED = 5
"""Most substitutions of processes read in one default value; the rest stands within these, or is read for nothing."""
_MATCHED = re.compile(r"\\.|'[^']*+'|\"(?:[^\"\\]|\\.)*+\"|[()]", re.DOTALL)
"""Marks that count where bash seeks a bracket's end before it reads what is in it: brackets that are not quoted."""
MAX_MATCHED = 2_000
"""Farthest that the end of such a bracket is sought, in characters."""
_GLOB_MARK = re.compile(r"[()\n;]")
_GLOB_DEPTH = {"(": 1, ")": -1, "\n": 0, ";": 0}


_TEXT_UNTIL = {"}": _BRACED, "]": _INDEX, ")": _SUM}
_QUOTES_CLOSE = frozenset(_TEXT_UNTIL)
"""Ends of texts of which a quote within hides them, so that it has to be closed first."""


_NESTED = {"]": "[", ")": "("}
"""Marks that open another such text within one, by its end."""
MAX_UNCLOSED = 5
"""Most subscripts and arithmetic that are read in vain, to their ends that are none."""
MAX_ARITHMETIC = 500
"""Longest arithmetic, in characters."""
_HIDDEN = re.compile(r"'([^']*+)'")
_HIDES_BRACKETS = re.compile(r"['\"\\`#]|<<")
_COMMAND_ENDS = frozenset("\n;")


class TooMuch(Exception):  # noqa: N818 — not an error: the reader's way to stop
    """A cap was passed."""


def decode_ansi(text: str) -> str:
    """Return the text after the escapes of `$'text'`, or `echo -e`."""
    return _ANSI.sub(_ansi_character, text)


def _ansi_character(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number < 0x110000 else "\ufffd"
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    return _ANSI_LETTERS.get(code, code)


class Words(ABC):
    """A text, how far it is read, and how much was made of it."""

    def __init__(self, text: str, depth: int) -> None:
        self.text = text
        self.at = 0
        self.end = len(text)
        self.depth = depth
        self.pieces = 0
        self.problem = ""
        self.top: list[Node] = []
        self.closed = True
        """Whether the latest text that was read up to a mark has that mark."""
        self.unclosed = [0]
        """How many subscripts and arithmetic were read in vain; readers of texts within this one share it."""

    # ── counting ──────────────────────────────────────────────────────────────────────────────────────────────────

    def count(self) -> None:
        """Count one more word, part or command."""
        self.pieces += 1
        if self.pieces > MAX_PIECES:
            raise TooMuch(f"more than {MAX_PIECES} words and commands")

    def deeper(self) -> None:
        """Go one level deeper."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooMuch(f"nested deeper than {MAX_DEPTH}")

    def inner(self, text: str) -> Self:
        """Return a reader of a text within this one, one deeper; the caller takes its count back."""
        reader = type(self)(text, self.depth)
        reader.pieces = self.pieces
        reader.unclosed = self.unclosed
        reader.deeper()
        return reader

    def expansions(self, text: str) -> list[Part]:
        """Read a text in which only expansions mean something: a here-document's, or arithmetic."""
        inner = self.inner(text)
        parts = inner.double(until="")
        self.pieces = inner.pieces
        return parts

    @abstractmethod
    def whole(self) -> None:
        """Read all of the text as commands, into `top`."""

    @abstractmethod
    def substitution(self, into: list[Node]) -> None:
        """Read the commands behind an opening bracket, up to the one that closes it."""

    # ── words ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def word(self) -> Word:
        """Read one word, with all that is in it."""
        self.count()
        plain = _PLAIN.match(self.text, self.at)
        if plain:
            self.at = plain.end()
            return Word(plain[0])
        start = self.at
        parts: list[Part] = []
        while self.at < self.end:
            char = self.text[self.at]
            reader = _PARTS.get(char)
            if reader is not None:
                reader(self, parts)
            elif char in " \t\r\n\f\v;|&)":
                break
            elif char in "<>":
                if not self.text.startswith("(", self.at + 1):
                    break
                self.process_substitution(parts)
            elif char == "(":
                if len(parts) == 1 and parts[0].text == "=":  # zsh's `=(…)`
                    self.at -= 1
                    self.process_substitution(parts)
                    continue
                if not parts or parts[-1].kind != "text" or parts[-1].text[-1:] not in "@?*+!=":
                    break
                self.extended_glob(parts)
            else:
                literal = LITERAL.match(self.text, self.at)
                text = literal[0] if literal else char
                self.at += len(text)
                parts.append(Part("text", text))
        if self.at == start:
            self.at += 1
        return _word(self.text[start : self.at], parts)

    def backslash(self, into: list[Part]) -> None:
        """A character that a backslash quotes."""
        following = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if following == "\n":
            return
        self.count()
        into.append(Part("quoted", following or "\\", quoted=True))

    def single(self, into: list[Part]) -> None:
        """Text in single quotes."""
        self.count()
        stop = self.text.find("'", self.at + 1)
        if stop < 0:
            self.problem = self.problem or "a `'` that is never closed"
            self.at += 1
            return
        into.append(Part("quoted", self.text[self.at + 1 : stop], quoted=True))
        self.at = stop + 1

    def double_quoted(self, into: list[Part]) -> None:
        """Text in double quotes, its first quote included."""
        self.count()
        self.at += 1
        if self.text.find('"', self.at) < 0:
            self.problem = self.problem or 'a `"` that is never closed'
            return
        parts = self.double(until='"')
        into.extend(parts or [Part("quoted", "", quoted=True)])

    def double(self, until: str, *, quoted: bool = True) -> list[Part]:
        """The parts of what stands in double quotes, a `${…}` or a here-document, up to `until`.

        A `${…}` may stand outside of quotes itself; then a text in single quotes is nothing else in it. Bash seeks the
        end of one past a substitution of a process, in double quotes too, where it is text.
        """
        parts: list[Part] = []
        nested = 0
        while self.at < self.end:
            char = self.text[self.at]
            if char == until:
                self.at += 1
                if not nested:
                    self.closed = True
                    return parts
                nested -= 1
                parts.append(Part("quoted", char, quoted=True))
                continue
            if char == "$" and until in _QUOTES_CLOSE and self.text.startswith("'", self.at + 1):
                self.ansi(parts)
            elif char == "$":
                self.dollar(parts, quoted=True)
            elif char == "`":
                self.backtick(parts, quoted=True)
            elif char == "\\":
                self.double_backslash(parts)
            elif until in _QUOTES_CLOSE and char in "'\"" and self.text.find(char, self.at + 1) > 0:
                self.quotes_within(parts, quoted=quoted)
            elif char == _NESTED.get(until):
                self.count()
                self.at += 1
                nested += 1
                parts.append(Part("quoted", char, quoted=True))
            elif (not quoted or until == "}") and char in "<>" and self.text.startswith("(", self.at + 1):
                self.process_substitution(parts)
            else:
                match = _TEXT_UNTIL.get(until, _DOUBLE).match(self.text, self.at)
                text = match[0] if match else char
                self.at += len(text)
                parts.append(Part("quoted", text, quoted=True))
        self.closed = not until
        if until:
            self.problem = self.problem or f"a `{until}` that is missing"
        return parts

    def quotes_within(self, into: list[Part], *, quoted: bool) -> None:
        """Read a text in quotes within a `${…}`: bash closes these first, in double quotes too.

        There other shells take a single quote for itself, so what stands behind a `}` in such a text is read as well.
        """
        self.count()
        opening, start = self.text[self.at], self.at + 1
        self.at = start
        if opening == '"':
            into.extend(self.double(until='"') or [Part("quoted", "", quoted=True)])
            return
        self.at = self.text.find("'", start) + 1
        text = self.text[start : self.at - 1]
        if not quoted:
            into.append(Part("quoted", text, quoted=True))
            return
        behind = Part("quoted", "'", quoted=True)
        into += [Part("quoted", "'", quoted=True), *self.expansions(text), behind]
        if "}" in text:
            inner = self.inner('"' + text.partition("}")[2])
            inner.whole()
            self.pieces = inner.pieces
            behind.script = inner.top

    def double_backslash(self, into: list[Part]) -> None:
        """A backslash where only a few characters can be quoted."""
        following = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if following == "\n":
            return
        into.append(Part("quoted", following if following in '$`"\\' else "\\" + following, quoted=True))

    def dollar_word(self, into: list[Part]) -> None:
        """Read the part that a dollar begins, outside of quotes."""
        self.dollar(into, quoted=False)

    def dollar(self, into: list[Part], *, quoted: bool) -> None:
        """Read the part that a dollar begins.

        It is a variable, a substitution, arithmetic, a quoted text, or the dollar itself.
        """
        self.count()
        text, at = self.text, self.at
        following = text[at + 1 : at + 2]
        if following == "(":
            part = (
                self.arithmetic(at + 1) or self.no_arithmetic(at, quoted=quoted)
                if text[at + 2 : at + 3] == "("
                else None
            )
            part = part or self.command_substitution(at, quoted=quoted)
            if part.script is not None and text[at + 2 : at + 3] == "(":
                part.script += self.hidden(part.text)
            into.append(part)
        elif following == "{":
            into.append(self.parameter(quoted=quoted))
        elif following == "'" and not quoted:
            self.ansi(into)
        elif following == '"' and not quoted:
            self.at += 1
            self.double_quoted(into)
        elif following == "[" and (part := self.old_arithmetic()):
            into.append(part)
        elif following == "[" and (old := _OLD_ARITHMETIC.match(text, at)):
            self.at = old.end()
            into.append(Part("arithmetic", old[0], quoted=True, default=Word("", self.expansions(old[1]))))
        elif match := _SPECIAL.match(text, at + 1):
            self.at = match.end()
            into.append(Part("variable", text[at : self.at], quoted=quoted, name=match[0]))
        else:
            self.at += 1
            into.append(Part("quoted" if quoted else "text", "$", quoted=quoted))

    def old_arithmetic(self) -> Part | None:
        """Read `$[…]` by what is in it; None if it is damaged."""
        if self.unclosed[0] >= MAX_UNCLOSED:
            return None
        start, problem = self.at, self.problem
        self.at += 2
        self.deeper()
        parts = self.double(until="]")
        self.depth -= 1
        if self.closed:
            return Part("arithmetic", self.text[start : self.at], quoted=True, default=Word("", parts))
        self.at, self.problem = start, problem
        self.unclosed[0] += 1
        return None

    def ansi(self, into: list[Part]) -> None:
        """Text in `$'…'`."""
        start = at = self.at + 2
        while at < self.end and self.text[at] != "'":
            at += 2 if self.text[at] == "\\" else 1
        if at >= self.end:
            self.problem = self.problem or "a `$'` that is never closed"
        into.append(Part("quoted", decode_ansi(self.text[start:at]), quoted=True))
        self.at = min(at + 1, self.end)

    def command_substitution(self, start: int, *, quoted: bool) -> Part:
        """The commands of `$(…)` or `<(…)`."""
        self.count()
        self.at = start + 1
        body: list[Node] = []
        self.substitution(body)
        return Part("command", self.text[start : self.at], quoted=quoted, script=body)

    def process_substitution(self, into: list[Part]) -> None:
        """`<(…)` or `>(…)`."""
        start = self.at
        part = self.command_substitution(start, quoted=True)
        part.kind = "process"
        into.append(part)

    def backtick_word(self, into: list[Part]) -> None:
        """Commands in backticks, outside of quotes."""
        self.backtick(into, quoted=False)

    def backtick(self, into: list[Part], *, quoted: bool) -> None:
        """Commands in backticks."""
        self.count()
        start = self.at
        at = start + 1
        while at < self.end and self.text[at] != "`":
            at += 2 if self.text[at] == "\\" else 1
        if at >= self.end:
            self.problem = self.problem or "a ` that is never closed"
        inner = self.inner(re.sub(r"\\([\\`$])", r"\1", self.text[start + 1 : at]))
        inner.whole()
        self.pieces = inner.pieces
        self.problem = self.problem or inner.problem
        self.at = min(at + 1, self.end)
        into.append(Part("command", self.text[start : self.at], quoted=quoted, script=inner.top))

    def parameter(self, *, quoted: bool) -> Part:
        """`${…}` with its operator and its default."""
        start = self.at
        match = _PARAMETER.match(self.text, start + 1)
        if not match or self.text.startswith("[", match.end()):  # its end is sought before that of a subscript
            self.at = start + 2
            self.deeper()
            within = commands_within(self.double(until="}", quoted=quoted))
            self.depth -= 1
            if match and "'" in self.text[start : self.at]:
                within += commands_within(self.expansions(self.text[match.end() : self.at]))
            name = f"{match[1]}[$]" if match else ""
            return Part("variable", self.text[start : self.at], quoted=quoted, name=name, script=within or None)
        self.at = match.end()
        operator_at = self.at
        self.deeper()
        parts = self.double(until="}", quoted=quoted) if self.at < self.end else []
        self.depth -= 1
        text = self.text[start : self.at]
        rest = self.text[operator_at : self.at - 1]
        operator = rest[: 2 if rest[:1] == ":" else 1]
        if parts and operator and parts[0].kind == "quoted":
            parts[0] = Part("quoted", parts[0].text[len(operator) :], quoted=True)
        if operator[:1] == ":" and operator not in _OF_VALUES and "'" in rest:
            parts += self.expansions(rest)  # arithmetic, in which quotes protect nothing
        name = match[1] + (match[2] or "")
        subscript: list[Node] | None = None
        for part in parts:
            if part.script and part.kind == "quoted":
                subscript = [*(subscript or ()), *part.script]
        if quoted and ("<(" in rest or ">(" in rest):  # within quotes they are text, but in arithmetic they are not
            subscript = [*(subscript or ()), *self.substituted(rest)]
        return Part(
            "variable",
            text,
            quoted=quoted,
            name=name,
            operator=operator,
            default=_word(rest, _unquoted(parts)),
            script=subscript,
        )

    def substituted(self, text: str) -> list[Node]:
        """The commands of the substitutions of processes in a text that stands in no quotes."""
        found: list[Node] = []
        for match in islice(_PROCESS.finditer(text), MAX_SUBSTITUTED):
            inner, parts = self.inner(text[match.start() :]), list[Part]()
            inner.process_substitution(parts)
            self.pieces = inner.pieces
            found += [node for part in parts for node in part.script or ()]
        return found

    def arithmetic(self, start: int) -> Part | None:
        """Read `((…))` from its first bracket, or None if it is a subshell in a subshell."""
        if _HIDES_BRACKETS.search(self.text, start, start + MAX_ARITHMETIC):
            part, sure = self.read_arithmetic(start)
            if sure:
                return part
        depth = 0
        within = 0  # how deep the substitution began whose commands are passed over; 0 outside of one
        at = start
        stop = min(self.end, start + MAX_ARITHMETIC)
        while at < stop:
            char = self.text[at]
            if char == "(":
                within = depth if not within and self.text[at - 1] == "$" else within
                depth += 1
            elif char == ")":
                depth -= 1
                within = 0 if depth == within else within
                if depth == 0:
                    break
                if depth == 1 and self.text[at + 1 : at + 2] != ")":
                    return None  # the second bracket is closed, and not the first behind it
            elif (
                char in "\n;"
                and not within
                and "<<" not in self.text[start:at]
                and "for" not in self.text[max(0, start - 5) : start]
            ):
                return None
            at += 1
        self.pieces += (at - start) // 50
        if depth or self.text[at - 1 : at] != ")" or _LOOKS_LIKE_COMMANDS.match(self.text, start + 2):
            return None
        parts = self.expansions(self.text[start + 2 : at - 1])
        self.at = at + 1
        return Part("arithmetic", self.text[start : self.at], quoted=True, default=Word("", parts))

    def read_arithmetic(self, start: int) -> tuple[Part | None, bool]:
        """Read `((…))` by what is in it, where a mark may hide a bracket.

        Returns:
            The arithmetic, None if these are commands, and whether that is sure: not if its brackets are damaged.
        """
        if self.unclosed[0] >= MAX_UNCLOSED:
            return None, False
        before, self.at = (self.at, self.problem), start + 2
        self.deeper()
        parts = self.double(until=")")
        self.depth -= 1
        stop = self.at
        ends = any(part.kind == "quoted" and not _COMMAND_ENDS.isdisjoint(part.text) for part in parts)
        commands = ends and "<<" not in self.text[start:stop]
        if self.text[stop : stop + 1] == ")" and not commands and not _LOOKS_LIKE_COMMANDS.match(self.text, start + 2):
            self.at = stop + 1
            return Part("arithmetic", self.text[start : self.at], quoted=True, default=Word("", parts)), True
        self.at, self.problem = before
        self.unclosed[0] += 1
        return None, stop < self.end

    def hidden(self, text: str) -> list[Node]:
        """The commands of substitutions in single quotes, which are text to commands, and to arithmetic are not."""
        if "'" not in text:
            return []
        return [node for found in _HIDDEN.finditer(text) for node in commands_within(self.expansions(found[1]))]

    def matching(self, start: int) -> int:
        """Return where the bracket is closed that opens here, as bash does that seeks it first; 0 if it is not."""
        depth = 0
        stop = min(self.end, start + MAX_MATCHED)
        for match in _MATCHED.finditer(self.text, start, stop):
            depth += _GLOB_DEPTH.get(match[0], 0)
            if depth == 0:
                self.pieces += (match.end() - start) // 50
                return match.end()
        self.pieces += (stop - start) // 50
        return 0

    def no_arithmetic(self, start: int, *, quoted: bool) -> Part | None:
        """Read a `$((…)` that is a subshell in a substitution; bash seeks its end as if it were arithmetic."""
        stop = self.matching(start + 1)
        if not stop:
            return None
        inner = self.inner(self.text[start + 2 : stop - 1])
        inner.whole()
        self.pieces = inner.pieces
        self.problem = self.problem or inner.problem
        self.at = stop
        return Part("command", self.text[start:stop], quoted=quoted, script=inner.top)

    def extended_glob(self, into: list[Part]) -> None:
        """The rest of `@(…)` and its like, up to the bracket that closes it."""
        depth = 0
        start = self.at
        self.at = self.end
        for match in _GLOB_MARK.finditer(self.text, start):
            depth += _GLOB_DEPTH[match[0]]
            if match[0] in "\n;" or depth == 0:
                self.at = match.end() if match[0] == ")" else match.start()
                break
        into.append(Part("text", self.text[start : self.at]))


def _word(raw: str, parts: list[Part]) -> Word:
    if len(parts) == 1 and parts[0].kind == "text":
        text = parts[0].text
        return Word(text, parts if any(char in "~{*?[" for char in text) else None)
    if all(part.kind in ("text", "quoted") for part in parts):
        return Word("".join(part.text for part in parts), parts)
    return Word(raw, parts)


def _unquoted(parts: list[Part]) -> list[Part]:
    for part in parts:
        if part.kind == "quoted":
            part.text = part.text.strip("'\"")
    return parts


_PARTS = {
    "'": Words.single,
    '"': Words.double_quoted,
    "$": Words.dollar_word,
    "`": Words.backtick_word,
    "\\": Words.backslash,
}


def commands_within(parts: Sequence[Part]) -> list[Node]:
    """Return the commands of all substitutions among the parts, those within arithmetic and defaults too."""
    found: list[Node] = []
    left = list(reversed(parts))
    while left:
        part = left.pop()
        found += part.script or ()
        left.extend(reversed((part.default and part.default.parts) or []))
    return found
