"""The subject of a call."""

from typing import Any

import pytest

from monitors.contract.subjects import subject_of


@pytest.mark.parametrize(
    ("given", "subject"),
    [
        ({"description": "x", "command": "make"}, "make"),
        ({"path": "a", "file_path": "b.py"}, "b.py"),
        ({"command": "", "url": "https://example.org"}, "https://example.org"),
        ({"command": ["make"]}, ""),
        ({}, ""),
    ],
)
def test_the_subject_is_the_first_field_that_says_one(given: dict[str, Any], subject: str) -> None:
    assert subject_of(given) == subject
