"""The index of a journal's file: it leads to each agent's lines, and one that is wrong is made anew."""

import random
from pathlib import Path

import orjson
import pytest

from supervisor.protocol.events import TimerFired
from supervisor.runtime.journal.index import FileIndex, JournalIndexes, build, index_path, load, save
from supervisor.runtime.journal.journal import Journal
from supervisor.runtime.journal.reader import Segment, list_segments

SEGMENT_BYTES = 200_000

AGENTS = ("a1", "a2", "", 'ä"b\\c\x1f', "x" * 300)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A journal of several files with lines of several agents."""
    directory = tmp_path / "journal"
    journal, _ = Journal.open(directory, segment_bytes=SEGMENT_BYTES)
    for number in range(3_000):
        journal.append(TimerFired(agent=AGENTS[number % 7 % 5], at=float(number), mono=0.0, name=f"{number}"))
    journal.close()
    assert len(list_segments(directory)) > 2
    return directory


def names(segment: Segment, index: FileIndex, agent: str) -> list[str]:
    data = segment.path.read_bytes()
    spans = index.spans(agent)
    return [orjson.loads(data[span.offset : span.offset + span.length])["name"] for span in spans]


def expected(segment: Segment, agent: str) -> list[str]:
    lines = [orjson.loads(line) for line in segment.path.read_bytes().splitlines()[1:]]
    return [line["name"] for line in lines if line["agent"] == agent]


def test_it_leads_to_every_line_of_each_agent_in_order(directory: Path) -> None:
    for segment in list_segments(directory):
        index = build(segment)
        for agent in (*AGENTS, "nobody"):
            assert names(segment, index, agent) == expected(segment, agent)


def test_what_was_saved_is_loaded_as_it_was(directory: Path) -> None:
    for segment in list_segments(directory)[:-1]:
        index = build(segment)
        save(index, segment.path)
        again = load(segment)
        assert again is not None
        assert again == index


def test_reading_can_begin_at_each_mark(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from supervisor.runtime.journal.reader import Cursor

    monkeypatch.setattr("supervisor.runtime.journal.index.MARK_BYTES", 20_000)
    segment = list_segments(directory)[1]
    index = build(segment)
    assert len(index.marks) > 5
    for n in range(segment.first, segment.first + 300, 37):
        mark = index.mark_before(n)
        assert mark.n < n
        assert Cursor.at(segment, mark, n - 1).take()[0].n == n


HURT = {
    "nothing": lambda _: b"",
    "no newline": lambda data: data.replace(b"\n", b" ", 1),
    "cut": lambda data: data[: len(data) // 2],
    "more": lambda data: data + b"x",
    "a number": lambda _: b"7\n",
    "a list": lambda _: b"[]\n",
    "no object": lambda data: b'"x"\n' + data.split(b"\n", 1)[1],
    "another file": lambda data: data.replace(b'"first":', b'"first":9', 1),
    "another hash": lambda data: data.replace(b'"hash":"', b'"hash":"0', 1),
    "another format": lambda data: data.replace(b'"format":1', b'"format":2', 1),
    "many marks": lambda data: data.replace(b'"marks":', b'"marks":9', 1),
    "a huge count": lambda data: data.replace(b'["a1",', b'["a1",999999999', 1),
    "a negative count": lambda data: data.replace(b'["a1",', b'["a1",-', 1),
    "no name": lambda data: data.replace(b'["a1",', b"[null,", 1),
    "a fraction": lambda data: data.replace(b'"size":', b'"size":0.', 1),
    "deep": lambda _: b"[" * 100_000 + b"\n",
    "noise": lambda data: random.Random(7).randbytes(len(data)),
}


@pytest.mark.parametrize("how", HURT)
def test_one_that_is_hurt_is_passed_over_and_made_anew(directory: Path, how: str) -> None:
    segment = list_segments(directory)[0]
    save(build(segment), segment.path)
    path = index_path(segment.path)
    path.write_bytes(HURT[how](path.read_bytes()))  # type: ignore[no-untyped-call]
    assert load(segment) is None
    assert names(segment, JournalIndexes(directory).of(segment, grows=False), "a1") == expected(segment, "a1")
    assert load(segment) is not None, "it was made anew"


def test_any_changed_byte_is_noticed_or_changes_nothing(directory: Path) -> None:
    segment = list_segments(directory)[0]
    index = build(segment)
    save(index, segment.path)
    path, chance = index_path(segment.path), random.Random(3)
    data = path.read_bytes()
    for _ in range(300):
        at = chance.randrange(len(data))
        path.write_bytes(data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :])
        found = load(segment)
        assert found is None or found.words.keys() != index.words.keys() or found == index


def test_one_of_another_journal_is_passed_over(directory: Path, tmp_path: Path) -> None:
    journal, _ = Journal.open(tmp_path / "other", segment_bytes=SEGMENT_BYTES)
    for number in range(3_000):
        journal.append(TimerFired(agent=AGENTS[number % 7 % 5], at=float(number), mono=1.0, name=f"{number}"))
    journal.close()
    ours, other = list_segments(directory)[0], list_segments(tmp_path / "other")[0]
    save(build(other), other.path)
    index_path(other.path).rename(index_path(ours.path))
    assert load(ours) is None


def test_the_index_of_the_last_file_grows_with_it_and_not_beyond_what_is_written(tmp_path: Path) -> None:
    journal, _ = Journal.open(tmp_path)
    for number in range(10):
        journal.append(TimerFired(agent="a1", at=0.0, mono=0.0, name=f"{number}"))
    journal.close()
    (segment,) = list_segments(tmp_path)
    indexes = JournalIndexes(tmp_path)
    assert names(segment, indexes.of(segment, grows=True, upto=4), "a1") == ["0", "1", "2", "3"]
    assert len(names(segment, indexes.of(segment, grows=True, upto=10), "a1")) == 10
    assert not index_path(segment.path).exists()


def test_all_that_are_missing_are_made_a_piece_at_a_time(directory: Path) -> None:
    indexes = JournalIndexes(directory)
    pieces = sum(1 for _ in indexes.maintain(3_000))
    segments = list_segments(directory)
    assert pieces >= len(segments)
    assert [index_path(one.path).exists() for one in segments] == [True] * (len(segments) - 1) + [False]
    assert sum(1 for _ in indexes.maintain(3_000)) == 0


def test_a_full_disk_costs_the_file_and_not_the_answer(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("supervisor.runtime.journal.index.save", full)
    segment = list_segments(directory)[0]
    assert names(segment, JournalIndexes(directory).of(segment, grows=False), "a2") == expected(segment, "a2")
