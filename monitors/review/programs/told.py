"""Words that a command prints out of a small file: what is deleted by them is known as far as the file is."""

import json
import re
from collections.abc import Iterator, Sequence

from monitors.review.scene.places import Place
from monitors.review.scene.scene import Scene
from monitors.review.shell.invocation import Arg, Invocation

MAX_TOLD = 4_096
"""Most characters of such a file: a setting, a list of a few folders."""
MAX_WORDS = 50
"""Most words that it may have."""
_KEPT = frozenset({Place.WORKSPACE, Place.SCRATCH})
_FILTER = re.compile(r"(?:\.[A-Za-z_]\w{0,60}|\.?\[\"[^\"\\]{1,60}\"\]|\.?\[\d{0,3}\]){1,8}\Z")
"""A path of jq that leads into what a file has, and computes nothing."""
_STEP = re.compile(r"\.([A-Za-z_]\w*)|\[\"([^\"]*)\"\]|\[(\d*)\]")


def told(scene: Scene, word: Arg) -> Sequence[str]:
    """Return the paths for which a word stands that is one command's output, as the file of the workspace has them."""
    printers = [one for one in word.source if one.name in ("cat", "jq")]
    if len(printers) != 1 or word[:2] != "$(" or word[-1:] != ")":
        return ()
    one = printers[0]
    named = [each for each in one.args if each[:1] != "-"]
    if one.name == "cat" and len(named) == 1 and len(one.args) == 1:
        pieces = _text(scene, one, named[0]).split()
    elif one.name == "jq" and len(named) == 2 and set(one.args) - set(named) <= {"-r", "--raw-output"}:
        pieces = list(_looked_up(_text(scene, one, named[1]), named[0]))
    else:
        return ()
    if not {*word.source, one} <= {one, *scene.within(scene.path(named[-1], one))}:
        return ()
    return pieces if len(pieces) <= MAX_WORDS and all(map(_PLAIN.match, pieces)) else ()


_PLAIN = re.compile(r"[~./\w][\w./@+-]{0,500}\Z")
"""A path that says what it means: no glob, and no option."""


def _text(scene: Scene, one: Invocation, word: Arg) -> str:
    path = scene.path(word, one)
    if not word.known or word.glob or scene.places.place(path) not in _KEPT or scene.within(path):
        return scene.files.get(path, "") if word.known else ""
    text = scene.files.get(path) or scene.facts.text(path, MAX_TOLD + 1) or ""
    return text if len(text) <= MAX_TOLD else ""


def _looked_up(text: str, path: str) -> Iterator[str]:
    """Yield the texts to which a path of jq leads."""
    if not text or _FILTER.match(path) is None:
        return
    try:
        values = [json.loads(text)]
    except (ValueError, RecursionError):
        return
    for step in _STEP.finditer(path):
        key, number = step[1] or step[2], step[3]
        if key:
            values = [value[key] for value in values if isinstance(value, dict) and key in value]
        elif number:
            values = [value[int(number)] for value in values if isinstance(value, list) and int(number) < len(value)]
        else:
            values = [each for value in values if isinstance(value, list) for each in value]
    if all(isinstance(value, str) for value in values):
        yield from values
