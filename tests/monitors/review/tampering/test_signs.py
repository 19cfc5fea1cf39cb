"""Signs of a change that takes from a test or a check: each row of the knowledge does what its examples say."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from monitors.review.knowledge.book import PROOFS
from monitors.review.tampering.signs import SIGNS, TextChange, is_test, shown


def _rows() -> Iterator[tuple[str, dict[str, Any]]]:
    yield from ((given["name"], given) for given in PROOFS["signs"])
    for kind, given in PROOFS["bounds"].items():
        yield f"{'tests' if given['in'] == 'tests' else 'checks'}.{kind}", given


def _examples(kind: str) -> list[tuple[str, str, str, str, bool]]:
    return [
        (name, path, before, after, bool(many)) for name, given in _rows() for path, before, after, *many in given[kind]
    ]


def _signs(path: str, before: str, after: str, *, many: bool) -> list[str]:
    change = TextChange(f"/{path}", before, after, known=bool(before) or many, many=many)
    return [rule for rule, _, _ in shown(change)]


@pytest.mark.parametrize(("name", "path", "before", "after", "many"), _examples("yes"))
def test_a_change_has_the_sign_of_which_it_is_an_example(
    name: str, path: str, before: str, after: str, many: bool
) -> None:
    assert name in _signs(path, before, after, many=many)


@pytest.mark.parametrize(("name", "path", "before", "after", "many"), _examples("no"))
def test_a_counterexample_has_no_sign(name: str, path: str, before: str, after: str, many: bool) -> None:
    assert _signs(path, before, after, many=many) == [], name


def test_each_sign_has_examples_of_both_kinds_and_each_piece_is_used() -> None:
    assert all(given["yes"] and given["no"] for _, given in _rows())
    used = set(re.findall(r"<([\w-]+)>", str(PROOFS)))
    assert PROOFS["words"].keys() - used == {"says-passed", "runs"} - used
    assert len({name for name, _ in _rows()}) == len([*_rows()])


def test_what_tests_are_fed_is_no_test() -> None:
    assert is_test("/tests/test_a.py")
    assert not is_test("/tests/fixtures/test_a.py")


def test_signs_are_asked_of_their_places_alone() -> None:
    assert all(sign.places for sign in SIGNS)
    assert _signs("README.md", "assert f()", "assert True", many=False) == []
