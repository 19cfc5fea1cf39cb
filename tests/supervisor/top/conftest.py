"""A board beside a real daemon."""

from pathlib import Path

import pytest

from tests.stages.daemon import Base


@pytest.fixture
def base(tmp_path: Path) -> Base:
    return Base(tmp_path / "base")
