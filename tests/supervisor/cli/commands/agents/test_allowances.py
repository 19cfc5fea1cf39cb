"""The commands against a real agent stand in tests/end_to_end/test_reviews.py; here is what they are given."""

import pytest
from click.testing import CliRunner

from supervisor.cli.__main__ import main


@pytest.mark.parametrize("text", ["", "10", "0m", "-1m", "1w", "tomorrow", "1e9d"])
def test_what_is_no_time_is_refused_with_what_would_be(text: str) -> None:
    done = CliRunner().invoke(main, ["allow", "a1", "ls", "--for", text])
    assert done.exit_code == 2
    assert "as in 10m" in done.output
