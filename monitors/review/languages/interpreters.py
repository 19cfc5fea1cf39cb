"""The code given to an interpreter: in an option, on its input, in a known file."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from monitors.contract.expressions import later, sought
from monitors.review.languages.code import others, payments, python
from monitors.review.languages.code.loops import starts_itself
from monitors.review.languages.code.uses import MAX_CODE, WHOLE_ENVIRONMENT, Uses, bounded
from monitors.review.languages.compilers import compiled_uses
from monitors.review.languages.project.projects import module_uses, project_uses
from monitors.review.shell.invocation import Arg, Invocation


@dataclass(frozen=True, slots=True)
class Interpreter:
    """How an interpreter takes its code."""

    names: str
    code: str = "-e"
    """Options whose value is code."""
    values: str = ""
    """Other options that take a value."""
    first: bool = False
    """Whether the first operand is code, as with `awk`."""
    every: bool = False
    """Whether operands are all looked at as code."""
    file: str = ""
    """Options whose value is a file of code, also beside operands that are none."""


INTERPRETERS = (
    Interpreter("python python2 python3 pypy pypy3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14 ipython bpython sage", "-c", "-m -W -X"),
    Interpreter("perl perl5", "-e -E -ne -pe -le -lne -nle -lpe -pie -i.bak", "-I -M -m"),
    Interpreter("ruby jruby irb", "-e -ne -pe", "-I -r -C"),
    Interpreter("node nodejs bun deno ts-node tsx esno jiti vite-node", "-e -p --eval --print -pe eval", "-r --require --import"),
    Interpreter("php php7 php8", "-r -B -R -E", "-d -c -S -t -z", file="-f"),
    Interpreter("lua luajit lua5.1 lua5.3 lua5.4 texlua", "-e", "-l"),
    Interpreter("r rscript", "-e", file="-f"),
    Interpreter("julia", "-e -E --eval --print", "-J -t -p -L"),
    Interpreter("jrunscript jjs", "-e -f"),
    Interpreter("groovy scala kotlin swift crystal elixir iex raku guile racket ocaml bb clojure clj", "-e --eval -c eval"),
    Interpreter("erl", "-eval"),
    Interpreter("octave octave-cli matlab", "--eval -r"),
    Interpreter("clisp", "-x"),
    Interpreter("sbcl ecl", "--eval"),
    Interpreter("ghc runghc runhaskell ghci", "-e"),
    Interpreter("jshell", "", "--class-path -c --feedback -C -R -J --module-path --startup"),
    Interpreter("coffee ts-node-esm", "-e --eval"),
    Interpreter("expect", "-c"),
    Interpreter("osascript", "-e"),
    Interpreter("emacs", "--eval -eval"),
    Interpreter("awk gawk mawk nawk", "-e --source", "-F -v", first=True, file="-f --file"),
    Interpreter("gnuplot", "-e"),
    Interpreter("tclsh wish", ""),
    Interpreter("sqlite3", "", every=True),
    Interpreter("bpftrace", "-e"),
    Interpreter("puppet", "-e --execute"),
    Interpreter("django-admin", "-c --command"),
    Interpreter("manage.py", "-c --command"),
)  # fmt: skip

_SUBSTITUTES = re.compile(r"s([^\w\s\\])((?:(?!\1)[^\\]|\\.){0,2000}+)\1((?:(?!\1)[^\\]|\\.){0,2000}+)\1[0-9gpiImM]{0,9}e", re.DOTALL)  # fmt: skip
_SETS_PROGRAM = re.compile(
    r"[\w.\"'-]{0,200}\b(?:alias|runner|rustc-wrapper|rustc-workspace-wrapper|rustc|rustdoc|linker|credential-provider)\b[\w.-]{0,80}\s?=\s?(.{1,2000})",
    re.DOTALL,
)


def _of_sed(word: Arg) -> Iterator[str]:
    """Yield the commands that a script of sed runs: what replaces a text, by the flag `e`."""
    yield from (re.sub(r"\\(.)", r"\1", found[3]) for found in _SUBSTITUTES.finditer(word) if found[3].strip())


def _of_cargo(word: Arg) -> Iterator[str]:
    """Yield the programs that a setting of cargo names: `--config 'target.x.runner="sh -c ls"'`."""
    found = _SETS_PROGRAM.fullmatch(word.removeprefix("--config="))
    if found is not None:
        texts = re.findall(r"\"((?:[^\"\\]|\\.){1,1000})\"|'([^']{1,1000})'", found[1])
        yield " ".join((one or other).replace('\\"', '"') for one, other in texts) or found[1]


def _of_keys(word: Arg) -> Iterator[str]:
    """Yield the command that bash is told to run at a key."""
    _, colon, command = word.partition('":')
    if colon:
        yield command.strip().strip('"')


_TOLD: Mapping[str, Callable[[Arg], Iterator[str]]] = {
    "sed": _of_sed, "gsed": _of_sed, "ssed": _of_sed, "cargo": _of_cargo, "bind": _of_keys,
}  # fmt: skip
"""Programs with one word in which a command may stand, and how it is found."""
_BY_NAME = {name: interpreter for interpreter in INTERPRETERS for name in interpreter.names.split()}


def is_interpreter(name: str) -> bool:
    """Whether a program of this name runs code of a language that is read."""
    return name in _BY_NAME


_COMMAND_LINES = {
    **dict.fromkeys(("tclsh", "wish", "expect"), later(r"(?:^|[;\n{\[])\s{0,40}exec\s+(?:-\w+\s+){0,4}([^;\n}\]]{1,500})")),
    **dict.fromkeys(("ipython", "bpython", "sage"), later(r"^\s{0,40}!{1,2}([^\n]{1,500})", re.MULTILINE)),
    **dict.fromkeys(("ghci", "ghc", "runghc"), later(r"^\s{0,40}:!([^\n]{1,500})", re.MULTILINE)),
}  # fmt: skip
"""Commands that need neither quotes nor brackets in these languages."""
_PYTHON = frozenset(INTERPRETERS[0].names.split())
Files = Callable[[Invocation, str], str | None]
"""The text of a file that an invocation names, if it is known."""


def code_uses(invocation: Invocation, files: Files, own: Files = lambda _invocation, _name: None) -> Uses | None:
    """Return the effects of the code given to an interpreter; None if there is none, or it is not known.

    Args:
        invocation: The interpreter.
        files: The text of a file, if it is known.
        own: The same of a file that the action itself has written.
    """
    if invocation.name in _ESCAPES:
        return project_uses(invocation, files) or _escapes(invocation)
    if invocation.name in _TOLD:
        scripts = [script for word in invocation.args[:40] for script in _TOLD[invocation.name](word)]
        if scripts:
            return Uses(scripts=scripts, runs=True)
    if given := _given_to_framework(invocation):
        language, code_text = given
        read = python.uses_of(code_text, []) if language == "python" else None
        return _by_text(read or others.uses_of(code_text), code_text)
    project = project_uses(invocation, files)
    if project is not None:
        return project
    interpreter = _BY_NAME.get(invocation.name)
    if interpreter is None:
        return compiled_uses(invocation, own)
    code = _code(invocation, interpreter, files)
    if not code:
        if invocation.name in _PYTHON and "-m" in invocation.args:
            return _timed(invocation) or module_uses(invocation, files)
        return None
    text = "\n".join(code)
    found = (
        python.uses_of(text[:MAX_CODE], _argv(invocation, code[0]))
        if invocation.name in _PYTHON and len(text) <= MAX_CODE
        else None
    ) or others.uses_of(text[:MAX_CODE])
    found.scripts += (
        [match[1] for match in _COMMAND_LINES[invocation.name].finditer(text[:MAX_CODE])]
        if invocation.name in _COMMAND_LINES
        else []
    )
    _by_text(found, text)
    bounded(found, text)
    return found


_FRAMEWORKS: Mapping[str, tuple[str, frozenset[str], frozenset[str]]] = {
    "rails": ("ruby", frozenset({"runner", "r", "console", "c"}), frozenset()),
    "hanami": ("ruby", frozenset({"console", "runner"}), frozenset()),
    "artisan": ("php", frozenset({"tinker"}), frozenset({"--execute"})),
    "wp": ("php", frozenset({"eval"}), frozenset()),
    "drush": ("php", frozenset({"php:eval", "ev", "php-eval", "eval"}), frozenset()),
    "manage.py": ("python", frozenset({"shell", "shell_plus"}), frozenset({"-c", "--command"})),
    "django-admin": ("python", frozenset({"shell"}), frozenset({"-c", "--command"})),
    "flask": ("python", frozenset({"shell"}), frozenset()),
    "mix": ("elixir", frozenset({"run", "eval"}), frozenset({"-e", "--eval"})),
}
"""Programs of frameworks by which code runs in an application: its language, subcommands, options before it."""


def _given_to_framework(invocation: Invocation) -> tuple[str, str] | None:
    """Return the language and the text of code that a framework's own program is given; None if it is given none."""
    name, words = invocation.name, invocation.args
    if name in ("php", "python", "python3", "ruby") and words and words[0].rpartition("/")[2] in _FRAMEWORKS:
        name, words = words[0].rpartition("/")[2], words[1:]
    layout = _FRAMEWORKS.get(name)
    if layout is None or not words or words[0] not in layout[1]:
        return None
    language, _, options = layout
    for before, word in pairwise(words):
        option, equals, value = word.partition("=")
        if equals and option in options:
            return language, value[:MAX_CODE]
        if word.known and (before in options or (not options and before[:1] != "-" and re.search(r"[\s(&;=]", word))):
            return language, word[:MAX_CODE]
    fed = invocation.input.text
    return (language, fed[:MAX_CODE]) if fed else None


def _by_text(found: Uses, text: str) -> Uses:
    """Note what the text of code shows whatever its language is."""
    found.leaks = found.sends and WHOLE_ENVIRONMENT.search(text[:MAX_CODE]) is not None
    if _ENDS_ALL.search(text[:MAX_CODE]) and not _PICKED.search(text[:MAX_CODE]):
        found.scripts.append("kill -9 -1")
    if _ENDS_ONE.search(text[:MAX_CODE]) and _SEEKS.search(text[:MAX_CODE]) and _NAMES_GUARD.search(text[:MAX_CODE]):
        found.scripts.append("pkill -f chaperon")
    if payments.moves_money(text):
        found.scripts.append("stripe refunds create --live")
    found.writes_to_many = found.writes_to_many or payments.writes_to_many(text)
    found.listens = found.listens or (found.runs and _OPEN_TO_ALL.search(text[:MAX_CODE]) is not None)
    found.bomb = found.bomb or starts_itself(text)
    return found


_ENDS_ALL = sought(
    r"(?:process_iter|\bpids)\([^()]{0,200}\)[^\0]{0,600}?\.(?:kill|terminate|suspend|send_signal)\(",
    "process_iter pids",
)
"""A loop of psutil over all processes, which ends them."""
_PICKED = re.compile(
    r"\.(?:name|cmdline|exe|cwd|create_time|username|environ|parent|ppid)\(|info\[[\"'](?:name|cmdline|exe|cwd|create_time|environ|ppid)|info\.get\([\"'](?:name|cmdline|exe|cwd)|\.children\("
)
"""Questions by which processes are picked that are known; by its size a process may be of any user."""
_ENDS_ONE = sought(
    r"\bos\.kill(?:pg)?\b|\.(?:kill|terminate|send_signal|suspend|Signal)\(|\b[Pp]rocess\.kill\b|\bposix_kill\b|\bsyscall\.Kill\b|\bkill\s{0,3}\(?\s{0,3}[\"']?-?(?:9|15|19|KILL|TERM|STOP|SIG[A-Z]{3,4})\b",
    "kill terminate send_signal suspend Signal syscall.Kill",
)
_SEEKS = re.compile(r"/proc\b|\b(?:pgrep|pidof|psutil|tasklist|process_iter|ps-list|find-process)\b|\bps\s{1,3}-?[a-z]")
_NAMES_GUARD = re.compile(
    r"(?:\[c\]|\bc)hap(?:e|er|ero|eron)?\b|\bsupervisor[./]runtime\b|[\"']claude[\"']", re.IGNORECASE
)
"""Code that ends a process, that looks through all of them, and that names the guard: together it seeks and ends it."""
_OPEN_TO_ALL = sought(r"(?:host\s{0,3}=\s{0,3}|\.run\(\s{0,3})[\"']0\.0\.0\.0[\"']", "host .run(")
"""How frameworks of Python are told to serve everybody."""


def _timed(invocation: Invocation) -> Uses | None:
    """Return the effects of statements that a module of Python is given to run; None if it is given none."""
    at = next(index for index, word in enumerate(invocation.args) if word == "-m")
    if invocation.args[at + 1 : at + 2] != ["timeit"]:
        return None
    words = invocation.args[at + 2 :]
    text = "\n".join(word for word in words if word[:1] != "-" and not word.isdigit())[:MAX_CODE]
    found = python.uses_of(text, []) or others.uses_of(text)
    bounded(found, text)
    return found


def unknown_uses(invocation: Invocation) -> Uses | None:
    """Return the effects of code in an option of a program that is not known; None if there is none.

    What evaluates a text calls it so: of the options that many interpreters share, and of those that name a command, a
    value that looks like code or like a command counts.
    """
    texts = list(_shared_options(invocation.args[:40]))
    code = "\n".join(texts)
    runs = ONLY_JUDGE.isdisjoint(invocation.args[:2])
    lines = [text for text in texts if runs and _LIKE_COMMAND.match(text) and len(text) <= MAX_CODE]
    if not lines and not _LIKE_CODE.search(code):
        return None
    uses = others.uses_of(code[:MAX_CODE])
    scripts = [*uses.scripts, *(match[1] for match in _NOTEBOOK_LINE.finditer(code[:MAX_CODE])), *lines]
    found = Uses(scripts=scripts, deletes=uses.deletes, hidden=uses.hidden, runs=bool(scripts))
    bounded(found, code)
    return found if found.scripts or found.deletes or found.hidden or found.cut else None


_EVALUATES = frozenset({"-e", "-E", "-c", "-g", "-x", "-r", "eval", "-eval", "--eval", "--evaluate", "--exec", "--execute", "--expr", "--expression", "--code", "--batch-string", "--run", "--script-text"})  # fmt: skip
"""Options, and a subcommand, behind which code stands."""
COMMANDED = re.compile(
    r"--?(?:[a-z]{1,20}-){0,3}(?:eval|exec|execute|commands?|cmd|hook|scripts?|shell|pager|editor|runner|wrapper)\Z"
    r"|--?on-?[a-z-]{3,30}\Z|--?(?:before|after|pre|post|prepare|setup|teardown|cleanup|conclude|notify|run)\Z"
)
"""Options behind which programs of all kinds are told a command."""
ONLY_JUDGE = frozenset({"preflight", "check", "validate", "explain", "lint", "parse", "review", "simulate", "classify", "analyze", "scan"})  # fmt: skip
"""Subcommands of programs that are given a command to judge it."""
_LIKE_COMMAND = re.compile(
    r"(?!\s{0,20}(?i:select|insert|update|delete|drop|create|alter|truncate|with|show)\s)\s{0,20}[\w./~$-]{1,80}\s+[^\s=(]"
)
"""Words in a row that are no statement of SQL."""
_LIKE_CODE = later(r"[\w)\]\"'>]\s{0,3}[(\[{.]|\(\s{0,3}[\w.:/-]{1,40}\s|[\"'`]|^\s{0,20}[!:]", re.MULTILINE)
_NOTEBOOK_LINE = later(r"^\s{0,40}[!%]{1,2}\s{0,9}([^\n]{1,1000})", re.MULTILINE)


def _shared_options(args: list[Arg]) -> Iterator[str]:
    for at, word in enumerate(args):
        option, equals, value = word.partition("=")
        if word in _EVALUATES or (word[:1] == "-" and COMMANDED.match(word)):
            yield from (str(one) for one in args[at + 1 : at + 2])
        elif equals and word[:2] == "--" and (option in _EVALUATES or COMMANDED.match(option)):
            yield value


def _argv(invocation: Invocation, code: str) -> list[str | None]:
    """Return the words that the code is given: those behind it, or behind the file that it stands in."""
    args = invocation.args
    at = next((index for index, word in enumerate(args) if word is code or word == code), None)
    if at is None:
        at = next((index for index, word in enumerate(args) if word[:1] != "-" or word == "-"), len(args))
    return [str(word) if word.known else None for word in args[at + 1 : at + 30]]


_ESCAPES = frozenset({"ed", "red", "ex", "vi", "vim", "nvim", "view", "ftp", "sftp", "psftp", "ncftp", "lftp", "telnet", "mail", "mailx", "gnuplot", "smbclient", "tasksh", "gdb"})  # fmt: skip
"""Programs that run a line of their input as a shell command where it begins with an exclamation mark."""


def _escapes(invocation: Invocation) -> Uses | None:
    said = [_VI_HOME.sub(_home, one) for one in _typed(invocation.args)] if invocation.name in _EDITORS else []
    text = "\n".join([*said, invocation.input.text or ""])
    lines = text[:MAX_CODE].splitlines()
    scripts = [line.lstrip(": ")[1:] for line in lines if line.lstrip(": ")[:1] == "!"]
    # Without the texts that are commands: those of a search and of a replacement are none.
    code = others.uses_of("\n".join(said)[:MAX_CODE], texts=False) if any("(" in one for one in said) else Uses()
    scripts += code.scripts
    found = Uses(scripts=scripts, deletes=code.deletes, runs=bool(scripts))
    bounded(found, text)
    return found if scripts or found.deletes or found.cut else None


_VI_HOME = re.compile(
    r"(?:expand\([\"'](?:~|\$HOME)(/[^\"'\n]{0,300})?[\"']\)|\$HOME)(?:\s{0,9}\.{1,2}\s{0,9}([\"']))?"
)
"""The home directory in the language of vim, with the quote of a text that is joined to it."""


def _home(found: re.Match[str]) -> str:
    below = found[1] or ""
    return f"{found[2]}~{below}" if found[2] else f'"~{below}"'


_EDITORS = frozenset({"ex", "vi", "vim", "nvim", "view", "gvim", "vimdiff", "kak"})
_COMMANDS = frozenset({"-c", "--cmd", "-e", "-es", "-S"})


def _typed(args: list[Arg]) -> Iterator[str]:
    """Yield the commands that an editor of the family of vi is given."""
    for at, word in enumerate(args[:40]):
        if word in ("-c", "--cmd") and at + 1 < len(args):
            yield str(args[at + 1])
        elif word[:1] == "+" and len(word) > 1:
            yield word[1:]


def _code(invocation: Invocation, interpreter: Interpreter, files: Files) -> list[str]:
    options, values, named = interpreter.code.split(), interpreter.values.split(), interpreter.file.split()
    found: list[str] = []
    operands: list[Arg] = []
    args = invocation.args
    at = 0
    while at < len(args):
        word = args[at]
        if operands and not interpreter.every:
            break
        if word in named and at + 1 < len(args) and args[at + 1].known:
            found.append(files(invocation, args[at + 1]) or " ")
            at += 2
            continue
        if word in options or (
            word[:1] == "-" and word[:2] != "--" and len(word) > 2 and "-" + word[-1] in options and word[1:].isalpha()
        ):
            found.extend(args[at + 1 : at + 2])
            at += 2
            continue
        option = next((option for option in options if option[:2] == "--" and word.startswith(option + "=")), "")
        if option:
            found.append(word[len(option) + 1 :])
        elif len(word) > 3 and word[:2] in options and word[:1] == "-":
            found.append(word[2:])
        elif word[:1] != "-" or word == "-":
            operands.append(word)
        elif word in values:
            at += 1
        at += 1
    if found:
        return found
    if interpreter.first or interpreter.every:
        return [*operands]
    return _from_elsewhere(invocation, operands, files)


def _from_elsewhere(invocation: Invocation, operands: list[Arg], files: Files) -> list[str]:
    if not operands or operands[0] in ("-", "/dev/stdin"):
        return [invocation.input.text] if invocation.input.text else []
    if operands[0].known:
        text = files(invocation, operands[0])
        return [text] if text else []
    return []
