"""Masking: secrets and personal data are replaced by marks before a record is written.

    masker = Masker(key)
    masked, values = masker.mask(b'{"text":"write to anna@firma.de"}')
    masked        # b'{"text":"write to [mail:3f2a91bc04d7e5f8]"}'
    values        # {b"mail:3f2a91bc04d7e5f8": b"anna@firma.de"}
    restored(masked, values)

A mark has the kind and a keyed digest of the value: equal values have equal marks, and without the key a value cannot
be guessed and compared. What is masked is JSON as it is written, or plain text; JSON stays JSON.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from monitors import personal_patterns, secret_patterns

DIGEST_BYTES = 8
"""Of a mark's digest: two of a million values have the same with a chance of one in thirty million."""

MARK = re.compile(rb"\[([a-z][a-z0-9_-]{0,30}:[0-9a-f]{16})\]")
"""A mark, as it stands in a record."""

LEAST_KNOWN = 8
"""Characters of a known secret at least: a shorter one would be found within words."""

SCAN_BYTES = 32 * 1024 * 1024
"""Most memory of the search for all kinds at once; it takes some hundred KiB."""

MOST_OWN = 100
"""Patterns and values of one's own at most: each costs every record some time."""

_ESCAPES = re.compile(rb'\\+(?:u[0-9a-fA-F]{4}|[^"\\])|(?<!\\)(?:\\\\)*\\"|\\+')
"""Escapes of JSON, also of JSON within JSON. The quote that ends a string behind a backslash is none."""
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,30}")


class MaskedRecord(NamedTuple):
    """A record without its secrets."""

    data: bytes
    values: dict[bytes, bytes]
    """Values by their marks, without brackets; empty if nothing was masked."""


class _Kind(NamedTuple):
    """A kind of value, ready to be searched for."""

    name: str
    scan: str
    """Finds each text that may have such a value, in the language of RE2 for the encoding Latin-1."""
    pattern: re.Pattern[bytes]
    check: Callable[[bytes], bool] = lambda _found: True
    """Tells of a value that was found whether it is one."""
    spelt: bool = False
    """Whether it is searched for as JSON spells it, escapes and all."""


def _secret_kinds() -> list[_Kind]:
    """Return the kinds of secrets for bytes; those that only may be one are named `maybe`."""
    kinds = []
    for kind in (*secret_patterns.KINDS, *secret_patterns.BY_CONTEXT):
        scan = kind.scan or "|".join(re.escape(word) for word in kind.words)
        kinds.append(_Kind(kind.mark, scan, _for_bytes(kind.whole or kind.certain), _is_no_path))
        if kind.possible is not None:
            kinds.append(_Kind(f"maybe-{kind.mark}"[:31].rstrip("-"), scan, _for_bytes(kind.possible)))
    return kinds


_WORD_EDGE = re.compile(r"(?<!\\)((?:\\\\)*)\\b")
"""The edge of a word in a pattern; before it, records have the letter of an escape where the text has a line break."""

_PATH = re.compile(rb"[~.]?/?(?:[a-z0-9_.-]+/)+[a-z0-9_.-]*")


def _is_no_path(found: bytes) -> bool:
    """Whether a word is none that only names a file, as behind `--password`."""
    return not _PATH.fullmatch(found)


def _for_bytes(pattern: re.Pattern[str]) -> re.Pattern[bytes]:
    """Return a pattern of text for bytes of JSON, in which a value ends with its string at the latest."""
    spelt = pattern.pattern.replace("[^\\s", '[^\\s"').replace("[\\s\\S]", '[^"]').replace("$)", '(?=")|$)')
    return re.compile(spelt.replace("…", r"\xe2\x80\xa6").encode(), pattern.flags & ~re.UNICODE)


_SECRETS = _secret_kinds()
_KINDS = _SECRETS + [_Kind(kind.name, kind.scan, kind.pattern, kind.check) for kind in personal_patterns.KINDS]


class Masker:
    """Replaces secrets and personal data by marks.

    Args:
        key: Of the digests, at most 64 bytes.
        patterns: One's own, by the name that their marks have.
        values: Secrets that are known, such as the credential: they are masked wherever they stand, as `secret`.
        kept: Values that are no secret, whatever they look like.
    """

    def __init__(
        self,
        key: bytes,
        patterns: Mapping[str, str] | None = None,
        values: Sequence[str] = (),
        kept: Sequence[str] = (),
    ) -> None:
        self._key = key
        self._kinds = [*_known(values), *(_own(name, spelt) for name, spelt in (patterns or {}).items()), *_KINDS]
        self._kept = frozenset(value.encode() for value in kept)
        self._scan: Any = None
        self._scans: dict[str, Any] = {}

    def mask(self, data: bytes) -> MaskedRecord:
        """Mask a record, JSON. Most have nothing, which is found out in one search."""
        spans = self._spans(data)
        return _replaced(data, spans, self.mark_of) if spans else MaskedRecord(data, {})

    def mask_text(self, text: str) -> str:
        """Mask a plain text."""
        data = text.encode(errors="surrogatepass")
        spans = self._spans(data)
        masked = _replaced(data, [(*span[:3], False) for span in spans], self.mark_of)
        return masked.data.decode(errors="surrogatepass")

    def mark_of(self, kind: str, value: bytes) -> bytes:
        """Return the mark of a value, without its brackets."""
        digest = hashlib.blake2b(value, digest_size=DIGEST_BYTES, key=self._key).hexdigest()
        return b"%b:%b" % (kind.encode(), digest.encode())

    def _spans(self, data: bytes) -> list[tuple[int, int, str, bool]]:
        """Find what is to be masked: where each begins and ends, its kind, and whether it is a bare number of JSON."""
        if self._scan is None:
            self._scan = _compiled("|".join(dict.fromkeys(kind.scan for kind in self._kinds)))
        if self._scan.search(data) is None:
            return []
        return self._found(data)

    def _found(self, data: bytes) -> list[tuple[int, int, str, bool]]:
        """Find them in a record that has something of one kind or another."""
        if not self._scans:
            self._scans = {scan: _compiled(scan) for scan in dict.fromkeys(kind.scan for kind in self._kinds)}
        there = {scan for scan, compiled in self._scans.items() if compiled.search(data) is not None}
        # Escapes are no part of a value and would be taken for letters of it; places stay as they are.
        plain = _ESCAPES.sub(_filler, data) if b"\\" in data else data
        found = [(*match.span(), "") for match in MARK.finditer(data)]  # stay as they are
        for kind in (each for each in self._kinds if each.scan in there):
            for match in kind.pattern.finditer(data if kind.spelt else plain):
                begin, end = match.span()
                if "kept" in kind.pattern.groupindex and match.group("kept") is not None:
                    begin = match.end("kept")
                value = match.string[begin:end]
                end -= len(value) - len(value.rstrip(b"\n "))
                value = match.string[begin:end]
                whole = kind.spelt or b'"' not in value
                if value and whole and value not in self._kept and kind.check(value):
                    found.append((*_whole_letters(data, begin, end), kind.name))
        return [(*one, _is_bare(plain, *one[:2])) for one in _apart(found)]


def _replaced(
    data: bytes, spans: Sequence[tuple[int, int, str, bool]], mark_of: Callable[[str, bytes], bytes]
) -> MaskedRecord:
    """Put marks in the place of what was found; a bare number's becomes a string."""
    parts, values, at = list[bytes](), dict[bytes, bytes](), 0
    for begin, end, name, bare in spans:
        value = data[begin:end]
        mark = mark_of(name, value)
        parts += data[at:begin], b'"[%b]"' % mark if bare else b"[%b]" % mark
        values[mark] = value
        at = end
    parts.append(data[at:])
    return MaskedRecord(b"".join(parts), values)


def _known(values: Sequence[str]) -> list[_Kind]:
    """Return the kind of the secrets that are known; none if there are none."""
    known = [value for value in values if len(value) >= LEAST_KNOWN]
    spelt = {each for value in known for each in (_as_json(value), _as_json(_as_json(value).decode()), value.encode())}
    if not spelt:
        return []
    ordered = sorted(spelt, key=len, reverse=True)
    one = "|".join(re.escape(value.decode("latin-1")) for value in ordered)
    return [_Kind("secret", one, re.compile(one.encode("latin-1")), spelt=True)]


def _own(name: str, spelt: str) -> _Kind:
    """Return a kind of one's own."""
    as_bytes = spelt.encode()
    scan = _WORD_EDGE.sub(r"\1(?:\\b|\\\\[nrtbf])", as_bytes.decode("latin-1"))
    return _Kind(name, scan, re.compile(as_bytes))


def _compiled(scan: str) -> Any:
    """Compile what searches for all kinds at once.

    RE2 takes 1 us for a record of 850 bytes, however many kinds there are; the standard library's `re` takes 15 us for
    the words of secrets alone. It is loaded with the first record.

    Raises:
        ValueError: It is no pattern of RE2, which neither looks around nor refers back.
    """
    import re2  # type: ignore[import-untyped]  # 10 ms, which a command that masks nothing need not wait for

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = True
    options.log_errors = False
    options.max_mem = SCAN_BYTES
    try:
        return re2.compile(scan.encode("latin-1"), options)
    except re2.error as error:
        said = error.args[0] if error.args else error
        raise ValueError(said.decode(errors="replace") if isinstance(said, bytes) else str(said)) from None


def restored(data: bytes, values: Mapping[bytes, bytes]) -> bytes:
    """Return a record with the values that are known in place of their marks."""
    if b":" not in data:
        return data
    return MARK.sub(lambda found: values.get(found[1], found[0]), data)


def checked_patterns(patterns: Mapping[str, str]) -> str:
    """Say what is wrong with patterns of one's own; empty if nothing is."""
    if len(patterns) > MOST_OWN:
        return f"there are {len(patterns)} patterns, and {MOST_OWN} are the most"
    for name, spelt in patterns.items():
        if not _NAME.fullmatch(name):
            return f"the name {name!r} must be lower-case letters, digits, - and _, 31 at most, beginning with a letter"
        try:
            _compiled(_own(name, spelt).scan)
            if re.compile(spelt.encode()).match(b""):
                return f"the pattern {spelt!r} of {name!r} finds the empty text"
        except (re.error, ValueError) as error:
            return f"the pattern {spelt!r} of {name!r} is no regular expression: {error}"
    return ""


def _filler(escape: re.Match[bytes]) -> bytes:
    """Return what stands for an escape while values are searched for: as long, and no part of any."""
    return b"\n" * (escape.end() - escape.start())


def _whole_letters(data: bytes, begin: int, end: int) -> tuple[int, int]:
    """Return the place so that it cuts no letter of several bytes."""
    while begin > 0 and data[begin] & 0xC0 == 0x80:
        begin -= 1
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return begin, end


def _is_bare(plain: bytes, begin: int, end: int) -> bool:
    """Whether a number of JSON stands there, outside of a string."""
    return plain[begin:end].isdigit() and plain.count(b'"', 0, begin) % 2 == 0


def _apart(found: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return the findings in order, without those that begin within another; marks that are there keep others off."""
    found.sort(key=lambda one: (one[0], -one[1]))
    kept, end = list[tuple[int, int, str]](), 0
    for one in found:
        if one[0] >= end:
            kept.append(one)
            end = one[1]
    return [one for one in kept if one[2]]


def _as_json(value: str) -> bytes:
    return orjson.dumps(value.encode(errors="replace").decode())[1:-1]
