"""Recipes: commands that files of a project have others run, and those of a `package.json`."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from monitors.contract.expressions import later

MAX_TEXT = 100_000
"""Most characters read of one file."""
MAX_RECIPES = 250
"""Most commands taken out of one file. A large `package.json` of those seen has 120 scripts."""
MAX_LINE = 4_000
"""Longest line that is read, in characters; what is longer is no command that a person wrote."""


class Recipe(NamedTuple):
    """Commands that a file has others run."""

    name: str
    """The target, script or key. Example: `postinstall`."""
    code: str
    language: str = "sh"
    """`sh`, `python`, or `other` for what is read by the calls in its text."""
    elsewhere: bool = False
    """Whether it runs on another machine, or in a container."""
    installs: bool = False
    """Whether it may run what it downloads: images are made by installers that come from their makers."""
    cut: str = ""
    """The part of the file that was not read, as a phrase; empty if all was."""


JSON_TEXT = later(r'(?<!\\)"((?:[^"\\\n]|\\.){1,120})"\s*+:\s*+"((?:[^"\\\n]++|\\.)++)"')
_ESCAPES = {'\\"': '"', "\\\\": "\\", "\\/": "/", "\\n": "\n", "\\t": "\t"}
_ESCAPE = later(r'\\["\\/nt]')


def plain(text: str) -> str:
    """Return a text of JSON without its escapes."""
    return _ESCAPE.sub(lambda match: _ESCAPES[match[0]], text)


def package_scripts(text: str) -> dict[str, str]:
    """Return the scripts of a `package.json`, or of a piece of one: every text by its key."""
    at = text.find('"scripts"')
    found = JSON_TEXT.finditer(text[at + 9 :] if at >= 0 else text)
    return {plain(match[1]): plain(match[2]) for match in found}


_LIFECYCLE = ("preinstall", "install", "postinstall", "prepare")


def npm_scripts(scripts: Mapping[str, str], wanted: str) -> list[str]:
    """Return the scripts that a package manager runs for a subcommand, in order."""
    if wanted in ("install", "i", "ci", "add"):
        names: tuple[str, ...] = _LIFECYCLE
    else:
        names = (f"pre{wanted}", wanted, f"post{wanted}")
    return [scripts[name] for name in names if name in scripts]


def shell_word(word: str) -> str:
    """Return a word as a shell takes it for one."""
    return word if re.fullmatch(r"[\w@%+=:,./~-]*", word) else "'" + word.replace("'", "") + "'"
