"""Files at the beginning of a journal go once a state stands for them; what is left is read and written on."""

import contextlib
import math
from pathlib import Path
from typing import Any

import pytest

from supervisor.protocol.events import TimerFired
from supervisor.runtime.journal.base import read_base
from supervisor.runtime.journal.cutting import base_for, cut, finish_cut
from supervisor.runtime.journal.journal import Journal
from supervisor.runtime.journal.reader import JournalDamagedError, list_segments, read_records
from tests.faults import FaultyDisk

STAMP: dict[str, Any] = {"agent": "a1", "mono": 1.0}


def filled(directory: Path, numbers: range) -> None:
    journal, _ = Journal.open(directory, segment_bytes=2_000)
    for number in numbers:
        journal.append(TimerFired(**STAMP, at=float(number), name=str(number)))
    journal.close()


def numbers(directory: Path, after: int = 0) -> list[int]:
    return [record.n for record in read_records(directory, after)]


def test_what_is_older_goes_and_the_journal_is_read_and_written_on(tmp_path: Path) -> None:
    filled(tmp_path, range(1, 101))
    base = base_for(tmp_path, 60, 50.0)
    assert base is not None
    assert base.first <= 50
    before = len(list_segments(tmp_path))
    told: list[str] = []
    assert cut(tmp_path, base, lambda: told.append("written")) == before - len(list_segments(tmp_path)) > 0
    assert told == ["written"]
    assert numbers(tmp_path) == list(range(base.first, 101))
    assert numbers(tmp_path, after=90) == list(range(91, 101))
    filled(tmp_path, range(101, 111))
    assert numbers(tmp_path) == list(range(base.first, 111))
    again = base_for(tmp_path, 10**6, math.inf)
    assert again is not None
    cut(tmp_path, again, lambda: None)
    assert numbers(tmp_path)[0] == again.first > base.first


def test_the_last_file_stays_however_old(tmp_path: Path) -> None:
    filled(tmp_path, range(1, 4))
    assert base_for(tmp_path, 10**6, math.inf) is None


def test_a_line_of_before_that_was_put_back_is_not_taken_for_the_beginning(tmp_path: Path) -> None:
    filled(tmp_path / "one", range(101, 201))
    filled(tmp_path / "other", range(201, 301))
    base = base_for(tmp_path / "one", 60, math.inf)
    assert base is not None
    cut(tmp_path / "one", base, lambda: None)
    stranger = tmp_path / "other" / list_segments(tmp_path / "one")[0].path.name
    (tmp_path / "one" / stranger.name).write_bytes(stranger.read_bytes())
    with pytest.raises(JournalDamagedError, match="chain"):
        numbers(tmp_path / "one")


@pytest.mark.parametrize("step", range(1, 25))
def test_a_cut_that_ends_anywhere_is_finished_by_the_next_start(tmp_path: Path, step: int) -> None:
    filled(tmp_path, range(1, 101))
    base = base_for(tmp_path, 80, math.inf)
    assert base is not None
    disk = FaultyDisk(step, mode="dead")
    with contextlib.suppress(OSError):
        cut(tmp_path, base, lambda: None, disk)
    assert numbers(tmp_path, after=90) == list(range(91, 101))
    assert numbers(tmp_path)[-1] == 100
    finish_cut(tmp_path)
    assert numbers(tmp_path)[0] == (1 if read_base(tmp_path) is None else base.first)
    filled(tmp_path, range(101, 103))
    assert numbers(tmp_path)[-1] == 102
