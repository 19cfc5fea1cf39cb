"""Loops of code: over texts, written out as one body for each text, and those that start the code itself for ever."""

import re
from collections.abc import Mapping
from itertools import islice

from monitors.contract.expressions import later, sought, up_to_next
from monitors.review.languages.code.folding import placed
from monitors.review.languages.code.uses import MAX_CODE

MAX_LOOPS = 10
"""Most loops that are written out."""
MAX_TURNS = 12
"""Most turns of one loop that are written out."""
MAX_BODY = 1_500
"""Most characters of a body that is written out for each turn."""

_TEXT = r"(?:\"[^\"\\\n]{0,200}\"|'[^'\\\n]{0,200}')"
_TEXTS = rf"(?P<texts>{_TEXT}(?:\s{{0,20}},\s{{0,20}}{_TEXT}){{0,30}}+)\s{{0,20}},?\s{{0,20}}"
_WORDS = r"q?%?[wW][(/\[{](?P<words>[^)/\]}\n]{1,300})[)/\]}]"
_FORMS = (
    sought(
        rf"\bfor\s?\(\s?(?:const|let|var)\s{{1,3}}(?P<each>\w{{1,30}})\s{{1,3}}of\s{{1,3}}(?:\[\s{{0,20}}{_TEXTS}\]|(?P<list>\w{{1,30}}))\s?\)",
        "for",
    ),
    sought(
        rf"\bforeach\s?\(\s?(?:(?:\[|array\()\s{{0,20}}{_TEXTS}[\])]|(?P<list>\$\w{{1,30}}))\s{{1,3}}as\s{{1,3}}(?P<each>\$\w{{1,30}})\s?\)",
        "foreach",
    ),
    sought(
        rf"\bfor(?:each)?\s{{1,3}}(?:my\s{{1,3}})?(?P<each>\$\w{{1,30}})\s?\(\s?(?:{_TEXTS}|{_WORDS}|(?P<list>@\w{{1,30}}))\s?\)",
        "for",
    ),
    sought(
        rf"\bfor\s{{1,3}}_,\s?(?P<each>\w{{1,30}})\s:=\srange\s(?:\[\]string\{{\s{{0,20}}{_TEXTS}\}}|(?P<list>\w{{1,30}}))",
        "range",
    ),
    sought(
        rf"(?:(?<![\w\])])\[\s{{0,20}}{_TEXTS}\]|{_WORDS}|(?P<list>\b[a-zA-Z]\w{{1,30}}))\.(?:each|forEach|map)"
        r"(?:\s?(?:do|\{)\s?\|\s?(?P<each>\w{1,30})\s?\||\(\s?(?:async\s)?\(?(?:function\s?\()?\s?(?P<arrow>\w{1,30})\s?\)?\s?(?:=>)?)",
        ".each .forEach .map",
    ),
)
"""A loop over texts, or over the name of a list, with the name that stands for one."""
_NAMED = later(rf"([$@]?\b\w{{1,30}})\s?:?=\s?(?:\[\]string\{{|\[|\(|array\()\s{{0,20}}{_TEXTS}[\]}})]")
"""A list of texts that has a name."""
_PIECE = later(_TEXT)


def written_out(code: str) -> str:
    """Return the code with loops over known texts as one copy of the body for each text."""
    for form in _FORMS:
        found = list(islice(form.finditer(code), MAX_LOOPS))
        if found:
            lists = {match[1]: match["texts"] for match in islice(_NAMED.finditer(code), MAX_LOOPS * 3)}
            code = _turned(code, found, lists)
    return code


def _turned(code: str, found: list[re.Match[str]], lists: Mapping[str, str]) -> str:
    made, at = list[str](), 0
    for match in found:
        named = match.groupdict()
        texts = _PIECE.findall(named["texts"] or lists.get(named.get("list") or "", ""))
        texts = texts or [f"'{word}'" for word in (named.get("words") or "").split()]
        each = named["each"] or named.get("arrow") or ""
        end = _end(code, match.end(), ruby=re.search(r"\bdo\s?\|", match[0]) is not None)
        if match.start() < at or not 0 < len(texts) <= MAX_TURNS or end - match.end() > MAX_BODY:
            continue
        made.append(code[at : match.start()])
        made += [_with(code[match.end() : end], each, text) for text in texts]
        at = end
    return "".join([*made, code[at:]])


def _with(body: str, each: str, text: str) -> str:
    """Return the body of a loop for one of the texts."""
    used = re.compile(rf"(?<![\w$.]){re.escape(each)}(?!\w)")
    return used.sub(lambda _match: text, placed(body, {each: text[1:-1]})) + "\n"


def _end(code: str, at: int, *, ruby: bool) -> int:
    """Return where the body of a loop ends: behind its brace, before its `end`, or with its statement."""
    if ruby:
        end = code.find("end", at)
        return len(code) if end < 0 else end
    depth, opened = 0, False
    for place in range(at, min(len(code), at + MAX_BODY)):
        letter = code[place]
        if letter in "{(":
            depth, opened = depth + 1, opened or letter == "{"
        elif letter in "})":
            depth -= 1
            if depth < 0 or (not depth and opened and letter == "}"):
                return place + (depth == 0)
        elif letter in ";\n" and not depth and code[at:place].strip():
            return place
    return min(len(code), at + MAX_BODY)


_BOMB = sought(
    r"while\s*+\(?\s*+(?:True|1|true)?\s*+\)?\s*+[:{]?\s*+(?:os\.|pcntl_|Process\.)?fork\b|\bfork\b(?:\(\))?\s++while\b|\bloop\s*+(?:do|\{)\s*+(?:Process\.)?fork\b|\bfor\s?\(\s?;\s?;\s?\)\s{0,3}\{?\s{0,3}fork\(\s?\)",
    "fork",
)
_STARTS_OWN = sought(
    up_to_next(
        r"\b(?:for\s?\(\s?;\s?;\s?\)|while\s?\(?\s?(?:true|True|1)\b|loop\b|for\s?\{|setInterval\()", r"[^;\n]", 160
    )
    + r"\b(?:fork|spawn|execFile|execv|Command|Start|start|system|Popen)\b[^;\n]{0,80}?"
    + r"(?:__filename|process\.execPath|process\.argv|os\.Args\[0\]|os\.Executable|current_exe|__FILE__|__file__|sys\.executable|argv\[0\]|/proc/self/exe)",
    "fork spawn execFile execv Command Start start system Popen",
)
"""A loop without an end in which the code starts its own file."""


def starts_itself(code: str) -> bool:
    """Whether the code starts itself over and over, without an end."""
    code = code[:MAX_CODE]
    return _BOMB.search(code) is not None or _STARTS_OWN.search(code) is not None
