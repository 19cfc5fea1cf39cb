"""Goes through a script in the order it would run, and hands over each command that would start.

It carries along what a reader of the script would: variables, the working directory, functions, files written on the
way and used later. Both branches of an `if` run, loops run once, and what a launcher or an inner shell starts is gone
through too.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping

from monitors.review.shell.endless import Hurry, hurry
from monitors.review.shell.expand import MAX_VALUE, subscripted, substitutes
from monitors.review.shell.invocation import (
    NO_INPUT,
    Arg,
    Input,
    Invocation,
    Output,
    Redirection,
    Setting,
    arg,
    program_name,
)
from monitors.review.shell.launch import LaunchedCommand, LauncherBook
from monitors.review.shell.reader import read, substitutions
from monitors.review.shell.shells import OWN_INPUT, ShellUse, shell_use
from monitors.review.shell.state.bounds import (
    MAX_ASSIGNED,
    MAX_EXPANDED,
    MAX_IN_FILES,
    MAX_INVOCATIONS,
    MAX_READ,
    MAX_SCRIPTS,
    MAX_WORDS,
    WalkBounds,
)
from monitors.review.shell.state.copying import OF_ITS_OWN, mounted, thrown_away
from monitors.review.shell.state.effects import Effects, Written
from monitors.review.shell.state.expander import Expander
from monitors.review.shell.state.folders import FolderLookups, NoFolders
from monitors.review.shell.state.input_words import with_piped
from monitors.review.shell.state.overlay import MAX_FILES, MAX_LINKS, MAX_TEXT, Overlay
from monitors.review.shell.state.rows import in_rows
from monitors.review.shell.state.shell_state import MAX_SHIFTED, SHIFTED, ShellState
from monitors.review.shell.state.texts import Texts, runs_input
from monitors.review.shell.state.turns import (
    MAX_OTHER_TURNS,
    MAX_TURNS,
    RUNS_TEXT,
    RunsWords,
    combined,
    stepped,
    turning,
)
from monitors.review.shell.tree import Assignment, Function, Group, Node, Pipeline, ShellScript, Simple, Word, simples
from monitors.review.shell.values import Value

Code = Callable[[Invocation], list[str]]
"""Finds the shell scripts inside the code that an invocation gives to an interpreter."""

AS_CODE = 8
"""How many characters of words one of code counts for: to read it takes as long. 300 runs of one script took 4 s."""
WORDS_EACH = 10
"""How many words a command has that takes as long as most: as many more count as one more command."""
_SHEBANG = re.compile(r"#!\s{0,9}/[^\s]{0,100}?(?:/env\s{1,9}(?:-S\s{1,9})?[^\s]{0,100}?)?\b(?:ba|da|z|k|mk|a)?sh\b")
"""The first line of a script for a shell, as the kernel takes it: blanks may follow `#!`."""
_LEAVES_VARIABLES = frozenset({"export", "declare", "typeset", "local", "readonly"})
MAX_ENTRIES = 20
"""Most places of a search path that are looked through; those that a script puts in stand first."""
_SYSTEM_PATH = frozenset({"/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"})
_LOCAL = frozenset({"local", "declare", "typeset"})
_SOURCE = "BASH_SOURCE"
"""The file of the commands that run, as it was named."""
_TABLES_OF_COMMANDS = frozenset({"BASH_CMDS", "BASH_ALIASES"})
_MOVES = frozenset({"cd", "pushd", "popd", "echo", "printf", "true", ":", "exit", "return"})
"""Commands that mean the same wherever they are run, but for where they go themselves."""
_PROMPTS = frozenset({"PS0", "PS1", "PS2", "PS4"})
_CODE_BUILTINS = frozenset({"eval", "trap", "alias"})
_IN_THIS_SHELL = frozenset({"builtin", "command", "exec", "noglob", "nocorrect", "time"})
"""Launchers that start no other process for a command of the shell."""
_EVALUATE = frozenset({"let", "test", "[", "printf", "read", "unset", "mapfile", "readarray", "declare", "typeset", "local", "export", "readonly", "wait"})  # fmt: skip
"""Builtins that take names of variables, or arithmetic, and expand the subscripts in these."""
_COMPOUND = re.compile(r"([A-Za-z_]\w*)\+?=\(")
_BRANCHES = frozenset({"if", "case", "while", "for", "||", "&&||", "&&"})
"""Groups of commands that may be left out."""
_NOWHERE: frozenset[str] = frozenset()
_EXIT = frozenset({"exit"})
_EXIT_AND_RETURN = frozenset({"exit", "return"})
_STATUS = re.compile(r"[0-9]{1,3}|\$\?")
"""The status behind a `return` or an `exit` that surely does not fail."""
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
        self.invocations: list[Invocation] = []
        """Every command that would start, launchers and what they start both, in order."""
        self.beside: set[int] = set()
        """The identities of those that the shell does not wait for."""
        self.doubted: set[int] = set()
        """The identities of those that may fail without an end of the script: `createdb x || true`."""
        self.unclear: list[str] = []
        """Parts that were not understood, as phrases."""
        self.unclear_in: dict[str, str] = {}
        """The first such part of each script on the disk."""
        self.ran: dict[str, str] = {}
        """Scripts on the disk that it ran, with the cap at which each was given up; empty if it was not."""
        self.overlay = Overlay(text or (lambda _path: None), folder or (lambda _path: False), before)
        """Files as the script leaves them."""
        self.bomb = ""
        """The function that starts itself twice, if one does."""
        self.hurries: list[tuple[Hurry, list[Invocation]]] = []
        """Loops that nothing ends and in which nothing waits: what each does, with its commands."""
        self._bounds = WalkBounds()
        self._state = ShellState(cwd, variables)
        self._texts = Texts(self._state, self.overlay, disk or NoFolders(), self._bounds)
        self._expander = Expander(self._state, self.overlay, self._texts, self._bounds, self._substitute)
        self._effects = Effects(self._state, self.overlay, self._texts, written or (lambda _invocation: ()))
        self._exported: dict[str, Arg] = {}
        self._traps: list[tuple[Invocation, Arg]] = []
        self._called: set[str] = set()
        self._active: list[int] = []
        self._launchers = launchers
        self._code = code
        self._turns = 0
        self._other_turns = 0
        self._partial: set[int] = set()
        self._depth = 0
        self._leaving = _NOWHERE
        self._left = False
        self._conditions = 0
        self._at = ""
        self._defined: dict[str, list[Node]] = {}
        self._defined_in: dict[str, str] = {}
        self._source_of: dict[str, Value] = {}
        self._locals: set[str] = set()
        self._elevated = False
        self._inside = ""
        self._mounts: tuple[tuple[str, str, bool], ...] = ()
        self._search_path = variables.get("PATH", "")
        self._looked_up: set[str] = set()

    def let_go(self) -> None:
        """Drop what it asked, which holds the walk in turn: else the garbage collector has to find each review."""
        self._code = _no_code
        for one in (self.overlay, self._texts, self._expander):
            one.let_go()

    @property
    def too_much(self) -> str:
        """The bound that was passed, if one was."""
        return self._bounds.passed

    @property
    def long(self) -> int:
        """The number of usual commands that take as long as the words of its own beyond the usual, and its text."""
        bounds = self._bounds
        return max(0, bounds.words // WORDS_EACH - bounds.commands) + bounds.read // 1_000

    def count_code(self, characters: int, paths: int) -> None:
        """Count code that a command gives to an interpreter, and the paths in it, toward what is gone through."""
        self._bounds.commands += 1
        self._bounds.expanded += AS_CODE * characters
        self._bounds.words += paths

    def made_by(self, word: Arg) -> tuple[Invocation, ...]:
        """Return the commands whose output is in the file that a word names."""
        return self._texts.made_by(word)

    # ── scripts ───────────────────────────────────────────────────────────────────────────────────────────────────

    def script(
        self, text: str, stdin: Input = NO_INPUT, *, reading: Callable[[str, int], ShellScript] = read
    ) -> Output:
        """Go through a script given as text, or through what is read of it otherwise."""
        if self._depth >= MAX_SCRIPTS:
            self._bounds.beyond(f"scripts nested deeper than {MAX_SCRIPTS}")
            return None, ()
        self._bounds.read += len(text)
        if self._depth and self._bounds.read > MAX_READ:
            self._bounds.beyond(f"scripts in scripts of more than {MAX_READ} characters")
            return None, ()
        script = reading(text, self._depth)
        if script.problem and self._at:
            self.unclear_in.setdefault(self._at, script.problem)
        elif script.problem:
            self.unclear.append(script.problem)
        if script.too_much:
            self._bounds.beyond(script.too_much)
        self._depth += 1
        output = self._until_left(script.nodes, stdin)
        if self._depth == 1:
            self._left_over()
            if self.overlay.cut:
                self._bounds.cut(MAX_TEXT)
            elif self.overlay.full:
                self._bounds.beyond(f"more than {MAX_FILES} files or {MAX_LINKS} links written")
        self._depth -= 1
        return output

    def _left_over(self) -> None:
        """Go through traps, which run last, and through functions that were never called."""
        while self._traps or not self._called.issuperset(self._defined):
            if self._traps:
                self._deeper(*self._traps.pop())
                continue
            name = next(name for name in self._defined if name not in self._called)
            self._called.add(name)
            self._body(name, self._defined[name], NO_INPUT)

    def _body(self, name: str, body: list[Node], stdin: Input) -> Output:
        """Go through a function, as a part of the script that has it."""
        before = self._state.variables.get(_SOURCE)
        self._state.set(_SOURCE, self._source_of.get(name))
        output = self._of_file(self._defined_in.get(name, ""), lambda: self._bodies(body, stdin))
        self._state.set(_SOURCE, before)
        return output

    def _bodies(self, each: list[Node], stdin: Input) -> Output:
        """Go through a function, which has several bodies if a condition says which of them it has."""
        leaving, self._leaving = self._leaving, _EXIT_AND_RETURN
        outputs = [self._until_left([body], stdin) for body in each]
        self._leaving = leaving
        texts = [text for text, _ in outputs if text is not None]
        source = tuple(one for _, invocations in outputs for one in invocations)
        return ("".join(texts) if len(texts) == len(outputs) else None), source

    def _until_left(self, nodes: list[Node], stdin: Input) -> Output:
        """Go through a script or a function up to where it is left, whatever holds."""
        before, self._conditions = self._conditions, len(self._state.branches)
        output = self._nodes(nodes, stdin)
        self._conditions, self._left = before, False
        return output

    def _leaves(self, command: Simple) -> bool:
        """Whether a `return` or an `exit` surely ends the script or the function: no condition decides whether it runs.

        It does not if it fails, or if something else goes by its name.
        """
        name, *status = (word.text for word in command.words)
        return (
            len(self._state.branches) == self._conditions
            and not (command.redirects or command.assignments or len(status) > 1)
            and all(map(_STATUS.fullmatch, status))
            and name not in self._state.functions
            and name not in self._state.aliases
            and not any(map(_unsettles, self.invocations))
        )

    def _nodes(self, nodes: list[Node], stdin: Input) -> Output:
        texts: list[str | None] = []
        source: list[Invocation] = []
        first, last = 0, 0
        for node in nodes:
            if self._bounds.over:
                return None, tuple(source)
            first, last = last, len(self.invocations)
            text, invocations = self._node(node, stdin)
            source.extend(invocations)
            if isinstance(node, Group) and node.kind in ("||", "&&||"):
                # What is known to be printed was printed by what succeeded; else only an end prints nothing more.
                ends = _ends(node)
                if not ends:
                    self.doubted.update(map(id, self.invocations[first:last]))
                text = "" if ends or (node.kind == "||" and texts and texts[-1]) else None
            texts.append(text)
            if self._leaving and isinstance(node, Simple) and node.words and node.words[0].text in self._leaving:
                self._left = self._leaves(node)
            if self._left:
                break
        known = [text for text in texts if text is not None]
        return ("".join(known) if len(known) == len(texts) else None), tuple(source)

    def _node(self, node: Node, stdin: Input) -> Output:
        if isinstance(node, Simple):
            return self._simple(node, stdin)
        if isinstance(node, Pipeline):
            return self._pipeline(node, stdin)
        if isinstance(node, Function):
            before = self._state.functions.get(node.name) if self._state.branches else None
            body = [*before, *node.body] if before else node.body  # a branch may be left out, and the other not be
            self._state.functions[node.name] = self._defined[node.name] = body
            self._defined_in[node.name] = self._at
            if _SOURCE in self._state.variables:
                self._source_of[node.name] = self._state.variables[_SOURCE]
            return "", ()
        return self._group(node, stdin)

    def _pipeline(self, node: Pipeline, stdin: Input) -> Output:
        output: Output = (None, ())
        for stage in node.stages:
            before = self._state.enter()
            output = self._node(stage, stdin)
            self._state.leave(before)
            self._left = False
            stdin = Input(output[0], output[1])
        return output

    def _group(self, group: Group, stdin: Input) -> Output:
        words = self._expander.words(group.words)
        redirects, opened = self._expander.redirects(group.redirects)
        if group.kind in ("while", "for") and opened is not None and opened.text is None and not opened.source:
            opened = self._read_by_turns(redirects)
        if group.kind == "$":
            for word in words:
                self.script(word, reading=substitutions)
            return None, ()
        if group.kind == "[[":
            self._evaluated(words)
        if group.variable:
            self._loop_variable(group.variable, words)
        before = self._state.enter() if group.kind in ("(", "&") else None
        first = len(self.invocations)
        branches = group.kind in _BRANCHES
        places = (self._state.cwd, *self._state.elsewhere)
        if group.kind in ("while", "for") and _shifts(group.body):
            self._state.shift_by_any()
        held = dict(self._state.variables) if branches else {}
        if branches:
            self._state.branches.append({})
        if group.kind in ("while", "for"):
            self._state.assigned_later(simples(group.body))
        text, source = self._nodes(group.body, opened or stdin)
        if group.kind != "{" or redirects:  # a redirection may fail
            self._left = False
        if how := hurry(group):
            self.hurries.append((how, self.invocations[first:]))
        if branches:
            self._state.join_branches(held)
            if self._state.cwd != places[0]:
                self._state.may_be_in(places)
        if group.kind in ("[[", "if", "case", "while"):
            text = None  # what it prints depends on whether something holds
        if group.kind == "&":
            self.beside.update(map(id, self.invocations[first:]))
        if before:
            self._state.leave(before)
        if redirects:
            self._add(Invocation(arg(""), [], self._setting(), redirects=redirects, stdin=Input(text, source)))
            return self._effects.kept((text, source), redirects)
        return text, source

    def _read_by_turns(self, redirects: list[Redirection]) -> Input:
        """Return the file that a loop reads as its input: what it reads of it comes as of a command that prints it."""
        named = [to.target for to in redirects if to.reads]
        return Input(None, (Invocation(arg("cat"), named, self._setting()),)) if named else Input(None)

    def _loop_variable(self, name: str, words: list[Arg]) -> None:
        # A loop's variable is each of its words in turn: most commands see all of them at once, which is the worst of them.
        self._state.assign({name: words or [arg(f"${name}", known=False)]}, in_turn=True)
        self._evaluated(words)

    # ── simple commands ───────────────────────────────────────────────────────────────────────────────────────────

    def _simple(self, command: Simple, stdin: Input) -> Output:
        if self._state.elsewhere and command.words:
            self._also_there(command, stdin)
        columns = self._state.in_turn
        runs_words = RunsWords(self._state.functions, self._state.aliases, self._launchers) if columns.of else {}
        turn = turning(command, columns.of, self._launchers, self._state.variables, runs_words)
        if turn is None:
            return self._once(command, stdin)
        cut = not columns.cut.isdisjoint(turn.names)
        tables = columns.tables(turn.names, distinct=bool(command.words))
        most = MAX_TURNS - self._turns if turn.decides else MAX_OTHER_TURNS - self._other_turns
        rows = combined(tables, most + 1)
        whole = rows is not None and not cut
        if turn.decides and not whole:
            self._bounds.beyond(f"more than {MAX_TURNS} commands that a loop runs one after another")
        first = {name: value for table in tables for name, value in table[0].items()}
        rows = rows or ([first] if turn.decides else stepped(tables, most + 1))
        if rows is None and command.words:
            return self._once(command, stdin, head=turn.head, first=first, partly=True)
        rows = rows or [first]
        if turn.decides:
            self._turns += len(rows) - 1
        else:
            self._other_turns += len(rows) - 1
        return in_rows(self._state, turn, rows, lambda: self._once(command, stdin, partly=not whole), whole=whole)

    def _also_there(self, command: Simple, stdin: Input) -> None:
        """Go through the command in the other directories where it may run, a condition having left out a `cd`."""
        for cwd in self._state.elsewhere:
            if self._other_turns >= MAX_OTHER_TURNS or command.words[0].text in _MOVES:
                return
            self._other_turns += 1
            before = self._state.enter()
            self._state.cwd, self._state.elsewhere = cwd, ()
            self._simple(command, stdin)
            self._state.leave(before)

    def _runs_partial(self, invocation: Invocation) -> bool:
        """Whether it runs the output of commands that were not gone through for each of their values."""
        words = [invocation.program, *invocation.args] if invocation.name in RUNS_TEXT else [invocation.program]
        sources = [one for word in words for one in (*word.source, *self.made_by(word))]
        if invocation.name in RUNS_TEXT or (runs_input(invocation) and not invocation.operands()):
            sources += invocation.input.source
        return not self._partial.isdisjoint(map(id, sources))

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
        declared = bool(command.words) and command.words[0].text in _LEAVES_VARIABLES
        before: dict[str, Value | None] = {}
        assignments: dict[str, Value] = {}
        readings: list[list[Arg]] = []
        """Words of the command as they may be as well."""
        if declared and any(word.text[:1] == "-" and "A" in word.text for word in command.words[1:]):
            self._state.keyed.update(made.name for made in command.assignments)
            self._state.keyed.update(word.text for word in command.words[1:])
        if command.assignments:
            before = {made.name: self._state.variables.get(made.name) for made in command.assignments}
            for name in before if declared else ():
                self._state.references.pop(name, None)
            if not declared and _names_any(command, before):
                # What is assigned for a command is not there yet while its words are expanded; both are judged.
                readings.append(self._expander.words(command.words))
            assignments = {
                made.name: self._assigned(made, alone=not command.words, declared=declared)
                for made in command.assignments
            }
        for name, to in self._state.references.items():
            if to in self._state.variables:
                self._state.variables[name] = self._state.variables[to]
        launched: list[Arg] = []
        if head:
            launched = self._expander.words(command.words[:head], {**self._state.variables, **(first or {})})
        words = launched + self._expander.words(command.words[head:])
        if SHIFTED in self._state.variables or self._state.maybe:
            each = self._state.readings(_run_names(command))
            readings += [self._expander.words(command.words, variables) for variables in each]
        redirects, opened = self._expander.redirects(command.redirects)
        own = {name: value[0] for name, value in assignments.items() if value}
        if words and not declared:
            for name, held in before.items():
                self._state.set(name, held)
        elif declared:
            if words[0] in _LOCAL and not any(word[:1] == "-" and "g" in word for word in words[1:]):
                self._locals.update(assignments, words[1:])
            self._exported.update(own)
            texts = [
                arg(f"{made.name}={value}", known=value.known)
                for made in command.assignments
                for value in assignments[made.name]
                if not made.array
            ]
            self._compound([*texts, *words[1:]], before)
            if any(word[:1] == "-" and "n" in word for word in words[1:]) and words[0] != "export":
                self._state.references.update({name: str(to) for name, to in own.items() if to.isidentifier()})
        invocation = Invocation(
            words[0] if words else arg(""),
            words[1:],
            self._setting(),
            assignments={**self._exported, **own},
            redirects=redirects,
            stdin=opened or stdin,
        )
        if words == ["exec"]:
            self._effects.descriptors(redirects)
        for reading in readings:
            if reading and reading != words:
                self._start(
                    Invocation(reading[0], reading[1:], self._setting(), assignments=own, stdin=opened or stdin)
                )
        if invocation.name in _EVALUATE:
            self._evaluated(_constants(command.words, words))
        text, source = self._start(invocation)
        if partly:
            self._partial.update(map(id, source))
        return self._effects.kept((None if partly else text, source), redirects)

    def _assigned(self, made: Assignment, *, alone: bool, declared: bool) -> Value:
        """Give a variable, or an element of it, what is assigned to it, and return that; without a command, `alone`."""
        others: list[Arg] = []
        if (alone or declared) and (SHIFTED in self._state.variables or self._state.maybe):
            others = self._as_it_may_be(made)
        value, index = self._expander.assigned(made)
        if alone and index is None and self._state.branches:
            self._state.branch({made.name: value}, {made.name} if _goes_on(made) else frozenset())
        if index is None:
            self._state.assign({made.name: value})
            self._state.may_be(made.name, others)
        else:
            self._state.put(made.name, index, value)
            self._evaluated([arg(f"x[{index}")])
            if made.name in _TABLES_OF_COMMANDS:
                self._state.stand_for(index, value)
        self._evaluated(value)
        self._evaluated(_constants(made.values, value))
        if made.name in _PROMPTS:
            for word in value:
                if word.known and substitutes(word):
                    self.script(word, reading=substitutions)
        return value

    def _as_it_may_be(self, made: Assignment) -> list[Arg]:
        """Return what is assigned as well, since conditions leave the variables in it with several values."""
        names = [part.name.partition("[")[0] for word in made.values for part in word.parts or ()]
        others: list[Arg] = []
        for variables in self._state.readings(names):
            held, self._state.variables = self._state.variables, variables
            others += self._expander.assigned(made)[0]
            self._state.variables = held
        return others

    def _compound(self, words: list[Arg], before: Mapping[str, Value | None]) -> None:
        """Go through words of `declare` that it reads as those of an array, `x='(a b)'`, substitutions included.

        It does so if it is asked for an array, or if the variable was one before.
        """
        wanted = any(word[:1] == "-" and not {"a", "A"}.isdisjoint(word) for word in words)
        for word in words:
            found = _COMPOUND.match(word) if word.known else None
            held = found and (before.get(found[1]) if found[1] in before else self._state.variables.get(found[1]))
            if found and (wanted or (held is not None and len(held) != 1)):
                self.script(word)

    def _evaluated(self, words: Iterable[Arg]) -> None:
        """Go through substitutions in subscripts of texts, which arithmetic and some builtins expand once more."""
        for word in words:
            if subscripted(word) and word.known:
                self.script(word, reading=substitutions)

    def _setting(self) -> Setting:
        return Setting(self._state.cwd, (), self._elevated, self._inside, self._depth - 1, self._mounts)

    def _substitute(self, nodes: list[Node]) -> Output:
        before = self._state.enter()
        output = self._nodes(nodes, NO_INPUT)
        self._state.leave(before)
        self._left = False
        return output

    # ── what is started ───────────────────────────────────────────────────────────────────────────────────────────

    def _add(self, invocation: Invocation) -> bool:
        characters = sum(map(len, invocation.args))
        self._bounds.expanded += characters + len(invocation.input.text or "")
        self._bounds.words += len(invocation.args) + len(invocation.redirects)
        if characters + len(invocation.program) >= MAX_VALUE:
            self._bounds.check(invocation.program, *invocation.args)
        starts = bool(invocation.program or invocation.redirects)
        if self._bounds.commands >= self._bounds.most:
            self._bounds.beyond(f"more than {self._bounds.most} commands")
            self._bounds.over = not self._at  # else the script on the disk is given up, and what follows it is not
            return False
        if self._bounds.words > MAX_WORDS or self._bounds.expanded > MAX_EXPANDED:
            self._bounds.over = True
            self._bounds.beyond(
                f"more than {MAX_WORDS} words in its commands, or {MAX_EXPANDED} characters of them and of input"
            )
            return False
        if self._bounds.assigned >= MAX_ASSIGNED and not starts:
            self._bounds.beyond(f"more than {MAX_ASSIGNED} assignments")
            return False
        self._bounds.commands += starts
        self._bounds.assigned += not starts
        self.invocations.append(invocation)
        return True

    def _start(self, invocation: Invocation) -> Output:
        invocation.name = self._effects.name_behind(invocation.program) or invocation.name
        if invocation.program in self._state.functions and not invocation.via:
            return self._call(invocation)
        if invocation.program in self._state.aliases and not invocation.via:
            return self._aliased(invocation)
        if not self._add(invocation):
            return None, ()
        if not invocation.program:
            return "", ()
        self._texts.type_out(invocation)
        if self._partial and self._runs_partial(invocation):
            self._bounds.beyond(
                f"the output of more than {MAX_OTHER_TURNS} commands that a loop runs one after another"
            )
        inner = self._inner(invocation)
        if inner is not None:
            return inner
        if invocation.name in _EVALUATE:
            self._evaluated(invocation.args)
        if _IN_THIS_SHELL.issuperset(invocation.via):
            self._evaluated(self._effects.builtin(invocation))
        return self._effects.printed(invocation)

    def _call(self, invocation: Invocation) -> Output:
        name = str(invocation.program)
        self._called.add(name)
        self._bounds.calls += 1
        if self._bounds.calls > self._bounds.most:
            self._bounds.beyond(f"more than {self._bounds.most} calls of functions")
        if self.too_much:
            return None, ()
        body = self._state.functions[name]
        if (known := id(body[-1]) if body else 0) in self._active:
            self.bomb = name if self._twice(name) else self.bomb
            return None, ()
        if len(self._active) >= MAX_SCRIPTS:
            self._bounds.beyond(f"functions nested deeper than {MAX_SCRIPTS}")
            return None, ()
        before, self._locals, locals_ = dict(self._state.variables), {"@", "*", SHIFTED}, self._locals
        columns = self._state.in_turn.copy() if SHIFTED in before else None
        own = [str(index + 1) for index in range(len(invocation.args))]
        self._state.set_parameters(list(invocation.args))
        self._evaluated(invocation.args)
        self._active.append(known)
        output = self._body(name, body, invocation.input)
        self._active.pop()
        for local in (*self._locals, *own, *(one for one in before if one.isdigit())):
            self._state.set(local, before.get(local))
        if columns is not None:
            self._state.in_turn.take(columns, map(str, range(1, MAX_SHIFTED + 1)))
        self._locals = locals_
        return output

    def _aliased(self, invocation: Invocation) -> Output:
        """Start what an alias stands for; it does not stand for itself while that goes on."""
        name = str(invocation.program)
        words = self._state.aliases.pop(name)
        invocation.args = [*words[1:], *invocation.args]
        invocation.program, invocation.name = words[0], program_name(words[0])
        output = self._start(invocation)
        self._state.aliases[name] = words
        return output

    def _twice(self, name: str) -> bool:
        return sum(1 for node in simples(self._state.functions[name]) if node.words and node.words[0].text == name) > 1

    def _inner(self, invocation: Invocation) -> Output | None:
        """Go through what the invocation starts in turn, or None if it starts nothing."""
        use = shell_use(invocation)
        if use is not None:
            return self._shell(invocation, use)
        if invocation.name in _CODE_BUILTINS or invocation.name in ("source", "."):
            return self._code_builtin(invocation)
        self._look_up(invocation)
        for code in self._code(invocation):
            self._deeper(invocation, code)
        if "/" in invocation.program and invocation.program.known and not invocation.inside:
            text = self._texts.file(invocation.program)
            written = self.overlay.made(self._state.path(invocation.program)) is not None
            if text is None:
                invocation.made_by = self.made_by(invocation.program)
            if text and (_SHEBANG.match(text) or (text[:2] != "#!" and (written or "\0" not in text))):
                return self._as_shell(invocation, invocation.program, text, [invocation.program, *invocation.args])
        inner = self._launchers.started(invocation)
        return None if inner is None else self._launched(invocation, inner)

    def _look_up(self, invocation: Invocation) -> None:
        """Have a program be the script of its name that stands before the system's places in the search path."""
        program, held = invocation.program, self._state.variables.get("PATH")
        path = invocation.assignments.get("PATH") or (held[0] if held else arg(""))
        if path == self._search_path or "/" in program or not program.known or invocation.inside:
            return
        for entry in path.split(":")[:MAX_ENTRIES]:
            if entry in _SYSTEM_PATH:
                return
            found = arg(f"{entry or '.'}/{program}")
            if found in self._looked_up:
                continue  # that script itself calls what it is named after
            text = self._texts.file(found)
            if text and (_SHEBANG.match(text) or self.overlay.made(self._state.path(found)) is not None):
                self._looked_up.add(found)
                invocation.program = found
                return

    def _shell(self, invocation: Invocation, use: ShellUse) -> Output:
        text = use.text
        if text is None and use.file:
            text = self._texts.file(use.file)
        if text is None:
            invocation.made_by = self.made_by(use.file) if use.file else ()
            return None, (invocation, *invocation.made_by)
        file = use.file if use.text is None else None
        return self._as_shell(invocation, file, text, use.parameters)

    def _as_shell(self, invocation: Invocation, file: Arg | None, text: str, parameters: list[Arg]) -> Output:
        """Go through a script as a shell of its own: its directory, variables and traps end with it."""
        before, self._traps, traps = self._state.enter(), [], self._traps
        if parameters:
            self._state.set("0", parameters[:1])
        self._state.set_parameters(list(parameters[1:]))
        self._evaluated(parameters[1:])
        self._state.set(_SOURCE, None)
        if file is None:
            output = self._deeper(invocation, text, leaving=_EXIT)
        else:
            output = self._in_file(invocation, file, text, _EXIT)
        while self._traps:
            self._deeper(*self._traps.pop(0))
        self._state.leave(before)
        self._traps = traps
        return output

    def _in_file(self, invocation: Invocation, word: Arg, text: str, leaving: frozenset[str]) -> Output:
        """Go through a script that a word names.

        One on the disk may be given up at a cap, which is noted; the action around it is then gone through as before.
        """
        path = self.overlay.standing(self._state.path(word)) if word.known else ""
        before = self._state.variables.get(_SOURCE)
        self._state.variables[_SOURCE] = [word]
        output = self._of_file(path, lambda: self._deeper(invocation, text, leaving=leaving))
        self._state.set(_SOURCE, before)
        return output

    def _of_file(self, path: str, go: Callable[[], Output]) -> Output:
        """Go through a part of a script on the disk; an empty path stands for the action's own text."""
        if not path or self.too_much:
            return go()
        before, self._at, self._bounds.most = self._at, path, MAX_IN_FILES
        output = go()
        self._at = before
        self.ran[path] = self.ran.get(path) or self.too_much
        if not before:
            self._bounds.most, self._bounds.passed = MAX_INVOCATIONS, ""
        return output

    def _deeper(
        self,
        where: Invocation | Setting,
        text: str,
        stdin: Input = NO_INPUT,
        *,
        leaving: frozenset[str] = _NOWHERE,
    ) -> Output:
        """Go through a script inside the script, with the rights of its starter; words of `leaving` end it."""
        before = (self._elevated, self._inside, self._mounts, self._leaving)
        self._elevated, self._inside, self._mounts = where.elevated, where.inside, where.mounts
        self._leaving = leaving
        output = self.script(text, stdin)
        self._elevated, self._inside, self._mounts, self._leaving = before
        return output

    def _code_builtin(self, invocation: Invocation) -> Output | None:
        args = invocation.args[1:] if invocation.args[:1] == ["--"] else invocation.args
        if invocation.name in ("source", "."):
            text = self._texts.file(args[0]) if args else None
            if args and args[0] in OWN_INPUT:
                text = invocation.input.text
            elif text is not None:
                return self._in_file(invocation, args[0], text, _EXIT_AND_RETURN)
            if text is None and args:
                invocation.made_by = self.made_by(args[0])
        elif invocation.name == "eval":
            text = " ".join(args)
        elif invocation.name == "trap":
            if len(args) > 1 and (args[0][:1] != "-" or args is not invocation.args):
                self._traps.append((invocation, args[0]))
            text = None
        else:
            for word in args:
                name, _, value = word.partition("=")
                if _PLAIN.fullmatch(value):
                    self._state.aliases[name] = [arg(piece) for piece in value.split()]
            text = "\n".join(word.partition("=")[2] for word in args if "=" in word)
        return (None, (invocation,)) if text is None else self._deeper(invocation, text)

    def _launched(self, invocation: Invocation, inner: LaunchedCommand) -> Output:
        launcher = inner.launcher
        before = self._state.cwd
        if inner.directory is not None and not inner.inside:
            self._state.cwd = self._state.path(inner.directory) if inner.directory.known else "?"
        setting = Setting(
            self._state.cwd if inner.directory is not None else invocation.cwd,
            (*invocation.via, invocation.name),
            invocation.elevated or (launcher.elevates and not inner.inside),
            _setting_of(invocation, inner) or invocation.inside,
            invocation.depth,
            tuple((inside, self._state.path(host), fixed) for inside, host, fixed in mounted(invocation))
            if inner.inside.startswith("container") and not invocation.inside
            else invocation.mounts,
        )
        output = self._goes_on(invocation, inner, setting)
        if inner.directory is not None:
            self._state.cwd = before
        return output

    def _goes_on(self, invocation: Invocation, inner: LaunchedCommand, setting: Setting) -> Output:
        """Go through what a launcher starts in this setting."""
        if len(setting.via) > MAX_SCRIPTS:
            self._bounds.beyond(f"launchers nested deeper than {MAX_SCRIPTS}")
            return None, ()
        if inner.alone:
            self._add(Invocation(arg("sh"), [], setting))
            return None, (invocation,)
        if inner.script is not None:
            before = self._state.enter()
            output = self._deeper(setting, inner.script, invocation.input)
            self._state.leave(before)
            return output
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


def _setting_of(invocation: Invocation, inner: LaunchedCommand) -> str:
    """The machine or container of what a launcher starts; empty if it is this machine."""
    if inner.launcher.command in ("docker run", "podman run") and thrown_away(invocation):
        return f"{OF_ITS_OWN}{inner.inside.removeprefix('container')}"
    return inner.inside


def _goes_on(made: Assignment) -> bool:
    """Whether what is assigned to a variable is made of what it held."""
    return made.appends or any(part.name == made.name for word in made.values for part in word.parts or ())


def _run_names(command: Simple) -> list[str]:
    """Return the variables in what the command runs: in its program, or in all words of one that runs these."""
    words = command.words if command.words and command.words[0].text in RUNS_TEXT else command.words[:1]
    return [part.name.partition("[")[0] for word in words for part in word.parts or () if part.kind == "variable"]


def _shifts(nodes: list[Node]) -> bool:
    """Whether one of the commands is a `shift`."""
    return any(one.words and one.words[0].text == "shift" for one in simples(nodes))


def _no_code(_invocation: Invocation) -> list[str]:
    return []


def _unsettles(one: Invocation) -> bool:
    """Whether a command may have made `return` and `exit` something else, or have them left out: by a trap of DEBUG."""
    return one.name == "enable" or (
        one.name == "trap" and any(not word.known or word.upper() == "DEBUG" for word in one.args[1:])
    )


def _ends(node: Group) -> bool:
    """Whether the commands leave the script or the function."""
    return any(one.words and one.words[0].text in ("exit", "return", "die", "fail") for one in simples(node.body))


def _constants(written: Iterable[Word], words: Iterable[Arg]) -> list[Arg]:
    """Return the constant parts of words, if what some of these are is not known: they are expanded all the same."""
    if all(word.known for word in words):
        return []
    return [
        arg("".join(part.text if part.kind in ("text", "quoted") else "0" for part in word.parts))
        for word in written
        if word.parts and "[" in word.text
    ]


def _names_any(command: Simple, names: Collection[str]) -> bool:
    """Whether a word of the command names a variable that is assigned for it."""
    return any(part.name.partition("[")[0] in names for word in command.words for part in word.parts or ())
