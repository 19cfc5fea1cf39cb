"""Looking through launchers: from `sudo env A=b timeout 5 rm x` to `rm x`."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from monitors.review.shell.invocation import Arg, Input, Invocation, Setting, arg, program_name
from monitors.review.shell.launchers import LauncherLayout
from monitors.review.shell.shells import SHELLS

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


@dataclass(frozen=True, slots=True)
class LaunchedCommand:
    """The command that a launcher starts: words, or a script for a shell, or a shell without a command."""

    launcher: LauncherLayout
    words: tuple[Arg, ...] = ()
    script: Arg | None = None
    alone: bool = False
    assignments: tuple[tuple[str, Arg], ...] = ()
    inside: str = ""
    directory: Arg | None = None
    """The directory in which it runs, if the launcher is given another one."""


class LauncherBook:
    """Launchers, found by program name; of two for the same words the first counts."""

    def __init__(self, launchers: Iterable[LauncherLayout]) -> None:
        found: dict[str, list[tuple[tuple[str, ...], LauncherLayout]]] = {}
        for launcher in launchers:
            name, *subcommand = launcher.command.split()
            found.setdefault(name, []).append((tuple(subcommand), launcher))
        self._by_name = {
            name: tuple(sorted(entries, key=lambda entry: -len(entry[0]))) for name, entries in found.items()
        }

    def __contains__(self, name: str) -> bool:
        """Whether the program starts others."""
        return name in self._by_name

    def started(self, invocation: Invocation) -> LaunchedCommand | None:
        """Return the command that the invocation starts; None if its program is no launcher, or starts nothing."""
        if invocation.name == "find" or invocation.name in FD:
            return _found(invocation)
        if invocation.args[:1] == ["-m"] and _PYTHON.fullmatch(invocation.name):
            words = invocation.args[1:]
            return LaunchedCommand(_MODULE, words=tuple(words)) if words and words[0] in _MODULES else None
        for subcommand, launcher in self._by_name.get(invocation.name, ()):
            at = _behind(subcommand, invocation.args, launcher)
            if at is not None:
                found = _read(launcher, invocation.args, at, invocation.input)
                if found is not None and launcher.directory:
                    return replace(found, directory=_directory(launcher, invocation.args))
                return found
        return None


def _directory(launcher: LauncherLayout, args: list[Arg]) -> Arg | None:
    """Return the value of the option that names the directory, before the command begins."""
    options, values = launcher.directory.split(), launcher.values.split()
    at = 0
    while at < len(args) and (args[at][:1] == "-" or "=" in args[at] or args[at] in launcher.command.split()):
        word = args[at]
        for option in options:
            if word == option and at + 1 < len(args):
                return args[at + 1]
            if option[:2] == "--" and word.startswith(option + "="):
                return arg(word[len(option) + 1 :], known=word.known)
            if len(option) == 2 and word[:2] == option and len(word) > 2:
                return arg(word[2:], known=word.known)
        at += 2 if word in values else 1
    return None


_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_MODULE = LauncherLayout("python -m")
_MODULES = frozenset({"twine", "flit", "poetry", "hatch", "pip", "uv", "alembic", "pipx", "pdm", "flask", "celery"})
"""Modules that are the program of the same name."""


def _behind(subcommand: tuple[str, ...], args: list[Arg], launcher: LauncherLayout) -> int | None:
    """Return the index of the words after the subcommand, or None if it is another."""
    at = 0
    values = launcher.values.split() if subcommand else ()
    for word in subcommand:
        while at < len(args) and args[at][:1] == "-":
            at += 2 if args[at] in values else 1
        if at >= len(args) or args[at] != word:
            return None
        at += 1
    return at


def _read(launcher: LauncherLayout, args: list[Arg], at: int, stdin: Input) -> LaunchedCommand | None:
    values, codes, unless = launcher.values.split(), launcher.code.split(), launcher.unless.split()
    assignments: list[tuple[str, Arg]] = []
    skip, place = launcher.skip, ""
    dashes, behind = False, launcher.behind.split()
    while at < len(args):
        word = args[at]
        if (word == "--" or word in behind) and not dashes:
            dashes = True
            at += 1
            continue
        if word[:1] == "-" and len(word) > 1 and not dashes:
            if word in unless:
                return None
            code = _code(word, args, at, codes)
            if code is not None:
                return _script(launcher, code, args, at, place)
            at += 2 if word in values else 1
            continue
        if launcher.assigns and _ASSIGNMENT.match(word):
            name, _, value = word.partition("=")
            assignments.append((name, arg(value, known=word.known, source=word.source)))
            at += 1
            continue
        if skip:
            skip -= 1
            place = word
            at += 1
            continue
        if (launcher.dashes or behind) and not dashes:
            at += 1
            continue
        if launcher.code and launcher.elevates and launcher.command == "su":
            at += 1
            continue
        break
    inside = _inside(launcher, place, args[:at])
    words = tuple(args[at:])
    if not words and launcher.alone == "input":
        return LaunchedCommand(launcher, words=(arg("sh"), arg("-s")), inside=inside) if stdin.given else None
    if launcher.command in ("parallel", "sem") and words:
        return _parallel(launcher, words, stdin)
    if not words:
        asked = {"--help", "--version", "-V", "-h"}.intersection(args)
        opens = launcher.alone == "shell" or not set(launcher.alone.split()).isdisjoint(args)
        return LaunchedCommand(launcher, alone=True, inside=inside) if opens and not asked else None
    if launcher.joined and len(words) > 1 and launcher.command == "hyperfine":
        return LaunchedCommand(launcher, words=words, assignments=tuple(assignments), inside=inside)
    if launcher.joined or _is_line(words[0]):
        return LaunchedCommand(launcher, script=_joined(words), assignments=tuple(assignments), inside=inside)
    return LaunchedCommand(launcher, words=words, assignments=tuple(assignments), inside=inside)


def _inside(launcher: LauncherLayout, place: str, before: list[Arg]) -> str:
    """Return the surroundings of the command: their kind, their name, and the options that say where they are."""
    if not launcher.inside:
        return ""
    named, options = [launcher.inside, place], launcher.where.split()
    for word, after in zip(before, [*before[1:], arg("")], strict=True) if options else ():
        option, equals, _ = word.partition("=")
        if option in options:
            named += [word] if equals else [word, after]
    return " ".join(filter(None, named))


def _is_line(word: Arg) -> bool:
    """Whether a word where a program belongs is a line for a shell: no program has a blank in its name, but a path."""
    return word.known and " " in word.strip() and "/" not in word.strip().partition(" ")[0]


_MARKS = frozenset({":::", "::::", ":::+", "::::+"})
"""Marks before the words that GNU parallel distributes."""


MAX_LINES = 50
"""Most lines of its input that GNU parallel is taken to distribute; if there are more, an unknown word is added."""
_HOLE = re.compile(r"\{[./]*\}")


def _parallel(launcher: LauncherLayout, words: tuple[Arg, ...], stdin: Input) -> LaunchedCommand:
    """The command of GNU parallel with all that it hands out at once: a superset of each of its runs."""
    at = next((index for index, word in enumerate(words) if word in _MARKS), len(words))
    command, given = words[:at], [word for word in words[at:] if word not in _MARKS]
    if not command:
        return LaunchedCommand(launcher, script=arg("\n".join(given), known=all(word.known for word in given)))
    if not given:
        lines = (stdin.text or "").replace("\0", "\n").splitlines() if stdin.known else []
        given = [arg(line) for line in lines[:MAX_LINES]]
        if not lines or len(lines) > MAX_LINES:
            given.append(arg("$PIPED", known=False, source=stdin.source))
    if not any("{" in word for word in command):
        command = (*command, *given)
    elif at > 1 and program_name(command[0]) not in SHELLS and "{}" in command:
        command = tuple(one for word in command for one in (given if word == "{}" else [word]))
    else:
        text = ("\n" if at > 1 else " ").join(given)
        known = all(word.known for word in given)
        command = tuple(
            arg(_HOLE.sub(lambda _: text, word), known=word.known and known, glob=word.glob) for word in command
        )
    return LaunchedCommand(launcher, script=_joined(command)) if at == 1 else LaunchedCommand(launcher, words=command)


def _code(word: Arg, args: list[Arg], at: int, codes: list[str]) -> Arg | None:
    for option in codes:
        if word == option:
            return args[at + 1] if at + 1 < len(args) else None
        if option[:2] == "--" and word.startswith(option + "="):
            return arg(word[len(option) + 1 :], known=word.known, source=word.source)
        if len(option) == 2 and word[:2] == option and len(word) > 2:
            return arg(word[2:], known=word.known, source=word.source)
        if len(option) == 2 and word[:2] != "--" and word[-1] == option[1] and len(word) > 2:
            return args[at + 1] if at + 1 < len(args) else None
    return None


def _script(launcher: LauncherLayout, code: Arg, args: list[Arg], at: int, place: str) -> LaunchedCommand:
    inside = _inside(launcher, place, args[:at])
    if launcher.command == "env":
        attached = args[at] not in ("-S", "--split-string") and args[at][-1:] != "S"
        rest = " ".join(args[at + (1 if attached else 2) :])
        code = arg(f"{code} {rest}".strip(), known=code.known, source=code.source)
    return LaunchedCommand(launcher, script=code, inside=inside)


def _joined(words: tuple[Arg, ...]) -> Arg:
    return arg(
        " ".join(words), known=all(word.known for word in words), source=tuple(s for word in words for s in word.source)
    )


FD = frozenset({"fd", "fdfind"})
"""fd by its own name, and by that of Debian."""
_FD_VALUES = frozenset({
    "-e", "--extension", "-t", "--type", "-E", "--exclude", "-d", "--max-depth", "--min-depth", "--exact-depth", "-S",
    "--size", "-o", "--owner", "-c", "--color", "-j", "--threads", "--changed-within", "--changed-before", "--newer",
    "--older", "--max-results", "--format", "--and", "--batch-size",
})  # fmt: skip
"""Options of fd that take a value of their own."""
_FD_SELECTS = frozenset({"-e", "--extension", "-t", "--type", "-S", "--size", "--changed-within", "--changed-before"})
EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-x", "--exec", "-X", "--exec-batch"})
"""Options of find and fd behind which the command stands that they start."""


def _found(invocation: Invocation) -> LaunchedCommand | None:
    """The command of `find -exec` and `fd -x`; several of them become one script."""
    scripts: list[tuple[Arg, ...]] = []
    words: list[Arg] | None = None
    beside = True
    for word in invocation.args:
        if words is None:
            if word in EXEC and (invocation.name in FD or word[1] != "-"):
                words = []
                beside = beside and word in ("-execdir", "-okdir")
        elif word in (";", "\\;") or (word == "+" and words and words[-1] == "{}"):
            scripts.append(tuple(words))
            words = None
        else:
            words.append(word)
    if words:
        scripts.append(tuple(words))
    if not scripts:
        return None
    if invocation.name in FD:  # which hands over what it found where no place is named for it
        scripts = [words if any("{" in word for word in words) else (*words, arg("{}")) for words in scripts]
    scripts = [tuple(_placed(word, invocation) for word in words) for words in scripts]
    root = roots(invocation)[0] if beside else None
    folder = root and arg(root.rstrip("/") + "/{}", known=root.known, glob=True)  # of each file, below where it looks
    return (
        LaunchedCommand(_FIND, words=scripts[0], directory=folder)
        if len(scripts) == 1
        else LaunchedCommand(_FIND, script=_several(scripts), directory=folder)
    )


_FIND = LauncherLayout("find")
_SELECTS = re.compile(
    r"-(?:i?name|i?path|i?regex|i?wholename|size|[acm](?:time|min)|[ac]?newer\w*|empty|perm|user|group|links|inum|i?lname|mindepth|maxdepth|not|nouser|nogroup)\Z|!\Z"
)


def roots(invocation: Invocation) -> list[Arg]:
    """Return the paths at which a `find` begins."""
    found: list[Arg] = []
    for word in invocation.args:
        if word[:1] in "-(!" and word not in ("-H", "-L", "-P", "-d"):
            break
        if word[:1] != "-":
            found.append(word)
    return found or [arg(".")]


def selects(invocation: Invocation) -> bool:
    """Whether a `find` looks for something in particular, or takes all there is."""
    return any(_SELECTS.match(word) for word in invocation.args)


def _placed(word: Arg, invocation: Invocation) -> Arg:
    """`{}` as a path: what was found, below where `find` looks."""
    if "{}" not in word:
        return word
    if invocation.name in FD:
        root, selected = _fd_root(invocation)
    else:
        root, selected = roots(invocation)[0], selects(invocation) or "-type" in invocation.args
    below = found_below(root, invocation) if selected and invocation.name not in FD else root
    below = root.rstrip("/") + "/{}" if selected and invocation.name in FD else below
    return arg(word.replace("{}", below), known=root.known, glob=True)


def found_below(root: str, invocation: Invocation) -> str:
    """Return what a `find` finds below a path, as a path: with the name that it looks for, if it is one."""
    names = sought(invocation)
    named = f"/{names[0]}" if len(names) == 1 and "/" not in names[0] else ""
    return f"{root.rstrip('/')}/{{}}{named}"


def sought(invocation: Invocation) -> list[Arg]:
    """Return the patterns of names that a `find` looks for, but for those that mean all."""
    args = invocation.args
    return [
        args[at + 1]
        for at, word in enumerate(args[:-1])
        if word in ("-name", "-iname") and args[at + 1].strip("*") and args[at - 1 : at] not in (["!"], ["-not"])
    ]


def _names_files(source: Invocation) -> bool:
    """Whether a search within files, or git, prints names below its working directory."""
    if source.name == "git":
        return bool(source.args) and _LISTS.match(source.args[0]) is not None
    return source.name in ("grep", "rg", "egrep") and any(_NAMES_FILES.match(word) for word in source.args)


_GIVES_PATTERN = frozenset({"-e", "-f", "--regexp", "--file", "--files"})
"""Options of a search within files with which its first word is no pattern."""
_LISTS = re.compile(r"(?:ls-files|ls-tree|diff|status)\Z")
"""Subcommands of git that name files below the working directory."""


_FINDERS: Mapping[str, tuple[str, ...]] = {
    "gfind": (), "bfs": (), "lfs": ("find",), "beegfs-ctl": ("--find",), "mfs": ("find",), "hdfs": ("dfs", "-find"), "hadoop": ("fs", "-find"),
}  # fmt: skip
"""Programs that search as `find` does, with the subcommand behind which its words stand."""


def _as_find(source: Invocation) -> Invocation:
    """Return a search of another file system as the same said to `find`."""
    subcommand = _FINDERS.get(source.name)
    if subcommand is None or tuple(source.args[: len(subcommand)]) != subcommand:
        return source
    return Invocation(arg("find"), source.args[len(subcommand) :], Setting(source.cwd))


def listed(sources: Iterable[Invocation]) -> Iterator[Arg]:
    """Yield the possible output of a search among the commands, as a path: `~/src/{}` for `find ~/src -name x`."""
    for source in map(_as_find, sources):
        if source.name == "find":
            yield from (arg(found_below(root, source), known=root.known, glob=True) for root in roots(source))
        elif source.name == "ls":
            named = [word for word in source.args if word[:1] != "-"] or [arg(".")]
            yield from (arg(word.rstrip("/") + "/{}", known=word.known, glob=True) for word in named)
        elif _names_files(source):
            named = [word for word in source.args if word[:1] != "-"]
            pattern = source.name != "git" and not _GIVES_PATTERN.intersection(source.args)
            named = [word for word in named[pattern:] if word.known and word[:1] in ("~", "/")]
            yield from (arg(word.rstrip("/") + "/{}", glob=True) for word in named or (arg("."),))
        elif source.name in FD:
            root, _ = _fd_root(source)
            yield arg(root.rstrip("/") + "/{}", known=root.known, glob=True)


_NAMES_FILES = re.compile(r"-(?=[a-zA-Z]*?[lL])[a-zA-Z]++\Z|--files(?:-with-matches|-without-match)?\Z")
"""Options with which a search prints the names of files."""


def _fd_root(invocation: Invocation) -> tuple[Arg, bool]:
    """Return the path at which an `fd` begins, and whether it has a pattern."""
    operands: list[Arg] = []
    root: Arg | None = None
    words = iter(invocation.args)
    for word in words:
        if word in EXEC:
            next((one for one in words if one in (";", "\\;")), None)
        elif word in ("--search-path", "--base-directory", "-C"):
            root = next(words, root)
        elif word in _FD_VALUES:
            next(words, None)
        elif word[:1] != "-":
            operands.append(word)
    pattern, paths = operands[:1], operands[1:]
    selected = pattern not in ([], ["."], ["*"], [""]) or not _FD_SELECTS.isdisjoint(invocation.args)
    return (paths[0] if paths else root or arg(".")), selected


def _several(scripts: list[tuple[Arg, ...]]) -> Arg:
    lines = ["'" + "' '".join(word.replace("'", "'\\''") for word in words) + "'" for words in scripts]
    return arg("\n".join(lines), known=all(word.known for words in scripts for word in words))
