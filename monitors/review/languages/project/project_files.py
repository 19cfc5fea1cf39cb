"""Files of a project that name commands which others run: build files, package scripts, hooks, CI, editor tasks.

They are read leniently and line by line, so that a piece of one, as an edit brings it, is read as well.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice, takewhile

from monitors.contract.expressions import later
from monitors.review.languages.code.literals import commands_in, settings_in
from monitors.review.languages.code.uses import MAX_CODE
from monitors.review.languages.project.build_files import every_target, just
from monitors.review.languages.project.containers import pods, services
from monitors.review.languages.project.images import image_steps
from monitors.review.languages.project.recipes import (
    JSON_TEXT,
    MAX_LINE,
    MAX_RECIPES,
    MAX_TEXT,
    Recipe,
    package_scripts,
    plain,
    shell_word,
)

_JSON_LIST = later(r'"(args|command|\w+Command|runArgs|runtimeArgs|shellArgs|mounts)"\s*:\s*\[([^\[\]]*+)\]')
_JSON_TEXTS = later(r'(?<!\\)"((?:[^"\\\n]|\\.){1,120})"\s{0,9}:\s{0,9}\[([^\[\]]{1,8000}+)\]')
_ITEM = later(r'(?<!\\)"((?:[^"\\\n]++|\\.)*+)"')


def _json_commands(text: str) -> Iterator[Recipe]:
    """Commands of editors' and containers' settings."""
    text = _LOCAL_ENVIRONMENT.sub(lambda found: "~" if found[1] == "HOME" else f"${found[1]}", text)
    args = [plain(item) for match in _JSON_LIST.finditer(text) for item in _ITEM.findall(match[2])]
    flags = [item for item in args if item.startswith(("--", "-v", "/")) or "source=" in item]
    mounts = [f"--mount={item}" if "source=" in item else item for item in flags]
    if mounts:
        yield Recipe("runArgs", " ".join(["docker run", *map(shell_word, mounts), "image"]))
    for match in JSON_TEXT.finditer(text):
        if match[1].lower().endswith(("command", "path", "script", "program", "exec")):
            yield Recipe(match[1], plain(match[2]))
    for before, item in zip(("", *args), args, strict=False):
        if before in ("-c", "-lc", "-e", "/c", "-Command"):
            yield Recipe("args", item)


_KEY = later(
    r"(\s*+)(?:- ++)?[\"']?(run|script|scripts|before_script|after_script|command|commands|cmd|cmds|entry|args|install|before_install|after_success|\w+Command)[\"']?\s*+:\s*+(.*)\Z"
)


def _yaml_commands(text: str) -> Iterator[Recipe]:
    """Commands in YAML: in line, as a block, or as a list. The items that a piece begins with are one of commands."""
    lines = text.splitlines()
    items = [line.strip() for line in takewhile(_begins_with_items, lines)]
    at = len(items)
    if items:
        yield Recipe("script", "\n".join(_unquoted(item.removeprefix("- ")) for item in items))
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


_PLAIN_ITEM = later(r"\s*- (?![\w.-]+:(?:\s|\Z))|\s*\Z")


def _begins_with_items(line: str) -> bool:
    return _PLAIN_ITEM.match(line) is not None


def _deeper(line: str, deep: int) -> bool:
    indent = len(line) - len(line.lstrip())
    return indent > deep or (indent == deep and line.lstrip()[:2] == "- ")


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return plain(value[1:-1]) if quoted else value


_EXPRESSION = later(r"\$\{\{([^{}]{0,200})\}\}")


_SECRET_VARIABLE = later(
    r"^\s{1,40}([A-Za-z_]\w{0,60}):\s{0,9}[\"']?(\$\{\{\s{0,9}(?:toJSON\(\s{0,9}secrets\s{0,9}\)|secrets\.\w{1,80})\s{0,9}\}\})",
    re.MULTILINE,
)
"""A variable that has a secret of the forge, or all of them."""


def _continuous_integration(text: str) -> Iterator[Recipe]:
    """Commands of a CI file; its expressions for secrets become names of variables that say so."""

    def value(match: re.Match[str]) -> str:
        name = "$ALL_SECRETS" if "toJSON" in match[1] else "$" + re.sub(r"\W+", "_", match[1].strip())
        before = match.string[match.string.rfind("\n", 0, match.start()) + 1 : match.start()]
        return f"'\"{name}\"'" if before.count("'") % 2 else name  # no quotes keep the forge from putting it in

    set_before = {match[1]: match[2] for match in islice(_SECRET_VARIABLE.finditer(text), MAX_RECIPES)}
    for recipe in _yaml_commands(text):
        assigned = [f"{name}={secret}\n" for name, secret in set_before.items() if f"${name}" in recipe.code]
        code = _EXPRESSION.sub(value, "".join(assigned) + recipe.code)
        yield recipe._replace(code=code, elsewhere=True)
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


_COMMAND_LINE = later(r"\s*+([\w.-]{1,60}+)\s*+[=:]\s*+(\"(?:[^\"\\]++|\\.)++\"|'[^']++'|[^\"'\[{=].*+)\s*+\Z")


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
        text = "\n".join(plain(item).rstrip("\n") for item in _ITEM.findall(text))
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
        yield Recipe(plain(match[1]), "\n".join(plain(item) for item in _ITEM.findall(match[2])))


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
            yield Recipe("command", plain(next(group for group in match.groups() if group)))

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


_INDEX_LINE = later(
    r"^\s{0,20}(?:(?:@[\w-]{1,80}:)?registry|npmRegistryServer|index-url|extra-index-url|index_url|default-index|url)[\"']?\s{0,9}[=:]\s{0,9}[\"']?(?:sparse\+)?(https?://[^\s\"']{1,300})",
    re.MULTILINE,
)


def _sources(pattern: re.Pattern[str], command: str) -> Callable[[str], Iterator[Recipe]]:
    """Read the addresses that packages come from, as the command that would name each."""

    def read(text: str) -> Iterator[Recipe]:
        for match in islice(pattern.finditer(text), MAX_RECIPES):
            yield Recipe("registry", f"{command} {shell_word(match[1])}")

    return read


_indexes = _sources(_INDEX_LINE, "npm config set registry")


def _requirements(text: str) -> Iterator[Recipe]:
    """Places that packages come from, as the command that would name them: options of pip, and packages by address."""
    for line in text.splitlines():
        words = line.partition(" #")[0].split()
        if "://" in line and words and words[0][:1] != "#":
            yield Recipe("requirement", " ".join(["pip install", *map(shell_word, words)]))


_GENERATES = later(r"^//go:generate[ \t]{1,9}([^\n]{1,2000})", re.MULTILINE)
_GEMS_FROM = later(r"^\s{0,20}source:?\s{0,9}\(?[\"'](https?://[^\s\"']{1,300})", re.MULTILINE)


def _gems(text: str) -> Iterator[Recipe]:
    """Sources of the packages of a Gemfile, and its code."""
    yield from _sources(_GEMS_FROM, "gem sources --add")(text)
    yield from _whole("other")(text)


_CARGO_RUNS = later(
    r"^\s{0,20}(?:rustc-wrapper|rustc-workspace-wrapper|rustc|rustdoc|runner|linker)\s{0,9}=\s{0,9}(?:\"((?:[^\"\\\n]|\\.){1,1000})\"|'([^'\n]{1,1000})')",
    re.MULTILINE,
)


def _cargo(text: str) -> Iterator[Recipe]:
    """Programs that cargo runs with each build, and where its packages come from."""
    yield from _each(_CARGO_RUNS)(text)
    yield from _indexes(text)


_CMAKE = later(
    r"\bCOMMAND\s((?:\"(?:[^\"\\]|\\.){0,600}+\"|[^()\"]++)*+)|\bfile\s?\(\s?(?:REMOVE|REMOVE_RECURSE)\s([^()]{1,2000}+)\)"
)
"""Commands that CMake runs, up to the end of the call that names them, and files that it removes."""
_CMAKE_ENDS = later(
    r"\s(?:WORKING_DIRECTORY|COMMENT|VERBATIM|DEPENDS|BYPRODUCTS|TIMEOUT|(?:OUTPUT|ERROR|RESULTS?|COMMAND)_\w+)\b"
)
_CMAKE_PLACE = later(r"\$\{\w{1,40}_(?:SOURCE|BINARY|LIST)_DIR\}")
"""Folders of the project and of its build."""
_CMAKE_ENVIRONMENT = later(r"\$ENV\{(\w{1,80})\}")


def _cmake(text: str) -> Iterator[Recipe]:
    """Commands of a file of CMake, where its own folders are the working directory."""
    for match in _CMAKE.finditer(text):
        for code in re.split(r"\sCOMMAND\s", match[1]) if match[1] else [f"rm -rf {match[2]}"]:
            code = _CMAKE_ENDS.split(code, 1)[0].replace("${CMAKE_COMMAND}", "cmake")
            code = _CMAKE_ENVIRONMENT.sub(r"${\1}", _CMAKE_PLACE.sub(".", code))
            yield Recipe("COMMAND", " ".join(code.split()))


_LOCAL_ENVIRONMENT = later(r"\$\{(?:localEnv|env):(\w{1,80})(?::[^{}]{0,80})?\}")
"""Variables in settings of editors and of their containers."""
_UPDATES = later(r"^\s{0,20}(?:update|\w{1,40})\s{0,9}=\s{0,9}[\"']?!\s{0,9}([^\n\"']{1,1000})", re.MULTILINE)


_READERS: tuple[tuple[re.Pattern[str], Callable[[str], Iterator[Recipe]]], ...] = (
    (later(r"/(?:GNU)?[Mm]akefile$|\.mk$"), every_target),
    (later(r"/\.?[Jj]ustfile$"), lambda text: iter(just(text))),
    (later(r"/(?:package|composer|deno)\.jsonc?$"), _scripts),
    (later(r"/\.(?:husky|githooks)/[^/]+$|/\.git/hooks/[^/]+$|/\.envrc$"), _whole("sh")),
    (later(r"/\.github/(?:workflows/[^/]+|actions/.*)\.ya?ml$|/\.gitlab-ci\.yml$|/\.circleci/config\.yml$|/azure-pipelines\.yml$|/\.travis\.yml$|/bitbucket-pipelines\.yml$|/\.drone\.yml$|/\.woodpecker\.ya?ml$|/cloudbuild\.ya?ml$|/\.buildkite/[^/]+\.ya?ml$|/\.?appveyor\.yml$|/buildspec\.ya?ml$|/\.semaphore/[^/]+\.yml$|/\.cirrus\.yml$|/codefresh\.yml$"), _continuous_integration),
    (later(r"/\.pre-commit-config\.yaml$|/lefthook\.ya?ml$|/Taskfile\.ya?ml$|/\.overcommit\.yml$"), _yaml_commands),
    (later(r"/\.vscode/(?:tasks|launch|settings)\.json$|\.code-workspace$|/\.zed/(?:tasks|settings)\.json$|/\.?devcontainer\.json$"), _json_commands),
    (later(r"/(?:conftest|setup|sitecustomize|usercustomize|noxfile|fabfile|tasks|dodo|SConstruct|wscript)(?:\.py)?$|\.pth$"), _whole("python")),
    (later(r"/(?:conf|gunicorn\.conf|celeryconfig|manage|env)\.py$|/(?:Tilt|Snake)file$"), _whole("python")),
    (later(r"/build\.rs$|\.config\.[cm]?[jt]s$|/[^/]+\.gradle(?:\.kts)?$|/meson\.build$|/\.(?:mocha|eslint|prettier|babel|stylelint)rc\.[cm]?js$|/(?:gulpfile|Gruntfile|webpack\.config|vite\.config|jest\.config|rollup\.config|eslint\.config|\.eslintrc|babel\.config|postcss\.config|next\.config)\.[cm]?[jt]s$|/Rakefile$|/[^/]+\.gemspec$|/Vagrantfile$|/build\.gradle(?:\.kts)?$|/Jenkinsfile$"), _whole("other")),
    (later(r"/(?:jest|vitest|mocha|karma|cypress|playwright|test|tests|global)[.-]?(?:setup|teardown)[\w.-]{0,40}\.[cm]?[jt]sx?$|/setup[-_.]?(?:tests?|jest|vitest|env|files?)[\w.-]{0,40}\.[cm]?[jt]sx?$|/global(?:Setup|Teardown)\.[cm]?[jt]s$|/cypress/support/[^/]+\.[jt]s$", re.IGNORECASE), _whole("other")),
    (later(r"/CMakeLists\.txt$|\.cmake$"), _cmake),
    (later(r"\.(?:php|phtml)$"), _whole("other")),
    (later(r"\.go$"), _each(_GENERATES)),
    (later(r"/Gemfile$|/gems\.rb$"), _gems),
    (later(r"/\.cargo/config(?:\.toml)?$"), _cargo),
    (later(r"/tox\.ini$"), _tox),
    (later(r"/[^/]+\.(?:tf|hcl)$"), _each(_TERRAFORM)),
    (later(r"/[^/]+\.ninja$"), _each(_NINJA)),
    (later(r"/configure\.(?:ac|in)$|/[^/]+\.m4$"), _each(_M4)),
    (later(r"/\.idea/.*\.xml$|\.run\.xml$"), _each(_IDEA)),
    (later(r"\.ipynb$"), _notebook),
    (later(r"/(?:pyproject|config|mise|\.mise|Makefile|poe_tasks)\.toml$|/Procfile(?:\.\w+)?$"), _lines),
    (later(r"/(?:docker-)?compose(?:\.[\w-]+)?\.ya?ml$"), lambda text: iter(services(text))),
    (later(r"/\.npmrc$|/\.yarnrc(?:\.yml)?$|/(?:pip|uv)\.(?:conf|ini|toml)$|/bunfig\.toml$|/\.pip/pip\.conf$"), _indexes),
    (later(r"/(?:[\w.-]*requirements|constraints)[\w.-]*\.(?:txt|in)$|/requirements/[^/]+\.(?:txt|in)$"), _requirements),
    (later(r"/(?:[\w.-]+\.)?(?:Docker|Container)file(?:\.[\w-]+)?$"), image_steps),
    (later(r"/\.gitmodules$|/\.?gitconfig[^/]*$|/[^/]*git[^/]*\.(?:cfg|conf|config|inc)$"), _each(_UPDATES)),
    (_DATA, lambda _text: iter(())),
    (later(r"\.(?:jsonc?|json5|ya?ml|toml|xml|gypi?|nix|ini|conf|cfg|properties|spec|bzl|star|kdl|bazel|desktop|service|rules)$|/(?!Docker|Container)[A-Z][A-Za-z]+file$|/(?:PKGBUILD|APKBUILD|BUILD|WORKSPACE)$|/debian/(?:rules|(?:[\w.-]+\.)?(?:pre|post)(?:inst|rm))$|/\.[a-z-]{2,20}rc$"), _settings),
)  # fmt: skip


_BY_LINE = frozenset({_continuous_integration, _yaml_commands, _tox, _lines})
"""Readers whose patterns try each place of a line."""


@lru_cache(maxsize=256)
def _reader_of(path: str) -> Callable[[str], Iterator[Recipe]] | None:
    """Return what reads such a file, if anything does. Remembered: agents write the same files again and again."""
    return next((read for pattern, read in _READERS if pattern.search(path)), None)


def recipes_of(path: str, text: str) -> list[Recipe]:
    """Return the commands that others run out of this file; none if it is not such a file."""
    read = _reader_of(path)
    if read is None:
        return []
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
