"""The check for calls that block the event loop sees one, and only in the loop."""

from pathlib import Path

import pytest
from blockbuster import BlockingError

from supervisor.runtime.processes.identity import read_identity
from tests.blocking import _no_blocking_calls  # noqa: F401 - a fixture


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "agent.json").write_text("{}")
    return tmp_path


async def test_a_file_that_is_read_in_the_loop_fails_the_test(directory: Path) -> None:
    with pytest.raises(BlockingError):
        read_identity(directory)


def test_a_file_may_be_read_without_a_loop(directory: Path) -> None:
    assert read_identity(directory) is None
