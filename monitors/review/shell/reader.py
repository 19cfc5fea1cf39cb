"""Reads Bash leniently and in linear work.

A grammar with error recovery does unbounded work on hostile text (tree-sitter-bash: 15 s for 60 KB of `|`, 0.15 s for 2
KB of `x)`), and a reviewer that can be stalled is no gate. This reader goes over the text once, never steps back
further than a word, and counts its pieces: past a cap it stops and reports that. It accepts more than Bash does. A text
that Bash would refuse is read as the commands that may have been meant. The tests hold it against tree-sitter-bash.
"""

import re
from functools import lru_cache

from monitors.review.shell.tree import (
    Assignment,
    Function,
    Group,
    Node,
    Part,
    Pipeline,
    Redirect,
    ShellScript,
    Simple,
    Word,
    simples,
)
from monitors.review.shell.words import LITERAL, MAX_UNCLOSED, PLAIN_INDEX, TooMuch, Words, commands_within

MAX_BYTES = 262_144
"""Longest script read, in characters. A large file written by a here-document stays below; a megabyte of shell is no
command."""
_BLANKS = re.compile(r"(?:[ \t\r\f\v]|\\\r?\n)+")
_EMPTY = re.compile(r"\n[ \t\r\n]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:(?:\[(" + PLAIN_INDEX + r")\])?(\+?)=|\[)")
_EQUALS = re.compile(r"(\+?)=")
_REDIRECT = re.compile(r"(\d+|\{[A-Za-z_]\w*\})?(&>>|&>|<<<|<<-|<<|<>|<&|>>|>&|>\||>|<)")
_FUNCTION = re.compile(r"[ \t]*\([ \t]*\)")
_CLOSERS = frozenset({"then", "do", "done", "fi", "elif", "else", "esac", "}"})
_BEFORE = frozenset({"!", "time", "then", "do", "else", "elif"})
_COPROCESS_NAME = re.compile(r"[A-Za-z_]\w*[ \t]+(?=[{(])")
_TIME_PROGRAM = re.compile(r"time[ \t]+-(?!p\s)")
_RESERVED = re.compile(LITERAL.pattern + r"+(?![$`'\"]|\\.)")
"""A word that may be one of the shell's own: behind it nothing stands that would be part of it, `}""`."""
_PAIRS = {"(": ")", "{": "}"}
_ENDS_WORD = " \t\r\n;&|)<>"


MAX_REMEMBERED = 1_000
"""Longest script whose tree is remembered, in characters: nearly all commands of agents are shorter, and 128 such trees
are 3 MB."""


def read(text: str, depth: int = 0) -> ShellScript:
    """Read a script. Never raises; says what was wrong and which cap was passed.

    Nobody changes the tree: agents give the same commands again, and a tree of a short one is read once.

    Args:
        text: the script.
        depth: how deep in other scripts this one stands; counts towards the cap.
    """
    return remembered(text, depth) if len(text) <= MAX_REMEMBERED else _read(text, depth)


def _read(text: str, depth: int) -> ShellScript:
    reader = _Reader(_joined_lines(text[:MAX_BYTES]), depth)
    too_much = "" if len(text) <= MAX_BYTES else f"longer than {MAX_BYTES} characters"
    try:
        reader.whole()
    except TooMuch as stop:
        too_much = str(stop)
    return ShellScript(reader.top, reader.problem, too_much)


def substitutions(text: str, depth: int = 0) -> ShellScript:
    """Read the substitutions alone in a text that the shell expands once more: arithmetic, a subscript, a prompt.

    Quotes protect nothing in it. What is not proper shell is no problem, since it may never be expanded.
    """
    reader = _Reader(text[:MAX_BYTES], depth)
    too_much = "" if len(text) <= MAX_BYTES else f"longer than {MAX_BYTES} characters"
    try:
        reader.top = commands_within(reader.double(until=""))
    except TooMuch as stop:
        too_much = str(stop)
    return ShellScript(reader.top, "", too_much)


remembered = lru_cache(maxsize=128)(_read)
"""The trees of the latest short scripts."""

MAX_UNENDED = 5
"""Most delimiters that are sought to the end of the script in vain; text behind further ones is read as commands."""
_QUOTES = ("'", '"', "\\")
"""Marks of which one in the delimiter makes a here-document plain text."""
_PLAIN_DOCUMENT = re.compile(r"<<-?[ \t]*('[^'\n]*'|\"[^\"\n]*\"|\\\w+)")
_COMMENT = re.compile(r"(?:^|[\s;&|()])#")
_CONTINUED = re.compile(r"[^\s\\]\\\n(?=\S)")


def _joined_lines(text: str) -> str:
    """Return the text with the ends of lines taken out that a backslash takes out amid a word or an operator.

    Between words it makes no difference. Behind a `#` it is left: a comment ends with its line. So it is in a
    here-document of plain text.
    """
    if "\\\n" not in text or not _CONTINUED.search(text):
        return text
    lines = text.split("\n")
    last = {line.lstrip("\t"): at for at, line in enumerate(lines)} if "<<" in text else {}
    made: list[str] = []
    goes_on = False
    plain: list[str] = []
    """Delimiters of the documents of plain text that are still to end."""
    for at, line in enumerate(lines):
        if goes_on and line and not line[0].isspace():
            made[-1] = made[-1][:-1] + line
        else:
            made.append(line)
        if plain:
            goes_on = False
            if line.lstrip("\t") == plain[0]:
                plain.pop(0)
            continue
        goes_on = line[-1:] == "\\" and line[-2:-1] not in ("", " ", "\t", "\\") and not _COMMENT.search(line)
        if last and "<<" in line:
            found = (piece[1].strip("'\"\\") for piece in _PLAIN_DOCUMENT.finditer(line))
            plain = [delimiter for delimiter in found if last.get(delimiter, 0) > at]
    return "\n".join(made)


class _Reader(Words):
    def __init__(self, text: str, depth: int) -> None:
        super().__init__(text, depth)
        self.pending: list[tuple[Redirect, str, bool, bool]] = []
        self.unended: set[str] = set()
        self.substituting = False
        """Whether it stands in `$(…)`, where a delimiter with a `)` in its line ends a document."""
        self.defined: set[str] = set()
        """The functions so far."""
        self.in_condition = False
        """Whether it stands between `if` or `while` and what depends on it."""
        self.joined = ""
        """The mark between the latest pipeline and the next: `&&`, `||`, or empty."""

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
        if delimiter in self.unended or len(self.unended) >= MAX_UNENDED:
            return Word("")
        while self.at < self.end:
            stop = self.text.find("\n", self.at)
            stop = self.end if stop < 0 else stop
            line = self.text[self.at : stop]
            line = line.lstrip("\t") if strip else line
            if line == delimiter or (
                self.substituting and line.startswith(delimiter) and ")" in line[len(delimiter) :]
            ):
                body = self.text[start : self.at]
                self.at = stop - len(line) + len(delimiter)  # what stands behind it in a substitution is read on
                break
            self.at = min(stop + 1, self.end)
        else:
            body = "" if self.unended else self.text[start:]
            self.unended.add(delimiter)
            self.problem = self.problem or f"a here-document that no `{delimiter}` ends"
            self.at = start  # bash may end it elsewhere: what follows is read as commands too
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
                word = LITERAL.match(self.text, self.at)
                self.at = word.end() if word else self.at + 1
            if self.at == before:
                self.at += 1

    def commands(self, into: list[Node], *, in_case: bool = False) -> None:
        """Read commands until a closing word or bracket, in a `case` also `;;` and `;&`; it is left unread."""
        self.deeper()
        behind, chained, first = "", False, 0
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
                if into and not (isinstance(into[-1], Group) and into[-1].kind == "&"):
                    into[first:] = [Group("&", into[first:])]  # `a && b &`: both are left in the background
            elif char == ")" or self.peek_word() in _CLOSERS:
                break
            elif char == "|":
                self.problem = self.problem or "a `|` with no command before it"
                self.at += 1
                self.count()
            else:
                node = self.pipeline()
                first = first if behind else len(into)
                before = into[-1] if into else None
                if behind == "&&" and isinstance(before, Group) and before.kind == "&&":
                    before.body.append(node)  # it runs only if what is conditional did
                else:
                    if behind == "||" or (behind and (self.gives(node) or moves_if_asked(node, into[first:]))):
                        node = Group("&&||" if chained and behind == "||" else behind, [node])
                    into.append(node)
                behind = self.joined
                chained = behind == "&&" or (chained and behind == "||")
        self.depth -= 1

    def gives(self, node: Node) -> bool:
        """Whether a node gives a name its meaning, or may do so: it matters then whether it is run."""
        if isinstance(node, Simple):
            return not node.words or node.words[0].text in _GIVES or node.words[0].text in self.defined
        return not isinstance(node, Pipeline)

    def peek_word(self) -> str:
        match = _RESERVED.match(self.text, self.at)
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
        self.joined = ""
        if self.text.startswith(("||", "&&"), self.at):
            self.joined = self.text[self.at : self.at + 2]
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
        word = self.peek_word()
        reader = _COMPOUND.get(word)
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

    def substitution(self, into: list[Node]) -> None:
        pending, self.pending, before, self.substituting = self.pending, [], self.substituting, True
        self.in_brackets("(", into)
        self.pending += pending  # the lines of the one around it begin behind those of its own
        self.substituting = before

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
        group = Group("if" if kind == "if" else "while", [])
        self.lists_until(group.body, last, first=kind)
        return self.redirected(group)

    def lists_until(self, into: list[Node], last: str, *, first: str = "") -> None:
        outer, self.in_condition = self.in_condition, first in ("if", "while", "until")
        while self.at < self.end:
            self.commands(into)
            word = self.peek_word()
            if word == last:
                self.at += len(word)
                self.in_condition = outer
                return
            if word not in ("then", "else", "elif", "do"):
                break
            self.in_condition = word == "elif"
            self.at += len(word)
        self.in_condition = outer
        self.problem = self.problem or f"no `{last}` that closes"

    def loop(self) -> Node:
        self.at += len(self.peek_word())
        self.blanks()
        group = Group("for", [])
        if self.text.startswith("((", self.at):
            group.body.append(self.arithmetic_command())
        else:
            name = LITERAL.match(self.text, self.at)
            if name:
                group.variable = name[0] if _NAME.fullmatch(name[0]) else ""
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
        match = LITERAL.match(self.text, self.at)
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
        self.defined.add(name)
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
        return Group("&", [node])

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
            if self.text[self.at] in "|&<>();\n" and not self.text.startswith(("<(", ">("), self.at):
                self.at += 1
                self.count()
            else:
                group.words.append(self.word())
                if group.words[-1].text == "=~":
                    self.regular_expression(group.words)
        return self.redirected(group)

    def regular_expression(self, into: list[Word]) -> None:
        """Read the words behind `=~`: brackets and `|` belong to them, and `#` within brackets is no comment."""
        self.blanks()
        while self.at < self.end and self.text[self.at] not in " \t\r\n;&<>)":
            self.count()
            if self.text[self.at] == "(":
                start = self.at
                self.at = self.matching(start)
                into.append(Word(self.text[start : self.at], self.expansions(self.text[start : self.at])))
            elif self.text[self.at] == "|":
                self.at += 1
            else:
                into.append(self.word())

    def arithmetic_command(self) -> Group:
        start = self.at
        part = self.arithmetic(start)
        if part is None:
            group = self.bounded_arithmetic() or self.bracketed("(")
            group.body += self.hidden(self.text[start : self.at])
            return group
        return Group("((", [], [Word(part.text, [part])])

    def bounded_arithmetic(self) -> Group | None:
        """Read `((…))` that looks like commands within its brackets alone: a `#` in it hides nothing behind these."""
        start, stop = self.at + 2, self.matching(self.at + 1)
        if not stop or self.text[stop : stop + 1] != ")" or "#" not in self.text[start:stop]:
            return None
        text = self.text[start : stop - 1]
        inner = self.inner(text)
        inner.whole()
        self.pieces = inner.pieces
        self.at = stop + 1
        return Group("((", inner.top, [Word(text, self.expansions(text))])

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
            if not command.words and (assignment := self.assignment()):
                command.assignments.append(assignment)
                continue
            if (
                char == "{"
                and self.in_condition
                and command.words
                and self.text[self.at + 1 : self.at + 2] in (" ", "\t", "\n")
            ):
                return Group("{", [command, self.bracketed("{")])  # zsh's `if true { … }`; words to bash
            command.words.append(self.word())
            if command.words[0].text in _DECLARES and command.words[0].parts is None:
                self.declarations(command)
        return command

    def declarations(self, command: Simple) -> None:
        """`export A=b`, `local -a x=(…)`: assignments behind the word are assignments."""
        self.blanks()
        while self.at < self.end and (assignment := self.assignment()):
            command.assignments.append(assignment)
            self.blanks()

    def assignment(self) -> Assignment | None:
        match = _ASSIGNMENT.match(self.text, self.at)
        if not match:
            return None
        if match[3] is None:
            found = self.index(match.end())
            return found and self.assigned(match[1], found[0], appends=found[1] == "+")
        self.at = match.end()
        index = None if match[2] is None else Word(match[2], self.expansions(match[2]) if "$" in match[2] else None)
        return self.assigned(match[1], index, appends=match[3] == "+")

    def index(self, start: int) -> tuple[Word, str] | None:
        """Read a subscript and the `=` or `+=` behind it; None if it has no end, or something else is behind it."""
        if self.unclosed[0] >= MAX_UNCLOSED:
            return None
        before = self.at, self.problem, list(self.pending)
        self.at = start
        parts = self.double(until="]")
        stop = self.at - 1
        equals = _EQUALS.match(self.text, self.at)
        if equals:
            self.at = equals.end()
            return Word(self.text[start:stop], parts), equals[1]
        self.at, self.problem, self.pending = before
        self.unclosed[0] += 1
        return None

    def assigned(self, name: str, index: Word | None, *, appends: bool) -> Assignment:
        start = self.at
        if not self.text.startswith("(", start):
            return Assignment(name, [self.value()], appends=appends, index=index)
        values = self.array()
        if self.at >= self.end or self.text[self.at] in _ENDS_WORD:
            return Assignment(name, values, appends=appends, array=True, index=index)
        # What follows the bracket belongs to it, also if it begins as a comment: the whole is a text, and no array.
        values.append(self.word())
        script = commands_within([part for word in values for part in word.parts or ()])
        whole = self.text[start : self.at]
        return Assignment(name, [Word(whole, [Part("variable", whole, script=script)])], appends=appends, index=index)

    def value(self) -> Word:
        """Read what a variable is assigned, which may be nothing."""
        substituted = self.text.startswith(("<(", ">("), self.at)
        if self.at >= self.end or (self.text[self.at] in _ENDS_WORD and not substituted):
            self.count()
            return Word("")
        return self.word()

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
            elif char == "[" and (found := self.index(self.at + 1)):
                index, value = found[0], self.value()
                parts = [Part("quoted", "["), *(index.parts or ()), Part("quoted", "]=")]
                if processes := self.substituted(index.text):
                    parts.append(Part("variable", script=processes))
                values.append(
                    Word(f"[{index.text}]={value.text}", [*parts, *(value.parts or [Part("quoted", value.text)])])
                )
            elif char in ";&|<>(" and not self.text.startswith(("<(", ">("), self.at):
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
        start = self.at
        target = self.word()
        redirect = Redirect(operator, target, match[1] or "")
        if operator in ("<<", "<<-"):
            raw = self.text[start : self.at].replace("\\\n", "")
            quoted = any(mark in raw for mark in _QUOTES)
            self.pending.append((redirect, _bare(raw) if quoted else raw, quoted, operator == "<<-"))
            redirect.body = Word("")
        elif operator == "<<<":
            redirect.body = target
        into.append(redirect)


_ASKS = frozenset({"[", "test", "grep", "egrep", "fgrep", "rg", "command", "which", "type", "hash", "false"})
"""Commands that are run to see whether they fail; others are expected not to."""


def moves_if_asked(node: Node, before: list[Node]) -> bool:
    """Whether a command goes to another directory if something holds that the commands before it ask."""
    if not isinstance(node, Simple) or not node.words or node.words[0].text not in ("cd", "pushd"):
        return False
    return any(
        one.kind in ("[[", "((") if isinstance(one, Group) else any(_is_question(each) for each in simples([one]))
        for one in before
    )


def _is_question(command: Simple) -> bool:
    return bool(command.words) and command.words[0].text in _ASKS


_QUOTED_PIECE = re.compile(r"'([^']*)'|\"((?:[^\"\\]|\\.)*)\"|\\(.)", re.DOTALL)
_ESCAPED = re.compile(r"\\([$`\"\\])")


def _bare(delimiter: str) -> str:
    """Return a quoted delimiter without its quotes; nothing in it is expanded."""
    delimiter = delimiter.replace("$'", "'").replace('$"', '"')
    return _QUOTED_PIECE.sub(lambda piece: piece[1] or _ESCAPED.sub(r"\1", piece[2] or "") or piece[3] or "", delimiter)


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
_DECLARES = frozenset({"export", "declare", "typeset", "local", "readonly"})
_GIVES = _DECLARES | {
    "shift",
    "read",
    "printf",
    "mapfile",
    "readarray",
    "getopts",
    "set",
    "unset",
    "eval",
    ".",
    "source",
    "return",
    "exit",
}
