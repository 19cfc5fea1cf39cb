"""Signs of a change to a text that takes from a test or a check, out of the knowledge."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from monitors.contract.expressions import later
from monitors.review.knowledge.book import PROOFS
from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect

MAX_TEXT = 40_000
"""Most characters of a text that are searched for signs."""
MAX_FOUND = 500
"""Most places of one sign that are counted."""
_AROUND = 200
"""Characters on each side of a sign in which it may be excused."""
_BEFORE = 600
"""Characters before a sign in which it may have begun."""
_FALLS, _GROWS = 0.5, 1_000
"""A bound that falls below this part of what it was, or a tolerance that grows by this factor, is given up.

Teams that lower coverage do so by some points, and a tolerance that another machine needs is ten or a hundred times as
wide; both are judgement.
"""


class TextChange(NamedTuple):
    """A change to a text."""

    path: str
    """Within the workspace, from a slash on; or the words that name many files, as they were written."""
    before: str
    """The text that goes, as far as it is known: a whole text, a piece of it, or what a pattern stands for."""
    after: str
    """The text that comes instead."""
    known: bool = True
    """Whether what stood there before is known."""
    many: bool = False
    """Whether it is made wherever a pattern is found, and not at one place."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign, as its row in the knowledge says."""

    name: str
    places: tuple[re.Pattern[str], ...]
    gains: re.Pattern[str] | None
    loses: re.Pattern[str] | None
    was: re.Pattern[str] | None
    keeps: re.Pattern[str] | None
    near: re.Pattern[str] | None
    unless: re.Pattern[str] | None
    counted: re.Pattern[str] | None
    within: re.Pattern[str] | None
    since: str
    known: str
    why: str
    instead: str

    def shows(self, change: TextChange) -> bool:
        """Whether the change has it."""
        if (self.known and not change.known) or (self.known == "many" and not change.many):
            return False
        if self.gains is not None:
            gained = self._gained(change)
            if gained <= 0 or (self.counted is not None and gained <= _more(self.counted, change)):
                return False
        if self.loses is not None and _more(self.loses, change) >= 0:
            return False
        if self.was is not None and not self.was.search(change.before):
            return False
        if self.keeps is not None and self.keeps.search(change.after):
            return False
        return self.near is None or bool(self.near.search(change.before) or self.near.search(change.after))

    def _gained(self, change: TextChange) -> int:
        assert self.gains is not None
        after = self._found(self.gains, change.after)
        return sum((after - self._found(self.gains, change.before)).values()) if after else 0

    def _found(self, pattern: re.Pattern[str], text: str) -> Counter[str]:
        found = islice(pattern.finditer(text), MAX_FOUND)
        return Counter(one[0] for one in found if self._counts(text, one.start(), one.end()))

    def _counts(self, text: str, start: int, end: int) -> bool:
        if self.unless is not None and self.unless.search(text[max(0, start - _AROUND) : end + _AROUND]):
            return False
        if self.within is None:
            return True
        since = text.rfind(self.since, max(0, start - _BEFORE), start)
        return since >= 0 and self.within.search(text[since:start]) is not None


class _Bound(NamedTuple):
    """A kind of bound, as its row in the knowledge says."""

    name: str
    kind: str
    places: tuple[re.Pattern[str], ...]
    stated: re.Pattern[str]
    good: float
    why: str
    instead: str

    def given_up(self, change: TextChange) -> bool:
        """Whether the change leaves nothing of a bound."""
        after = self._stated(change.after)
        for key, old in self._stated(change.before):
            new = next((value for name, value in after if name == key), None)
            if new is None:
                if change.many and self.kind == "floors" and key not in change.after:
                    return True
                continue
            wider = new >= (old or self.good) * _GROWS
            gone = {"floors": new < old * _FALLS, "tolerances": wider, "ceilings": wider, "digits": new <= old - 3}
            if gone[self.kind]:
                return True
        return False

    def _stated(self, text: str) -> list[tuple[str, float]]:
        found = islice(self.stated.finditer(text), MAX_FOUND)
        return [(one["key"], self._number(one["value"])) for one in found]

    def _number(self, value: str) -> float:
        return self.good if value[:1] in ".[\\" else float(value)


_NUMBER = r"-?\d{1,9}(?:\.\d{1,12})?(?:[eE][+-]?\d{1,3})?|\.\*|\[[^\]\n]{1,20}\][*+]?|\\d[*+]?"
"""A number, or what a pattern has for one."""


def piece(pattern: str) -> str:
    """Return a pattern with the pieces that it names in their places; a piece may name another."""
    words: Mapping[str, str] = PROOFS["words"]
    for _ in range(3):
        pattern = re.sub(r"<([\w-]+)>", lambda one: words.get(one[1], one[0]), pattern)
    return pattern


REASON = re.compile(piece("<reason>"))
"""A reason that can be looked into."""
RUNS = re.compile(piece("<runs>"))
"""A command that tests or checks."""
SAYS_PASSED = re.compile(piece("<says-passed>"))
"""Words by which a run of tests says that all is well."""


def _pattern(given: Mapping[str, Any], key: str) -> re.Pattern[str] | None:
    return later(piece(given[key]), re.MULTILINE) if key in given else None


_PLACES = {name: later(pattern) for name, pattern in PROOFS["places"].items()}
_NONE = later(PROOFS["none"])


def _places(names: str) -> tuple[re.Pattern[str], ...]:
    return tuple(_PLACES[name] for name in names.split())


SIGNS: Sequence[Sign] = tuple(
    Sign(
        name=given["name"],
        places=_places(given["in"]),
        gains=_pattern(given, "gains"),
        loses=_pattern(given, "loses"),
        was=_pattern(given, "was"),
        keeps=_pattern(given, "keeps"),
        near=_pattern(given, "near"),
        unless=_pattern(given, "unless"),
        counted=_pattern(given, "counted"),
        within=_pattern(given, "with"),
        since=given.get("since", ""),
        known=given.get("known", ""),
        why=given["why"],
        instead=given["instead"],
    )
    for given in PROOFS["signs"]
)
_BOUNDS: Sequence[_Bound] = tuple(
    _Bound(
        f"{'tests' if given['in'] == 'tests' else 'checks'}.{kind}",
        kind,
        _places(given["in"]),
        later(rf"(?<![\w])(?P<key>{given['keys']})[\"']?\s{{0,4}}[=: ]\s{{0,4}}[\"']?(?P<value>{_NUMBER})"),
        float(given["good"]),
        given["why"],
        given["instead"],
    )
    for kind, given in PROOFS["bounds"].items()
)


def is_test(path: str) -> bool:
    """Whether a path within the workspace, or words that name files there, are those of tests."""
    return bool(_PLACES["tests"].search(path)) and not _NONE.search(path)


def stands(path: str, *names: str) -> bool:
    """Whether a path within the workspace is one of these places of proofs."""
    return any(_PLACES[name].search(path) for name in names) and not _NONE.search(path)


def shown(change: TextChange) -> Iterator[tuple[str, str, str]]:
    """Yield the signs that a change has: their rule, why they are one, and what to do instead."""
    if _NONE.search(change.path) or change.before == change.after:
        return
    made = change._replace(before=change.before[:MAX_TEXT], after=change.after[:MAX_TEXT])
    for sign in SIGNS:
        of_code = _PLACES["code"] in sign.places and is_test(made.path)  # whose own signs are others
        if not of_code and any(place.search(made.path) for place in sign.places) and sign.shows(made):
            yield sign.name, sign.why, sign.instead
    if made.known and _unasked(made) and is_test(made.path):
        yield "tests.unasked", "runs what a test asked about, and asks nothing of it", "Mend the code or the test."
    if made.known:
        for bound in _BOUNDS:
            if any(place.search(made.path) for place in bound.places) and bound.given_up(made):
                yield bound.name, bound.why, bound.instead


_ASSERTS = later(piece("<asserts>"))
_ASKS = later(r"assert|expect|[cC]heck|[vV]erif|should|must|ensure|[eE]qual|raises|throw|Error|Fatal", re.IGNORECASE)
MAX_LINE = 300
"""Longest line that is taken for a call by itself."""
_BARE = re.compile(r"(?:await |_ = |return )?([\w.]{2,120}(?:\([^\n]*\))?);?\Z")
"""An expression that stands on a line of its own, with nothing made of it."""


def _unasked(change: TextChange) -> bool:
    """Whether an edit leaves the calls of which a test asked something, and asks nothing of them."""
    if change.many or not _ASSERTS.search(change.before) or _ASKS.search(change.after):
        return False
    stood = {line.strip() for line in change.before.splitlines()}
    bare = [
        _BARE.match(line)
        for each in change.after.splitlines()
        if (line := each.strip()) not in stood and len(line) < MAX_LINE
    ]
    left = {found[1] for found in bare if found and ("(" in found[1] or found[0][:2] == "_ ")}
    return any(call in line for call in left for line in stood if "(" not in call or _ASSERTS.search(line))


def findings(change: TextChange) -> Iterator[Finding]:
    """Yield the findings for a change, at most one."""
    for rule, why, instead in islice(shown(change), 1):
        yield tampered(rule, f"{why}: {change.path.lstrip('/')[:120]}", instead)


def tampered(rule: str, why: str, instead: str) -> Finding:
    """Return the finding for a proof that is tampered with."""
    return Finding(rule, levels.HARM, why, instead, effect=effect("file_write", why))


def _more(pattern: re.Pattern[str], change: TextChange) -> int:
    return _count(pattern, change.after) - _count(pattern, change.before)


def _count(pattern: re.Pattern[str], text: str) -> int:
    return sum(1 for _ in islice(pattern.finditer(text), MAX_FOUND))
