import logging
from collections.abc import Iterator

import pytest

from supervisor.runtime.log import LEVELS, log, start_log


@pytest.fixture(autouse=True)
def _level_restored() -> Iterator[None]:
    before = log.level
    yield
    log.setLevel(before)


@pytest.mark.parametrize("level", sorted(LEVELS))
def test_what_is_below_the_level_is_not_said(level: str) -> None:
    start_log(level)
    assert log.isEnabledFor(LEVELS[level])
    assert not log.isEnabledFor(LEVELS[level] - 1)


def test_libraries_say_only_what_is_wrong() -> None:
    start_log("debug")
    assert not logging.getLogger("httpx").isEnabledFor(logging.INFO)
