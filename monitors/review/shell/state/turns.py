"""Variables that are each of several values in turn: those of a loop, and what `read` takes of several lines.

Most commands are gone through once, with all values at once: `rm "$file"` deletes each of the files. If a value decides
what is run, the command is gone through once for each: in `for c in ls 'rm -rf x'; do $c; done` the values are no list
of files. Variables of one `read`, and those that are assigned from a variable, step together, row by row.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import NamedTuple

from monitors.review.shell.invocation import Arg, Invocation, arg, program_name
from monitors.review.shell.launch import EXEC, FD, LauncherBook
from monitors.review.shell.shells import SHELLS, shell_use
from monitors.review.shell.tree import Node, Part, Simple, Word, simples
from monitors.review.shell.values import Value

MAX_TURNS = 128
"""Most commands that are gone through a second time or more since a value decides what they run, for one action. A loop
over 20 commands takes 19."""
MAX_OTHER_TURNS = 64
"""The same for commands whose program is the same for each value. Past it all values are judged at once."""
MAX_ROWS = 256
"""Most values of a variable that are kept apart: more than are gone through, so that a long text costs no more."""
_MAX_LAUNCHERS = 12
"""Deepest nesting of launchers that is looked through, as in the walk."""
RUNS_TEXT = frozenset({"eval", "source", ".", "trap", "alias", "exec", "command", "builtin", *SHELLS})
"""Programs that run their words."""
_INTERPRETERS = re.compile(r"(?:python|pypy|node|deno|bun|ruby|perl|php|lua|tclsh|expect|osascript|Rscript|[gmn]?awk|sed|psql|mysql|mariadb|sqlite|mongo)[\w.]*")  # fmt: skip
_JOINS = frozenset({"parallel", "sem"})


class Columns:
    """The variables that have several values, each a column of a table: row by row they have the values together."""

    def __init__(self) -> None:
        self.of: dict[str, list[Value]] = {}
        self.cut: set[str] = set()
        """Those of which not all values are known, since there are too many."""
        self.table_of: dict[str, int] = {}
        """The number of the table in which each stands."""
        self._made = 0

    def copy(self) -> "Columns":
        """Return the same variables, to be changed without a change of these."""
        if not self.of:
            return Columns()
        made = Columns()
        made.of, made.cut, made.table_of, made._made = dict(self.of), set(self.cut), dict(self.table_of), self._made
        return made

    def take(self, before: "Columns", names: Iterable[str]) -> None:
        """Have these variables step as they did before."""
        for name in names:
            if name in before.of:
                self.of[name], self.table_of[name] = before.of[name], before.table_of[name]
                self.cut.update(before.cut.intersection([name]))

    def put(self, columns: Mapping[str, list[Value]], *, beside: str = "") -> None:
        """Add columns as a table of their own, or to that of another variable."""
        self._made += 1
        for name, column in columns.items():
            self.of.pop(name, None)
            self.cut.discard(name)
            if len(column) > 1:
                self.table_of[name] = self.table_of[beside] if beside else self._made
                self.of[name] = column if len(column) <= MAX_ROWS else _shortened(column)
                self.cut.update([name] if len(column) > MAX_ROWS else ())

    def beside(self, names: Iterable[str]) -> list[str]:
        """Return the variables of the tables in which these stand."""
        tables = {self.table_of[name] for name in names}
        return [name for name in self.of if self.table_of[name] in tables]

    def tables(self, names: Sequence[str], *, distinct: bool) -> list[list[dict[str, Value]]]:
        """Return the rows of each of the tables; if `distinct`, without those that differ in no one of these names."""
        made: list[list[dict[str, Value]]] = []
        for table in dict.fromkeys(self.table_of[name] for name in names):
            columns = {name: column for name, column in self.of.items() if self.table_of[name] == table}
            rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
            if distinct:
                asked = [name for name in names if name in columns]
                rows = list({tuple(map(tuple, (row[name] for name in asked))): row for row in reversed(rows)}.values())
                rows.reverse()
            made.append(rows)
        return made


def combined(tables: Sequence[Sequence[dict[str, Value]]], most: int) -> list[dict[str, Value]] | None:
    """Return each row of each table with each of the others; None if there are more than `most`."""
    rows = [{name: value for row in each for name, value in row.items()} for each in islice(product(*tables), most + 1)]
    return rows if len(rows) <= most else None


def stepped(tables: Sequence[Sequence[dict[str, Value]]], most: int) -> list[dict[str, Value]] | None:
    """Return as many rows as the longest table has, so that each value stands in one; None for more than `most`."""
    longest = max(map(len, tables))
    if longest > most:
        return None
    return [
        {name: value for table in tables for name, value in table[at % len(table)].items()} for at in range(longest)
    ]


class Turn(NamedTuple):
    """How a command is gone through for several values."""

    names: list[str]
    """The variables for whose values it is gone through one after another."""
    decides: bool
    """Whether a value can decide what is run."""
    head: int
    """The number of its words before the program that is run in the end: launchers with their own words."""


class RunsWords(Mapping[str, bool]):
    """The functions and aliases, with whether one may run its words: it names its program by a variable, or by text."""

    def __init__(
        self, functions: Mapping[str, list[Node]], aliases: Mapping[str, list[Arg]], launchers: LauncherBook
    ) -> None:
        self._functions = functions
        self._aliases = aliases
        self._launchers = launchers

    def __getitem__(self, name: str) -> bool:
        if name in self._aliases:
            return True
        return any(
            words and (words[0].parts is not None or words[0].text in RUNS_TEXT or words[0].text in self._launchers)
            for words in (simple.words for simple in simples(self._functions[name]))
        )

    def __iter__(self) -> Iterator[str]:
        return iter((*self._functions, *self._aliases))

    def __len__(self) -> int:
        return len(self._functions) + len(self._aliases)


def turning(
    command: Simple,
    columns: Mapping[str, list[Value]],
    launchers: LauncherBook,
    variables: Mapping[str, Value],
    runs_words: Mapping[str, bool],
) -> Turn | None:
    """Return how the command is gone through; None if once, with all values at once.

    Args:
        command: As it is written.
        columns: The values of each variable that has several.
        launchers: The programs that start what their words name.
        variables: All variables.
        runs_words: The functions and aliases, with whether one may run its words.
    """
    if not columns or not any(_names(word, columns) for word in _words(command)):
        return None
    words = [arg(_text(word, variables)) for word in command.words]
    head, text = _head(words, launchers) if words else (0, True)
    program = program_name(words[head]) if head < len(words) else ""
    unclear = head < len(words) and command.words[head].parts is not None and words[head] == command.words[head].text
    script = _script_at(words, head) if program in SHELLS else 0
    names: dict[str, None] = {}
    decides = False
    for at, word in enumerate(command.words):
        for name, part in _names(word, columns):
            blank = _blank(columns[name])
            if at < head:
                first = word.parts is not None and word.parts[0] is part
                runs = (blank and not part.quoted) or (first and _may_be_an_option(part, columns[name]))
            elif script and at > script:
                runs = False
            else:
                runs = text or unclear or at == head or runs_words.get(program, False)
                runs = runs or _is_code(words, head, at, program)
            if runs or blank or at < head or program in launchers or program in runs_words:
                names[name] = None
                decides = decides or runs
    bodies = [redirect.body or redirect.target for redirect in command.redirects]
    for word in (*(value for made in command.assignments for value in made.values), *bodies):
        for name, part in _names(word, columns):
            runs = bool(words) and (text or unclear or _INTERPRETERS.fullmatch(program) is not None) and word in bodies
            if runs or not words or _blank(columns[name]) or part.operator:
                names[name] = None
                decides = decides or runs
    return Turn(list(names), decides, head) if names else None


def _words(command: Simple) -> Iterator[Word]:
    yield from command.words
    yield from (value for made in command.assignments for value in made.values)
    yield from (redirect.body or redirect.target for redirect in command.redirects)


def _names(word: Word, columns: Mapping[str, list[Value]]) -> list[tuple[str, Part]]:
    """Return the variables with several values that a word names; an array only if it has other words each time."""
    found: list[tuple[str, Part]] = []
    for part in word.parts or ():
        base = part.name.partition("[")[0]
        if part.name in columns or (base in columns and any(len(value) != 1 for value in columns[base])):
            found.append((part.name if part.name in columns else base, part))
    return found


def _text(word: Word, variables: Mapping[str, Value]) -> str:
    """Return a word as it is written, or the value of the one variable that it is."""
    if word.parts is not None and len(word.parts) == 1 and not word.parts[0].operator:
        value = variables.get(word.parts[0].name)
        if value and len(value) == 1 and value[0].known and not _blank([value]):
            return str(value[0])
    return word.text


def _blank(column: Iterable[Value]) -> bool:
    """Whether a value may be several words, or none."""
    return any(not word or " " in word or "\n" in word or not word.known for value in column for word in value)


def _shortened(column: list[Value]) -> list[Value]:
    """Return the first values, and of the others the one that can change most: by a blank, or as an option."""
    rest = column[MAX_ROWS - 1 :]
    worst = next((value for value in rest if _blank([value])), None)
    worst = worst or next((value for value in rest if any(word[:1] == "-" for word in value)), rest[0])
    return [*column[: MAX_ROWS - 1], worst]


def _may_be_an_option(part: Part, column: Iterable[Value]) -> bool:
    return bool(part.operator) or any(
        not word or word[0] == "-" or not word.known for value in column for word in value
    )


def _head(words: Sequence[Arg], launchers: LauncherBook) -> tuple[int, bool]:
    """Return the index of the program that is run in the end, and whether it runs its words as text."""
    at = 0
    for _ in range(_MAX_LAUNCHERS):
        name = program_name(words[at])
        if name == "find" or name in FD:
            return at, not EXEC.isdisjoint(words)
        if name not in launchers:
            return at, name in RUNS_TEXT
        started = launchers.started(Invocation(words[at], list(words[at + 1 :])))
        if started is None:
            return at, name in RUNS_TEXT
        if started.alone:
            return len(words), False
        behind = len(words) - len(started.words)
        if started.script is not None or started.launcher.command in _JOINS or behind <= at or behind == len(words):
            return at, True
        if any(one is not other for one, other in zip(words[behind:], started.words, strict=True)):
            return at, True
        at = behind
    return at, True


def _script_at(words: Sequence[Arg], head: int) -> int:
    """Return the index of the file that a shell runs; 0 if it is given none."""
    use = shell_use(Invocation(words[head], list(words[head + 1 :])))
    if use is None or use.text is not None or use.file is None:
        return 0
    return next((at for at, word in enumerate(words) if word is use.file), 0)


def _is_code(words: Sequence[Arg], head: int, at: int, program: str) -> bool:
    """Whether the word is code for an interpreter, or the file with it: not a word for a script that is named."""
    if _INTERPRETERS.fullmatch(program) is None:
        return False
    return words[at - 1][:1] == "-" or all(word[:1] == "-" for word in words[head + 1 : at])
