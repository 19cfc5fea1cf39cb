"""Letters that look like others, and characters that hide text from people."""

import re
import unicodedata
from collections.abc import Collection

from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect
from monitors.review.shell.invocation import Invocation

_INVISIBLE = dict.fromkeys([0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0x00AD, 0x180E, 0x200E, 0x200F])
_LOOKALIKE = {
    0x0430: "a",
    0x0441: "c",
    0x0501: "d",
    0x0435: "e",
    0x04BB: "h",
    0x0456: "i",
    0x0458: "j",
    0x04CF: "l",
    0x043C: "m",
    0x0578: "n",
    0x043E: "o",
    0x0440: "p",
    0x051B: "q",
    0x0433: "r",
    0x0455: "s",
    0x0442: "t",
    0x0475: "v",
    0x051D: "w",
    0x0445: "x",
    0x0443: "y",
    0x0432: "b",
    0x043A: "k",
    0x043D: "h",
    0x0410: "a",
    0x0412: "b",
    0x0415: "e",
    0x041A: "k",
    0x041C: "m",
    0x041D: "h",
    0x041E: "o",
    0x0420: "p",
    0x0421: "c",
    0x0422: "t",
    0x0425: "x",
    0x03BF: "o",
    0x03B1: "a",
    0x03BD: "v",
    0x03C1: "p",
    0x03B9: "i",
    0x03BA: "k",
    0x03C4: "t",
}
"""Cyrillic, Armenian and Greek letters that look like Latin ones."""
_REORDERS = re.compile("[\u202a-\u202e\u2066-\u2069]")


def lookalike(invocation: Invocation, known: Collection[str]) -> Finding | None:
    """A program's name that is not ASCII, and reads like a program that is known."""
    name = str(invocation.name)
    if name.isascii() or not name:
        return None
    plain = skeleton(name)
    if plain == name or plain not in known:
        return None
    return Finding(
        "shell.look-alike",
        levels.HARM,
        f"names a program that looks like `{plain}` and is another",
        "Write the name in plain letters.",
        effect=effect("process", f"runs a program that only looks like {plain}"),
    )


def skeleton(name: str) -> str:
    """The name as it looks: full-width, Cyrillic and Greek letters as the Latin ones, invisible ones gone."""
    return unicodedata.normalize("NFKC", name.translate(_INVISIBLE)).translate(_LOOKALIKE).lower()


def hidden_text(command: str) -> Finding | None:
    """Characters that change the order in which text is shown."""
    if command.isascii() or not _REORDERS.search(command):
        return None
    return Finding(
        "shell.hidden-text",
        levels.HARM,
        "has characters that show a person another order of the text than the shell reads",
        "Leave them out.",
        effect=effect("process", "runs a command that does not read as it is"),
    )
