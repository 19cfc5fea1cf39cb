from pathlib import Path

import pytest

from supervisor.protocol import records
from supervisor.protocol.events import TimerFired
from supervisor.runtime.journal import reader
from supervisor.runtime.journal.reader import (
    Cursor,
    JournalDamagedError,
    list_segments,
    read_again,
    read_lines,
    read_records,
    segment_path,
)
from tests.journal_files import write_journal


def numbers(directory: Path, after: int = 0, upto: int | None = None) -> list[int]:
    return [line.n for line in read_lines(directory, after, upto)]


def test_lines_come_in_order_across_files(tmp_path: Path) -> None:
    lines = write_journal(tmp_path, 3, 1, 4)
    assert [segment.first for segment in list_segments(tmp_path)] == [1, 4, 5]
    assert [line.data for line in read_lines(tmp_path)] == lines
    assert [record.n for record in read_records(tmp_path)] == list(range(1, 9))


@pytest.mark.parametrize("after", range(10))
def test_reading_begins_behind_any_record(tmp_path: Path, after: int) -> None:
    write_journal(tmp_path, 3, 1, 4)
    assert numbers(tmp_path, after) == list(range(after + 1, 9))


@pytest.mark.parametrize("upto", range(10))
def test_reading_ends_with_any_record(tmp_path: Path, upto: int) -> None:
    write_journal(tmp_path, 3, 1, 4)
    assert numbers(tmp_path, 0, upto) == list(range(1, min(upto, 8) + 1))


@pytest.mark.parametrize("chunk", [1, 7, 150, 1000])
def test_a_chunk_may_end_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(reader, "CHUNK_BYTES", chunk)
    lines = write_journal(tmp_path, 3, 4)
    assert [line.data for line in read_lines(tmp_path)] == lines


def test_a_line_tells_where_it_stands(tmp_path: Path) -> None:
    lines = write_journal(tmp_path, 2, 3)
    found = list(read_lines(tmp_path))[3]
    content = found.path.read_bytes()
    assert content[found.offset :].startswith(lines[3])
    assert content[: found.offset].count(b"\n") + 1 == found.line == 3


def test_a_line_under_way_is_not_read_until_it_is_whole(tmp_path: Path) -> None:
    lines = write_journal(tmp_path, 3)
    path = segment_path(tmp_path, 1)
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    cursor = Cursor(tmp_path)
    assert [line.data for line in cursor.take()] == lines[:2]
    assert cursor.take() == []
    path.write_bytes(whole)
    assert [line.data for line in cursor.take()] == lines[2:]


def test_no_journal_has_no_lines(tmp_path: Path) -> None:
    assert numbers(tmp_path) == []
    assert numbers(tmp_path / "nowhere") == []


def test_a_missing_file_is_damage_that_names_the_gap(tmp_path: Path) -> None:
    write_journal(tmp_path, 3, 1, 4)
    segment_path(tmp_path, 4).unlink()
    with pytest.raises(JournalDamagedError, match="expected 4, found 5"):
        numbers(tmp_path)


def test_a_missing_first_file_is_damage(tmp_path: Path) -> None:
    write_journal(tmp_path, 3, 1)
    segment_path(tmp_path, 1).unlink()
    with pytest.raises(JournalDamagedError, match="a file with record 1"):
        numbers(tmp_path)
    assert numbers(tmp_path, after=3) == [4]


def test_a_file_cut_before_its_successor_is_damage(tmp_path: Path) -> None:
    write_journal(tmp_path, 3, 1)
    path = segment_path(tmp_path, 1)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(JournalDamagedError, match=r"line 4, at byte \d+: the end of the file"):
        numbers(tmp_path)


def test_a_file_of_another_journal_is_damage(tmp_path: Path) -> None:
    write_journal(tmp_path, 3, 1)
    header, previous = records.encode_header(4, "0" * 32)
    line, _ = records.encode(4, TimerFired(agent="b", at=1.0, mono=1.0, name="t"), previous)
    segment_path(tmp_path, 4).write_bytes(header + line)
    with pytest.raises(JournalDamagedError, match="chain"):
        numbers(tmp_path)


def test_the_lines_before_the_damage_are_handed_out(tmp_path: Path) -> None:
    lines = write_journal(tmp_path, 5)
    path = segment_path(tmp_path, 1)
    path.write_bytes(path.read_bytes().replace(b'"t4"', b'"t9"'))
    cursor = Cursor(tmp_path)
    assert [line.data for line in cursor.take()] == lines[:3]
    with pytest.raises(JournalDamagedError) as caught:
        cursor.take()
    assert (caught.value.path, caught.value.line, caught.value.problem) == (path, 5, "checksum")


def test_an_event_that_does_not_fit_its_kind_names_file_and_line(tmp_path: Path) -> None:
    header, previous = records.encode_header(1, records.ORIGIN)
    line, _ = records.frame(1, b'{"agent":"a","at":1,"mono":1,"kind":"timer_fired"}', previous)
    path = segment_path(tmp_path, 1)
    path.write_bytes(header + line)
    with pytest.raises(JournalDamagedError, match=r"line 2, at byte \d+: the event's field 'timer_fired.name'"):
        list(read_records(tmp_path))


@pytest.mark.parametrize("after", range(10))
def test_lines_that_were_checked_are_read_again_with_their_places(tmp_path: Path, after: int) -> None:
    assert list(read_again(tmp_path, after, 0)) == []
    write_journal(tmp_path, 3, 1, 4)
    for upto in (8, 5):
        some = read_again(tmp_path, after, upto)
        again = [each.stored(at) for each in some for at in range(len(each.lines))]
        assert again == list(read_lines(tmp_path, after, upto))


def test_a_line_that_is_another_one_than_when_it_was_checked_is_not_read_again(tmp_path: Path) -> None:
    write_journal(tmp_path, 3, 2)
    path = list_segments(tmp_path)[1].path
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], lines[2], lines[1]]))
    with pytest.raises(JournalDamagedError, match="number is wrong, expected 4"):
        list(read_again(tmp_path, 0, 5))
