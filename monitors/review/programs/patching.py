"""Patches: the files that a text says to change, judged as written, and the lines that it adds to them."""

import re
from collections.abc import Iterator
from itertools import islice

from monitors.review.programs.writing import writes
from monitors.review.rules.findings import Finding
from monitors.review.scene.scene import Scene
from monitors.review.shell.invocation import Invocation, arg

PROGRAMS = frozenset({"patch", "git"})
"""Programs that apply patches."""
MAX_FILES = 100
"""Most files of one patch that are looked at."""
_CHANGED = re.compile(r"^(?:\+\+\+ |rename to |copy to )(?:\"?b/)?([^\t\n\"]{1,400})", re.MULTILINE)


def check(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """Look at the files that `patch` or `git apply` is told by its input to change."""
    text = invocation.input.text
    if not text or not (invocation.name == "patch" or (invocation.name == "git" and _APPLIES & {*invocation.args[:4]})):
        return
    for match in islice(_CHANGED.finditer(text), MAX_FILES):
        if match[1] != "/dev/null":
            yield writes(scene, invocation, arg(match[1].strip()))


_APPLIES = frozenset({"apply", "am"})
