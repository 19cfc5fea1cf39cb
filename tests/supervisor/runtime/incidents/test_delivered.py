"""How far each channel came, through crashes and a bad disk."""

import errno
from pathlib import Path

import pytest

from supervisor.runtime.incidents.delivered import NAME, DeliveryMarks
from tests.faults import FaultyDisk


def test_what_was_told_is_known_after_a_restart_and_never_goes_back(tmp_path: Path) -> None:
    told = DeliveryMarks(tmp_path)
    told.note("mail", 7)
    told.note("mail", 5)
    assert DeliveryMarks(tmp_path).upto("mail", 99) == 7


def test_a_new_channel_begins_where_it_is_first_asked_about(tmp_path: Path) -> None:
    told = DeliveryMarks(tmp_path)
    assert told.upto("slack", 12) == 12
    assert told.upto("slack", 40) == 12
    assert DeliveryMarks(tmp_path).upto("slack", 40) == 12


def test_a_mark_of_a_journal_that_has_gone_begins_where_the_new_one_is(tmp_path: Path) -> None:
    DeliveryMarks(tmp_path).note("mail", 500)
    told = DeliveryMarks(tmp_path)
    assert told.upto("mail", otherwise=3) == 3
    told.note("mail", 4)
    assert DeliveryMarks(tmp_path).upto("mail", otherwise=9) == 4


def test_a_disk_that_takes_nothing_stops_nobody_and_makes_it_be_told_again(tmp_path: Path) -> None:
    DeliveryMarks(tmp_path).note("mail", 3)
    told = DeliveryMarks(tmp_path, FaultyDisk(1, errno.ENOSPC, mode="dead"))
    told.note("mail", 9)
    assert told.upto("mail", otherwise=20) == 9
    assert DeliveryMarks(tmp_path).upto("mail", otherwise=20) == 3


@pytest.mark.parametrize("text", ["", "{", "[]", '{"mail": "x"}', '{"mail": null}'])
def test_a_file_that_is_something_else_makes_every_channel_a_new_one(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME).write_text(text)
    assert DeliveryMarks(tmp_path).upto("mail", 3) == 3
