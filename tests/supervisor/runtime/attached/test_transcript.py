"""A session file that grows, shrinks, is replaced, and holds what is no JSON."""

from pathlib import Path

from supervisor.runtime.attached.transcript import Transcript

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
