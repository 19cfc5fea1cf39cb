"""Changes to texts that the commands of a script make: by editors in place, and by code that replaces texts."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from monitors.review.programs.outputs import IN_PLACE, files_in_place
from monitors.review.scene.scene import Scene
from monitors.review.shell.invocation import Arg, Invocation
from monitors.review.tampering.signs import TextChange, stands

EDITORS = frozenset({"sed", "gsed", "perl", "ruby"})
"""Programs that change files in place by a script."""
MAX_CHANGES = 40
"""Most changes of one command that are looked at."""
PROOFS_STAND = (
    "tests",
    "ci",
    "hooks",
    "commands",
    "settings",
    "ignored",
    "reports",
    "results",
    "checkers",
    "code",
    "agents",
    "wrappers",
    "cmake",
)
"""Places of proofs."""

_SUBSTITUTES = re.compile(
    r"(?:(?<=[;{}\s/$!,])|(?<=\d)|^)s(?:([^\w\s\\{])((?:(?!\1)[^\\]|\\.){1,2000}+)\1((?:(?!\1)[^\\]|\\.){0,4000}+)(?:\1|\Z)"
    r"|\{((?:[^{}\\]|\\.){1,2000}+)\}\s{0,9}\{((?:[^{}\\]|\\.){0,4000}+)\})",
    re.DOTALL,
)
_DELETES = re.compile(r"(?:^|[;{\n])\s{0,9}/((?:[^/\\]|\\.){1,300}+)/(?:,[^\s;]{1,40})?\s{0,9}d\b")
_INSERTS = re.compile(r"(?:^|[;{\n])\s{0,9}(?:\d+|\$|/[^/\n]{1,200}/)?\s{0,9}[aic](?:\\\s{0,9}|\s{1,9})")
MAX_INSERTED = 4_000
"""Most characters of a text that is put into files."""
_AT_A_LINE = re.compile(r"\d\Z")
_BLANKS = re.compile(
    r"\\?\((?:[ ]|\\s|\[\[:space:\]\]|\[ \\t\])[*+]?\\?\)|(?:\\s|\[\[:space:\]\])[*+]|\\[bB<>]|(?<![\\\[])\^"
)
_BACK = re.compile(r"(?<!\\)&|\\[0-9]|\$\{?[0-9]\}?")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_GROUP = re.compile(r"\\?\(((?:[^()\\]|\\[^()]){0,400})\\?\)")
_ASSIGNERS = frozenset({"yq", "jq", "dasel", "gojq", "tomlq"})
"""Programs whose script sets keys of a file."""
_ASSIGNER_VALUES = frozenset({"-f", "--indent", "-o", "-p", "--arg", "--argjson"})
_ASSIGNS = re.compile(
    r"((?:\.[\w-]+|\.?\[?\"[^\"\n]{1,60}\"\]?|\[\d*\]){1,12})\s{0,4}\|?=\s{0,4}(\"[^\"\n]{0,200}\"|[\w.%-]{1,60})"
)
_INTERPRETERS = re.compile(r"python[\d.]*|node|ruby|deno|bun")
_QUOTED = re.compile(r"['\"`]([^'\"`\n]{2,200})['\"`]")
_REPLACES = re.compile(
    r"(?:\.sub|\breplace(?:All)?|\.gsub!?)\(\s{0,9}[rb]?(?P<q>['\"/])(?P<old>(?:(?!(?P=q))[^\\]|\\.){1,600}+)(?P=q)[a-z]{0,4},\s{0,9}[rb]?"
    r"(?P<p>['\"])(?P<new>(?:(?!(?P=p))[^\\]|\\.){0,2000}+)(?P=p)"
)
MAX_CODE = 20_000
"""Most characters of code that are looked through."""
_LETTERS = {"n": "\n", "t": "\t"}


def made(scene: Scene, commands: Sequence[Invocation]) -> Iterator[TextChange]:
    """Yield the changes that commands make to texts whose place is one of proofs."""
    for one in commands:
        if one.inside:
            continue
        if one.name in EDITORS and any(map(IN_PLACE.match, one.args)):
            yield from islice(_edited(scene, one), MAX_CHANGES)
        if one.name in _ASSIGNERS:
            yield from islice(_assigned(scene, one), MAX_CHANGES)
        if _INTERPRETERS.fullmatch(one.name):
            yield from islice(_by_code(one), MAX_CHANGES)


def _edited(scene: Scene, one: Invocation) -> Iterator[TextChange]:
    files = files_in_place(one)
    throughout = len(files) > 3 or any(word.glob or not word.known or "{}" in word for word in files)
    for path in dict.fromkeys(path for word in files[:MAX_CHANGES] for path in named(scene, one, word)):
        for script in _scripts(one):
            yield from _changes(path, script, throughout=throughout)


def named(scene: Scene, one: Invocation, word: Arg) -> list[str]:
    """Return the paths within the workspace that a word names, as its text or what lists them says."""
    if word.known:
        return [within(scene, scene.path(word, one))]
    told = (str(word), *(part for source in word.source for part in source.args))
    paths = [_rooted(part) for text in told for part in text.split()]
    paths = [path if stands(path, *PROOFS_STAND) else f"{path}/*" for path in paths]  # a folder that is searched
    return [path for path in paths if stands(path, *PROOFS_STAND)][:MAX_CHANGES]


def _rooted(word: str) -> str:
    return "/" + word.strip("\"'`)$( ").removeprefix("./").rstrip("/")


def within(scene: Scene, path: str) -> str:
    """Return an absolute path as it stands in the workspace, from a slash on."""
    return path.removeprefix(posixpath.normpath(scene.places.workspace or "/")) if scene.places.workspace else path


def _scripts(one: Invocation) -> list[str]:
    given = [
        str(after)
        for word, after in pairwise(one.args)
        if re.fullmatch(r"-[a-zA-Z0-9]{0,6}e|--expression", word)
        and (one.name in ("perl", "ruby") or word[-1:] == "e" or word[1:2] == "-")
    ]
    given += [word.partition("=")[2] for word in one.args if word.startswith("--expression=")]
    return given or [str(word) for word in one.operands()[:1] if word] or []


def _changes(path: str, script: str, *, throughout: bool) -> Iterator[TextChange]:
    for match in _SUBSTITUTES.finditer(script):
        before, after = (match[2], match[3]) if match[1] else (match[4], match[5])
        old = plain(before)
        yield TextChange(path, old, _put(after, old, before), many=not _AT_A_LINE.search(script[: match.start()]))
    for match in _DELETES.finditer(script):
        yield TextChange(path, plain(match[1]), "", many=True)
    if put := _INSERTS.search(script):
        yield TextChange(path, "", _put(script[put.end() :][:MAX_INSERTED], "", ""), many=throughout)


def plain(pattern: str) -> str:
    """Return a text that a pattern stands for: without its anchors, blanks and escapes."""
    return _ESCAPED.sub(_letter, _BLANKS.sub("", pattern)).removesuffix("$")


def _put(text: str, old: str, pattern: str) -> str:
    """Return what comes in the place of what a pattern finds, with the groups that it takes over."""
    groups = ["" if not group.strip(" *+?") else plain(group) for group in _GROUP.findall(pattern)]

    def taken(one: re.Match[str]) -> str:
        number = int(one[0].strip("\\${}") or 0) if one[0] != "&" else 0
        return old if one[0] == "&" else groups[number - 1] if 0 < number <= len(groups) else ""

    return _ESCAPED.sub(_letter, _BACK.sub(taken, text))


def _assigned(scene: Scene, one: Invocation) -> Iterator[TextChange]:
    """Yield what `yq` and `jq` set in the files that they are given; where they print it, it comes to stand there."""
    words = one.operands(_ASSIGNER_VALUES)
    for word in words[1:][:MAX_CHANGES] if words else ():
        for match in islice(_ASSIGNS.finditer(words[0]), MAX_CHANGES):
            key = match[1].rpartition(".")[2].strip('"[]')
            for path in named(scene, one, word):
                yield TextChange(path, f"{match[1]} {key}: .*", f"{match[1]}\n{key}: {match[2]}")


def code_given(one: Invocation) -> str:
    """Return what an interpreter is given, by its words and its input, as far as it is looked through."""
    return "\n".join((*one.args, one.input.text or ""))[:MAX_CODE]


def _by_code(one: Invocation) -> Iterator[TextChange]:
    """Yield the replacements of texts that code given to an interpreter makes in the files that it names."""
    code = code_given(one)
    if "replace" not in code and ".sub(" not in code:
        return
    paths = [path for path in map(_rooted, _QUOTED.findall(code)) if path.rstrip("*") != "/"]
    places = list(dict.fromkeys(
        each for path in paths for each in (path, f"{path}/*") if stands(each, *PROOFS_STAND) and " " not in each
    ))  # fmt: skip
    for match in islice(_REPLACES.finditer(code), MAX_CHANGES):
        old = plain(match["old"])
        for path in places[:MAX_CHANGES]:
            yield TextChange(path, old, _put(match["new"], old, match["old"]), many=True)


def _letter(match: re.Match[str]) -> str:
    return _LETTERS.get(match[1], match[1])
