"""Build files: the commands of makefiles and justfiles.

They are read leniently and line by line, so that a piece of one, as an edit brings it, is read as well.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from monitors.contract.expressions import later
from monitors.review.languages.code.uses import MAX_CODE
from monitors.review.languages.project.recipes import MAX_LINE, MAX_RECIPES, Recipe

MAX_ROUNDS = 8
"""Most times that references in a recipe are replaced. The root of a project takes six:
`$(shell dirname $(realpath $(lastword $(MAKEFILE_LIST))))` in a variable of a variable."""
MAX_NAMED = 1_000
"""Most targets or variables of one build file."""


class Makefile(NamedTuple):
    """The targets and variables of a makefile."""

    recipes: Mapping[str, tuple[str, ...]]
    needs: Mapping[str, tuple[str, ...]]
    variables: Mapping[str, str]
    first: str
    cut: str
    """The part of it that was not read, as a phrase; empty if all was."""


_RULE = later(r"([^\s:=#][^:=#\t]{0,400}+)\s*+::?(?!=)([^=\n]*)\Z")
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


def every_target(text: str) -> Iterator[Recipe]:
    """Yield the commands of all targets of a makefile."""
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
