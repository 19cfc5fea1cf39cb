import logging
from collections.abc import Iterator

import pytest

from supervisor.runtime.log import LEVELS, log, start_log
from tests.support import acting


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


def test_what_agents_are_called_and_say_cannot_paint_the_terminal_of_whoever_reads_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bad = "bad\udcff \x1b[2J \u202e"
    log.warning("the workspace %s is gone\nE forged", bad)
    log.error("it failed", exc_info=ValueError(bad))
    told, forged = caplog.records[0].getMessage().splitlines()
    assert told == "the workspace bad\\xff \\x1b[2J \\u202e is gone"
    assert forged.startswith("  ")
    assert acting(caplog.text) == {"\n"}
