"""The paths that a call touches, and globs over them."""

import re
from collections.abc import Iterable
from functools import lru_cache
from posixpath import isabs, join, normpath

from monitors.contract.actions import CHANGING_TOOLS, Touch
from monitors.contract.observations import ToolCalled

_PATH_FIELDS = ("file_path", "notebook_path", "path")

_TEST_PATH = re.compile(
    r"(?:^|/)(?:tests?|__tests__|specs?|e2e)/|(?:^|/)test_[^/]+$|_test\.\w+$|\.(?:test|spec)\.\w+$|(?:^|/)conftest\.py$|Tests?\.(?:java|kt|cs|php)$"
)

_MOST_TOUCHES = 40
"""Paths of one call that are looked at, to bound the work; a call that touches more is judged by these."""

_SCRATCH = re.compile(r"^/(?:private/)?(?:tmp|var/tmp|var/folders|dev)(?:/|$)|/\.claude(?:/|$)|/\.cache(?:/|$)")
"""Places that belong to no task and that any process may use."""


def touches(call: ToolCalled) -> tuple[Touch, ...]:
    """Return the reviewer's touches, or, if there are none, the paths that the input names."""
    if call.review.touches:
        return call.review.touches[:_MOST_TOUCHES]
    access = "write" if call.tool in CHANGING_TOOLS else "read"
    values = (call.input.get(field) for field in _PATH_FIELDS)
    return tuple(Touch(value, access) for value in values if isinstance(value, str) and value)


@lru_cache(maxsize=1024)
def is_scratch(path: str, root: str) -> bool:
    """Whether a path is in a place for scratch, and not within the root.

    A workspace may well lie below `/tmp` itself.
    """
    return bool(_SCRATCH.search(path)) and relative(path, root) is None


@lru_cache(maxsize=1024)
def is_test(path: str) -> bool:
    """Whether a path is that of a test, by the customs of the usual languages."""
    return bool(_TEST_PATH.search(path))


def relative(path: str, root: str) -> str | None:
    """The path as seen from the root, or None if it is outside; an empty root has all relative paths inside."""
    if not isabs(path):
        path = join(root or "/", path)
    path, root = normpath(path), normpath(root) if root else ""
    if path == root:
        return "."
    return path[len(root) + 1 :] if root and path.startswith(root.rstrip("/") + "/") else None


@lru_cache(maxsize=512)
def glob_pattern(glob: str) -> re.Pattern[str]:
    """A glob as git reads it: `*` within a name, `**` over directories, a directory's name for all below it."""
    tokens = _GLOB_TOKEN.findall(glob.strip("/").removeprefix("./"))
    return re.compile("".join(_WILDCARDS.get(token) or _literal(token) for token in tokens) + "(?:/.*)?$")


_GLOB_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[[^\]]{1,100}\]|[^*?\[]+|\[")
_WILDCARDS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _literal(token: str) -> str:
    return (
        f"[^{token[2:]}"
        if token.startswith("[!")
        else token
        if token[0] == "[" and len(token) > 1
        else re.escape(token)
    )


def matches_any(path: str, globs: Iterable[str]) -> bool:
    """Whether a relative path is matched by one of the globs."""
    return any(glob_pattern(glob).match(path) for glob in globs)
