"""Letters that look like others."""

import pytest

from monitors.review.checks.lookalikes import hidden_text, skeleton


@pytest.mark.parametrize("name", ["r\u043c", "\uff52\uff4d", "r\u200bm", "\ufeffrm", "RM"])
def test_a_name_is_read_as_it_looks(name: str) -> None:
    assert skeleton(name) == "rm"


@pytest.mark.parametrize("text", ["echo 'مرحبا'", "echo 你好 🚀", "ls", "echo é"])
def test_other_scripts_are_no_danger(text: str) -> None:
    assert hidden_text(text) is None


def test_characters_that_reorder_text_are() -> None:
    assert hidden_text("ls \u202e/cte") is not None
