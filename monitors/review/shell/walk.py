"""Goes through a script in the order it would run, and hands over each command that would start.

It carries along what a reader of the script would: variables, the working directory, functions, files written on the
way and used later. Both branches of an `if` run, loops run once, and what a launcher or an inner shell starts is gone
through too.
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping

from monitors.review.shell.constant import MAX_PRINTED, printed
from monitors.review.shell.copying import STDIN, UNPACKERS, bound, copied, fetched, folder_of, mounted, patches
from monitors.review.shell.expand import MAX_FIELDS, MAX_VALUE, Value, expand, expand_one
from monitors.review.shell.folders import REDIRECTED, FolderLookups, NoFolders, silent, where
from monitors.review.shell.input_words import MAX_PIPED, option_values, read_options, read_values, with_piped
from monitors.review.shell.invocation import NO_INPUT, Arg, Input, Invocation, Redirection, Setting, arg, program_name
from monitors.review.shell.launch import LaunchedCommand, LauncherBook
from monitors.review.shell.overlay import MAX_FILES, MAX_LINKS, MAX_TEXT, Overlay
from monitors.review.shell.reader import read
from monitors.review.shell.shells import OWN_INPUT, SHELLS, ShellUse, positional, shell_use
from monitors.review.shell.tree import Assignment, Function, Group, Node, Pipeline, Redirect, Simple, simples
from monitors.review.shell.turns import (
    MAX_OTHER_TURNS,
    MAX_TURNS,
    RUNS_TEXT,
    Columns,
    RunsWords,
    Turn,
    combined,
    stepped,
    turning,
)

MAX_INVOCATIONS = 300
"""Most commands gone through for one action."""
MAX_IN_FILES = 250
"""How many of these may be gone through when a script on the disk is given up: what follows it is read still."""
MAX_EXPANDED = 524_288
"""Most characters of words after expansion, all commands together: what later checks go over."""
MAX_READ = 262_144
"""Most characters of scripts in scripts, in total. A here-document that is never closed is part of each of them."""
MAX_SOURCES = 20
"""Most commands remembered as having fed a pipe."""
MAX_SCRIPTS = 12
"""Deepest nesting of scripts in scripts (`sh -c "sh -c …"`), and of functions that call functions."""

Output = tuple[str | None, tuple[Invocation, ...]]
"""The output, if known, and the commands that print it."""
Code = Callable[[Invocation], list[str]]
"""Finds the shell scripts inside the code that an invocation gives to an interpreter."""
Written = Callable[[Invocation], Iterable[Arg]]
"""Names the files that an invocation writes by an option, or under the name of what it downloads."""

_SHEBANG = re.compile(r"#!\s{0,9}/[^\s]{0,100}?(?:/env\s{1,9}(?:-S\s{1,9})?[^\s]{0,100}?)?\b(?:ba|da|z|k|mk|a)?sh\b")
"""The first line of a script for a shell, as the kernel takes it: blanks may follow `#!`."""
_LEAVES_VARIABLES = frozenset({"export", "declare", "typeset", "local", "readonly"})
_LOCAL = frozenset({"local", "declare", "typeset"})
_SOURCE = "BASH_SOURCE"
"""The file of the commands that run, as it was named."""
_STACK = "DIRSTACK"
_PROMPTS = frozenset({"PS0", "PS1", "PS2", "PS4"})
_CODE_BUILTINS = frozenset({"eval", "trap", "alias"})


_EVALUATE = frozenset({"let", "test", "[", "printf", "read", "unset", "mapfile", "readarray", "declare", "typeset", "local", "export", "readonly", "wait"})  # fmt: skip
"""Builtins that take names of variables, or arithmetic, and expand the subscripts in these."""
_PLAIN = re.compile(r"\s*\w[\w./@%+~=:, -]*")
"""Aliases that are one command with its words; others are gone through where they are made."""


class Walk:
    """One pass over one action's script."""

    def __init__(
        self,
        *,
        cwd: str,
        variables: Mapping[str, str],
        launchers: LauncherBook,
        code: Code,
        text: Callable[[str], str | None] | None = None,
        written: Written | None = None,
        folder: Callable[[str], bool] | None = None,
        before: Callable[[str], tuple[Invocation, ...]] | None = None,
        disk: FolderLookups | None = None,
    ) -> None:
        self._folders = disk or NoFolders()
        self.invocations: list[Invocation] = []
        """Every command that would start, launchers and what they start both, in order."""
        self.beside: set[int] = set()
        """The identities of those that the shell does not wait for."""
        self.unclear: list[str] = []
        """Parts that were not understood, as phrases."""
        self.unclear_in: dict[str, str] = {}
        """The first such part of each script on the disk."""
        self.too_much = ""
        """The cap that was passed, if one was."""
        self.ran: dict[str, str] = {}
        """Scripts on the disk that it ran, with the cap at which each was given up; empty if it was not."""
        self.overlay = Overlay(text or (lambda _path: None), folder or (lambda _path: False), before)
        """Files as the script leaves them."""
        self.bomb = ""
        """The function that starts itself twice, if one does."""
        self._copies: dict[str, str] = {}
        self._cwd = cwd
        self._variables: dict[str, Value] = {name: [arg(value)] for name, value in variables.items()}
        self._variables.setdefault("IFS", [arg(" \t\n")])
        self._exported: dict[str, Arg] = {}
        self._functions: dict[str, list[Node]] = {}
        self._aliases: dict[str, list[Arg]] = {}
        self._traps: list[tuple[Invocation, Arg]] = []
        self._called: set[str] = set()
        self._active: list[str] = []
        self._launchers = launchers
        self._code = code
        self._written = written or (lambda _invocation: ())
        self._references: dict[str, str] = {}
        self._in_turn = Columns()
        self._turns = 0
        self._other_turns = 0
        self._partial: set[int] = set()
        self._depth = 0
        self._read = 0
        self._expanded = 0
        self._calls = 0
        self._most = MAX_INVOCATIONS
        self._at = ""
        self._defined_in: dict[str, str] = {}
        self._source_of: dict[str, Value] = {}
        self._locals: set[str] = set()
        self._elevated = False
        self._redirected = False
        self._inside = ""
        self._mounts: tuple[tuple[str, str], ...] = ()

    def let_go(self) -> None:
        """Drop what it asked, which holds the walk in turn: else the garbage collector has to find each review."""
        self._code, self._folders = _no_code, NoFolders()
        self.overlay.let_go()

    # ── scripts ───────────────────────────────────────────────────────────────────────────────────────────────────

    def script(self, text: str, stdin: Input = NO_INPUT) -> Output:
        """Go through a script given as text."""
        if self._depth >= MAX_SCRIPTS:
            self._beyond(f"scripts nested deeper than {MAX_SCRIPTS}")
            return None, ()
        self._read += len(text)
        if self._depth and self._read > MAX_READ:
            self._beyond(f"scripts in scripts of more than {MAX_READ} characters")
            return None, ()
        script = read(text, self._depth)
        if script.problem and self._at:
            self.unclear_in.setdefault(self._at, script.problem)
        elif script.problem:
            self.unclear.append(script.problem)
        if script.too_much:
            self._beyond(script.too_much)
        self._depth += 1
        output = self._nodes(script.nodes, stdin)
        if self._depth == 1:
            self._left_over()
            if self.overlay.cut:
                self._cut(MAX_TEXT)
            elif self.overlay.full:
                self._beyond(f"more than {MAX_FILES} files or {MAX_LINKS} links written")
        self._depth -= 1
        return output

    def _left_over(self) -> None:
        """Go through traps, which run last, and through functions that were never called."""
        while self._traps or not self._called.issuperset(self._functions):
            if self._traps:
                self._deeper(*self._traps.pop())
                continue
            name = next(name for name in self._functions if name not in self._called)
            self._called.add(name)
            self._body(name, NO_INPUT)

    def _body(self, name: str, stdin: Input) -> Output:
        """Go through a function, as a part of the script that has it."""
        before = self._variables.get(_SOURCE)
        self._set(_SOURCE, self._source_of.get(name))
        output = self._of_file(self._defined_in.get(name, ""), lambda: self._nodes(self._functions[name], stdin))
        self._set(_SOURCE, before)
        return output

    def _set(self, name: str, value: Value | None) -> None:
        """Give a variable a value, or none."""
        if value is None:
            self._variables.pop(name, None)
        else:
            self._variables[name] = value

    def _nodes(self, nodes: list[Node], stdin: Input) -> Output:
        texts: list[str | None] = []
        source: list[Invocation] = []
        for node in nodes:
            text, invocations = self._node(node, stdin)
            source.extend(invocations)
            if isinstance(node, Group) and node.kind in ("||", "&&||"):
                # What is known to be printed was printed by what succeeded; else only an end prints nothing more.
                text = "" if _ends(node) or (node.kind == "||" and texts and texts[-1]) else None
            texts.append(text)
        known = all(text is not None for text in texts)
        return ("".join(text or "" for text in texts) if known else None), tuple(source)

    def _node(self, node: Node, stdin: Input) -> Output:
        if isinstance(node, Simple):
            return self._simple(node, stdin)
        if isinstance(node, Pipeline):
            return self._pipeline(node, stdin)
        if isinstance(node, Function):
            self._functions[node.name] = node.body
            self._defined_in[node.name] = self._at
            if _SOURCE in self._variables:
                self._source_of[node.name] = self._variables[_SOURCE]
            return "", ()
        return self._group(node, stdin)

    def _pipeline(self, node: Pipeline, stdin: Input) -> Output:
        output: Output = (None, ())
        before = (self._cwd, dict(self._variables))
        for stage in node.stages:
            output = self._node(stage, stdin)
            self._cwd, self._variables = before[0], dict(before[1])
            stdin = Input(output[0], output[1])
        return output

    def _group(self, group: Group, stdin: Input) -> Output:
        words = [word for written in group.words for word in expand(written, self._variables, self._substitute)]
        redirects, opened = self._redirects(group.redirects)
        if group.kind == "[[":
            self._evaluated(words)
        if group.variable:
            self._loop_variable(group.variable, words)
        before = (self._cwd, dict(self._variables)) if group.kind in ("(", "&") else None
        first = len(self.invocations)
        text, source = self._nodes(group.body, opened or stdin)
        if group.kind in ("[[", "if", "case", "while"):
            text = None  # what it prints depends on whether something holds
        if group.kind == "&":
            self.beside.update(map(id, self.invocations[first:]))
        if before:
            self._cwd, self._variables = before
        if redirects:
            self._add(Invocation(arg(""), [], self._setting(), redirects=redirects, stdin=Input(text, source)))
            return self._kept((text, source), redirects)
        return text, source

    def _loop_variable(self, name: str, words: list[Arg]) -> None:
        # A loop's variable is each of its words in turn: most commands see all of them at once, which is the worst of them.
        self._assign({name: words or [arg(f"${name}", known=False)]}, in_turn=True)

    def _assign(self, values: Mapping[str, Value], *, in_turn: bool = False) -> None:
        """Give variables their values, all at once or one after another."""
        self._variables.update(values)
        self._in_turn.put({name: [[each] for each in value] if in_turn else [] for name, value in values.items()})

    # ── simple commands ───────────────────────────────────────────────────────────────────────────────────────────

    def _simple(self, command: Simple, stdin: Input) -> Output:
        columns = self._in_turn
        runs_words = RunsWords(self._functions, self._aliases, self._launchers) if columns.of else {}
        turn = turning(command, columns.of, self._launchers, self._variables, runs_words)
        if turn is None:
            return self._once(command, stdin)
        cut = not columns.cut.isdisjoint(turn.names)
        tables = columns.tables(turn.names, distinct=bool(command.words))
        most = MAX_TURNS - self._turns if turn.decides else MAX_OTHER_TURNS - self._other_turns
        rows = combined(tables, most + 1)
        whole = rows is not None and not cut
        if turn.decides and not whole:
            self._beyond(f"more than {MAX_TURNS} commands that a loop runs one after another")
        first = {name: value for table in tables for name, value in table[0].items()}
        rows = rows or ([first] if turn.decides else stepped(tables, most + 1))
        if rows is None and command.words:
            return self._once(command, stdin, head=turn.head, first=first, partly=True)
        rows = rows or [first]
        if turn.decides:
            self._turns += len(rows) - 1
        else:
            self._other_turns += len(rows) - 1
        return self._in_rows(command, stdin, turn, rows, whole=whole)

    def _in_rows(
        self, command: Simple, stdin: Input, turn: Turn, rows: list[dict[str, Value]], *, whole: bool
    ) -> Output:
        """Go through the command once for each row of values; `whole` if these are all there are."""
        columns = self._in_turn
        stepping = {name: columns.of.pop(name) for name in columns.beside(turn.names)}
        changed: list[dict[str, Value]] = []
        outputs: list[Output] = []
        for row in rows:
            self._variables.update(row)
            before = dict(self._variables)
            outputs.append(self._once(command, stdin, partly=not whole))
            changed.append({name: value for name, value in self._variables.items() if before.get(name) is not value})
        made = {name: [each.get(name, []) for each in changed] for each in changed for name in each}
        for name, column in stepping.items():
            columns.of[name] = column
            self._variables[name] = [word for value in column for word in value]
        self._assigned_in_turn(made, turn.names, len(rows), whole=whole)
        texts = [text for text, _ in outputs if text is not None]
        source = tuple(one for _, invocations in outputs for one in invocations)
        return ("".join(texts) if len(texts) == len(outputs) else None), source

    def _runs_partial(self, invocation: Invocation) -> bool:
        """Whether it runs the output of commands that were not gone through for each of their values."""
        words = [invocation.program, *invocation.args] if invocation.name in RUNS_TEXT else [invocation.program]
        sources = [one for word in words for one in (*word.source, *self.made_by(word))]
        if invocation.name in RUNS_TEXT or (_runs_input(invocation) and not invocation.operands()):
            sources += invocation.input.source
        return not self._partial.isdisjoint(map(id, sources))

    def _assigned_in_turn(self, made: dict[str, list[Value]], names: list[str], rows: int, *, whole: bool) -> None:
        """Remember what variables are assigned from others, row by row."""
        columns = self._in_turn
        beside = names[0] if whole and rows == len(columns.of[names[0]]) else ""
        for name, column in made.items():
            if not whole:
                column.append([arg(f"${name}", known=False)])
        columns.put(made, beside=beside)
        for name, column in made.items():
            self._variables[name] = [word for value in column for word in value]
        if not whole:
            columns.cut.update(made)

    def _once(
        self,
        command: Simple,
        stdin: Input,
        *,
        head: int = 0,
        first: Mapping[str, Value] | None = None,
        partly: bool = False,
    ) -> Output:
        """Go through the command; its first words, up to `head`, have the `first` values of the variables.

        With `partly` its output is not known, since it is not gone through for each of its values.
        """
        assignments = {made.name: self._assigned(made) for made in command.assignments}
        declared = command.words and command.words[0].text in _LEAVES_VARIABLES
        before = {name: self._variables.get(name) for name in assignments}
        unset: list[Arg] = []
        if not declared and _names_any(command, assignments):
            # What is assigned for a command is not there yet while its words are expanded; both readings are judged.
            unset = [word for written in command.words for word in expand(written, self._variables, self._substitute)]
        self._assign(assignments)
        for name, value in assignments.items():
            self._evaluated(value)
            if name in _PROMPTS:
                self._prompted(value)
        for part in (part for word in command.words for part in word.parts or ()):
            if part.text.endswith("@P}"):
                self._prompted(self._variables.get(part.name.partition("[")[0], []))
        for name, to in self._references.items():
            if to in self._variables:
                self._variables[name] = self._variables[to]
        launching = {**self._variables, **(first or {})} if head else self._variables
        words = [
            word
            for at, written in enumerate(command.words)
            for word in expand(written, launching if at < head else self._variables, self._substitute)
        ]
        redirects, opened = self._redirects(command.redirects)
        own = {name: value[0] for name, value in assignments.items() if value}
        if words and not declared:
            self._forget(before)
        elif declared:
            if words[0] in _LOCAL:
                self._locals.update(assignments, words[1:])
            self._exported.update(own)
            if any(word[:1] == "-" and "n" in word for word in words[1:]) and words[0] != "export":
                self._references.update({name: str(to) for name, to in own.items() if to.isidentifier()})
        invocation = Invocation(
            words[0] if words else arg(""),
            words[1:],
            self._setting(),
            assignments={**self._exported, **own},
            redirects=redirects,
            stdin=opened or stdin,
        )
        if words == ["exec"]:
            self._descriptors(redirects)
        if unset and unset != words:
            self._start(Invocation(unset[0], unset[1:], self._setting(), assignments=own, stdin=opened or stdin))
        text, source = self._start(invocation)
        if partly:
            self._partial.update(map(id, source))
        return self._kept((None if partly else text, source), redirects)

    def _evaluated(self, words: list[Arg]) -> None:
        """Go through substitutions in subscripts of texts, which arithmetic and some builtins expand once more."""
        for word in words:
            if "[" in word and ("$(" in word or "`" in word) and word.known:
                self.script(f": {word}")

    def _prompted(self, words: list[Arg]) -> None:
        """Go through substitutions in a text that the shell expands once more, as it does prompts."""
        for word in words:
            if word.known and ("$(" in word or "`" in word):
                self.script(f': "{word}"')

    def _descriptors(self, redirects: list[Redirection]) -> None:
        """Remember the files that `exec 3<file` leaves open."""
        for redirect in redirects:
            if redirect.fd.isdigit() and redirect.target.known and not redirect.target.isdigit():
                self.overlay.link(f"/dev/fd/{redirect.fd}", self._path(redirect.target))
            elif redirect.fd.isdigit() and redirect.target.source:
                self.overlay.write(f"/dev/fd/{redirect.fd}", None, redirect.target.source)

    def _forget(self, before: dict[str, Value | None]) -> None:
        for name, value in before.items():
            if value is None:
                self._variables.pop(name, None)
            else:
                self._variables[name] = value

    def _setting(self) -> Setting:
        return Setting(self._cwd, (), self._elevated, self._inside, self._depth - 1, self._mounts)

    def _assigned(self, made: Assignment) -> Value:
        if len(made.values) == 1 and not made.array:
            values = [expand_one(made.values[0], self._variables, self._substitute)]
        else:
            values = [word for written in made.values for word in expand(written, self._variables, self._substitute)]
        self._bounded(*values)
        old = self._variables.get(made.name) if made.appends else None
        if old and len(values) == 1 and len(old) == 1:
            return [
                arg((old[0] + values[0])[:MAX_VALUE], known=old[0].known and values[0].known, source=values[0].source)
            ]
        return [*(old or []), *values][:MAX_FIELDS]

    def _redirects(self, written: list[Redirect]) -> tuple[list[Redirection], Input | None]:
        made: list[Redirection] = []
        opened: Input | None = None
        for redirect in written:
            if redirect.body is not None:
                text = expand_one(redirect.body, self._variables, self._substitute)
                self._bounded(text)
                newline = "\n" if redirect.operator == "<<<" else ""
                if redirect.fd not in ("", "0"):
                    self.overlay.write(f"/dev/fd/{redirect.fd}", text + newline if text.known else None, text.source)
                else:
                    opened = Input(text + newline if text.known else text, text.source, known=text.known)
                continue
            targets = expand(redirect.target, self._variables, self._substitute) or [arg("")]
            made += [Redirection(redirect.operator, redirect.fd, target) for target in targets]
            if redirect.operator in ("<", "<>", "<&") and redirect.fd in ("", "0"):
                opened = self._opened(made[-1])
        return made, opened

    def _opened(self, redirect: Redirection) -> Input:
        """Return what a command reads from the file or the descriptor."""
        target = redirect.target
        if not target.known:
            return Input(self._fed_text(target), target.source)
        known = self.overlay.made(f"/dev/fd/{target}" if redirect.operator == "<&" else self._path(target))
        return Input(None, target.source) if known is None else Input(known[0], (*known[1], *target.source))

    def _kept(self, output: Output, redirects: list[Redirection]) -> Output:
        """Remember what goes to a file; what is left for the pipe is the rest."""
        for redirect in redirects:
            if redirect.fd in ("", "1") and redirect.target.known:
                if redirect.writes:
                    path, appends = self._path(redirect.target), ">>" in redirect.operator
                    self.overlay.write(path, *output, appends=appends)
                    return "", ()
                if redirect.operator == ">&":
                    self.overlay.write(f"/dev/fd/{redirect.target}", *output, appends=True)
                    if redirect.target == "2":
                        return "", ()
            elif redirect.writes and redirect.fd in ("", "1"):
                return "", output[1]
        return output

    def _path(self, target: str) -> str:
        if target == "~" or target[:2] == "~/":
            target = self._variables.get("HOME", [arg("~")])[0] + target[1:]
        return posixpath.normpath(posixpath.join(self._cwd or "/", target)) if target[:1] != "~" else target

    def _substitute(self, nodes: list[Node]) -> Output:
        before = (self._cwd, dict(self._variables))
        output = self._nodes(nodes, NO_INPUT)
        self._cwd, self._variables = before
        return output

    # ── what is started ───────────────────────────────────────────────────────────────────────────────────────────

    def _add(self, invocation: Invocation) -> bool:
        self._expanded += sum(map(len, invocation.args))
        self._bounded(invocation.program, *invocation.args)
        if len(self.invocations) >= self._most or self._expanded > MAX_EXPANDED:
            self._beyond(f"more than {self._most} commands, or {MAX_EXPANDED} characters of words")
            return False
        self.invocations.append(invocation)
        return True

    def _start(self, invocation: Invocation) -> Output:
        copied = self._copies.get(self._path(invocation.program)) if self._copies and invocation.program else None
        if copied:
            invocation.name = copied
        if invocation.program in self._functions and not invocation.via:
            return self._call(invocation)
        if invocation.program in self._aliases and not invocation.via:
            return self._aliased(invocation)
        if not self._add(invocation):
            return None, ()
        if not invocation.program:
            return "", ()
        self._typed_out(invocation)
        if self._partial and self._runs_partial(invocation):
            self._beyond(f"the output of more than {MAX_OTHER_TURNS} commands that a loop runs one after another")
        inner = self._inner(invocation)
        if inner is not None:
            return inner
        if invocation.name in _EVALUATE:
            self._evaluated(invocation.args)
        self._builtin(invocation)
        return self._printed(invocation)

    def _printed(self, invocation: Invocation) -> Output:
        """Return what the invocation prints, and note which files it writes."""
        sources = [invocation, *invocation.input.source, *(one for word in invocation.args for one in word.source)]
        if self.overlay:
            named = (word for word in invocation.args[:MAX_PIPED] if word.known and word[:1] != "-")
            sources += [one for word in named for one in self.overlay.sources(self._path(word))]
        source = tuple(dict.fromkeys(sources))[:MAX_SOURCES]
        for word in self._written(invocation):
            if word.known:
                self.overlay.write(self._path(word), None, source)
        self._filled(invocation, source)
        return self._text_of(invocation), source

    def _text_of(self, invocation: Invocation) -> str | None:
        """Return what the invocation prints; None if that is not known."""
        text = printed(invocation, self._made_text)
        if text is None:
            text = self._located(invocation)
        if text is not None and len(text) > MAX_PRINTED:
            self._cut(MAX_PRINTED)
            return None
        return text

    def _located(self, invocation: Invocation) -> str | None:
        """Return what the invocation prints of where things lie, or that it prints nothing; None if it is not known."""
        if silent(invocation, self._folders, self._stands):
            return ""
        if invocation.name == "git":
            self._redirected = self._redirected or "core.worktree" in invocation.args
            if self._redirected or not REDIRECTED.isdisjoint(self._variables):
                return None
        return where(invocation, self._folders, self._stands)

    def _stands(self, path: str) -> bool:
        """Whether the script itself makes a file at or below the path."""
        return any(made == path or made.startswith(f"{path}/") for made in self.overlay.put())

    def _bounded(self, *words: Arg) -> None:
        """Note that a word may have been cut, so that what it runs is not known."""
        if any(len(word) >= MAX_VALUE for word in words):
            self._cut(MAX_VALUE)

    def _cut(self, most: int) -> None:
        self._beyond(f"a text of more than {most} characters")

    def _beyond(self, bound: str) -> None:
        """Note the first bound that the script passes: what lies behind it is not known."""
        self.too_much = self.too_much or bound

    def _made_text(self, word: Arg) -> str | None:
        """Return the text of a file that the script itself has written."""
        known = self.overlay.made(self._path(word)) if word.known else None
        return known[0] if known is not None else None

    def _filled(self, invocation: Invocation, source: tuple[Invocation, ...]) -> None:
        """Note what copies, links, unpacks and hands on."""
        name = invocation.name
        if name in ("cp", "mv", "install", "ln"):
            for made, given in copied(invocation):
                self._copied(invocation, made, given)
        elif name in ("rm", "rmdir", "unlink"):
            for word in invocation.args[:MAX_PIPED]:
                self.overlay.remove(self._path(word))
        elif name == "tee":
            for word in invocation.args:
                if word[:1] != "-" and word.known:
                    appends = "-a" in invocation.args or "--append" in invocation.args
                    self.overlay.write(self._path(word), invocation.input.text, source, appends=appends)
        elif name == "dd":
            named = dict(word.partition("=")[::2] for word in invocation.args)
            if named.get("of") and named.get("if"):
                self.overlay.copy(self._path(named["if"]), self._path(named["of"]))
            elif named.get("of"):
                self.overlay.write(self._path(named["of"]), invocation.input.text, source)
        elif name in UNPACKERS and len(source) > 1:
            self.overlay.unpack(self._path(folder_of(invocation)), source)
        elif patches(invocation, source):
            self.overlay.patch(self._path(folder_of(invocation)), source)
        elif (into := fetched(invocation)) is not None and into.known:
            self.overlay.unpack(self._path(into), source)
        elif name == "mount" and (bind := bound(invocation)) is not None:
            self.overlay.link(self._path(bind[1]), self._path(bind[0]))

    def _copied(self, invocation: Invocation, made: Arg, given: Arg) -> None:
        if not (made.known and given.known):
            return
        if given in STDIN:
            self.overlay.write(self._path(made), invocation.input.text, invocation.input.source)
            return
        if given[:1] == "/":
            self._copies[self._path(made)] = program_name(given)
        if invocation.name == "ln":
            symbolic = any(word[:1] == "-" and word[1:2] != "-" and "s" in word for word in invocation.args)
            hard = not symbolic and "--symbolic" not in invocation.args
            target = str(given) if given[:1] != "~" and not hard else self._path(given)
            self.overlay.link(self._path(made), target)  # by a hard link, what is written to one is in the other
            return
        self.overlay.copy(self._path(given), self._path(made))

    def _call(self, invocation: Invocation) -> Output:
        name = str(invocation.program)
        self._called.add(name)
        self._calls += 1
        if self._calls > self._most:
            self._beyond(f"more than {self._most} calls of functions")
        if self.too_much:
            return None, ()
        if self._active.count(name):
            self.bomb = name if self._twice(name) else self.bomb
            return None, ()
        if len(self._active) >= MAX_SCRIPTS:
            self._beyond(f"functions nested deeper than {MAX_SCRIPTS}")
            return None, ()
        before, self._locals, locals_ = dict(self._variables), {"@", "*"}, self._locals
        own = {str(index + 1): [word] for index, word in enumerate(invocation.args)}
        self._variables.update(own)
        self._variables["@"] = self._variables["*"] = list(invocation.args)
        self._active.append(name)
        output = self._body(name, invocation.input)
        self._active.pop()
        for local in (*self._locals, *own, *(one for one in before if one.isdigit())):
            self._set(local, before.get(local))
        self._locals = locals_
        return output

    def _aliased(self, invocation: Invocation) -> Output:
        """Start what an alias stands for; it does not stand for itself while that goes on."""
        name = str(invocation.program)
        words = self._aliases.pop(name)
        invocation.args = [*words[1:], *invocation.args]
        invocation.program, invocation.name = words[0], program_name(words[0])
        output = self._start(invocation)
        self._aliases[name] = words
        return output

    def _twice(self, name: str) -> bool:
        return sum(1 for node in simples(self._functions[name]) if node.words and node.words[0].text == name) > 1

    def _inner(self, invocation: Invocation) -> Output | None:
        """Go through what the invocation starts in turn, or None if it starts nothing."""
        use = shell_use(invocation)
        if use is not None:
            return self._shell(invocation, use)
        if invocation.name in _CODE_BUILTINS or invocation.name in ("source", "."):
            return self._code_builtin(invocation)
        for code in self._code(invocation):
            self._deeper(invocation, code)
        if "/" in invocation.program and invocation.program.known and not invocation.inside:
            text = self._file(invocation.program)
            written = self.overlay.made(self._path(invocation.program)) is not None
            if text is None:
                invocation.made_by = self.made_by(invocation.program)
            if text and (_SHEBANG.match(text) or (text[:2] != "#!" and (written or "\0" not in text))):
                return self._as_shell(invocation, invocation.program, text, [invocation.program, *invocation.args])
        inner = self._launchers.started(invocation)
        return None if inner is None else self._launched(invocation, inner)

    def _shell(self, invocation: Invocation, use: ShellUse) -> Output:
        text = use.text
        if text is None and use.file:
            text = self._file(use.file)
        if text is None:
            invocation.made_by = self.made_by(use.file) if use.file else ()
            return None, (invocation, *invocation.made_by)
        file = use.file if use.text is None else None
        return self._as_shell(invocation, file, text, use.parameters)

    def _as_shell(self, invocation: Invocation, file: Arg | None, text: str, parameters: list[Arg]) -> Output:
        """Go through a script as a shell of its own: its directory, variables and traps end with it."""
        before = (self._cwd, dict(self._variables), self._traps)
        self._traps = []
        self._variables.update({str(index): [word] for index, word in enumerate(parameters)})
        self._variables["@"] = self._variables["*"] = list(parameters[1:])
        self._set(_SOURCE, None)
        output = self._deeper(invocation, text) if file is None else self._in_file(invocation, file, text)
        while self._traps:
            self._deeper(*self._traps.pop(0))
        self._cwd, self._variables, self._traps = before
        return output

    def _in_file(self, invocation: Invocation, word: Arg, text: str) -> Output:
        """Go through a script that a word names.

        One on the disk may be given up at a cap, which is noted; the action around it is then gone through as before.
        """
        path = self.overlay.standing(self._path(word)) if word.known else ""
        before = self._variables.get(_SOURCE)
        self._variables[_SOURCE] = [word]
        output = self._of_file(path, lambda: self._deeper(invocation, text))
        self._set(_SOURCE, before)
        return output

    def _of_file(self, path: str, go: Callable[[], Output]) -> Output:
        """Go through a part of a script on the disk; an empty path stands for the action's own text."""
        if not path or self.too_much:
            return go()
        before, self._at, self._most = self._at, path, MAX_IN_FILES
        output = go()
        self._at = before
        self.ran[path] = self.ran.get(path) or self.too_much
        if not before:
            self._most, self.too_much = MAX_INVOCATIONS, ""
        return output

    def _file(self, word: Arg) -> str | None:
        """The text of a script file: as this script writes it, or as it stands there now."""
        return self.overlay.text(self._path(word)) if word.known else self._fed_text(word)

    def _fed_text(self, word: Arg) -> str | None:
        """Return the known part of what commands print into `<(…)`; None if nothing of it is known."""
        if word[:2] != "<(" or not word.source:
            return None
        last = word.source[0]
        behind = {last, *last.input.source, *(one for given in last.args for one in given.source)}
        if behind.issuperset(word.source):
            return self._text_of(last)
        texts = [self._text_of(one) for one in word.source[:MAX_SCRIPTS]]
        return "\n".join(text for text in texts if text) or None

    def made_by(self, word: Arg) -> tuple[Invocation, ...]:
        """Return the commands whose output is in the file that a word names."""
        return self.overlay.sources(self._path(word)) if word.known and self.overlay else ()

    def _typed_out(self, invocation: Invocation) -> None:
        """Give what runs its input the text of the files that `cat` hands to it."""
        given = invocation.input
        if given.text is None and len(given.source) == 1 and given.source[0].name == "cat" and _runs_input(invocation):
            named = [word for word in given.source[0].args if word[:1] != "-"]
            texts = [self._file(word) for word in named[:MAX_SCRIPTS]]
            if named and len(texts) == len(named) and None not in texts:
                invocation.input = Input("".join(text or "" for text in texts), given.source)

    def _deeper(self, where: Invocation | Setting, text: str, stdin: Input = NO_INPUT) -> Output:
        """Go through a script inside the script, with the rights of its starter."""
        before = (self._elevated, self._inside, self._mounts)
        self._elevated, self._inside, self._mounts = where.elevated, where.inside, where.mounts
        output = self.script(text, stdin)
        self._elevated, self._inside, self._mounts = before
        return output

    def _code_builtin(self, invocation: Invocation) -> Output | None:
        if invocation.name in ("source", "."):
            text = self._file(invocation.args[0]) if invocation.args else None
            if invocation.args and invocation.args[0] in OWN_INPUT:
                text = invocation.input.text
            elif text is not None:
                return self._in_file(invocation, invocation.args[0], text)
            if text is None and invocation.args:
                invocation.made_by = self.made_by(invocation.args[0])
        elif invocation.name == "eval":
            text = " ".join(invocation.args)
        elif invocation.name == "trap":
            if len(invocation.args) > 1 and invocation.args[0][:1] != "-":
                self._traps.append((invocation, invocation.args[0]))
            text = None
        else:
            for word in invocation.args:
                name, _, value = word.partition("=")
                if _PLAIN.fullmatch(value):
                    self._aliases[name] = [arg(piece) for piece in value.split()]
            text = "\n".join(word.partition("=")[2] for word in invocation.args if "=" in word)
        return (None, (invocation,)) if text is None else self._deeper(invocation, text)

    def _launched(self, invocation: Invocation, inner: LaunchedCommand) -> Output:
        launcher = inner.launcher
        before = self._cwd
        if inner.directory is not None and not inner.inside:
            self._cwd = self._path(inner.directory) if inner.directory.known else "?"
        setting = Setting(
            self._cwd if inner.directory is not None else invocation.cwd,
            (*invocation.via, invocation.name),
            invocation.elevated or (launcher.elevates and not inner.inside),
            inner.inside or invocation.inside,
            invocation.depth,
            tuple((inside, self._path(host)) for inside, host in mounted(invocation))
            if inner.inside.startswith("container") and not invocation.inside
            else invocation.mounts,
        )
        output = self._goes_on(invocation, inner, setting)
        if inner.directory is not None:
            self._cwd = before
        return output

    def _goes_on(self, invocation: Invocation, inner: LaunchedCommand, setting: Setting) -> Output:
        """Go through what a launcher starts in this setting."""
        if len(setting.via) > MAX_SCRIPTS:
            self._beyond(f"launchers nested deeper than {MAX_SCRIPTS}")
            return None, ()
        if inner.alone:
            self._add(Invocation(arg("sh"), [], setting))
            return None, (invocation,)
        if inner.script is not None:
            return self._deeper(setting, inner.script, invocation.input)
        words = list(inner.words)
        if not words:
            return None, (invocation,)
        if inner.launcher.command == "xargs":
            words = with_piped(invocation, words)
        if inner.launcher.command == "uv run" and words[0].endswith(".py"):
            words.insert(0, arg("python3"))
        started_one = Invocation(
            words[0],
            words[1:],
            setting,
            assignments={**invocation.assignments, **dict(inner.assignments)},
            stdin=invocation.input,
        )
        return self._start(started_one)

    def _moved(self, cwd: str) -> None:
        """Go on in another directory."""
        self._variables["OLDPWD"] = self._variables.get("PWD", [arg("$OLDPWD", known=False)])
        self._cwd = cwd
        self._variables["PWD"] = [arg(cwd) if cwd[:1] in ("/", "~") else arg("$PWD", known=False)]

    def _builtin(self, invocation: Invocation) -> None:
        """Apply the effect of a command on those after it."""
        if invocation.name in ("cd", "pushd"):
            named = [word for word in invocation.args if word[:1] != "-"]
            target = named[0] if named else self._variables.get("HOME", [arg("~")])[0]
            if invocation.name == "pushd":
                self._variables[_STACK] = [*self._variables.get(_STACK, []), arg(self._cwd)][-MAX_FIELDS:]
            self._moved(self._path(target) if target.known and invocation.args[:1] != ["-"] else "?")
        elif invocation.name == "popd":
            stack = self._variables.get(_STACK, [])
            if stack or invocation.args:  # else it fails, and stays
                self._moved("?" if invocation.args else str(stack[-1]))
                self._variables[_STACK] = stack[:-1]
        elif invocation.name == "unset":
            for word in invocation.args:
                self._variables.pop(word, None)
        elif invocation.name == "set":
            words = positional(invocation.args)
            if words is not None:
                self._variables.update({str(index + 1): [word] for index, word in enumerate(words)})
                self._variables["@"] = self._variables["*"] = words
        elif invocation.name == "read":
            options = read_options(invocation.args)
            given = invocation.input
            if options.descriptor:
                given = self._opened(Redirection("<&", "0", options.descriptor))
            separators = (
                [invocation.assignments["IFS"]] if "IFS" in invocation.assignments else self._variables.get("IFS", [])
            )
            self._assign(read_values(options, given, separators), in_turn=True)
        elif invocation.name == "getopts":
            self._assign(option_values(invocation.args, self._variables.get("@")), in_turn=True)
        elif invocation.name in ("mapfile", "readarray"):
            name = invocation.args[-1] if invocation.args and invocation.args[-1][:1] != "-" else "MAPFILE"
            lines = (invocation.input.text or "").splitlines()[:MAX_FIELDS]
            self._assign({name: list(map(arg, lines)) or [_unknown(name, invocation)]})
        elif invocation.name == "printf" and invocation.args[:1] == ["-v"] and len(invocation.args) > 2:
            text = self._text_of(Invocation(invocation.program, invocation.args[2:]))
            self._variables[invocation.args[1]] = [
                arg(f"${invocation.args[1]}", known=False) if text is None else arg(text)
            ]
        elif invocation.name == "hash" and invocation.args[:1] == ["-p"] and len(invocation.args) > 2:
            self._aliases[invocation.args[2]] = [invocation.args[1]]


def _no_code(_invocation: Invocation) -> list[str]:
    return []


def _ends(node: Group) -> bool:
    """Whether the commands leave the script or the function."""
    return any(one.words and one.words[0].text in ("exit", "return", "die", "fail") for one in simples(node.body))


def _names_any(command: Simple, assignments: Mapping[str, Value]) -> bool:
    """Whether a word of the command names a variable that is assigned for it."""
    if not assignments:
        return False
    return any(part.name.partition("[")[0] in assignments for word in command.words for part in word.parts or ())


_RUNS_INPUT = re.compile(r"(?:python|pypy|node|ruby|perl|php|psql|mysql|mariadb|sqlite|mongo)[\w.]*")


def _runs_input(invocation: Invocation) -> bool:
    """Whether the program runs what it reads."""
    return invocation.name in SHELLS or _RUNS_INPUT.fullmatch(invocation.name) is not None


def _unknown(name: str, invocation: Invocation) -> Arg:
    """A variable that is filled with what the commands before it print."""
    return arg(f"${name}", known=False, source=invocation.input.source)
