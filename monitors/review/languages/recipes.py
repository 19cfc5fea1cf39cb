"""Files of a project that name commands which others run: build files, package scripts, hooks, CI, editor tasks.

They are read leniently and line by line, so that a piece of one, as an edit brings it, is read as well.
"""

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from monitors.contract.expressions import later
from monitors.review.languages.literals import commands_in, settings_in
from monitors.review.languages.uses import MAX_CODE

MAX_TEXT = 100_000
"""Most characters read of one file."""
MAX_RECIPES = 300
"""Most commands taken out of one file. A large `package.json` of those seen has 120 scripts."""
MAX_LINE = 4_000
"""Longest line that is read, in characters; what is longer is no command that a person wrote."""
MAX_ROUNDS = 8
"""Most times that references in a recipe are replaced. The root of a project takes six:
`$(shell dirname $(realpath $(lastword $(MAKEFILE_LIST))))` in a variable of a variable."""
MAX_NAMED = 1_000
"""Most targets or variables of one build file."""
MAX_MOUNTS = 200
"""Most different mounts of one file of services or pods."""


class Recipe(NamedTuple):
    """Commands that a file has others run."""

    name: str
    """The target, script or key. Example: `postinstall`."""
    code: str
    language: str = "sh"
    """`sh`, `python`, or `other` for what is read by the calls in its text."""
    elsewhere: bool = False
    """Whether it runs on another machine, or in a container."""
    cut: str = ""
    """The part of the file that was not read, as a phrase; empty if all was."""


# ── make and just ─────────────────────────────────────────────────────────────────────────────────────────────────


class Makefile(NamedTuple):
    """The targets and variables of a makefile."""

    recipes: Mapping[str, tuple[str, ...]]
    needs: Mapping[str, tuple[str, ...]]
    variables: Mapping[str, str]
    first: str
    cut: str
    """The part of it that was not read, as a phrase; empty if all was."""


_RULE = later(r"([^\s:=#][^:=#\t]{0,200}?)\s*::?(?!=)([^=\n]*)\Z")
_SETS = later(r"(?:export\s+|override\s+)?([A-Za-z_][\w.-]{0,60})\s*(?:[:?+!]{0,3}=)\s?(.*)\Z")
_REFERENCE = later(r"\$(?:\(([^()$]{1,200})\)|\{([^{}$]{1,200})\}|([@<^?*%+|])|(\$)|([A-Za-z]))")
_HOME = "~"


@lru_cache(maxsize=32)
def makefile(text: str) -> Makefile:
    """Read a makefile."""
    recipes: dict[str, list[str]] = {}
    needs: dict[str, tuple[str, ...]] = {}
    variables: dict[str, str] = {}
    targets: list[str] = []
    first, cut = "", ""
    for line in text.replace("\\\n", " ").splitlines():
        if line[:1] == "\t" and targets:
            for target in targets:
                recipes.setdefault(target, []).append(line.strip())
            continue
        stripped = line.strip()
        if not stripped or stripped[0] == "#":
            continue
        sets = _SETS.match(stripped)
        if len(variables) >= MAX_NAMED or len(needs) >= MAX_NAMED:
            cut = f"a makefile of more than {MAX_NAMED} targets or variables"
            break
        if sets is not None:
            variables[sets[1]] = sets[2]
            continue
        rule, _, inline = stripped.partition(";")
        found = _RULE.match(rule)
        if found is None:
            continue
        targets = found[1].split()[:20]
        first = first or next((name for name in targets if name[:1] != "."), "")
        for target in targets:
            needs[target] = (*needs.get(target, ()), *found[2].split()[:50])
            if inline:
                recipes.setdefault(target, []).append(inline.strip())
    return Makefile({name: tuple(lines) for name, lines in recipes.items()}, needs, variables, first, cut)


def made(text: str, targets: list[str], given: Mapping[str, str]) -> list[Recipe]:
    """Return the commands that `make` runs for these targets, or for the first one.

    Args:
        text: The makefile.
        targets: The targets asked for.
        given: Variables of the command line and the environment.
    """
    read = makefile(text)
    wanted = list(targets or filter(None, [read.first]))
    done: list[str] = []
    found = [Recipe("", "", cut=read.cut)] if read.cut else []
    while wanted and len(done) < MAX_NAMED:
        target = wanted.pop(0)
        if target in done:
            continue
        done.append(target)
        wanted += read.needs.get(target, ())
        lines = read.recipes.get(target)
        if lines:
            found.append(Recipe(target, _expanded(lines, target, read, given)))
    return found[:MAX_RECIPES]


def _every_target(text: str) -> Iterator[Recipe]:
    read = makefile(text)
    for name, lines in read.recipes.items():
        yield Recipe(name, _expanded(lines, name, read, {}))
    if read.cut:
        yield Recipe("", "", cut=read.cut)


_SHELL_FUNCTION = "$(shell "


def asked(text: str) -> list[Recipe]:
    """Return the commands whose output a makefile asks for: `$(shell …)` and `!=`."""
    found: list[Recipe] = []
    at = 0
    while len(found) < MAX_RECIPES and (start := text.find(_SHELL_FUNCTION, at)) >= 0:
        at = start + len(_SHELL_FUNCTION)
        depth, end = 1, at
        while end < min(len(text), at + MAX_LINE) and depth and text[end] != "\n":
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        found.append(Recipe("$(shell)", text[at : end if depth else end - 1].strip().replace("$$", "$")))
    return found


def _expanded(lines: tuple[str, ...], target: str, read: Makefile, given: Mapping[str, str]) -> str:
    values = {**read.variables, **given}
    automatic = {"@": target, "<": next(iter(read.needs.get(target, ())), "input")}
    script = "\n".join(line.lstrip("@-+ ") for line in lines)[: MAX_CODE + 1]

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2] or match[5]
        if match[4]:
            return "\0"
        if match[3]:
            return automatic.get(match[3], "made")
        if name in values:
            return values[name][:2000]
        if name == "MAKE":
            return "make"
        if " " in name or "," in name:
            return _function(name, values.get("CURDIR", ""))
        # A name that is set nowhere is empty, as it is for make.
        return _OF_MAKE.get(name, "")

    for _ in range(MAX_ROUNDS):  # variables are made of variables
        if "$" not in script or len(script) > MAX_CODE:
            break
        script = _REFERENCE.sub(value, script)
    return script.replace("\0", "$")


_OF_MAKE = {"HOME": "~", "CURDIR": "\0PWD", "MAKEFILE_LIST": "Makefile"}
"""Values of variables that make sets itself, as far as a script says them; NUL stands for a dollar of the shell."""
_OF_NAMES = {
    "dir": lambda path: posixpath.dirname(path) + "/" if "/" in path else "./",
    "notdir": posixpath.basename,
    "basename": lambda path: posixpath.splitext(path)[0],
}


def _function(call: str, folder: str) -> str:
    """Return what a function of make gives; `made` where that is not known.

    Args:
        call: Its name with its arguments, which hold no further call.
        folder: The directory in which make runs; empty if it is not known.
    """
    name, _, given = call.partition(" ")
    given = given.strip()
    words = given.split()
    if name == "shell":
        return f"\0(cd '{folder}' && {given})" if folder else f"\0({given})"
    if "\0" in given:  # of what a command prints
        return f'\0(dirname "{given}")/' if name == "dir" else given if name in _KEEPS else "made"
    if name in ("firstword", "lastword"):
        return words[0 if name == "firstword" else -1] if words else ""
    if name in ("abspath", "realpath"):
        return " ".join(posixpath.normpath(posixpath.join(folder, word)) for word in words)
    if name in _OF_NAMES:
        return " ".join(map(_OF_NAMES[name], words))
    if name in ("addprefix", "addsuffix"):
        added, _, listed = given.partition(",")
        return " ".join(added + word if name == "addprefix" else word + added for word in listed.split())
    return given if name in _KEEPS else "made"


_KEEPS = frozenset({"strip", "sort", "wildcard", "abspath", "realpath"})
"""Functions of make that give what they are given, or the files that match it."""
_TERM = later(r"\s*(?:\"([^\"\n]*)\"|'([^'\n]*)'|`([^`\n]*)`|([a-z_]+)\(\)|([A-Za-z_][\w-]*))\s*([+/]?)")
_JUST_SETS = later(r"(?:export\s+)?([A-Za-z_][\w-]*)\s*:=\s*(.*)\Z")
_JUST_PLACES = frozenset({"justfile_directory", "justfile_dir", "invocation_directory", "invocation_dir", "source_directory", "source_dir"})  # fmt: skip
"""Functions of just that give a directory: that of the justfile, from which its recipes run."""
_BRACED = later(r"\{\{([^{}\n]{1,200})\}\}")


def _just_value(written: str, values: Mapping[str, str], folder: str) -> str | None:
    """Return the text that an expression of a justfile stands for; None if it is not known."""
    made, at = "", 0
    while at < len(written):
        term = _TERM.match(written, at)
        if term is None:
            return None
        at = term.end()
        if term[4]:
            value = folder if term[4] in _JUST_PLACES else {"home_directory": "~", "home_dir": "~"}.get(term[4])
        elif term[5]:
            value = values.get(term[5])
        else:
            value = f"$({term[3]})" if term[3] is not None else term[1] if term[1] is not None else term[2]
        if value is None:
            return None
        made += value + ("/" if term[6] == "/" else "")
        if not term[6]:
            break
    return made if at >= len(written) and len(made) < MAX_LINE else None


def just(text: str, folder: str = "") -> list[Recipe]:
    """Return the recipes of a justfile in a folder."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        sets = _JUST_SETS.match(line) if ":=" in line and len(values) < MAX_NAMED else None
        if sets is not None and (value := _just_value(sets[2], values, folder or "$PWD")) is not None:
            values[sets[1]] = value

    def placed(match: re.Match[str]) -> str:
        value = _just_value(match[1], values, folder or "$PWD")
        return match[0].replace("{{", "$").replace("}}", "") if value is None else value

    found: list[Recipe] = []
    name, lines = "", list[str]()
    for line in (*text.splitlines(), "end:"):
        if line[:1] in (" ", "\t"):
            lines.append(line.strip().lstrip("@-"))
        elif line.strip() and line[0] != "#":
            if name and lines:
                found.append(Recipe(name, _BRACED.sub(placed, "\n".join(lines))))
            name, lines = line.partition(":")[0].split()[0] if line.partition(":")[0].split() else "", []
    return found


# ── JSON and YAML, by their lines ─────────────────────────────────────────────────────────────────────────────────

_JSON_TEXT = later(r'"((?:[^"\\\n]|\\.){1,120})"\s*:\s*"((?:[^"\\\n]++|\\.)++)"')
_JSON_LIST = later(r'"(args|command|\w+Command|runArgs|runtimeArgs|shellArgs|mounts)"\s*:\s*\[([^\[\]]*+)\]')
_JSON_TEXTS = later(r'"((?:[^"\\\n]|\\.){1,120})"\s{0,9}:\s{0,9}\[([^\[\]]{1,8000}+)\]')
_ITEM = later(r'"((?:[^"\\\n]++|\\.)*+)"')
_ESCAPES = {'\\"': '"', "\\\\": "\\", "\\/": "/", "\\n": "\n", "\\t": "\t"}
_ESCAPE = later(r'\\["\\/nt]')


def _plain(text: str) -> str:
    return _ESCAPE.sub(lambda match: _ESCAPES[match[0]], text)


def package_scripts(text: str) -> dict[str, str]:
    """Return the scripts of a `package.json`, or of a piece of one: every text by its key."""
    at = text.find('"scripts"')
    found = _JSON_TEXT.finditer(text[at + 9 :] if at >= 0 else text)
    return {_plain(match[1]): _plain(match[2]) for match in found}


def _json_commands(text: str) -> Iterator[Recipe]:
    """Commands of editors' and containers' settings."""
    args = [_plain(item) for match in _JSON_LIST.finditer(text) for item in _ITEM.findall(match[2])]
    flags = [item for item in args if item.startswith(("--", "-v", "/")) or "source=" in item]
    mounts = [f"--mount={item}" if "source=" in item else item for item in flags]
    if mounts:
        yield Recipe("runArgs", " ".join(["docker run", *map(_shell_word, mounts), "image"]))
    for match in _JSON_TEXT.finditer(text):
        if match[1].lower().endswith(("command", "path", "script", "program", "exec")):
            yield Recipe(match[1], _plain(match[2]))
    for before, item in zip(("", *args), args, strict=False):
        if before in ("-c", "-lc", "-e", "/c", "-Command"):
            yield Recipe("args", item)


_KEY = later(
    r"(\s*)(?:- +)?[\"']?(run|script|scripts|before_script|after_script|command|commands|cmd|cmds|entry|args|install|before_install|after_success|\w+Command)[\"']?\s*:\s*(.*)\Z"
)


def _yaml_commands(text: str) -> Iterator[Recipe]:
    """Commands in YAML: in line, as a block, or as a list."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        found = _KEY.match(lines[at])
        at += 1
        if found is None:
            continue
        deep, value = len(found[1]), found[3].strip()
        if value and value[0] not in "|>[":
            yield Recipe(found[2], _unquoted(value))
            continue
        block: list[str] = [value.strip("[]").replace('"', "").replace(",", " ")] if value[:1] == "[" else []
        while at < len(lines) and (not lines[at].strip() or _deeper(lines[at], deep)):
            inner = _KEY.match(lines[at])
            block.append(_unquoted((inner[3] if inner else lines[at]).strip().removeprefix("- ")))
            at += 1
        yield Recipe(found[2], "\n".join(block))


def _deeper(line: str, deep: int) -> bool:
    indent = len(line) - len(line.lstrip())
    return indent > deep or (indent == deep and line.lstrip()[:2] == "- ")


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return _plain(value[1:-1]) if quoted else value


_EXPRESSION = later(r"\$\{\{([^{}]{0,200})\}\}")


def _continuous_integration(text: str) -> Iterator[Recipe]:
    """Commands of a CI file; its expressions for secrets become names of variables that say so."""

    def value(match: re.Match[str]) -> str:
        return "$ALL_SECRETS" if "toJSON" in match[1] else "$" + re.sub(r"\W+", "_", match[1].strip())

    for recipe in _yaml_commands(text):
        yield recipe._replace(code=_EXPRESSION.sub(value, recipe.code), elsewhere=True)
    for command in commands_in(text):
        yield Recipe("text", _EXPRESSION.sub(value, command), elsewhere=True)


def _tox(text: str) -> Iterator[Recipe]:
    inside = False
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals and line[:1] not in (" ", "\t"):
            inside = key.strip() in ("commands", "commands_pre", "commands_post")
            line = value
        if inside and line.strip():
            yield Recipe("commands", re.sub(r"\{[\w:/]*\}", "", line.strip().lstrip("-!")))


_COMMAND_LINE = later(r"\s*([\w.-]{1,60})\s*[=:]\s*(\"(?:[^\"\\]++|\\.)++\"|'[^']++'|[^\"'\[{=].*)\s*\Z")


def _lines(text: str) -> Iterator[Recipe]:
    """Commands that are named one a line, as tasks of TOML and of a Procfile are."""
    for line in text.splitlines():
        found = _COMMAND_LINE.match(line)
        if found is not None and " " in found[2].strip():
            yield Recipe(found[1], _unquoted(found[2].strip()))


def _whole(language: str) -> Callable[[str], Iterator[Recipe]]:
    """Read the file as code; a long one in pieces that end with a line."""

    def read(text: str) -> Iterator[Recipe]:
        for piece in (text,) if language == "sh" else pieces(text):
            yield Recipe("", piece, language)

    return read


def pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces that are short enough to be read as code, and end with a line."""
    while len(text) > MAX_CODE:
        end = text.rfind("\n", 0, MAX_CODE) + 1 or MAX_CODE
        yield text[:end]
        text = text[end:]
    yield text


def _notebook(text: str) -> Iterator[Recipe]:
    """Cells of a notebook, as JSON or as an edit brings them: lines for the shell, and the rest as Python."""
    if text.lstrip()[:1] == "{":
        text = "\n".join(_plain(item).rstrip("\n") for item in _ITEM.findall(text))
    code: list[str] = []
    for line in text.splitlines():
        mark = line.lstrip()
        if mark[:1] == "!":
            yield Recipe("cell", mark[1:])
        elif mark[:1] == "%":
            yield Recipe("cell", mark.lstrip("%").removeprefix("sx ").removeprefix("system "))
        code.append("" if mark[:1] in ("!", "%") else line)
    if text.lstrip()[:2] == "%%":  # the whole cell is for the program that it names
        yield Recipe("cell", "\n".join(code))
    yield from _whole("python")("\n".join(code))


def _scripts(text: str) -> Iterator[Recipe]:
    for name, code in package_scripts(text).items():
        if " " in code or "/" in code:
            yield Recipe(name, code)
    at = text.find('"scripts"')  # composer has lists of commands
    for match in islice(_JSON_TEXTS.finditer(text, at), MAX_RECIPES) if at >= 0 else ():
        yield Recipe(_plain(match[1]), "\n".join(_plain(item) for item in _ITEM.findall(match[2])))


_TERRAFORM = later(
    r"\b(?:command|inline)\s{0,20}=\s{0,5}\[?\s{0,5}\"((?:[^\"\\\n]|\\.){1,2000})\"|\bprogram\s{0,20}=\s{0,5}\[\s{0,20}\"(?:/bin/|/usr/bin/)?(?:ba|da|z)?sh\",\s{0,20}\"-l?c\",\s{0,20}\"((?:[^\"\\\n]|\\.){1,2000})\""
)
"""Commands of a provisioner, and the script of a source of data."""
_NINJA = later(r"^\s{1,20}command\s{0,20}=\s{0,5}([^\n]{1,2000})", re.MULTILINE)
_M4 = later(r"\b(?:m4_)?e?syscmd(?:_s)?\s?\(\s?\[?`?([^\]'\n]{1,2000})")
_IDEA = later(r"name=\"(?:SCRIPT_TEXT|INTERPRETER_OPTIONS|SCRIPT_OPTIONS)\" value=\"([^\"\n]{1,2000})\"")


def _each(pattern: re.Pattern[str]) -> Callable[[str], Iterator[Recipe]]:
    """Take what the groups of a pattern find for commands."""

    def read(text: str) -> Iterator[Recipe]:
        for match in pattern.finditer(text):
            yield Recipe("command", _plain(next(group for group in match.groups() if group)))

    return read


_DATA = later(
    r"/(?:fixtures?|testdata|test_data|__snapshots__|corpus|corpora|locales?|i18n|lang|translations|prompts|node_modules|docs?)/|(?:package-lock|composer\.lock|pnpm-lock)\.|/openapi|/swagger|/(?:messages|strings|prompts?|cspell|changelog|\w*(?:block|deny|allow)list)\b[^/]*\Z"
)
"""Files of settings by their suffix, which are data."""


def _settings(text: str) -> Iterator[Recipe]:
    """Commands of a file of settings whose format is not known here."""
    elsewhere = _ELSEWHERE.search(text) is not None
    yield from (recipe._replace(elsewhere=True) for recipe in pods(text))
    for command in settings_in(text):
        yield Recipe("settings", command, elsewhere=elsewhere)


_ELSEWHERE = later(
    r"^\s{0,20}(?:- )?(?:FROM\s|image:|runs-on:|steps:|stages:|phases:|hosts:|apiVersion:)", re.MULTILINE
)
"""Said by files whose commands run on another machine, or in a container."""


_READERS: tuple[tuple[re.Pattern[str], Callable[[str], Iterator[Recipe]]], ...] = (
    (later(r"/(?:GNU)?[Mm]akefile$|\.mk$"), _every_target),
    (later(r"/\.?[Jj]ustfile$"), lambda text: iter(just(text))),
    (later(r"/(?:package|composer|deno)\.jsonc?$"), _scripts),
    (later(r"/\.(?:husky|githooks)/[^/]+$|/\.git/hooks/[^/]+$|/\.envrc$"), _whole("sh")),
    (later(r"/\.github/(?:workflows/[^/]+|actions/.*)\.ya?ml$|/\.gitlab-ci\.yml$|/\.circleci/config\.yml$|/azure-pipelines\.yml$|/\.travis\.yml$|/bitbucket-pipelines\.yml$|/\.drone\.yml$|/\.woodpecker\.ya?ml$|/cloudbuild\.ya?ml$|/\.buildkite/[^/]+\.ya?ml$|/\.?appveyor\.yml$|/buildspec\.ya?ml$|/\.semaphore/[^/]+\.yml$|/\.cirrus\.yml$|/codefresh\.yml$"), _continuous_integration),
    (later(r"/\.pre-commit-config\.yaml$|/lefthook\.ya?ml$|/Taskfile\.ya?ml$|/\.overcommit\.yml$"), _yaml_commands),
    (later(r"/\.vscode/(?:tasks|launch|settings)\.json$|\.code-workspace$|/\.zed/(?:tasks|settings)\.json$|/\.?devcontainer\.json$"), _json_commands),
    (later(r"/(?:conftest|setup|sitecustomize|usercustomize|noxfile|fabfile|tasks|dodo|SConstruct|wscript)(?:\.py)?$|\.pth$"), _whole("python")),
    (later(r"/(?:conf|gunicorn\.conf|celeryconfig|manage|env)\.py$|/(?:Tilt|Snake)file$"), _whole("python")),
    (later(r"/build\.rs$|\.config\.[cm]?[jt]s$|/[^/]+\.gradle(?:\.kts)?$|/meson\.build$|/\.(?:mocha|eslint|prettier|babel|stylelint)rc\.[cm]?js$|/(?:gulpfile|Gruntfile|webpack\.config|vite\.config|jest\.config|rollup\.config|eslint\.config|\.eslintrc|babel\.config|postcss\.config|next\.config)\.[cm]?[jt]s$|/Rakefile$|/[^/]+\.gemspec$|/Vagrantfile$|/build\.gradle(?:\.kts)?$|/Jenkinsfile$"), _whole("other")),
    (later(r"/tox\.ini$"), _tox),
    (later(r"/[^/]+\.(?:tf|hcl)$"), _each(_TERRAFORM)),
    (later(r"/[^/]+\.ninja$"), _each(_NINJA)),
    (later(r"/configure\.(?:ac|in)$|/[^/]+\.m4$"), _each(_M4)),
    (later(r"/\.idea/.*\.xml$|\.run\.xml$"), _each(_IDEA)),
    (later(r"\.ipynb$"), _notebook),
    (later(r"/(?:pyproject|config|mise|\.mise|Makefile|poe_tasks)\.toml$|/Procfile(?:\.\w+)?$"), _lines),
    (later(r"/(?:docker-)?compose(?:\.[\w-]+)?\.ya?ml$"), lambda text: iter(services(text))),
    (_DATA, lambda _text: iter(())),
    (later(r"\.(?:jsonc?|json5|ya?ml|toml|xml|gypi?|nix|ini|conf|cfg|properties|spec|bzl|star|kdl|bazel|desktop|service|rules)$|/(?!Docker|Container)[A-Z][A-Za-z]+file$|/(?:PKGBUILD|APKBUILD|BUILD|WORKSPACE)$|/debian/(?:rules|(?:[\w.-]+\.)?(?:pre|post)(?:inst|rm))$|/\.[a-z-]{2,20}rc$"), _settings),
)  # fmt: skip


_BY_LINE = frozenset({_continuous_integration, _yaml_commands, _tox, _lines})
"""Readers whose patterns try each place of a line."""


def recipes_of(path: str, text: str) -> list[Recipe]:
    """Return the commands that others run out of this file; none if it is not such a file."""
    for pattern, read in _READERS:
        if pattern.search(path):
            cut = f"a file of more than {MAX_TEXT} characters" if len(text) > MAX_TEXT else ""
            text = text[:MAX_TEXT]
            if len(text) > MAX_LINE and read in _BY_LINE:
                lines = text.splitlines()
                text = "\n".join(line[:MAX_LINE] for line in lines)
                cut = cut or (f"a line of more than {MAX_LINE} characters" if max(map(len, lines)) > MAX_LINE else "")
            found = list(islice(read(text), MAX_RECIPES + 1))
            if len(found) > MAX_RECIPES:
                cut = cut or f"a file with more than {MAX_RECIPES} commands"
            return [*found[:MAX_RECIPES], *([Recipe("", "", cut=cut)] if cut else [])]
    return []


# ── programs that run them ────────────────────────────────────────────────────────────────────────────────────────

_LIFECYCLE = ("preinstall", "install", "postinstall", "prepare")


def npm_scripts(scripts: Mapping[str, str], wanted: str) -> list[str]:
    """Return the scripts that a package manager runs for a subcommand, in order."""
    if wanted in ("install", "i", "ci", "add"):
        names: tuple[str, ...] = _LIFECYCLE
    else:
        names = (f"pre{wanted}", wanted, f"post{wanted}")
    return [scripts[name] for name in names if name in scripts]


_SERVICE_LINE = later(
    r"\s*(?:- +)?[\"']?(privileged|pid|network_mode|userns_mode|source|target|cap_add)[\"']?\s*:\s*[\"']?([^\"'#\n]{1,300})"
)
_MOUNT = later(r"\s*- +[\"']?([~/.$][^\"':#\s]{0,300}):(/[^\"'#\s]{0,300})")  # fmt: skip


def services(text: str) -> list[Recipe]:
    """Return what a compose file starts with rights over this machine, as the same said to `docker run`."""
    flags: set[str] = set()
    mounts: dict[str, None] = {}
    for line in _listed_apart(text.splitlines()):
        line = line[:1000]
        mount = _MOUNT.match(line)
        said = _SERVICE_LINE.match(line)
        if mount is not None:
            mounts[f"{mount[1]}:{mount[2]}"] = None
        elif said is not None and said[1] == "privileged" and said[2].strip() == "true":
            flags.add("--privileged")
        elif said is not None and said[1] in ("pid", "network_mode", "userns_mode") and said[2].strip() == "host":
            flags.add(f"--{said[1].partition('_')[0]}=host")
        elif said is not None and said[1] == "source" and said[2][:1] in "/~":
            mounts[f"{said[2].strip()}:/mounted"] = None
    return _started("services", flags, mounts)


def _started(name: str, flags: Iterable[str], mounts: Collection[str]) -> list[Recipe]:
    """Return the command that starts a container with these rights; none if there are none."""
    words = [*sorted(flags), *(word for mount in islice(mounts, MAX_MOUNTS) for word in ("-v", mount))]
    cut = f"a file with more than {MAX_MOUNTS} mounts" if len(mounts) > MAX_MOUNTS else ""
    return [Recipe(name, " ".join(["docker run", *map(_shell_word, words), "image"]), cut=cut)] if words else []


_POD_LINE = later(
    r"\s*(?:- +)?[\"']?(privileged|hostPID|hostNetwork|hostIPC|path)[\"']?\s*:\s*[\"']?([^\"'#\n,}]{1,300})"
)


def pods(text: str) -> list[Recipe]:
    """Return what a manifest of a cluster starts with rights over a machine, as the same said to `docker run`."""
    flags: set[str] = set()
    mounts: dict[str, None] = {}
    if "hostPath" not in text and "privileged" not in text and "hostPID" not in text:
        return []
    for line in text[:MAX_TEXT].replace("{", "\n").replace("}", "\n").split("\n"):
        said = _POD_LINE.match(line[:1000])
        if said is None:
            continue
        value = said[2].strip()
        if said[1] == "privileged" and value == "true":
            flags.add("--privileged")
        elif said[1] == "hostPID" and value == "true":
            flags.add("--pid=host")
        elif said[1] == "path" and "hostPath" in text and value[:1] == "/":
            mounts[f"{value}:/mounted"] = None
    return _started("pod", flags, mounts)


def _listed_apart(lines: list[str]) -> Iterator[str]:
    """Yield the lines, and the items of a list that is written in one line as lines of their own."""
    for line in lines:
        yield line
        before, bracket, rest = line.partition("[")
        if bracket and before.rstrip()[-1:] == ":":
            for item in rest.rpartition("]")[0].split(",")[:50]:
                yield f"- {item.strip()}"


def _shell_word(word: str) -> str:
    return word if re.fullmatch(r"[\w@%+=:,./~-]*", word) else "'" + word.replace("'", "") + "'"
