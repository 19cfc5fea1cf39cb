"""The shapes of personal data: mail addresses, phone numbers, payment cards, accounts and national numbers.

Each shape is searched for in bytes, since records are masked as they are written. What has a check digit is checked by
it: without one, numbers of ten digits and more would be masked wherever a program prints a time or a size.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

_BEFORE = rb"(?<![0-9A-Za-z_.+/=-])"
_AFTER = rb"(?![0-9A-Za-z_]|[.-][0-9])"
"""Letters and signs that may not stand around a number, which would be part of a longer one, a name or a digest."""


_START = r"(?:\b|\\[nrtbf])"
"""The beginning of a number in JSON, where it may stand behind the escape of a line break."""


class PersonalKind(NamedTuple):
    """A kind of personal data."""

    name: str
    """Example: `card`."""
    scan: str
    """Finds every text that may have such data, in one pass together with all other kinds: without looking around."""
    pattern: re.Pattern[bytes]
    """Finds it, and what looks like it."""
    check: Callable[[bytes], bool] = lambda _found: True
    """Tells whether what the pattern found is such data."""


def _digits(found: bytes) -> list[int]:
    return [code - 48 for code in found if 48 <= code <= 57]


def passes_luhn(digits: Sequence[int]) -> bool:
    """Whether the last digit is the check digit of the others by ISO/IEC 7812-1, annex B."""
    doubled = (2 * digit - 9 if digit > 4 else 2 * digit for digit in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


_ISSUERS = re.compile(
    rb"4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})|5[1-5][0-9]{14}|2(?:22[1-9]|2[3-9][0-9]|[3-6][0-9]{2}|7[01][0-9]|720)[0-9]{12}"
    rb"|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|35[0-9]{14}|6(?:011|5[0-9]{2}|4[4-9][0-9])[0-9]{12}|62[0-9]{14,17}"
)
"""First digits and lengths of Visa, Mastercard, American Express, Diners, JCB, Discover and UnionPay. Times in micro-
and nanoseconds begin with 1 until 2033, as no card does."""


def _is_card(found: bytes) -> bool:
    digits = _digits(found)
    number = bytes(digit + 48 for digit in digits)
    return bool(_ISSUERS.fullmatch(number)) and len(set(digits)) > 1 and passes_luhn(digits)


def _is_account(found: bytes) -> bool:
    """Whether ISO 13616's check digits are right: modulo 97."""
    account = found.replace(b" ", b"").decode()
    if not 15 <= len(account) <= 34:
        return False
    return int("".join(str(int(letter, 36)) for letter in account[4:] + account[:4])) % 97 == 1


def _is_french(found: bytes) -> bool:
    digits = _digits(found)
    number = int("".join(map(str, digits[:13])))
    return 1 <= digits[3] * 10 + digits[4] <= 99 and 97 - number % 97 == digits[13] * 10 + digits[14]


def _is_spanish(found: bytes) -> bool:
    plain = found.replace(b"-", b"").replace(b" ", b"")
    number = plain.translate(bytes.maketrans(b"XYZ", b"012"))[:-1]
    return b"TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == plain[-1]


_ODD = dict(
    zip("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", (
        1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16,
        10, 22, 25, 24, 23), strict=True)
)  # fmt: skip
"""Values of the signs at odd places of an Italian tax code: decree of 23 December 1976."""


def _is_italian(found: bytes) -> bool:
    code = found.decode()
    odd = sum(_ODD[sign] for sign in code[:15:2])
    even = sum(int(sign, 36) - (0 if sign.isdigit() else 10) for sign in code[1:15:2])
    return (odd + even) % 26 == ord(code[15]) - ord("A")


def _is_brazilian(found: bytes) -> bool:
    digits = _digits(found)
    for length in (9, 10):
        rest = sum(digit * (length + 1 - place) for place, digit in enumerate(digits[:length])) % 11
        if digits[length] != (0 if rest < 2 else 11 - rest):
            return False
    return len(set(digits)) > 1


def _is_swiss(found: bytes) -> bool:
    digits = _digits(found)
    return (sum(digits[0:12:2]) + 3 * sum(digits[1:12:2]) + digits[12]) % 10 == 0


def _is_swedish(found: bytes) -> bool:
    digits = _digits(found)[-10:]
    return passes_luhn(digits)


_NO_PERSON = re.compile(rb"(?i)(?:no-?reply|git|do-?not-?reply)@|.*@(?:users\.noreply\.github\.com|.*\.local)\Z")
"""Addresses of no person: remotes of git, and addresses that take no mail."""

_FILE = re.compile(
    rb"(?i)\.(?:png|jpe?g|gif|svg|webp|ico|css|scss|jsx?|tsx?|mjs|cjs|json|ya?ml|toml|md|txt|py|rb|rs|java|kt|cpp|hpp|sh"
    rb"|lock|html?|xml|csv|service|socket|timer|target|mount|slice|scope|path)\Z"
)
"""Endings of files: `icon@2x.png` and `getty@tty1.service` are no addresses, `anna@firma.de.txt` has one."""


def _is_mail(found: bytes) -> bool:
    place = found.replace(b"%40", b"@").rpartition(b"@")[2]
    return not _NO_PERSON.match(found) and b"." in _FILE.sub(b"", place)


def _is_phone(found: bytes) -> bool:
    return 8 <= len(_digits(found)) <= 15


_PLACE = rb"(?:[0-9A-Za-z\x80-\xff](?:[0-9A-Za-z\x80-\xff-]{0,61}[0-9A-Za-z\x80-\xff])?\.){1,8}[A-Za-z]{2,24}"
"""The part of an address that names a host: RFC 5321, 4.1.2, and letters of other scripts as UTF-8."""


def _checked(shape: str, check: Callable[[bytes], bool]) -> PersonalKind:
    """Return the kind of a national number with a check digit: what finds it searches for what may be one, too."""
    return PersonalKind("national", _START + shape + r"\b", re.compile(_BEFORE + shape.encode() + _AFTER), check)


KINDS = (
    PersonalKind(
        "mail", r"[0-9A-Za-z_\x80-\xff](?:@|%40)[0-9A-Za-z\x80-\xff]",
        re.compile(
            rb"(?<![0-9A-Za-z._%+@\x80-\xff-])(?<!//)[0-9A-Za-z_\x80-\xff](?:[0-9A-Za-z_+'\x80-\xff-]|\.(?!\.)){0,63}(?:@|%40)"
            + _PLACE + rb"(?![0-9A-Za-z@_-]|\.[0-9A-Za-z])"
        ),
        _is_mail,
    ),
    PersonalKind(
        "phone", r"\+[1-9](?:[ .-]?\(?[0-9]\)?){7}",
        re.compile(
            rb"(?<![0-9A-Za-z_+.=\n-])\+[1-9](?:[ .-]?\(?[0-9]\)?){7,14}" + _AFTER
            + rb"|(?<=\n)\+[1-9](?:[0-9]{9,14}|[0-9]{0,2}[ -]\(?[0-9](?:[ -]?\(?[0-9]\)?){5,12})" + _AFTER
        ),
        _is_phone,
    ),
    PersonalKind(
        "phone", r"(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}-)[2-9][0-9]{2}-[0-9]{4}\b",
        re.compile(rb"(?<![0-9A-Za-z_.=/-])(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}-)[2-9][0-9]{2}-[0-9]{4}(?![0-9A-Za-z_-])"),
    ),
    PersonalKind(
        "card", _START + r"[2-6][0-9]{3}(?:[0-9]{9}|(?:[ -][0-9]{4}){3}|[ -][0-9]{6}[ -][0-9]{4})",
        re.compile(_BEFORE + rb"[2-6][0-9]{3}(?:[0-9]{9,15}|(?:[ -][0-9]{4}){3}|[ -][0-9]{6}[ -][0-9]{4,5})" + _AFTER),
        _is_card,
    ),
    PersonalKind(
        "account", _START + r"[A-Z]{2}[0-9]{2}(?:[A-Z0-9]{11}|(?: [A-Z0-9]{4}){2})",
        re.compile(_BEFORE + rb"[A-Z]{2}[0-9]{2}(?:[A-Z0-9]{11,30}|(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,3})?)" + _AFTER),
        _is_account,
    ),
    PersonalKind(
        "national", _START + r"[0-9]{3}-[0-9]{2}-[0-9]{4}\b",
        re.compile(_BEFORE + rb"(?!000|666|9)[0-9]{3}-(?!00)[0-9]{2}-(?!0000)[0-9]{4}(?![0-9A-Za-z_-])"),
    ),
    PersonalKind(
        "national", _START + r"[A-Z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]\b",
        re.compile(_BEFORE + rb"(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]" + _AFTER),
    ),
    _checked(r"[12] ?[0-9]{2} ?(?:0[1-9]|1[0-2]) ?[0-9]{2} ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}", _is_french),
    _checked(r"(?:[0-9]{8}|[XYZ]-?[0-9]{7})-?[A-HJ-NP-TV-Z]", _is_spanish),
    _checked(r"[A-Z]{6}[0-9]{2}[A-EHLMPRST][0-9]{2}[A-Z][0-9]{3}[A-Z]", _is_italian),
    _checked(r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}", _is_brazilian),
    _checked(r"756\.?[0-9]{4}\.?[0-9]{4}\.?[0-9]{2}", _is_swiss),
    _checked(r"(?:19|20)?[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])[-+][0-9]{4}", _is_swedish),
)  # fmt: skip
"""The kinds of personal data that are known by their shape. The national numbers are the American, British, French,
Spanish, Italian, Brazilian, Swiss and Swedish ones, in this order."""
