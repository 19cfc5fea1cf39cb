"""Programs that run what a project's own files name: build files, package scripts, configuration of tests."""

import posixpath
import re
from collections.abc import Iterator
from itertools import islice

from monitors.contract.expressions import later
from monitors.review.languages.code import others, python
from monitors.review.languages.code.loops import starts_itself
from monitors.review.languages.code.uses import MAX_CODE, MAX_SCRIPTS, WHOLE_ENVIRONMENT, Uses, bounded
from monitors.review.languages.project.build_files import asked, just, made
from monitors.review.languages.project.containers import pods, services
from monitors.review.languages.project.images import image_command
from monitors.review.languages.project.named_files import BY_NAME, Files, Read, whole_file
from monitors.review.languages.project.recipes import Recipe, npm_scripts, package_scripts
from monitors.review.shell.invocation import Arg, Input, Invocation, arg


def project_uses(invocation: Invocation, files: Files) -> Uses | None:
    """Return the effects of the project's files that the invocation runs; None if it runs none that are known."""
    read = _PROGRAMS.get(invocation.name)
    if read is None:
        return None
    found = Uses()
    for recipe in read(invocation, files):
        merge(found, recipe)
    return found if found.scripts or found.deletes or found.runs or found.hidden or found.cut else None


def module_uses(invocation: Invocation, files: Files) -> Uses | None:
    """Return the effects of a module that `python -m` runs."""
    found = Uses()
    for recipe in _python(invocation, files):
        merge(found, recipe)
    return found if found.scripts or found.deletes or found.runs or found.hidden or found.cut else None


def merge(found: Uses, recipe: Recipe) -> None:
    """Add what a recipe does. Paths that code only names do not count: tests and settings name many."""
    if recipe.language == "sh":
        found.scripts.append(recipe.code[:MAX_CODE])
    else:
        code = recipe.code[:MAX_CODE]
        uses = python.uses_of(code) if recipe.language == "python" else None
        uses = uses or others.uses_of(code, texts=recipe.language != "tests")
        found.scripts += uses.scripts
        found.deletes += uses.deletes
        found.runs = found.runs or uses.runs
        found.hidden = found.hidden or uses.hidden
        found.bomb = found.bomb or starts_itself(code)
        found.leaks = found.leaks or (uses.sends and WHOLE_ENVIRONMENT.search(code) is not None)
        found.secret = found.secret or uses.secret
        found.writes_to_many = found.writes_to_many or uses.writes_to_many
        found.writes += [path for path in uses.writes if path[:1] in "/~"]
        found.reads += [path for path in uses.reads if uses.connects and _KEY.search(path)]
        found.cut = found.cut or uses.cut
        found.length = uses.length
    found.cut = found.cut or recipe.cut
    bounded(found, recipe.code)


_KEY = re.compile(
    r"/\.ssh/(?:id_[\w*]{1,20}|\*|\{\})\Z|/\.aws/credentials\Z|/\.(?:netrc|git-credentials|pypirc)\Z|/\.gnupg/"
)
"""Files of keys and logins, which code that asks other machines has no use for."""


def _option(invocation: Invocation, *names: str) -> Arg | None:
    for at, word in enumerate(invocation.args):
        if word in names and at + 1 < len(invocation.args):
            return invocation.args[at + 1]
        for name in names:
            if name[:2] == "--" and word.startswith(name + "="):
                return arg(word[len(name) + 1 :])
            if len(name) == 2 and word[:2] == name and len(word) > 2:
                return arg(word[2:])
    return None


def _below(folder: Arg | None, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}" if folder else name


def _there(folder: Arg | None, recipes: list[Recipe]) -> Iterator[Recipe]:
    """The recipes with the directory in which they run."""
    quoted = folder.replace("'", "") if folder else ""
    for recipe in recipes:
        yield recipe._replace(code=f"cd '{quoted}'\n{recipe.code}") if folder else recipe


def _make(invocation: Invocation, files: Files) -> Iterator[Recipe]:
    if {"--version", "-h", "--help"}.intersection(invocation.args):
        return
    folder, named = _option(invocation, "-C", "--directory"), _option(invocation, "-f", "--file", "--makefile")
    if named in ("-", "/dev/stdin"):
        text = invocation.input.text
    else:
        names = [named] if named else ["GNUmakefile", "makefile", "Makefile"]
        text = next((found for name in names if (found := files(invocation, _below(folder, name)))), None)
    if not text:
        return
    words = invocation.operands(("-C", "-f", "-I", "-o", "-W", "--directory", "--file", "--makefile"))
    given = dict(word.partition("=")[::2] for word in words if "=" in word)
    given |= {name: str(value) for name, value in invocation.assignments.items()}
    given.setdefault("MAKEFILE_LIST", str(named or "Makefile"))
    if invocation.cwd[:1] == "/":
        given.setdefault("CURDIR", posixpath.normpath(posixpath.join(invocation.cwd, folder or "")))
    targets = [str(word) for word in words if "=" not in word]
    yield from _there(folder, asked(text))  # which it runs even if it is only to say what it would do
    if {"-n", "--dry-run", "--just-print", "-q"}.intersection(invocation.args):
        return
    yield from _there(folder, made(text, targets, given))


_RUNS = frozenset({"run", "run-script", "exec-script"})
_SHORT = frozenset({"test", "start", "stop", "restart", "install", "i", "ci", "add", "t", "publish", "pack"})
_OWN = frozenset({"dlx", "exec", "x", "why", "list", "remove", "up", "upgrade", "info", "init", "global", "config", "link", "audit", "outdated", "create"})  # fmt: skip


def _npm(invocation: Invocation, files: Files) -> Iterator[Recipe]:
    folder = _option(invocation, "--prefix", "-C", "--cwd", "--dir")
    words = invocation.operands(("--prefix", "-C", "--cwd", "--dir", "-w", "--workspace", "--filter", "-F"))
    wanted = str(words[0]) if words else ("" if invocation.name == "npm" else "install")
    if wanted in _RUNS and len(words) > 1:
        wanted = str(words[1])
    elif (wanted not in _SHORT and invocation.name in ("npm", "bun")) or wanted in _OWN or not wanted:
        return
    if "--ignore-scripts" in invocation.args:
        return
    text = files(invocation, _below(folder, "package.json"))
    scripts = npm_scripts(package_scripts(text), {"t": "test"}.get(wanted, wanted)) if text else []
    yield from _there(folder, [Recipe(wanted, code) for code in scripts])


def _just(invocation: Invocation, files: Files) -> Iterator[Recipe]:
    text = next((found for name in ("justfile", ".justfile", "Justfile") if (found := files(invocation, name))), "")
    recipes = just(text, invocation.cwd) if text else []
    wanted = [word for word in invocation.operands() if "=" not in word]
    yield from (recipe for recipe in recipes if recipe.name in wanted) if wanted else recipes[:1]


def _pytest(invocation: Invocation, files: Files) -> Iterator[Recipe]:
    words = [word for word in invocation.operands(("-k", "-m", "-p", "-n", "-c", "-o")) if word != "pytest"]
    named = [word.partition("::")[0] for word in words]
    for name in dict.fromkeys(("conftest.py", "tests/conftest.py", *(one for one in named[:5] if one.endswith(".py")))):
        text = files(invocation, name)
        if text:
            yield Recipe(name, text, "python")


def _python(invocation: Invocation, files: Files) -> Iterator[Recipe]:
    module = _option(invocation, "-m")
    if module == "pytest":
        yield from _pytest(invocation, files)
    elif module and module.replace(".", "").isidentifier():
        for name in (module.replace(".", "/") + ".py", module.replace(".", "/") + "/__main__.py"):
            text = files(invocation, name)
            if text:
                yield Recipe(name, text, "python")


def _pip(invocation: Invocation, files: Files) -> Iterator[Recipe]:
    if invocation.args[:1] == ["install"] and {".", "-e", "--editable"}.intersection(invocation.args):
        yield from whole_file("setup.py", language="python")(invocation, files)


def _go(invocation: Invocation, files: Files) -> Iterator[Recipe]:
    if invocation.args[:1] == ["run"]:
        names = [word for word in invocation.args[1:10] if word.endswith(".go")]
        yield from whole_file(*names)(invocation, files)


def _cargo(invocation: Invocation, files: Files) -> Iterator[Recipe]:
    if {"build", "b", "run", "r", "test", "t", "check", "bench", "install", "clippy"}.intersection(invocation.args[:2]):
        yield from whole_file("build.rs")(invocation, files)
        for name in (".cargo/config.toml", ".cargo/config"):
            for match in islice(_CARGO_RUNS.finditer(files(invocation, name) or ""), MAX_SCRIPTS):
                yield Recipe(match[1], match[2])


_CARGO_RUNS = re.compile(
    r"^\s{0,20}[\"']?(rustc|rustc-wrapper|rustc-workspace-wrapper|rustdoc|linker|runner)[\"']?\s{0,5}=\s{0,5}\[?\s{0,5}[\"']([^\"'\n]++)[\"']",
    re.MULTILINE,
)
"""Programs that cargo's own settings have it start."""


def _compose(invocation: Invocation, files: Files) -> Iterator[Recipe]:
    words = [str(word) for word in invocation.args]
    if invocation.name in ("docker", "podman") and words[:1] != ["compose"]:
        yield from image_command(invocation, files)
        return
    if not {"up", "run", "create", "start"}.intersection(words):
        return
    named = _option(invocation, "-f", "--file")
    names = [named] if named else ["compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"]
    if named in ("-", "/dev/stdin"):
        text = invocation.input.text or ""
    else:
        text = next((found for name in names if (found := files(invocation, name))), "")
    yield from services(text) if text else ()
    for name in () if named else _OVERRIDES:
        over = files(invocation, name)
        yield from services(over) if over else ()


_OVERRIDES = ("compose.override.yaml", "compose.override.yml", "docker-compose.override.yml", "docker-compose.override.yaml")  # fmt: skip
"""Files that compose lays over the first one without being asked."""


def _kubectl(invocation: Invocation, files: Files) -> Iterator[Recipe]:
    if not {"apply", "create", "replace", "run"}.intersection(invocation.args[:6]):
        return
    named = _option(invocation, "-f", "--filename")
    text = invocation.input.text if named == "-" else files(invocation, named) if named else None
    yield from pods(text) if text else ()


_SSH_RUNS = later(
    r"^[ \t]{0,40}(?:ProxyCommand|LocalCommand|KnownHostsCommand|Match\s[^\n]{0,200}?\bexec)[\s=]{1,5}\"?([^\n\"]{1,1000})",
    re.IGNORECASE | re.MULTILINE,
)


def _ssh(invocation: Invocation, files: Files) -> Iterator[Recipe]:
    """Commands of a file of settings that is named: the person's own is not read."""
    named = _option(invocation, "-F")
    text = files(invocation, named) if named and named.known else None
    for match in islice(_SSH_RUNS.finditer(text or ""), MAX_SCRIPTS):
        yield Recipe("settings", match[1])


_CMAKE = re.compile(r"\bCOMMAND\s{1,20}([^()\n]++)")
_CMAKE_REMOVES = re.compile(r"\bfile\s{0,9}\(\s{0,20}REMOVE(?:_RECURSE)?\s{1,20}([^()\n]++)", re.IGNORECASE)
_CMAKE_VARIABLE = re.compile(r"\$\{[\w.]{1,80}\}")


def _cmake_text(text: str) -> str:
    """Return words of cmake as a shell's."""
    return _CMAKE_VARIABLE.sub("made", text).replace("$ENV{", "${")


def _cmake(invocation: Invocation, files: Files) -> Iterator[Recipe]:
    if {"--build", "-E", "--install", "--version"}.intersection(invocation.args[:1]):
        return
    named = _option(invocation, "-P")
    if named:
        text = files(invocation, named)
        for match in islice(_CMAKE.finditer(text or ""), MAX_SCRIPTS):
            yield Recipe("COMMAND", _cmake_text(match[1]))
        for match in islice(_CMAKE_REMOVES.finditer(text or ""), MAX_SCRIPTS):
            yield Recipe("file", f"rm -rf {_cmake_text(match[1])}")
        return
    source = _option(invocation, "-S") or next((word for word in invocation.args if word[:1] != "-"), None)
    text = files(invocation, _below(source, "CMakeLists.txt"))
    for match in islice(_CMAKE.finditer(text or ""), MAX_SCRIPTS):
        yield Recipe("COMMAND", _CMAKE_VARIABLE.sub("made", match[1]))


def _sql(invocation: Invocation, files: Files) -> Iterator[Recipe]:
    """Nothing to run here: the statements of a file become the client's input, for its own rules."""
    named = _option(invocation, "-f", "--file")
    said = next((word for word in invocation.args if word[:7] in ("source ", ".read f") or word[:6] == ".read "), None)
    fed = next((redirect.target for redirect in invocation.redirects if redirect.operator == "<"), None)
    name = named or (said.partition(" ")[2].strip() if said else None) or fed
    text = files(invocation, name) if name and name != "-" else None
    if text and not invocation.input.text:
        invocation.input = Input(text, invocation.input.source)
    yield from ()


_CURL_LINE = later(
    r"^[ \t]{0,20}+(?:--?)?([a-zA-Z][\w-]{0,40}+)(?:[ \t=:]{1,20}+\"?([^\"\n]{1,2000}+)\"?)?[ \t]*+$", re.MULTILINE
)


def _curl(invocation: Invocation, files: Files) -> Iterator[Recipe]:
    """Options that stand in a file of settings, as a command of their own."""
    named = _option(invocation, "-K", "--config")
    text = invocation.input.text if named == "-" else files(invocation, named) if named and named.known else None
    words = [
        word
        for match in islice(_CURL_LINE.finditer(text or ""), MAX_SCRIPTS)
        for word in (f"--{match[1]}", match[2])
        if word
    ]
    if words:
        yield Recipe(
            "settings",
            "curl " + " ".join(word if word[:2] == "--" else "'" + word.replace("'", "") + "'" for word in words),
        )


def _sftp(invocation: Invocation, files: Files) -> Iterator[Recipe]:
    """A batch of commands becomes the client's input, for its own rules."""
    named = _option(invocation, "-b")
    text = files(invocation, named) if named and named.known and named != "-" else None
    if text and not invocation.input.text:
        invocation.input = Input(text, invocation.input.source)
    yield from _ssh(invocation, files)


def _mongo(invocation: Invocation, files: Files) -> Iterator[Recipe]:
    """Nothing to run here: the statements of a script become the client's input, for its own rules."""
    named = next((word for word in invocation.args if word.known and word.endswith((".js", ".mongodb"))), None)
    text = files(invocation, named) if named else None
    if text and not invocation.input.text:
        invocation.input = Input(text, invocation.input.source)
    yield from ()


_PROGRAMS: dict[str, Read] = {
    **BY_NAME,
    **dict.fromkeys(("make", "gmake", "bmake"), _make),
    **dict.fromkeys(("npm", "yarn", "pnpm", "bun"), _npm),
    **dict.fromkeys(("pytest", "py.test"), _pytest),
    **dict.fromkeys(("pip", "pip3"), _pip),
    **dict.fromkeys(("docker", "podman", "docker-compose", "podman-compose"), _compose),
    **dict.fromkeys(("psql", "mysql", "mariadb", "sqlite3", "duckdb", "sqlcmd", "cqlsh"), _sql),
    **dict.fromkeys(("mongosh", "mongo"), _mongo),
    **dict.fromkeys(("kubectl", "oc", "k3s"), _kubectl),
    **dict.fromkeys(("ssh", "scp"), _ssh),
    "sftp": _sftp,
    "curl": _curl,
    "just": _just,
    "go": _go,
    "cargo": _cargo,
    "cmake": _cmake,
}  # fmt: skip
