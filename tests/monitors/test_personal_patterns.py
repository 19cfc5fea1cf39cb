"""Check digits tell personal numbers from others."""

import pytest

from monitors.personal_patterns import KINDS, passes_luhn


def kinds_of(value: str) -> set[str]:
    data = value.encode()
    return {
        kind.name for kind in KINDS for match in kind.pattern.finditer(data) if match[0] == data and kind.check(data)
    }


RIGHT = {
    "4111111111111111": "card",
    "378282246310005": "card",
    "30569309025904": "card",
    "DE89370400440532013000": "account",
    "12345678Z": "national",
    "X1234567L": "national",
    "RSSMRA85T10A562S": "national",
    "529.982.247-25": "national",
    "756.9217.0769.85": "national",
    "811228-9874": "national",
    "1 85 05 78 006 084 91": "national",
}  # fmt: skip


@pytest.mark.parametrize(("value", "kind"), RIGHT.items())
def test_a_number_is_known_by_its_check_digit_and_no_other_is(value: str, kind: str) -> None:
    assert kind in kinds_of(value)
    digit = max(at for at, sign in enumerate(value) if sign.isdigit())
    others = [value[:digit] + str(other) + value[digit + 1 :] for other in range(10) if str(other) != value[digit]]
    assert [other for other in others if kind in kinds_of(other)] == []


def test_luhn_is_that_of_the_standard() -> None:
    assert passes_luhn([int(digit) for digit in "79927398713"])
    assert not passes_luhn([int(digit) for digit in "79927398710"])
