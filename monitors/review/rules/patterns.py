r"""The small language in which rules say which commands they mean.

    git push {-f --force} !{-n --dry-run}
    aws * delete-*
    kubectl ... delete ns|namespace
    psql ... /drop\s+table/

The first word is the program, `a|b` for several. A plain word is the next operand, with `*` and `?` as in file names,
in either case; a blank ends its alternatives, so that `rm|env rm` wants two operands. `...` skips any number of them.
`{…}`: at least one of these options is given; `!{…}`: none is. An option's value may follow: `--mode=hard` is met by
`--mode=hard` and by `--mode hard`. `/…/` is a regular expression, sought in all words joined by blanks, without regard
to case; `!/…/` must not be found. Operands behind those named do not matter.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache

from monitors.review.shell.invocation import Arg, Invocation

_TOKEN = re.compile(r"!?\{[^{}]*\}|!?/.+?/(?=\s|\Z)|\S+")
_SHORT = re.compile(r"-[A-Za-z0-9]\Z")


class PatternError(ValueError):
    """A pattern that says nothing sensible; the message says where."""


@dataclass(frozen=True, slots=True)
class Options:
    """A group of options, of which one must, or none may, be given."""

    plain: frozenset[str]
    """Options that need no value; one may be given nevertheless, as in `--mode=hard` for `--mode`."""
    letters: frozenset[str]
    """The letters of those of one letter, which may stand together: `-rf`."""
    valued: tuple[tuple[str, str], ...]
    """Those that need a certain value, and the value."""
    wanted: bool

    @classmethod
    def of(cls, names: Iterable[str], *, wanted: bool) -> "Options":
        """The options of these names; `--mode=hard` is one that needs a value."""
        split = [name.partition("=") for name in names]
        plain = frozenset(option for option, equals, _ in split if not equals)
        letters = frozenset(option[1] for option in plain if _SHORT.match(option))
        return cls(plain, letters, tuple((option, value) for option, equals, value in split if equals), wanted)

    def given(self, args: list[Arg]) -> bool:
        """Whether one of the options stands among the words."""
        for index, word in enumerate(args):
            if word == "--":
                return False
            if word[:1] in "-/+" and (self._is(word) or (self.valued and self._with_value(word, args, index))):
                return True
        return False

    def _is(self, word: str) -> bool:
        if word in self.plain:
            return True
        if word[:1] != "-":
            return False
        if "=" in word and word.partition("=")[0] in self.plain:
            return True
        together = self.letters and word[1:2] != "-" and not self.letters.isdisjoint(word[1:])
        return bool(together) and _CLUSTER.match(word) is not None

    def _with_value(self, word: str, args: list[Arg], index: int) -> bool:
        following = args[index + 1] if index + 1 < len(args) else None
        return any(
            word == f"{option}={value}"
            or (word == option and following == value)
            or (word == option + value and _SHORT.match(option) is not None)
            for option, value in self.valued
        )


_CLUSTER = re.compile(r"-[A-Za-z0-9]{2,8}(?:=.*)?\Z")


@dataclass(frozen=True, slots=True)
class Operand:
    """Permitted forms of the next operand: one of some words, or like one of some file name patterns."""

    words: frozenset[str]
    like: re.Pattern[str] | None

    def met(self, word: str) -> bool:
        """Whether the word is meant, in either case of its letters."""
        return word.lower() in self.words or (self.like is not None and self.like.match(word) is not None)


@dataclass(frozen=True, slots=True)
class ArgumentPattern:
    """A compiled pattern."""

    text: str
    programs: tuple[str, ...]
    operands: tuple[Operand | None, ...]
    """None stands for `...`."""
    options: tuple[Options, ...]
    regexes: tuple[tuple[re.Pattern[str], bool], ...]
    """Each with whether it must be found, or must not."""

    @property
    def first(self) -> frozenset[str] | None:
        """The words of which the first operand must be one; None if it may be another, or missing."""
        want = self.operands[0] if self.operands else None
        return want.words if want is not None and want.like is None else None

    def matches(self, invocation: Invocation, operands: list[Arg], fed: str = "") -> bool:
        """Whether the invocation is meant; its program is already known to be one of `programs`.

        Args:
            invocation: The command.
            operands: Its words that are no options.
            fed: Its input; regular expressions are sought there too.
        """
        if not _in_order(self.operands, operands):
            return False
        for group in self.options:
            if group.given(invocation.args) != group.wanted:
                return False
        if self.regexes:
            text = " ".join((*invocation.args, fed) if fed else invocation.args)
            return all(_found(regex, text) == wanted for regex, wanted in self.regexes)
        return True


WINDOW = 2_048
"""Characters that a regular expression gets at a time. Some take time that grows with the square of the text."""
OVERLAP = 256
"""Characters that two windows share, so that what stands across their border is found."""


def _found(regex: re.Pattern[str], text: str) -> bool:
    if len(text) <= WINDOW:
        return regex.search(text) is not None
    words = words_within(regex.pattern)
    if words:
        lower = text.lower()
        if not any(word in lower for word in words):
            return False
    return any(regex.search(text, start, start + WINDOW) for start in range(0, len(text), WINDOW - OVERLAP))


_PLAIN_WORDS = re.compile(r"(?:\\b|\\\.)?\(\?:([\w|]+)\)(?:\\b)?\Z")


@lru_cache(maxsize=1024)
def words_within(written: str) -> tuple[str, ...]:
    """Return the words of which one stands in whatever an expression matches; none if it is no list of plain words.

    To try twenty words at each of 65,000 characters takes 15 ms, to look for each of them alone half of one.
    """
    words: list[str] = []
    for part in _alternatives(written):
        found = _PLAIN_WORDS.match(part)
        if found is None:
            return ()
        words += found[1].lower().split("|")
    return tuple(words) if all(words) else ()


def _alternatives(written: str) -> Iterator[str]:
    """Yield the alternatives of an expression that stand in no bracket."""
    depth, begin, at = 0, 0, 0
    while at < len(written):
        if written[at] == "\\":
            at += 1
        elif written[at] in "()":
            depth += 1 if written[at] == "(" else -1
        elif written[at] == "|" and not depth:
            yield written[begin:at]
            begin = at + 1
        at += 1
    yield written[begin:]


def _in_order(wanted: tuple[Operand | None, ...], operands: list[Arg]) -> bool:
    at, skipping = 0, False
    for want in wanted:
        if want is None:
            skipping = True
            continue
        while True:
            if at >= len(operands):
                return False
            met = want.met(operands[at])
            at += 1
            if met:
                skipping = False
                break
            if not skipping:
                return False
    return True


@lru_cache(maxsize=4096)
def compiled(text: str) -> ArgumentPattern:
    """Compile a pattern.

    Raises:
        PatternError: where it cannot be read.
    """
    tokens = _TOKEN.findall(text)
    if not tokens or tokens[0][0] in "{!/":
        raise PatternError(f"`{text}`: a pattern begins with the name of a program")
    operands: list[Operand | None] = []
    options: list[Options] = []
    regexes: list[tuple[re.Pattern[str], bool]] = []
    for piece in tokens[1:]:
        if piece[0] == "{" or piece[:2] == "!{":
            names = tuple(piece.strip("!{}").split())
            if not names:
                raise PatternError(f"`{text}`: an empty group of options")
            options.append(Options.of(names, wanted=piece[0] == "{"))
        elif piece.startswith(("/", "!/")) and piece[-1] == "/" and len(piece) > 2:
            wanted = piece[0] == "/"
            regexes.append((_regex(piece[1 if wanted else 2 : -1], text), wanted))
        elif piece == "...":
            operands.append(None)
        else:
            operands.append(_operand(piece))
    return ArgumentPattern(text, tuple(tokens[0].split("|")), tuple(operands), tuple(options), tuple(regexes))


def _operand(piece: str) -> Operand:
    words = piece.lower().split("|")
    globs = [word for word in words if any(char in word for char in "*?[")]
    like = re.compile("|".join(map(translate, globs)), re.IGNORECASE) if globs else None
    return Operand(frozenset(words).difference(globs), like)


def programs(text: str) -> list[str]:
    """The programs that a pattern is about, without compiling the rest of it."""
    return text.split(maxsplit=1)[0].split("|") if text.strip() else []


def _regex(written: str, pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(written, re.IGNORECASE)
    except re.error as error:
        raise PatternError(f"`{pattern}`: `/{written}/` is no regular expression: {error}") from None
