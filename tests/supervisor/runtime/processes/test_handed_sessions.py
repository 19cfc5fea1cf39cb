"""The record of a session is copied as it is, and nothing else that an agent could put in its place."""

import os
from pathlib import Path

import pytest

from supervisor.runtime.processes import handed_sessions
from supervisor.runtime.processes.handed_sessions import hand_over

SESSION = "00000000-0000-0000-0000-000000000009"


@pytest.fixture
def record(tmp_path: Path) -> Path:
    folder = tmp_path / "a1" / "projects" / "-work"
    folder.mkdir(parents=True)
    (tmp_path / "a1" / "projects" / "-other").mkdir()
    made = folder / f"{SESSION}.jsonl"
    made.write_bytes(b'{"type":"user"}\n' * 100_000)
    return made


def copied(at: Path) -> list[Path]:
    return [path for path in (at / "a2").rglob("*") if path.is_file()]


def test_the_record_is_copied_whole_to_the_same_place_for_the_user_alone(tmp_path: Path, record: Path) -> None:
    assert hand_over(SESSION, tmp_path / "a1", tmp_path / "a2")
    (copy,) = copied(tmp_path)
    assert copy == tmp_path / "a2" / "projects" / "-work" / record.name
    assert copy.read_bytes() == record.read_bytes()
    assert copy.stat().st_mode & 0o777 == 0o600
    assert copy.parent.stat().st_mode & 0o777 == 0o700


def test_an_agent_without_the_session_hands_nothing_over(tmp_path: Path, record: Path) -> None:
    record.rename(record.with_stem("00000000-0000-0000-0000-000000000008"))
    assert not hand_over(SESSION, tmp_path / "a1", tmp_path / "a2")
    assert not hand_over(SESSION, tmp_path / "nobody", tmp_path / "a2")
    assert copied(tmp_path) == []


@pytest.mark.parametrize("swapped", ["record", "folder", "projects", "all"])
def test_a_link_to_files_of_the_user_is_not_followed(tmp_path: Path, record: Path, swapped: str) -> None:
    link = {"record": record, "folder": record.parent, "projects": record.parents[1], "all": record.parents[2]}[swapped]
    link.rename(tmp_path / "secret")
    link.symlink_to(tmp_path / "secret")
    assert not hand_over(SESSION, tmp_path / "a1", tmp_path / "a2")
    assert copied(tmp_path) == []


@pytest.mark.parametrize("kind", ["a pipe", "a second name", "a folder"])
def test_what_is_no_plain_file_of_its_own_is_not_read(tmp_path: Path, record: Path, kind: str) -> None:
    match kind:
        case "a second name":
            os.link(record, tmp_path / "another")
        case _:
            record.unlink()
            os.mkfifo(record) if kind == "a pipe" else record.mkdir()
    assert not hand_over(SESSION, tmp_path / "a1", tmp_path / "a2")
    assert copied(tmp_path) == []


def test_a_record_that_is_too_long_is_refused_with_its_length(tmp_path: Path, record: Path) -> None:
    os.truncate(record, handed_sessions.MOST_BYTES + 2**20)
    with pytest.raises(OSError, match="its record has 257 MiB, and 256 are the most"):
        hand_over(SESSION, tmp_path / "a1", tmp_path / "a2")
    assert copied(tmp_path) == []


def test_a_record_that_is_there_already_is_left_as_it_is(tmp_path: Path, record: Path) -> None:
    hand_over(SESSION, tmp_path / "a1", tmp_path / "a2")
    record.write_text("another")
    with pytest.raises(FileExistsError):
        hand_over(SESSION, tmp_path / "a1", tmp_path / "a2")
    (copy,) = copied(tmp_path)
    assert copy.stat().st_size == 1_600_000
