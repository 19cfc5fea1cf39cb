"""A base for the daemon that the clients talk to."""

from pathlib import Path

import pytest

from tests.stages.daemon import Base


@pytest.fixture
def base(tmp_path: Path) -> Base:
    return Base(tmp_path / "base")
