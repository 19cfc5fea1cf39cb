"""A session file that grows, shrinks, is replaced, and holds what is no JSON."""

from pathlib import Path

from supervisor.runtime.attached.transcript import Transcript, timestamp

LINE = '{"type": "assistant", "uuid": "%d"}\n'


def uuids(transcript: Transcript) -> list[str]:
    return [line["uuid"] for line in transcript.read()]


def test_what_came_since_is_read_once_and_half_a_line_with_its_rest(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(LINE % 1)
    transcript = Transcript(str(path), 0)
    assert uuids(transcript) == ["1"]
    half = LINE % 2
    path.write_text(LINE % 1 + half[:9])
    assert uuids(transcript) == []
    path.write_text(LINE % 1 + half + "no JSON, assistant\n" + LINE % 3)
    assert uuids(transcript) == ["2", "3"]
    assert uuids(transcript) == []


def test_what_a_session_had_before_it_was_attached_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(LINE % 1)
    transcript = Transcript(str(path))
    assert uuids(transcript) == []
    path.write_text(LINE % 1 + LINE % 2)
    assert uuids(transcript) == ["2"]


def test_a_file_that_shrank_is_followed_from_its_new_end(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(LINE % 1 + LINE % 2)
    transcript = Transcript(str(path), 0)
    assert uuids(transcript) == ["1", "2"]
    path.write_text(LINE % 3)
    assert uuids(transcript) == []
    path.write_text(LINE % 3 + LINE % 4)
    assert uuids(transcript) == ["4"]


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/dev/zero")
    for path in (link, tmp_path, tmp_path / "missing", Path("/dev/zero")):
        assert Transcript(str(path), 0).read() == []


def test_a_session_file_that_is_not_written_yet_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    transcript = Transcript(str(path))
    assert transcript.read() == []
    path.write_text(LINE % 1)
    assert uuids(transcript) == ["1"]


def test_a_file_that_was_replaced_by_a_longer_one_is_followed_from_its_new_end(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(LINE % 1 + LINE % 2)
    transcript = Transcript(str(path), 0)
    assert uuids(transcript) == ["1", "2"]
    other = tmp_path / "other"
    other.write_text(LINE % 5 + LINE % 6 + LINE % 7)
    other.replace(path)
    assert uuids(transcript) == [], "of a file of another session nothing is this agent's"
    with path.open("a") as file:
        file.write(LINE % 8)
    assert uuids(transcript) == ["8"]


def test_a_file_that_was_written_over_with_as_much_is_followed_from_its_new_end(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(LINE % 1 + LINE % 2)
    transcript = Transcript(str(path), 0)
    assert uuids(transcript) == ["1", "2"]
    path.write_text(LINE % 3 + LINE % 4 + LINE % 5)
    again = Transcript(str(path), transcript.offset, "", transcript.tail)
    assert uuids(again) == [], "after a restart of the daemon too"


def test_a_copy_of_the_same_session_is_followed_without_a_gap(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(LINE % 1)
    transcript = Transcript(str(path), 0)
    assert uuids(transcript) == ["1"]
    copy = tmp_path / "copy"
    copy.write_text(LINE % 1 + LINE % 2)
    copy.replace(path)
    assert uuids(transcript) == ["2"]


def test_what_a_forked_session_has_of_the_other_one_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "fork.jsonl"
    transcript = Transcript(str(path), since=timestamp(1_700_000_000.5))
    assert transcript.read() == []
    old, new = (f'"timestamp": "{timestamp(1_700_000_000.5 + off)}"' for off in (-1, 1))
    path.write_text(LINE.replace("{", f"{{{old}, ", 1) % 1 + LINE.replace("{", f"{{{new}, ", 1) % 2 + LINE % 3)
    assert uuids(transcript) == ["2", "3"]


def test_a_file_on_a_full_disk_that_ends_in_half_a_line_goes_on_with_the_next_whole_one(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(LINE % 1 + (LINE % 2)[:20])  # the disk was full here
    transcript = Transcript(str(path), 0)
    assert uuids(transcript) == ["1"]
    with path.open("a") as file:
        file.write(LINE % 3 + LINE % 4)  # and had space again: two lines have become one that is no JSON
    assert uuids(transcript) == ["4"]
