"""Secrets and personal data are found in records however they are written, and little else is."""

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitors.contract import anyjson
from monitors.masking import MARK, Masker, checked_patterns, restored

MASKER = Masker(b"k" * 32, {"employee": r"\bE-\d{6}\b"}, values=['pa"ss\\phrase'], kept=["hello@firma.de"])

PLANTED = {
    "mail": ["anna.schmidt@firma.de", "o'neil+work@mail.example.co.uk", "müller@büro.de", "a.b%40firma.de"],
    "phone": ["+49 170 1234567", "+14155552671", "(415) 555-2671", "415-555-2671"],
    "card": ["4111 1111 1111 1111", "5500-0055-5555-5559", "378282246310005", "4111111111111111"],
    "account": ["DE89370400440532013000", "GB29 NWBK 6016 1331 9268 19", "FR1420041010050500013M02606"],
    "national": [
        "078-05-1120", "AB 12 34 56 C", "1 85 05 78 006 084 91", "12345678Z", "X1234567L", "RSSMRA85T10A562S",
        "529.982.247-25", "756.9217.0769.85", "811228-9874",
    ],
    "aws-key": ["AKIAIOSFODNN7EXAMPLE"],
    "github-token": ["ghp_" + "a1B2" * 9],
    "anthropic-key": ["sk-ant-api03-" + "Ab1_" * 8],
    "signed-web-token": ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"],
    "secret": ['pa"ss\\phrase'],
    "employee": ["E-204817"],
}  # fmt: skip
"""Made-up values of each kind; numbers with check digits are the examples of their own standards."""

NEVER = [
    "2026-11-22T19:08:47.123456Z", "1763712900.512345", "1763712900512345", "1763712900512345678", "10.0.0.1:8080",
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "d41d8cd98f00b204e9800998ecf8427e", "react@18.2.0", "@types/node@20.1.0",
    "icon@2x.png", "git@github.com:owner/name.git", "getty@tty1.service", "noreply@anthropic.com", "@pytest.fixture",
    "v1.2.3-4-gdeadbee", "ps aux | head -20", "0.12345678901234567", "toolu_01AbCdEfGhIjKlMnOpQrStUv", "+0200",
    "chmod 0644", "input_tokens: 12345678", "password=os.environ['DB_PASSWORD']", "token = get_token()", "hello@firma.de",
    "4111111111111112", "+1,234,567", "--password path/to/device",
]  # fmt: skip
"""Text of everyday work that looks like one or another kind."""


@pytest.mark.parametrize(("kind", "value"), [(kind, value) for kind, values in PLANTED.items() for value in values])
def test_a_value_is_masked_wherever_it_stands_in_json_and_comes_back(kind: str, value: str) -> None:
    for text in (
        value,
        f"see {value} and",
        f"a\n{value}\nb",
        f"«{value}»",
        anyjson.dumps({"inner": f"\t{value}"}).decode(),
    ):
        data = anyjson.dumps({"text": text, "after": 1})
        masked = MASKER.mask(data)
        assert orjson.loads(masked.data)["after"] == 1
        assert value.encode() not in masked.data
        assert any(mark.startswith(kind.encode() + b":") for mark in masked.values), masked
        assert restored(masked.data, masked.values) == data


@pytest.mark.parametrize("text", NEVER)
def test_what_everyday_work_prints_is_not_masked(text: str) -> None:
    assert MASKER.mask_text(f"a {text} b") == f"a {text} b"


def test_equal_values_have_equal_marks_and_another_key_gives_others() -> None:
    once, again = (MASKER.mask_text(text) for text in ("mail anna@firma.de", "to anna@firma.de"))
    assert once.split()[1] == again.split()[1]
    assert MARK.fullmatch(once.split()[1].encode())
    assert Masker(b"other").mask_text("mail anna@firma.de") != once


def test_a_private_key_is_masked_whole_and_one_that_is_torn_to_the_end_of_its_text() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----\n"
    data = anyjson.dumps({"text": f"cat id\n{key}done", "torn": key[:50], "rest": "kept"})
    masked = orjson.loads(MASKER.mask(data).data)
    assert masked["rest"] == "kept"
    assert "MIIE" not in str(masked)
    assert masked["text"].endswith("done")


def test_a_bare_number_that_is_a_card_leaves_json() -> None:
    masked = orjson.loads(MASKER.mask(b'{"id":4111111111111111,"n":[4111111111111111]}').data)
    assert masked["id"] == masked["n"][0]
    assert masked["id"].startswith("[card:")


def test_a_value_never_reaches_beyond_its_string() -> None:
    data = b'{"a":"http://x","b":"y:zzzz@w","c":"-----BEGIN PRIVATE KEY-----","d":"e"}'
    masked = orjson.loads(MASKER.mask(data).data)
    assert (masked["a"], masked["b"], masked["d"]) == ("http://x", "y:zzzz@w", "e")


def test_a_string_that_ends_with_a_backslash_ends_there() -> None:
    data = b'{"0":["\\\\"],"a":"378282246310005"}'
    assert orjson.loads(MASKER.mask(data).data)["a"].startswith("[card:")


def test_a_file_that_is_named_after_a_person_is_masked_and_the_user_of_an_address_stays() -> None:
    assert MASKER.mask_text("cat /srv/anna@firma.de.txt customers/anna@firma.de").count("[mail:") == 2
    assert MASKER.mask_text("git clone https://anna@github.com/a/b") == "git clone https://anna@github.com/a/b"


def test_the_host_of_an_address_with_a_password_stays() -> None:
    masked = MASKER.mask_text("git push https://anna:geheim99@github.com/a/b")
    assert masked.startswith("git push https://[password-in-an-address:")
    assert masked.endswith("]@github.com/a/b")


def test_a_known_secret_is_masked_as_json_spells_it() -> None:
    assert b"phrase" not in MASKER.mask(orjson.dumps({"env": 'X=pa"ss\\phrase'})).data


ALL = [value for values in PLANTED.values() for value in values]

ANY_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.sampled_from(ALL),
              st.sampled_from(ALL).map(lambda value: f'"{value}\\n{value}')),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=9), inner, max_size=4)),
    max_leaves=12,
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(ANY_JSON)
def test_any_record_stays_json_of_the_same_make_and_comes_back(value: Any) -> None:
    data = anyjson.dumps(value)
    masked = MASKER.mask(data)
    assert _make(anyjson.loads(masked.data)) == _make(anyjson.loads(data))
    assert MASKER.mask(masked.data).data == masked.data
    if orjson.dumps(orjson.loads(masked.data)) and not any(key.startswith(b"card") for key in masked.values):
        assert anyjson.loads(restored(masked.data, masked.values)) == anyjson.loads(data)


def _make(value: Any) -> Any:
    if isinstance(value, dict):
        return [_make(each) for each in value.values()]
    return [_make(each) for each in value] if isinstance(value, list) else 0


@pytest.mark.parametrize(
    ("patterns", "why"),
    [({"Bad": "x"}, "lower-case"), ({"a": "("}, "no regular"), ({"a": "x*"}, "empty"), ({"a": "(?=x)x"}, "(?=x)x")],
)
def test_a_pattern_that_cannot_serve_is_told(patterns: dict[str, str], why: str) -> None:
    assert why in checked_patterns(patterns)
    assert not checked_patterns({"employee": r"\bE-\d{6}\b"})
