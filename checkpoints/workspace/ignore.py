"""Git's rules for ignored paths: the language of `.gitignore`, over bytes.

A library of git's answers for one path at a time, for names that are text, and from a repository whose configuration
the agent may have broken. The rules are those of gitignore(5) and of git's wildmatch.
"""

import re
from dataclasses import dataclass
from typing import Protocol

MAX_FILE_BYTES = 1 << 20
"""A longer `.gitignore` is taken as empty: then more is captured, never less. Real ones are a few kilobytes."""

_NEVER = rb"(?!)"
_CLASSES = {
    b"alnum": rb"0-9A-Za-z",
    b"alpha": rb"A-Za-z",
    b"blank": rb" \t",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": rb"0-9",
    b"graph": rb"!-~",
    b"lower": rb"a-z",
    b"print": rb" -~",
    b"punct": rb"!-/:-@\[-`{-~",
    b"space": rb" \t\n\v\f\r",
    b"upper": rb"A-Z",
    b"xdigit": rb"0-9A-Fa-f",
}


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """One line of a file of rules."""

    regex: re.Pattern[bytes]
    negated: bool
    folders_only: bool
    by_name: bool
    """Whether it is held against the last part of a path alone."""


class TrackedPaths(Protocol):
    """The tracked paths of a repository, which no rule ignores."""

    def names(self, path: bytes, *, is_folder: bool) -> bool:
        """Whether it has this path of the workspace, or for a folder something in it."""
        ...

    def names_submodule(self, path: bytes) -> bool:
        """Whether it has this path of the workspace as a repository of its own."""
        ...


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules that hold in a folder: its own, and those of the folders above."""

    folder: bytes = b""
    patterns: tuple[IgnoreRule, ...] = ()
    above: "Rules | None" = None
    everything: bool = False
    """Whether the folder itself matches a rule: only what is tracked in it can be taken back in."""
    index: TrackedPaths | None = None
    """The tracked paths of the repository; given with the rules of its top folder."""

    def ignores(self, path: bytes, *, is_folder: bool) -> bool:
        """Whether git ignores a path right in this folder: a rule matches it, and it is not tracked."""
        return self.matches(path, is_folder=is_folder) and not self._tracks(path, is_folder=is_folder)

    def is_submodule(self, path: bytes) -> bool:
        """Whether a folder right in this one is a repository that this one's tracks."""
        index = self._index()
        return index is not None and index.names_submodule(path)

    def _tracks(self, path: bytes, *, is_folder: bool) -> bool:
        index = self._index()
        return index is not None and index.names(path, is_folder=is_folder)

    def _index(self) -> TrackedPaths | None:
        rules = self
        while rules.above is not None:
            rules = rules.above
        return rules.index

    def matches(self, path: bytes, *, is_folder: bool) -> bool:
        """Whether the rules ignore a path right in this folder.

        Of all rules that match, the last of the nearest file decides.
        """
        if self.everything:
            return True
        name = path.rpartition(b"/")[2]
        rules: Rules | None = self
        while rules is not None:
            below = path[len(rules.folder) + 1 :] if rules.folder else path
            for pattern in reversed(rules.patterns):
                if pattern.folders_only and not is_folder:
                    continue
                if pattern.regex.fullmatch(name if pattern.by_name else below):
                    return not pattern.negated
            rules = rules.above
        return False

    def inside(self, folder: bytes, text: bytes = b"") -> "Rules":
        """Return the rules of a folder right in this one, whose file of rules has this text."""
        patterns = parse(text) if text else ()
        return Rules(folder, patterns, self) if patterns else self

    def within_ignored(self) -> "Rules":
        """Return the rules of a folder that is ignored itself."""
        return self if self.everything else Rules(above=self, everything=True)


def parse(text: bytes) -> tuple[IgnoreRule, ...]:
    """Return the patterns of a file of rules, in order."""
    lines = text.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return tuple(pattern for line in lines if (pattern := _parse_line(line.removesuffix(b"\r"))) is not None)


def _parse_line(line: bytes) -> IgnoreRule | None:
    line = _without_trailing_spaces(line)
    if not line or line.startswith(b"#"):
        return None
    negated = line.startswith(b"!")
    line = line[1:] if negated else line
    folders_only = line.endswith(b"/")
    line = line[:-1] if folders_only else line
    by_name = b"/" not in line
    if line.startswith(b"/"):
        line = line[1:]
    if not line:
        return None
    try:
        return IgnoreRule(re.compile(_regex(line, by_name=by_name), re.DOTALL), negated, folders_only, by_name)
    except re.error:
        return None


def _without_trailing_spaces(line: bytes) -> bytes:
    """Cut spaces at the end, but for one that is escaped."""
    end = len(line)
    while end and line[end - 1 : end] == b" ":
        slashes = len(line[: end - 1]) - len(line[: end - 1].rstrip(b"\\"))
        if slashes % 2:
            break
        end -= 1
    return line[:end]


def _regex(glob: bytes, *, by_name: bool) -> bytes:
    if by_name:
        return _segment(glob)
    if (stars := _STARS_BEHIND_TEXT.match(glob)) is not None:
        # Git compares what stands before the first wildcard by itself, and takes the stars behind it for a part of its
        # own: `a**/b` ignores `ab`, and `a/x/y/b`.
        text, behind = re.escape(stars[1]), glob[stars.end() :]
        return text + (_path(behind, rb"[^/]*/") if stars[2] else rb".*")
    return _path(glob)


_STARS_BEHIND_TEXT = re.compile(rb"([^*?\[\\]*[^*?\[\\/])\*\*+(/|\Z)")


def _path(glob: bytes, before: bytes = b"") -> bytes:
    """Return the regular expression for a path below the folder of the rules.

    As with the stars of `_segment`, what stands between two `**` is matched once, at the first folders where it fits: a
    pattern of many of them would hold up all that runs in the process for hours.

    Args:
        glob: The pattern, or what is left of it.
        before: The expression of each folder that may stand before it; empty for none.
    """
    runs: list[list[bytes]] = [[]]
    for part in _parts(glob):
        if len(part) > 1 and not part.strip(b"*"):
            runs.append([])
        else:
            runs[-1].append(_segment(part))
    *between, end = runs
    out = []
    for run in between:
        if run:
            fits = b"".join(part + b"/" for part in run)
            out.append(rb"(?>(?:" + before + rb")*?" + fits + rb")" if before else fits)
        before = rb"[^/]+/" if run or not before else before  # of two `**` in a row the wider one counts
    if not end:
        return b"".join([*out, rb".+"])
    return b"".join([*out, rb"(?:" + before + rb")*" if before else b"", b"/".join(end)])


def _parts(glob: bytes) -> list[bytes]:
    """Split a pattern at its slashes. A slash within a set separates nothing: no character matches such a member."""
    parts, begin, at = [], 0, 0
    while at < len(glob):
        character = glob[at : at + 1]
        if character == b"[":
            found = _bracket(glob, at)
            at = found[1] if found is not None else at + 1
            continue
        width = 2 if character == b"\\" else 1
        if glob[at + width - 1 : at + width] == b"/":
            parts.append(glob[begin:at])
            begin = at + width
        at += width
    return [*parts, glob[begin:]]


def _segment(glob: bytes) -> bytes:
    """Return the regular expression for one part of a path.

    Between stars, the first place where a piece fits is as good as any other, so each is matched once, without
    backtracking: a pattern of many stars, which an agent may write, costs no more than its length times the name's.
    """
    pieces = _pieces(glob)
    if pieces is None:
        return _NEVER
    if len(pieces) == 1:
        return pieces[0]
    middle = [rb"(?>[^/]*?" + piece + rb")" for piece in pieces[1:-1] if piece]
    return b"".join([pieces[0], *middle, rb"[^/]*", pieces[-1]])


def _pieces(glob: bytes) -> list[bytes] | None:
    """Return the expressions between the stars; None for a pattern that can match nothing."""
    pieces, at = [b""], 0
    while at < len(glob):
        character = glob[at : at + 1]
        if character == b"*":
            pieces.append(b"")
            at += 1
        elif character == b"?":
            pieces[-1] += rb"[^/]"
            at += 1
        elif character == b"[":
            found = _bracket(glob, at)
            if found is None:
                return None
            pieces[-1] += found[0]
            at = found[1]
        else:
            if character == b"\\":
                at += 1
                character = glob[at : at + 1]
                if not character:
                    return None
            pieces[-1] += re.escape(character)
            at += 1
    return pieces


def _bracket(glob: bytes, at: int) -> tuple[bytes, int] | None:
    """Return the set that begins here and the position of its end; None if it has no end."""
    at += 1
    negated = glob[at : at + 1] in (b"!", b"^")
    at += negated
    members: list[bytes] = []
    previous: int | None = None
    first = True
    while True:
        character = glob[at : at + 1]
        if not character:
            return None
        if character == b"]" and not first:
            break
        first = False
        if character == b"[" and glob[at + 1 : at + 2] == b":":
            end = glob.find(b"]", at + 2)
            if end < 0:
                return None
            if end > at + 2 and glob[end - 1 : end] == b":" and end - 1 > at + 1:
                name = _CLASSES.get(glob[at + 2 : end - 1])
                if name is None:
                    return None
                members.append(name)
                previous, at = None, end + 1
                continue
        if character == b"-" and previous is not None and glob[at + 1 : at + 2] not in (b"", b"]"):
            at += 1
            if glob[at : at + 1] == b"\\":
                at += 1
                if at >= len(glob):
                    return None
            if previous <= glob[at]:
                members.append(b"\\x%02x-\\x%02x" % (previous, glob[at]))
            previous = None
            at += 1
            continue
        if character == b"\\":
            at += 1
            if at >= len(glob):
                return None
        previous = glob[at]
        members.append(b"\\x%02x" % previous)
        at += 1
    return _set(members, negated=negated), at + 1


def _set(members: list[bytes], *, negated: bool) -> bytes:
    """Return the set as an expression that never matches a slash."""
    inside = b"".join(members)
    if negated:
        return b"[^/" + inside + b"]"
    return b"(?:(?!/)[" + inside + b"])" if inside else _NEVER
