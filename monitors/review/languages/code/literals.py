"""Commands among the texts of code, whatever its language is and whichever call is given them.

No list of calls that run a command is ever whole. So a text that is a command by itself, or texts in a row of which the
first names a program, count as one that is run, unless they are printed, compared or explained there.
"""

import re
import shlex
from collections.abc import Iterator
from itertools import islice

from monitors.contract.expressions import later
from monitors.review.shell.shells import SHELLS

MAX_BETWEEN = 30
"""Most characters between two texts of one list: `", new String[]{"` has 16."""
MAX_WORDS = 30
"""Most words taken of one list."""
MAX_COMMANDS = 100
"""Most commands taken of one piece of code."""
MAX_LINES = 5_000
"""Most lines of a file of settings that are looked at."""
MAX_SENTENCE = 500
"""Most characters of a line that may be a sentence."""
PROGRAMS = frozenset({
    "rm", "shred", "srm", "dd", "mkfs", "wipefs", "curl", "wget", "nc", "ncat", "scp", "rsync", "chmod", "chown", "sudo", "find", "truncate",
    "crontab", "kill", "pkill", "killall", "terraform", "kubectl", "aws", "gcloud", "docker", "dropdb", "psql", "git", "cat", "tar", "base64", *SHELLS,
})  # fmt: skip
"""Programs whose name at the beginning of a text makes it a command; by those of many other names words begin."""
_TEXT = later(
    r"\"((?:[^\"\\\n]++|\\.)*+)\"?|'(?!(?:[a-z]|static|_)[\s>,)&;:+])((?:[^'\\\n]++|\\.)*+)'?|`([^`\n]*+)`?|\b(?:run|shell|qx|qqx)\s?<([^<>\n]{2,200})>|[;{}][ \t]*+//[^\n]*+"
)
"""A comment behind code, or a text in quotes: to the end of its line if not closed, so that nothing is read twice."""
_BETWEEN = later(
    r"[\s,\[\](){}&*:]*(?:(?:new\s+String|arrayOf|listOf|List\.of|args?|arguments|vec!)[\s\[\](){}:=.&]*)?\Z"
)
_SAID = later(
    r"(?:\b(?:print\w*|puts|echo|log\w*|warn\w*|error|info|debug|say|format|message|display\w*|write\w*|throw|raise|fail\w*|assert\w*|expect\w*|equals?|toBe|it|describe|test|help\w*|usage|examples?|short|long|about|summary|hint|label|placeholder|tooltip|reason|comment|description|title|match\w*|contains|includes|search|grep)|==|!=)\W{0,4}\Z"
    r"|\b(?:assert[\w.]*|expect|refute)!?[\s(]{1,3}[\w.:]{1,40}[?!]?[\s(]{1,3}\Z",
    re.IGNORECASE,
)
"""Before a text that is shown to a person, compared, or names a test, and before one that what is asserted is given."""


_COMMENT = later(
    r"^[ \t]*+(?://[/!]*+(?=[ \t\n]|\Z)[^\n]*+|#(?=[ \t])(?![ \t]*+(?:define|include|if|el|endif|pragma|undef|error|line)\b)[^\n]*+"
    r"|(?:--|;;)(?=[ \t])[^\n]*+|/\*)",
    re.MULTILINE,
)
"""Comments that begin their line: behind code, what begins one may stand within a text."""
_MULTILINE = ("`", '"""', "'''")
"""Marks of texts whose own lines may look like comments."""


def without_comments(code: str) -> str:
    """Return code of any language without the comments that begin a line and stand in no text of many lines."""
    kept, end, at, opened = list[str](), 0, 0, dict.fromkeys(_MULTILINE, 0)
    last = code.rfind("*/")
    while (match := _COMMENT.search(code, at)) is not None:
        for mark in _MULTILINE:
            opened[mark] += code.count(mark, at, match.start())
        at, begin = match.end(), match.start()
        if any(count % 2 for count in opened.values()):
            at = begin + 1
        elif not match[0].endswith("/*"):
            kept.append(code[end:begin])
            end = at
        elif at <= last:
            kept.append(code[end:begin])
            end = at = code.index("*/", at) + 2
    return "".join([*kept, code[end:]])


_RUNS = later(
    r"\b(?:\w*[eE]xec\w*|\w*[sS]pawn\w*|[pP]open\w*|\w*[sS]hell\w*|[sS]ubprocess\w*|Process\w*|process\.|Command\b|passthru|pty\b|sh\b|[lL]aunch\w*)"
    r"|\b(?:hook|script|task|step|recipe|action|provision|before|after|pre|post|do|build|install|on)\w*\s?[=:(\[{]"
    r"|\b(?:[sS]ystem\w*|run\w*|cmd\w*|command\w*|call\w*|invoke\w*|start\w*|perform\w*|proc\w*)\s?[(!\"'`]|\$[\"'`]"
)
"""Names by which code runs a command. Without one of them, a list of commands is data."""
_ELEMENT = re.compile(r"[\[{,]\s{0,40}\Z")
"""Before a text that stands in a list."""


def commands_in(code: str) -> Iterator[str]:
    """Yield the commands that stand in texts of the code.

    Args:
        code: Of any language whose texts stand in quotes.
    """
    words: list[str] = []
    runs: bool | None = None
    end, found = 0, 0
    for match in _TEXT.finditer(code):
        text = _plain(next((group for group in match.groups() if group is not None), ""))
        if words and len(words) < MAX_WORDS and _joined(code[end : match.start()]) and not _next(words, text):
            words.append(text)
        else:
            if words:
                yield from _command(words)
                found += 1 + len(words) // 6
            words = [text] if begins(text) else []
            if words and " " in text.strip() and _ELEMENT.search(code, max(0, match.start() - 41), match.start()):
                runs = _RUNS.search(_TEXT.sub('""', code)) is not None if runs is None else runs
                words = words if runs else []
            if words and _SAID.search(code, max(0, match.start() - 60), match.start()):
                words = []
        end = match.end()
        if found >= MAX_COMMANDS:
            return
    yield from _command(words)


_STARTS = later(
    r"^[ \t]*+(?:[-@!%>|&][ \t]*+|RUN[ \t]++|CMD[ \t]++|LOCALLY[ \t]++|[\w.*@/ -]{1,60}[:=][ \t]++)*+[\"'\[!]{0,3}(?=([\w./-]{1,60})[ \t])([^\n]++)|>\s*+([a-z/][\w./-]{1,40}[ \t][^<>\n]++)<",
    re.MULTILINE,
)
"""A line of a file of settings that is a command, or gives a key one, and what stands between the tags of one."""
_EXPLAINED = later(
    r"[\s\"'-]*(?:\w*(?:description|summary|title|comment|help|message|example|usage|notes?|pattern|regex|match|deny|allow|block|forbid|reject|warn\w*|hint|text|expect\w*|label|keywords|condition|output|desc|reason)\b|[qa]\b|#|//)",
    re.IGNORECASE,
)
_PROSE = re.compile(r"(?=[^;&|\"'`$\n]*+\Z).*?\s(?:is|are|was|were|will|would|never|not|the|nor|to|deletes|removes)\s")
"""A sentence that begins with the name of a program."""
_JUDGED = later(
    r"^[ \t{\[\"'-]*+(?:expect\w*|patterns?|pattern-\w+|regex|severity|deny\w*|forbid\w*|block_?list|blocked|detection|should_\w+|verdict)[\"']?\s?[:=]|[{,]\s?\"(?:expect\w*|pattern|severity|deny|verdict)\"\s?:",
    re.MULTILINE | re.IGNORECASE,
)
"""Keys of files that say which commands others refuse: rules of a scanner, the cases of its tests."""


def settings_in(text: str) -> Iterator[str]:
    """Yield the commands that a file of settings has, whatever its format is and its keys are called.

    Args:
        text: The file, or a piece of it.
    """
    if _JUDGED.search(text):
        return
    for match in islice(_STARTS.finditer(text), MAX_LINES):
        line = match[2] or match[3] or ""
        if begins(line) and not _EXPLAINED.match(match[0]) and not _says(line):
            yield _plain(line.rstrip(" ,;").rstrip("]}").rstrip(" \"'") if match[2] else line)
    yield from commands_in(text)


def _says(line: str) -> bool:
    return len(line) <= MAX_SENTENCE and _PROSE.match(line) is not None


def _joined(between: str) -> bool:
    return len(between) <= MAX_BETWEEN and _BETWEEN.match(between) is not None


def _next(words: list[str], text: str) -> bool:
    """Whether a text behind the name of a program is no word of its command, but the next one of a list of commands."""
    return len(words) == 1 and " " in text.strip() and begins(text) and words[0] not in SHELLS and words[0] != "sudo"


def begins(text: str) -> bool:
    """Whether the first word of a text names a program that its name makes a command of."""
    first = text[:60].split(None, 1)
    return bool(first) and first[0].rpartition("/")[2] in PROGRAMS


def _command(words: list[str]) -> Iterator[str]:
    if len(words) > 1 and " " not in words[0].strip():
        yield " ".join([words[0], *map(_word, words[1:])])
    elif words and " " in words[0].strip():
        yield words[0]


def _word(word: str) -> str:
    """The word in quotes, but for what stands for the home directory."""
    return word if word[:1] == "~" and re.fullmatch(r"~[\w/.-]*", word) else shlex.quote(word)


def _plain(text: str) -> str:
    return text.replace('\\"', '"').replace("\\'", "'").replace("\\\\", "\\") if "\\" in text else text
