"""Effects of commands on those after them: files that they write, copy and link, and what builtins do to the shell."""

import re
from collections.abc import Callable, Iterable
from itertools import chain

from monitors.review.shell.expand import MAX_FIELDS, limited
from monitors.review.shell.invocation import Arg, Invocation, Output, Redirection, arg, program_name
from monitors.review.shell.shells import positional
from monitors.review.shell.state.bounds import MAX_SOURCES
from monitors.review.shell.state.copying import (
    FETCHERS,
    STDIN,
    UNPACKERS,
    bound,
    copied,
    edited,
    fetched,
    folder_of,
    inserted,
    linking,
    patches,
)
from monitors.review.shell.state.input_words import (
    MAX_PIPED,
    MAX_TAKEN,
    option_values,
    read_options,
    read_values,
    read_word,
)
from monitors.review.shell.state.overlay import Overlay
from monitors.review.shell.state.shell_state import ShellState
from monitors.review.shell.state.texts import Texts

Written = Callable[[Invocation], Iterable[Arg]]
"""Names the files that an invocation writes by an option, or under the name of what it downloads."""

_STACK = "DIRSTACK"
_MAPFILE_TAKING = frozenset({"-d", "-n", "-O", "-s", "-u", "-C", "-c"})
"""Options of `mapfile` whose value is the next word."""
_NO_OPTION = re.compile(r"-t*[^dnOsuCct-]")
"""A word with which `mapfile` fails, so that its variable stays as it was."""


class Effects:
    """Applies what a command leaves to the state of the shell and to the files.

    Args:
        state: The shell's state.
        overlay: The files.
        texts: Finds what commands print and read.
        written: Names files that an invocation writes.
    """

    def __init__(self, state: ShellState, overlay: Overlay, texts: Texts, written: Written) -> None:
        self._state = state
        self._overlay = overlay
        self._texts = texts
        self._written = written
        self._copies: dict[str, str] = {}

    # ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def name_behind(self, program: Arg) -> str | None:
        """Return the name of the program of which this path is a copy that the script made."""
        return self._copies.get(self._state.path(program)) if self._copies and program else None

    def descriptors(self, redirects: list[Redirection]) -> None:
        """Remember the files that `exec 3<file` leaves open."""
        for redirect in redirects:
            if redirect.fd.isdigit() and redirect.target.known and not redirect.target.isdigit():
                self._overlay.link(f"/dev/fd/{redirect.fd}", self._state.path(redirect.target))
            elif redirect.fd.isdigit() and redirect.target.source:
                self._overlay.write(f"/dev/fd/{redirect.fd}", None, redirect.target.source)

    def kept(self, output: Output, redirects: list[Redirection]) -> Output:
        """Remember what goes to a file; what is left for the pipe is the rest."""
        for redirect in redirects:
            if redirect.fd in ("", "1") and (redirect.target.known or redirect.writes):
                if redirect.writes:
                    path, appends = self._state.path(redirect.target), ">>" in redirect.operator
                    self._overlay.write(path, *output, appends=appends)
                    return "", ()
                if redirect.operator == ">&":
                    self._overlay.write(f"/dev/fd/{redirect.target}", *output, appends=True)
                    if redirect.target == "2":
                        return "", ()
        return output

    def printed(self, invocation: Invocation) -> Output:
        """Return what the invocation prints, and note which files it writes."""
        sources = [invocation, *invocation.input.source]
        for word in invocation.args:
            sources += word.source
        if self._overlay:
            named = (word for word in invocation.args[:MAX_PIPED] if word.known and word[:1] != "-")
            sources += [one for word in named for one in self._overlay.sources(self._state.path(word))]
        source = tuple(dict.fromkeys(sources))[:MAX_SOURCES]
        for word in self._written(invocation):
            if word.known or "$" in word:
                self._overlay.write(self._state.path(word), None, source)
        self._filled(invocation, source)
        return self._texts.printed(invocation), source

    def _filled(self, invocation: Invocation, source: tuple[Invocation, ...]) -> None:
        """Note what copies, links, unpacks and hands on."""
        name, path = invocation.name, self._state.path
        if name in ("cp", "mv", "install", "ln", "link"):
            links = linking(invocation)
            for made, given in copied(invocation):
                self._copied(invocation, made, given, links=links)
        elif name in ("rm", "rmdir", "unlink"):
            for word in invocation.args[:MAX_PIPED]:
                self._overlay.remove(path(word))
        elif name == "tee":
            appends = "-a" in invocation.args or "--append" in invocation.args
            for word in invocation.args:
                if word[:1] != "-" and word.known:
                    self._overlay.write(path(word), invocation.input.text, source, appends=appends)
        elif name == "dd":
            named = dict(word.partition("=")[::2] for word in invocation.args)
            if named.get("of") and named.get("if"):
                self._overlay.copy(path(named["if"]), path(named["of"]))
            elif named.get("of"):
                self._overlay.write(path(named["of"]), invocation.input.text, source)
        elif name in ("sed", "gsed") and (lines := inserted(invocation)):
            for word in edited(invocation):
                text = self._overlay.text(path(word)) or ""
                self._overlay.write(path(word), "\n".join((text, *lines, "")), (invocation,))
        elif name in UNPACKERS and len(source) > 1:
            self._overlay.unpack(path(folder_of(invocation)), source)
        elif name in ("patch", "git") and patches(invocation, source):
            self._overlay.patch(path(folder_of(invocation)), source)
        elif name in FETCHERS and (into := fetched(invocation)) is not None and into.known:
            self._overlay.unpack(path(into), source)
        elif name == "mount" and (bind := bound(invocation)) is not None:
            self._overlay.link(path(bind[1]), path(bind[0]))

    def _copied(self, invocation: Invocation, made: Arg, given: Arg, *, links: str) -> None:
        path = self._state.path
        if made.known and given.source and not given.known and not links:
            self._overlay.write(path(made), None, given.source)
        if not (made.known and given.known):
            return
        if given in STDIN:
            self._overlay.write(path(made), invocation.input.text, invocation.input.source)
            return
        if given[:1] == "/":
            self._copies[path(made)] = program_name(given)
        if links:
            target = str(given) if given[:1] != "~" and links != "hard" else path(given)
            self._overlay.link(path(made), target)  # by a hard link, what is written to one is in the other
            return
        self._overlay.copy(path(given), path(made))

    # ── the shell's own commands ──────────────────────────────────────────────────────────────────────────────────

    def builtin(self, invocation: Invocation) -> Iterable[Arg]:
        """Apply what a command of the shell does to the directory, the variables and the aliases.

        Returns:
            What it takes from elsewhere into variables.
        """
        state, name, args = self._state, invocation.name, invocation.args
        if name in ("cd", "pushd"):
            named = [word for word in args if word[:1] != "-"]
            target = named[0] if named else state.variables.get("HOME", [arg("~")])[0]
            if args[:1] == ["-"] and name == "cd":
                target = state.variables.get("OLDPWD", [arg("?", known=False)])[0]
            if name == "pushd":
                state.variables[_STACK] = [*state.variables.get(_STACK, []), arg(state.cwd)][-MAX_FIELDS:]
            known = target.known and (args[:1] != ["-"] or name == "cd")
            state.move(self._listed(invocation, target) if known else "?", target if known else "/")
        elif name == "popd":
            stack = state.variables.get(_STACK, [])
            if stack or args:  # else it fails, and stays
                state.move("?" if args else str(stack[-1]))
                state.variables[_STACK] = stack[:-1]
        elif name == "unset":
            for word in args:
                state.remove(word)
        elif name == "set":
            words = positional(args)
            if words is not None:
                state.set_parameters(words)
        elif name == "shift":
            count = args[1:2] if args[:1] == ["--"] else args[:1]
            if not count or not count[0].known or count[0].isdecimal():
                state.shift(int(count[0][:4]) if count and count[0].known else None if count else 1)
        elif name == "read":
            options = read_options(args)
            given = invocation.input
            if options.descriptor:
                given = self._texts.opened(Redirection("<&", "0", options.descriptor))
            own = invocation.assignments.get("IFS")
            separators = state.variables.get("IFS", []) if own is None else [own]
            taken = read_values(options, given, separators)
            state.assign(taken, in_turn=True)
            cut = (
                [read_word(given.text, given)]
                if given.text and any(len(one) > MAX_TAKEN for one in taken.values())
                else []
            )
            return chain(cut, *taken.values())
        elif name == "getopts":
            state.assign(option_values(args, state.variables.get("@")), in_turn=True)
        elif name in ("mapfile", "readarray"):
            named = invocation.operands(_MAPFILE_TAKING)
            into = str(named[0]) if named else "MAPFILE"
            lines = [
                read_word(line, invocation.input)
                for line in (invocation.input.text or "").splitlines()[: MAX_FIELDS + 1]
            ]
            if into.isidentifier() and not any(_NO_OPTION.match(word) for word in invocation.options()):
                state.assign({into: limited(lines) or [_unknown(into, invocation)]})
                return lines
        elif name == "printf" and args and args[0][:2] == "-v":
            into, words = (args[0][2:], args[1:]) if len(args[0]) > 2 else ("".join(args[1:2]), args[2:])
            if into.partition("[")[0].isidentifier():
                text = self._texts.printed(Invocation(invocation.program, words))
                state.assign({into: [arg(f"${into}", known=False) if text is None else arg(text)]})
        elif name == "hash" and args[:1] == ["-p"] and len(args) > 2:
            state.aliases[args[2]] = [args[1]]
        return ()

    def _listed(self, invocation: Invocation, target: Arg) -> str:
        """Return where `cd` goes: below the first directory of `CDPATH` that is not where it is."""
        held = self._state.variables.get("CDPATH", [])
        listed = invocation.assignments.get("CDPATH", held[0] if held else arg(""))
        if listed and target[:1] not in "/~." and invocation.name == "cd":
            folder = next((one for one in listed.split(":") if one not in ("", ".")), ".")
            return self._state.path(f"{folder}/{target}")
        return self._state.path(target)


def _unknown(name: str, invocation: Invocation) -> Arg:
    """A variable that is filled with what the commands before it print."""
    return arg(f"${name}", known=False, source=invocation.input.source)
