"""Reads Bash leniently and in linear work.

A grammar with error recovery does unbounded work on text made to hurt it (tree-sitter-bash: 15 s for 60 KB of `|`, 0.15 s for
2 KB of `x)`), and a reviewer that can be stalled is no gate. This reader goes over the text once, never steps back further
than a word, and counts what it makes: past a cap it stops and says so. It accepts more than Bash does, and a text that
Bash would refuse is read as the commands somebody may have meant. The tests hold it against tree-sitter-bash.
"""

import re

from monitors.review.shell.tree import (
    Assignment,
    Function,
    Group,
    Node,
    Part,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Word,
)

MAX_BYTES = 262_144
"""Longest script read, in characters. Writing a large file by a here-document stays below; a megabyte of shell is no command."""
MAX_PIECES = 2_500
"""Most words, parts and commands in one script. The longest of 11,000 collected commands has 130; the rest is room for scripts."""
MAX_DEPTH = 40
"""Deepest nesting of substitutions and compound commands. Real scripts stay below 10, and Python's stack holds."""

_PLAIN = re.compile(r"[^\s|&;<>()$`'\"\\#{}*?\[\]~!=]+(?=[\s|&;<>)]|\Z)")
_LITERAL = re.compile(r"[^\s|&;<>()$`'\"\\]+")
_BLANKS = re.compile(r"(?:[ \t\r\f\v]|\\\r?\n)+")
_EMPTY = re.compile(r"\n[ \t\r\n]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^\]\s]*\])?(\+?)=")
_REDIRECT = re.compile(r"(\d+|\{[A-Za-z_]\w*\})?(&>>|&>|<<<|<<-|<<|<>|<&|>>|>&|>\||>|<)")
_DOUBLE = re.compile(r"[^\"\\$`]+")
_BRACED = re.compile(r"[^\\$`}]+")
_PARAMETER = re.compile(r"\{([!#]?(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]))(\[[^\]]*\])?")
_SPECIAL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!_-]")
_FUNCTION = re.compile(r"[ \t]*\([ \t]*\)")
_ANSI = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c.|.)", re.DOTALL)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_CLOSERS = frozenset({"then", "do", "done", "fi", "elif", "else", "esac", "}"})
_BEFORE = frozenset({"!", "time", "then", "do", "else", "elif"})
_LOOKS_LIKE_COMMANDS = re.compile(r"[ \t(]*[A-Za-z_./][\w./-]*[ \t]+[-\w./~\"'$]")
_COPROCESS_NAME = re.compile(r"[A-Za-z_]\w*[ \t]+(?=[{(])")
_TIME_PROGRAM = re.compile(r"time[ \t]+-(?!p\s)")
_GLOB_MARK = re.compile(r"[()\n;]")
_GLOB_DEPTH = {"(": 1, ")": -1, "\n": 0, ";": 0}
_PAIRS = {"(": ")", "{": "}"}


class TooMuch(Exception):  # noqa: N818 — not an error: the reader's way to stop
    """A cap was passed."""


def read(text: str, depth: int = 0) -> Script:
    """Read a script. Never raises; says what was wrong and which cap was passed.

    Args:
        text: the script.
        depth: how deep in other scripts this one stands; counts towards the cap.
    """
    reader = _Reader(text[:MAX_BYTES], depth)
    too_much = "" if len(text) <= MAX_BYTES else f"longer than {MAX_BYTES} characters"
    try:
        reader.whole()
    except TooMuch as stop:
        too_much = str(stop)
    return Script(reader.top, reader.problem, too_much)


def decode_ansi(text: str) -> str:
    """What `$'text'`, or `echo -e`, makes of its escapes."""
    return _ANSI.sub(_ansi_character, text)


def _ansi_character(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number < 0x110000 else "\ufffd"
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    return _ANSI_LETTERS.get(code, code)


class _Reader:
    def __init__(self, text: str, depth: int) -> None:
        self.text = text
        self.at = 0
        self.end = len(text)
        self.depth = depth
        self.pieces = 0
        self.problem = ""
        self.top: list[Node] = []
        self.pending: list[tuple[Redirect, str, bool, bool]] = []

    # ── counting ──────────────────────────────────────────────────────────────────────────────────────────────────

    def count(self) -> None:
        self.pieces += 1
        if self.pieces > MAX_PIECES:
            raise TooMuch(f"more than {MAX_PIECES} words and commands")

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooMuch(f"nested deeper than {MAX_DEPTH}")

    def inner(self, text: str) -> "_Reader":
        """A reader of a text within this one, one deeper; whoever uses it takes its count back."""
        reader = _Reader(text, self.depth)
        reader.pieces = self.pieces
        reader.deeper()
        return reader

    def expansions(self, text: str) -> list[Part]:
        """Read a text in which only expansions mean something: a here-document's, or arithmetic."""
        inner = self.inner(text)
        parts = inner.double(until="")
        self.pieces = inner.pieces
        return parts

    # ── blanks, newlines, here-documents ──────────────────────────────────────────────────────────────────────────

    def blanks(self) -> None:
        match = _BLANKS.match(self.text, self.at)
        if match:
            self.at = match.end()
        if self.at < self.end and self.text[self.at] == "#":
            stop = self.text.find("\n", self.at)
            self.at = self.end if stop < 0 else stop

    def newline(self) -> None:
        self.at += 1
        for redirect, delimiter, quoted, strip in self.pending:
            redirect.body = self.here_document(delimiter, quoted=quoted, strip=strip)
        self.pending.clear()

    def newlines(self) -> None:
        """Skip a run of empty lines at once, unless a here-document begins behind the first."""
        if self.pending:
            self.newline()
        else:
            match = _EMPTY.match(self.text, self.at)
            self.at = match.end() if match else self.at + 1

    def here_document(self, delimiter: str, *, quoted: bool, strip: bool) -> Word:
        start = self.at
        while self.at < self.end:
            stop = self.text.find("\n", self.at)
            stop = self.end if stop < 0 else stop
            line = self.text[self.at : stop]
            if (line.lstrip("\t") if strip else line) == delimiter:
                body = self.text[start : self.at]
                self.at = stop
                break
            self.at = min(stop + 1, self.end)
        else:
            body = self.text[start:]
        if quoted or ("$" not in body and "`" not in body):
            return Word(body)
        return Word(body, self.expansions(body))

    # ── lists ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def whole(self) -> None:
        while self.at < self.end:
            before = self.at
            self.commands(self.top)
            if self.at < self.end:
                self.count()
                self.problem = self.problem or f"a `{self.text[self.at : self.at + 8].strip()}` that closes nothing"
                word = _LITERAL.match(self.text, self.at)
                self.at = word.end() if word else self.at + 1
            if self.at == before:
                self.at += 1

    def commands(self, into: list[Node], *, in_case: bool = False) -> None:
        """Read commands until a closing word or bracket, in a `case` also `;;` and `;&`; it is left unread."""
        self.deeper()
        while True:
            self.blanks()
            if self.at >= self.end:
                break
            char = self.text[self.at]
            if char == "\n":
                self.newlines()
            elif char == ";":
                if in_case and self.text.startswith((";;", ";&"), self.at):
                    break
                self.at += 1
            elif char == "&" and not self.text.startswith("&>", self.at):
                self.at += 1
                self.count()
            elif char == ")" or self.peek_word() in _CLOSERS:
                break
            elif char == "|":
                self.problem = self.problem or "a `|` with no command before it"
                self.at += 1
                self.count()
            else:
                into.append(self.pipeline())
        self.depth -= 1

    def peek_word(self) -> str:
        match = _LITERAL.match(self.text, self.at)
        return match[0] if match else ""

    def pipeline(self) -> Node:
        stages = [self.command()]
        while True:
            self.blanks()
            if not self.text.startswith("|", self.at) or self.text.startswith("||", self.at):
                break
            self.at += 2 if self.text.startswith("|&", self.at) else 1
            self.blanks()
            while self.at < self.end and self.text[self.at] == "\n":
                self.newline()
                self.blanks()
            if self.at >= self.end or self.text[self.at] in ";&|)":
                self.problem = self.problem or "a `|` with no command behind it"
                break
            stages.append(self.command())
        if self.text.startswith(("||", "&&"), self.at):
            self.at += 2
        return stages[0] if len(stages) == 1 else Pipeline(stages)

    # ── commands ──────────────────────────────────────────────────────────────────────────────────────────────────

    def command(self) -> Node:
        self.count()
        char = self.text[self.at]
        if char == "(":
            return self.redirected(
                self.arithmetic_command() if self.text.startswith("((", self.at) else self.bracketed("(")
            )
        reader = _COMPOUND.get(self.peek_word())
        if reader is None or _TIME_PROGRAM.match(self.text, self.at):
            return self.simple()
        return reader(self)

    def bracketed(self, kind: str) -> Group:
        group = Group(kind, [])
        self.in_brackets(kind, group.body)
        return group

    def in_brackets(self, opening: str, into: list[Node]) -> None:
        self.at += 1
        self.commands(into)
        self.close(_PAIRS[opening])

    def brace(self) -> Node:
        return self.redirected(self.bracketed("{"))

    def close(self, word: str) -> None:
        self.blanks()
        if self.text.startswith(word, self.at):
            self.at += len(word)
        else:
            self.problem = self.problem or f"no `{word}` that closes"

    def redirected(self, group: Group) -> Group:
        while True:
            self.blanks()
            match = _REDIRECT.match(self.text, self.at)
            if not match:
                return group
            self.redirect(match, group.redirects)

    def prefix(self) -> Node:
        """`!`, `time`, and a stray `then` or `do`: what follows is the command."""
        self.at += len(self.peek_word())
        self.blanks()
        while self.text.startswith("-p ", self.at):
            self.at += 3
            self.blanks()
        if self.at >= self.end or self.text[self.at] in "\n;&|)":
            return Simple()
        self.deeper()
        node = self.command()
        self.depth -= 1
        return node

    def branch(self) -> Node:
        """`if` and `while`: every list inside is run, as far as a reviewer can say."""
        kind = self.peek_word()
        last = "fi" if kind == "if" else "done"
        self.at += len(kind)
        group = Group(kind, [])
        self.lists_until(group.body, last)
        return self.redirected(group)

    def lists_until(self, into: list[Node], last: str) -> None:
        while self.at < self.end:
            self.commands(into)
            word = self.peek_word()
            if word == last:
                self.at += len(word)
                return
            if word not in ("then", "else", "elif", "do"):
                break
            self.at += len(word)
        self.problem = self.problem or f"no `{last}` that closes"

    def loop(self) -> Node:
        self.at += len(self.peek_word())
        self.blanks()
        group = Group("for", [])
        if self.text.startswith("((", self.at):
            group.body.append(self.arithmetic_command())
        else:
            name = _NAME.match(self.text, self.at)
            if name:
                group.variable = name[0]
                self.at = name.end()
            self.blanks()
            while self.at < self.end and self.text[self.at] == "\n":
                self.newline()
                self.blanks()
            if self.peek_word() == "in":
                self.at += 2
                group.words = self.words_to_line_end()
        self.skip_separators()
        if self.peek_word() == "{":
            self.in_brackets("{", group.body)
        else:
            self.lists_until(group.body, "done")
        return self.redirected(group)

    def skip_separators(self) -> None:
        while True:
            self.blanks()
            if self.at >= self.end or self.text[self.at] not in ";\n":
                return
            if self.text[self.at] == "\n":
                self.newline()
            else:
                self.at += 1

    def words_to_line_end(self) -> list[Word]:
        words: list[Word] = []
        while True:
            self.blanks()
            if self.at >= self.end or self.text[self.at] in "\n;&|)":
                return words
            words.append(self.word())

    def case(self) -> Node:
        self.at += 4
        self.blanks()
        group = Group("case", [])
        if self.at < self.end and self.text[self.at] not in "\n;&|)":
            group.words.append(self.word())
        self.skip_separators()
        if self.peek_word() == "in":
            self.at += 2
        while self.at < self.end:
            self.skip_separators()
            if self.at >= self.end or self.peek_word() == "esac":
                break
            self.pattern(group.words)
            self.commands(group.body, in_case=True)
            if self.text.startswith(";", self.at):
                self.at += 3 if self.text.startswith(";;&", self.at) else 2
            elif self.peek_word() != "esac":
                break
        self.close("esac")
        return self.redirected(group)

    def pattern(self, into: list[Word]) -> None:
        if self.text.startswith("(", self.at):
            self.at += 1
        while True:
            self.blanks()
            if self.at >= self.end or self.text[self.at] in "\n;":
                return
            char = self.text[self.at]
            if char == ")":
                self.at += 1
                return
            if char in "|&<>(":
                self.at += 1
                self.count()
            else:
                into.append(self.word())

    def function(self) -> Node:
        self.at += len("function")
        self.blanks()
        match = _LITERAL.match(self.text, self.at)
        name = match[0] if match else ""
        self.at = match.end() if match else self.at
        brackets = _FUNCTION.match(self.text, self.at)
        if brackets:
            self.at = brackets.end()
        return self.function_body(name)

    def function_body(self, name: str) -> Node:
        self.skip_separators()
        if self.at >= self.end or self.text[self.at] == ")":
            return Function(name, [])
        self.deeper()
        node = Function(name, [self.command()])
        self.depth -= 1
        return node

    def coprocess(self) -> Node:
        self.at += len("coproc")
        self.blanks()
        if self.at >= self.end or self.text[self.at] in "\n;&|)":
            return Simple()
        name = _COPROCESS_NAME.match(self.text, self.at)
        if name:
            self.at = name.end()
        self.deeper()
        node = self.command()
        self.depth -= 1
        return node

    def test(self) -> Node:
        """`[[ … ]]`: its words are data, its substitutions run."""
        self.at += 2
        group = Group("[[", [])
        while self.at < self.end:
            self.blanks()
            if self.text.startswith("]]", self.at):
                self.at += 2
                break
            if self.at >= self.end:
                break
            if self.text[self.at] in "|&<>();\n":
                self.at += 1
                self.count()
            else:
                group.words.append(self.word())
        return self.redirected(group)

    def arithmetic_command(self) -> Group:
        part = self.arithmetic(self.at)
        if part is None:
            return self.bracketed("(")
        return Group("((", [], [Word(part.text, [part])])

    # ── simple commands ───────────────────────────────────────────────────────────────────────────────────────────

    def simple(self) -> Node:
        command = Simple()
        while True:
            self.blanks()
            if self.at >= self.end:
                break
            char = self.text[self.at]
            match = _REDIRECT.match(self.text, self.at) if char in "<>&{" or char.isdigit() else None
            if match and not self.text.startswith(("<(", ">("), self.at):
                self.redirect(match, command.redirects)
                continue
            if char in "\n;&|)":
                break
            if char == "(":
                if len(command.words) == 1 and (brackets := _FUNCTION.match(self.text, self.at)):
                    self.at = brackets.end()
                    return self.function_body(command.words[0].text)
                self.problem = self.problem or "a `(` amid words"
                break
            if not command.words and (assignment := _ASSIGNMENT.match(self.text, self.at)):
                command.assignments.append(self.assignment(assignment))
                continue
            command.words.append(self.word())
            if command.words[0].text in _DECLARES and command.words[0].parts is None:
                self.declarations(command)
        return command

    def declarations(self, command: Simple) -> None:
        """`export A=b`, `local -a x=(…)`: assignments behind the word are assignments."""
        self.blanks()
        while self.at < self.end and (assignment := _ASSIGNMENT.match(self.text, self.at)):
            command.assignments.append(self.assignment(assignment))
            self.blanks()

    def assignment(self, match: re.Match[str]) -> Assignment:
        self.at = match.end()
        appends = match[2] == "+"
        if self.text.startswith("(", self.at):
            return Assignment(match[1], self.array(), appends=appends)
        if self.at >= self.end or self.text[self.at] in " \t\r\n;&|)<>":
            self.count()
            return Assignment(match[1], [Word("")], appends=appends)
        return Assignment(match[1], [self.word()], appends=appends)

    def array(self) -> list[Word]:
        self.at += 1
        values: list[Word] = []
        while True:
            self.blanks()
            if self.at >= self.end:
                return values
            char = self.text[self.at]
            if char == ")":
                self.at += 1
                return values
            if char == "\n":
                self.newline()
            elif char in ";&|<>(":
                self.at += 1
                self.count()
            else:
                values.append(self.word())

    def redirect(self, match: re.Match[str], into: list[Redirect]) -> None:
        self.at = match.end()
        operator = match[2]
        self.blanks()
        if self.at >= self.end or self.text[self.at] in "\n;&|)":
            self.problem = self.problem or f"a `{operator}` with no target"
            self.count()
            return
        target = self.word()
        redirect = Redirect(operator, target, match[1] or "")
        if operator in ("<<", "<<-"):
            quoted = target.parts is not None
            self.pending.append((redirect, target.text, quoted, operator == "<<-"))
            redirect.body = Word("")
        elif operator == "<<<":
            redirect.body = target
        into.append(redirect)

    # ── words ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def word(self) -> Word:
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
                if not parts or parts[-1].kind != "text" or parts[-1].text[-1:] not in "@?*+!=":
                    break
                self.extended_glob(parts)
            else:
                literal = _LITERAL.match(self.text, self.at)
                text = literal[0] if literal else char
                self.at += len(text)
                parts.append(Part("text", text))
        if self.at == start:
            self.at += 1
        return _word(self.text[start : self.at], parts)

    def backslash(self, into: list[Part]) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if following == "\n":
            return
        self.count()
        into.append(Part("quoted", following or "\\", quoted=True))

    def single(self, into: list[Part]) -> None:
        self.count()
        stop = self.text.find("'", self.at + 1)
        if stop < 0:
            self.problem = self.problem or "a `'` that is never closed"
            self.at += 1
            return
        into.append(Part("quoted", self.text[self.at + 1 : stop], quoted=True))
        self.at = stop + 1

    def double_quoted(self, into: list[Part]) -> None:
        self.count()
        self.at += 1
        if self.text.find('"', self.at) < 0:
            self.problem = self.problem or 'a `"` that is never closed'
            return
        parts = self.double(until='"')
        into.extend(parts or [Part("quoted", "", quoted=True)])

    def double(self, until: str) -> list[Part]:
        parts: list[Part] = []
        while self.at < self.end:
            char = self.text[self.at]
            if char == until:
                self.at += 1
                return parts
            if char == "$":
                self.dollar(parts, quoted=True)
            elif char == "`":
                self.backtick(parts, quoted=True)
            elif char == "\\":
                self.double_backslash(parts)
            else:
                match = (_BRACED if until == "}" else _DOUBLE).match(self.text, self.at)
                text = match[0] if match else char
                self.at += len(text)
                parts.append(Part("quoted", text, quoted=True))
        if until:
            self.problem = self.problem or f"a `{until}` that is missing"
        return parts

    def double_backslash(self, into: list[Part]) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if following == "\n":
            return
        into.append(Part("quoted", following if following in '$`"\\' else "\\" + following, quoted=True))

    def dollar_word(self, into: list[Part]) -> None:
        self.dollar(into, quoted=False)

    def dollar(self, into: list[Part], *, quoted: bool) -> None:
        self.count()
        text, at = self.text, self.at
        following = text[at + 1 : at + 2]
        if following == "(":
            part = self.arithmetic(at + 1) if text.startswith("((", at + 1) else None
            into.append(part or self.command_substitution(at, quoted=quoted))
        elif following == "{":
            into.append(self.parameter(quoted=quoted))
        elif following == "'" and not quoted:
            self.ansi(into)
        elif following == '"' and not quoted:
            self.at += 1
            self.double_quoted(into)
        elif match := _SPECIAL.match(text, at + 1):
            self.at = match.end()
            into.append(Part("variable", text[at : self.at], quoted=quoted, name=match[0]))
        else:
            self.at += 1
            into.append(Part("quoted" if quoted else "text", "$", quoted=quoted))

    def ansi(self, into: list[Part]) -> None:
        start = at = self.at + 2
        while at < self.end and self.text[at] != "'":
            at += 2 if self.text[at] == "\\" else 1
        if at >= self.end:
            self.problem = self.problem or "a `$'` that is never closed"
        into.append(Part("quoted", decode_ansi(self.text[start:at]), quoted=True))
        self.at = min(at + 1, self.end)

    def command_substitution(self, start: int, *, quoted: bool) -> Part:
        self.count()
        self.at = start + 2
        body: list[Node] = []
        self.commands(body)
        self.close(")")
        return Part("command", self.text[start : self.at], quoted=quoted, script=body)

    def process_substitution(self, into: list[Part]) -> None:
        start = self.at
        part = self.command_substitution(start, quoted=True)
        part.kind = "process"
        into.append(part)

    def backtick_word(self, into: list[Part]) -> None:
        self.backtick(into, quoted=False)

    def backtick(self, into: list[Part], *, quoted: bool) -> None:
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
        start = self.at
        match = _PARAMETER.match(self.text, start + 1)
        if not match:
            stop = self.text.find("}", start)
            self.at = self.end if stop < 0 else stop + 1
            return Part("variable", self.text[start : self.at], quoted=quoted)
        self.at = match.end()
        operator_at = self.at
        self.deeper()
        parts = self.double(until="}") if self.at < self.end else []
        self.depth -= 1
        text = self.text[start : self.at]
        rest = self.text[operator_at : self.at - 1]
        operator = rest[: 2 if rest[:1] == ":" else 1]
        if parts and operator and parts[0].kind == "quoted":
            parts[0] = Part("quoted", parts[0].text[len(operator) :], quoted=True)
        name = match[1] + (match[2] or "")
        return Part(
            "variable", text, quoted=quoted, name=name, operator=operator, default=_word(rest, _unquoted(parts))
        )

    def arithmetic(self, start: int) -> Part | None:
        """Read `((…))` from its first bracket, or None where it is a subshell in a subshell."""
        depth = 0
        at = start
        stop = min(self.end, start + 500)
        while at < stop:
            char = self.text[at]
            if char == "(":
                depth += 1
            elif char == ")":
                depth -= 1
                if depth == 0:
                    break
            elif char in "\n;" and "for" not in self.text[max(0, start - 5) : start]:
                return None
            at += 1
        self.pieces += (at - start) // 50
        if depth or self.text[at - 1 : at] != ")" or _LOOKS_LIKE_COMMANDS.match(self.text, start + 2):
            return None
        parts = self.expansions(self.text[start + 2 : at - 1])
        self.at = at + 1
        return Part("arithmetic", self.text[start : self.at], quoted=True, default=Word("", parts))

    def extended_glob(self, into: list[Part]) -> None:
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


_COMPOUND = {
    "{": _Reader.brace,
    "if": _Reader.branch,
    "while": _Reader.branch,
    "until": _Reader.branch,
    "for": _Reader.loop,
    "select": _Reader.loop,
    "case": _Reader.case,
    "function": _Reader.function,
    "coproc": _Reader.coprocess,
    "[[": _Reader.test,
    **dict.fromkeys(_BEFORE, _Reader.prefix),
}
_PARTS = {
    "'": _Reader.single,
    '"': _Reader.double_quoted,
    "$": _Reader.dollar_word,
    "`": _Reader.backtick_word,
    "\\": _Reader.backslash,
}
_DECLARES = frozenset({"export", "declare", "typeset", "local", "readonly"})
