"""Commands within the words of other programs: settings of git that are run, and programs behind unknown ones."""

import re
import shlex
from collections.abc import Callable, Mapping
from itertools import pairwise

from monitors.contract.expressions import later
from monitors.review.languages.interpreters import COMMANDED, ONLY_JUDGE
from monitors.review.shell.invocation import Invocation, program_name
from monitors.review.shell.shells import SHELLS

Finder = Callable[[Invocation], list[str]]
"""Finds the scripts among the words of a command."""

_KEYS = later(
    r"(?:core\.(?:pager|editor|sshcommand|askpass|fsmonitor|gitproxy)|sequence\.editor|pager\.\w+|alias\.[\w-]+|diff\.external|gpg\.program|credential(?:\.[^=]*)?\.helper|(?:diff|merge|filter|difftool|mergetool)\.[\w.-]+\.(?:command|textconv|driver|clean|smudge|process|cmd))\Z",
    re.IGNORECASE,
)
"""Settings of git whose value it runs."""
_CLEANS = later(r"filter\.[\w.-]+\.(?:clean|process)\Z", re.IGNORECASE)
_RUNS = frozenset({"rm", "shred", "dd", "sudo", "curl", "wget", "terraform", "kubectl", "dropdb", "psql", "aws", "git", "find", "docker", "mkfs", "chmod", "chown", "systemctl", "reboot", "shutdown", "truncate", "unlink", "rmdir", "mv", "npm", "gh", "helm", *SHELLS})  # fmt: skip
"""Programs that are looked for behind an unknown program: it may be a launcher."""


def embedded(invocation: Invocation, known: Callable[[str], bool]) -> list[str]:
    """Return the scripts among the words of a command.

    Args:
        invocation: The command.
        known: Whether a program of this name is known, so that its words have a meaning of their own.
    """
    if invocation.name in _SETTINGS:
        return [script for find in _SETTINGS[invocation.name] for script in find(invocation)]
    tells = not _TELLS.isdisjoint(invocation.args[:3])
    handed = [] if tells else _behind_options(invocation)
    if handed:
        return handed
    if (
        (not invocation.name and not invocation.args)
        or invocation.program[:1] in "$`"
        or known(invocation.name)
        or "{}" in invocation.args
    ):
        return []
    for at, word in enumerate(invocation.args[:12]):
        behind = invocation.args[at:]
        if word.known and program_name(word) in _RUNS and len(behind) > 1 and (at == 0 or " " not in word):
            return [" ".join(shlex.quote(one) if one.known else "$UNKNOWN" for one in behind)]
    words = [] if tells else invocation.args[:40]
    return [word for before, word in pairwise(("", *words)) if _is_line(word) and not _TEXT_OPTION.match(before)]


_TELLS = frozenset({"search", "find", "grep", "show", "describe", "log", "note", "comment", "add", "new", "create", "commit", "ask", "say", "print", "echo", "send", "post", "reply", "title", "history", "copy", "learn", "verify", "audit", "test", *ONLY_JUDGE})  # fmt: skip
"""Verbs of programs to which a command is a text."""
_TEXT_OPTION = later(r"--|-[mtbdp]\Z")
"""Options before a text. Those behind which a command stands are known by their names."""


def _behind_options(invocation: Invocation) -> list[str]:
    """Return the commands that stand in one word behind an option that is named so, whatever the program."""
    found: list[str] = []
    for at, word in enumerate(invocation.args[:60]):
        if word[:1] != "-":
            continue
        option, equals, value = word.partition("=")
        if COMMANDED.match(option):
            value = value if equals else "".join(invocation.args[at + 1 : at + 2])
            found += [value] if _is_line(value) else []
    return found


def _is_line(word: str) -> bool:
    """Whether a word is a whole command of a program that is looked for, or several of which one is."""
    if len(word) > MAX_STATEMENT or " " not in word:
        return False
    each = _JOINTS.split(word, MAX_FOUND) if _JOINTS.search(word) else (word,)
    return any(rest and program_name(first) in _RUNS for first, _, rest in (one.strip().partition(" ") for one in each))


_JOINTS = later(r"[;\n]|&&|\|\|")
"""Between the commands of a line."""
_CLIENT_RUNS = later(r"(?:^|[;\n])\s{0,20}(?:system|\\!)\s{1,20}([^;\n]{1,1000})", re.IGNORECASE)
_CLIENT_PIPES = later(
    r"(?:^|[;\n])\s{0,20}(?:\.(?:output|once|import)\s{1,9}|\\[gow]x?\s{0,9}|(?:pager|tee)\s{1,9})\|?\s{0,9}\|([^;\n]{1,1000})"
)


def _of_clients(invocation: Invocation) -> list[str]:
    """Return the commands that statements for a database's client start, and those to which it pipes rows."""
    found: list[str] = []
    for word in invocation.args:
        found += _CLIENT_RUNS.findall(word[:MAX_STATEMENT])
        found += [f"mysqldump all | {line.rstrip(chr(39))}" for line in _CLIENT_PIPES.findall(word[:MAX_STATEMENT])]
    return found[:MAX_FOUND]


MAX_FOUND = 301
"""Most commands taken of one command's words: one more than a review goes through, so that more of them block."""
MAX_STATEMENT = 20_000
"""Most characters of one word that are looked at for commands of a client."""


def _of_gh(invocation: Invocation) -> list[str]:
    """Return what an alias of GitHub's program stands for."""
    words = [str(word) for word in invocation.operands()]
    if words[:2] != ["alias", "set"] or len(words) < 4:
        return []
    shell = words[3][:1] == "!" or not {"-s", "--shell"}.isdisjoint(invocation.args)
    return [words[3].removeprefix("!") if shell else f"gh {words[3]}"]


def _of_npm(invocation: Invocation) -> list[str]:
    """Return the scripts and programs that are set in a manifest or in the settings of a package manager."""
    words = [str(word) for word in invocation.operands(("--location", "-L", "--prefix", "-w"))]
    found: list[str] = []
    if invocation.name == "yarn" and words[:1] == ["node"]:
        return [shlex.join(map(str, invocation.args))]
    if words[:2] == ["pkg", "set"]:
        each = [word.partition("=") for word in words[2:]]
        found += [value for name, _, value in each if name.startswith(("scripts.", "scripts["))]
        found += [line for name, _, value in each if name == "scripts" for line in _JSON_VALUE.findall(value)]
    elif words[:1] in (["config"], ["set"]) and (words[1:2] == ["set"] or words[0] == "set"):
        pairs = words[2:] if words[0] == "config" else words[1:]
        name, equals, value = pairs[0].partition("=") if pairs else ("", "", "")
        value = value if equals else "".join(pairs[1:2])
        if name.lower().replace("_", "-") in _RUN_SETTINGS:
            found.append(f"curl {value} | node" if "://" in value else value)
    return found


_JSON_VALUE = later(r":\s{0,5}\"((?:[^\"\\]|\\.){1,2000})\"")
_RUN_SETTINGS = frozenset({"script-shell", "shell", "editor", "viewer", "git", "yarnpath", "yarn-path", "node-options", "onload-script", "init-module"})  # fmt: skip
"""Settings of package managers whose value they run."""


def _callbacks(*options: str) -> Finder:
    """Return what finds the commands that a program runs in turn, as these options of it name them."""

    def found(invocation: Invocation) -> list[str]:
        """Return the value of each."""
        words, texts = [str(word) for word in invocation.args], []
        for at, word in enumerate(words):
            name, equals, value = word.partition("=")
            if name in options or name[1:] in options:  # Go's options may have two dashes
                texts += [value] if equals else words[at + 1 : at + 2]
            elif word[:2] in options:
                texts.append(word[2:])
        return texts

    return found


def _of_jobs(invocation: Invocation) -> list[str]:
    """Return the command that `jobs -x` runs."""
    return [" ".join(invocation.args[1:])] if invocation.args[:1] == ["-x"] else []


def _of_make(invocation: Invocation) -> list[str]:
    """Return what variables of the command line have make run: functions in any, and programs that recipes start."""
    found: list[str] = []
    words = [str(word) for word in invocation.args]
    for word in words:
        if word[:1] != "-" and "=" in word:
            name, _, value = word.partition("=")
            if name.rstrip(":+?!") in _TOOLS and " " in value:
                found.append(value.partition("#")[0])
        found += _MAKE_SHELL.findall(word)
    return found


_TOOLS = frozenset({"CC", "CXX", "CPP", "LD", "AR", "AS", "RM", "SHELL", "PYTHON", "NODE", "GO", "CARGO", "INSTALL", "FC", "MAKE", "YACC", "LEX", "STRIP", "RANLIB", "CMAKE", "NPM", "PIP"})  # fmt: skip
"""Variables of makefiles that name programs."""
_MAKE_SHELL = later(r"\$\(shell\s++([^()]{1,1000})\)")


def _of_git(invocation: Invocation) -> list[str]:
    found: list[str] = []
    args = [str(word) for word in invocation.args]
    for at, word in enumerate(args):
        after = args[at + 1] if at + 1 < len(args) else ""
        name, equals, value = word.partition("=")
        if (word in ("-x", "--extcmd", "--exec") and {"difftool", "rebase"}.intersection(args[:at])) or (
            word in ("--sendmail-cmd", "--to-cmd", "--cc-cmd", "--header-cmd") and "send-email" in args[:at]
        ):
            found.append(after)
        elif (equals and name in ("--extcmd", "--exec", "--sendmail-cmd", "--to-cmd", "--cc-cmd", "--header-cmd")) or (
            equals and args[at - 1] == "-c" and at and _KEYS.match(name)
        ):
            found.append(_alias(name, value))
        elif not equals and "config" in args[:at] and _KEYS.match(word):
            # What git cleans is each file of the repository.
            found.append(f"git bundle create - --all | {after}" if _CLEANS.match(word) else _alias(word, after))
    return [one.lstrip("!") for one in found if " " in one or "/" in one or "$" in one]


def _alias(name: str, value: str) -> str:
    """Return what a setting has git run: an alias without an exclamation mark is words for git itself."""
    return f"git {value}" if name.lower().startswith("alias.") and value[:1] != "!" and value else value


_STARTS = frozenset({"-wrapper", "--wrapper", "--run_under", "--test_wrapper", "-Dexec.executable", "-Dexec.args"})  # fmt: skip
_RUN_SETTING = later(
    r"(?:\A|[.\w-])(?:runner|linker|rustc-wrapper|rustc-workspace-wrapper|rustc|wrapper|exec)\s{0,9}=\s{0,9}\[?\s{0,9}[\"']?([^\"'\]]{1,1000})"
)


def _of_builders(invocation: Invocation) -> list[str]:
    """Return the programs that options of a build tool have it start, with their words."""
    found: list[str] = []
    for at, word in enumerate(invocation.args[:60]):
        option, equals, value = word.partition("=")
        if option in _STARTS:
            found.append(value if equals else "".join(invocation.args[at + 1 : at + 2]))
        elif option == "--config":
            given = value if equals else "".join(invocation.args[at + 1 : at + 2])
            match = _RUN_SETTING.search(given)
            found += [match[1]] if match else []
    return [one for one in found if " " in one or "/" in one]


def _collected(*rows: tuple[str, Finder]) -> Mapping[str, tuple[Finder, ...]]:
    """Return what finds the commands of each program: all the rows that name it."""
    made: dict[str, tuple[Finder, ...]] = {}
    for names, find in rows:
        for name in names.split():
            made[name] = (*made.get(name, ()), find)
    return made


_SETTINGS = _collected(
    ("git", _of_git),
    ("gh", _of_gh),
    ("complete compgen mapfile readarray", _callbacks("-C")),
    ("jobs", _of_jobs),
    ("go", _callbacks("-exec", "-toolexec", "-vettool")),
    ("sftp", _callbacks("-D")),
    ("mysql mariadb sqlite3 psql", _of_clients),
    ("npm pnpm yarn", _of_npm),
    ("make gmake bmake", _of_make),
    ("cargo bazel bazelisk gcc g++ cc mvn mvnw gradle", _of_builders),
)
"""Programs whose words set what they run, now or later; a program may have several rows."""
