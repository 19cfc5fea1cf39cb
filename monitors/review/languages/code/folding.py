"""Texts of JavaScript, Ruby, Perl and PHP that are put together of known pieces, and names that stand for functions.

There is no syntax tree: joined texts, paths that are joined, and variables within texts become the one text that they
make, so that what looks for calls sees it.
"""

import re
from collections.abc import Mapping
from itertools import islice

MAX_ROUNDS = 6
"""Most times that pieces are joined: each round joins all neighbours."""
MAX_ALIASES = 30
"""Most names for functions that are followed."""

_TEXT = r"(?:\"[^\"\\\n]{0,400}\"|'[^'\\\n]{0,400}')"
_CHAIN = re.compile(rf"({_TEXT})\s{{0,20}}(?:\+|\.\.?|<>)\s{{0,20}}({_TEXT})")
_PATH = re.compile(
    rf"\b(?:(?:\w{{1,30}}|require\([\"'](?:node:)?path[\"']\))\.(?:[jJ]oin|resolve|Combine|(?<=Paths\.)get|(?<=Path\.)of)|joinpath)\(\s{{0,20}}({_TEXT}(?:\s{{0,20}},\s{{0,20}}{_TEXT}){{1,10}})\s{{0,20}}\)"
)
_BARE_PATH = re.compile(
    rf"(?<![\w.$])(?:join|resolve)\(\s{{0,20}}((?=[\"'](?:~|/\w|\.{{1,2}}/)){_TEXT}(?:\s{{0,20}},\s{{0,20}}{_TEXT}){{1,10}})\s{{0,20}}\)"
)
"""A path that is joined by a function that was taken out of its module."""
_OPEN_PATH = re.compile(
    rf"(?:require\([\"'](?:node:)?path[\"']\)\.|\b\w{{1,30}}\.|\b)(?:[jJ]oin|resolve|Combine|joinpath)\(\s{{0,20}}((?=[\"']~){_TEXT}(?:\s{{0,20}},\s{{0,20}}(?:{_TEXT}|[\w$][\w.$]{{0,40}}(?:\[\w{{0,20}}\]|\(\))?)){{1,10}})\s{{0,20}}\)"
)
"""A path below the home directory of which a part is not known."""
_OPEN_CHAIN = re.compile(
    r"([\"'])(~(?:/[\w./-]{0,200})?/)\1\s{0,20}(?:\+|\.(?=\s))\s{0,20}[\w$][\w.$]{0,40}(?![\w.$]|\s{0,3}\()"
)
_FORMAT = re.compile(
    rf"\b(?:sprintf|Sprintf|format|printf_to_string)\s?\(\s{{0,20}}({_TEXT})((?:\s{{0,20}},\s{{0,20}}{_TEXT}){{1,12}})\s{{0,20}}\)"
)
"""A text that is made of a form and of texts."""
_HOME_AND = re.compile(r"\"~\"\s{1,3}\"(/[^\"\\\n]{0,300})\"")
"""A path behind the home directory, as awk puts texts together."""
_JOIN = re.compile(
    rf"\b(?:join|implode)\s{{0,5}}\(\s{{0,5}}({_TEXT})\s{{0,5}},\s{{0,5}}[\[(]?\s{{0,5}}({_TEXT}(?:\s{{0,5}},\s{{0,5}}{_TEXT}){{0,20}})\s{{0,5}}[\])]?\s{{0,5}}\)"
    rf"|\[\s{{0,5}}({_TEXT}(?:\s{{0,5}},\s{{0,5}}{_TEXT}){{1,20}})\s{{0,5}}\]\.join\(\s{{0,5}}({_TEXT})\s{{0,5}}\)"
)
"""A list of texts that is joined: by a function, as in Perl and PHP, or by the list's own method."""
_PIECE = re.compile(_TEXT)
_BEGINS = re.compile(r"\s{0,5}\(\s{0,20}[\"']")
"""The beginning of a text behind the name of a call."""
_PIECE_OR_NAME = re.compile(rf"{_TEXT}|[\w$][^,]*")
_SUBSCRIPT = re.compile(r"\[\s{0,5}[\"'](\w{1,40})[\"']\s{0,5}\]\s{0,5}\(")
_ALIAS = re.compile(
    r"\b(\w{1,30})\s{0,5}(?::|\bas\b)\s{0,5}(\w{1,30})\s{0,5}(?=[,}][^;\n]{0,200}(?:require\(|\bfrom\b))"
    r"|\b(?:const|let|var)\s+(\w{1,30})\s{0,5}=\s{0,5}require\([^()\n]{1,60}\)\.(\w{1,30})\b(?!\s{0,5}\()"
)
_WITHIN = re.compile(r"\"[^\"\n]{0,1000}\"|`[^`]{0,1000}`")
_VARIABLE = re.compile(r"[$#]\{(\w{1,40})\}|\$(\w{1,40})")


def plainly(code: str) -> str:
    """Return the code with `x["name"](` as `x.name(`, and functions by their own names."""
    if "[" in code:
        code = _SUBSCRIPT.sub(r".\1(", code)
    if "['" in code or '["' in code:  # the name may be put together
        code = _SUBSCRIPT.sub(r".\1(", folded(code))
    for match in islice(_ALIAS.finditer(code), MAX_ALIASES) if "require(" in code or "from" in code else ():
        own, alias = (match[1], match[2]) if match[1] else (match[4], match[3])
        if alias != own:
            code = re.sub(rf"(?<![\w.$]){re.escape(alias)}(?=\s{{0,5}}\()", own, code)
    return code


def folded(code: str) -> str:
    """Return the code with texts that are joined by an operator, or as a path, as one text."""
    for _ in range(MAX_ROUNDS):
        before = code
        code = _CHAIN.sub(_as_one, code)
        if _given_text(code, "ormat", "rintf", "printf_to_string"):
            code = _FORMAT.sub(_as_formatted, code)
        if "~" in code:
            code = _HOME_AND.sub(r'"~\1"', code)
            code = _OPEN_CHAIN.sub(r"\1\2{}\1", code)
            code = _OPEN_PATH.sub(_as_path, code)
        if _given_text(code, "oin", "oinpath", "resolve", "Combine", "Paths.get", "Path.of"):
            code = _PATH.sub(_as_path, _BARE_PATH.sub(_as_path, code))
        if _given_text(code, "join", "implode"):
            code = _JOIN.sub(_as_joined, code)
        if code == before:
            break
    return code


def _given_text(code: str, *calls: str) -> bool:
    """Whether one of these calls is given a text first: to look for it takes a tenth of what its expression takes."""
    for call in calls:
        at = code.find(call)
        while at >= 0:
            at += len(call)
            if _BEGINS.match(code, at):
                return True
            at = code.find(call, at)
    return False


def _as_one(match: re.Match[str]) -> str:
    inside = match[1][1:-1] + match[2][1:-1]
    quote = "'" if '"' in inside else '"'
    return match[0] if quote in inside else f"{quote}{inside}{quote}"


def _as_formatted(match: re.Match[str]) -> str:
    pieces = iter(piece[1:-1] for piece in _PIECE.findall(match[2]))
    text = re.sub(r"%[sv]", lambda found: next(pieces, found[0]), match[1][1:-1])
    quote = "'" if '"' in text else '"'
    return match[0] if quote in text else f"{quote}{text}{quote}"


def _as_path(match: re.Match[str]) -> str:
    pieces = [piece[1:-1] if piece[:1] in "\"'" else "{}" for piece in _PIECE_OR_NAME.findall(match[1])]
    return '"' + "/".join(piece.rstrip("/") if piece != "/" else "" for piece in pieces).replace('"', "") + '"'


def _as_joined(match: re.Match[str]) -> str:
    between, listed = (match[1], match[2]) if match[1] else (match[4], match[3])
    text = between[1:-1].join(piece[1:-1] for piece in _PIECE.findall(listed))
    quote = "'" if '"' in text else '"'
    return match[0] if quote in text else f"{quote}{text}{quote}"


def placed(code: str, values: Mapping[str, str]) -> str:
    """Return the code with the values of variables put into the texts that name them."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        return values.get(name, values.get(f"${name}", match[0]))

    return _WITHIN.sub(
        lambda text: _VARIABLE.sub(value, text[0]) if "$" in text[0] or "#{" in text[0] else text[0], code
    )
