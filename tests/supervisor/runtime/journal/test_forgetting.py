"""Records of one agent are taken out of a journal: the chain holds, readers in the middle go on, others stay."""

import contextlib
from pathlib import Path
from typing import Any

import pytest

from supervisor.protocol import records
from supervisor.protocol.events import InputAccepted, RecordForgotten, TaskClaimed, TimerFired
from supervisor.runtime.journal.forgetting import ForgottenWords, forget_lines, forget_records, only_of
from supervisor.runtime.journal.index import build, index_path, save
from supervisor.runtime.journal.journal import Journal
from supervisor.runtime.journal.reader import Cursor, list_segments, read_lines, read_records
from supervisor.runtime.journal.signing import SigningKey
from supervisor.runtime.journal.verification import verify
from supervisor.runtime.protection.seals import RecordSeals
from tests.faults import FaultyDisk

KEY = SigningKey(b"k" * 32, since=4)
SESSION = "0b7f3a52-1111-4222-8333-944455556666"
WORDS = ForgottenWords("wilma", (SESSION, "chaperon/wilma"))


def filled(directory: Path, rounds: int = 20) -> None:
    """Lines of two agents and of the daemon, the first four without a signature, in some files."""
    stamp: dict[str, Any] = {"at": 1_700_000_000.25, "mono": 2.5}
    for begin, end, key in ((0, 1, None), (1, rounds, KEY)):
        journal, _ = Journal.open(directory, key=key, segment_bytes=3_000)
        for number in range(begin, end):
            journal.append(TimerFired(agent="fred", name=f"{number} of fred", **stamp))
            journal.append(TimerFired(agent="wilma", name=f"[mail:00112233445566aa] {number} of wilma", **stamp))
            journal.append(TaskClaimed(agent="", task="t-1", run_id=f"r-{number}", worker="wilma", **stamp))
            key_ = (
                f'told {{"session_id":"{SESSION}"}} in chaperon/wilma, not in chaperon/wilma-2 [card:00112233445566bb]'
            )
            journal.append(InputAccepted(agent="wilma", key=key_, **stamp))
        journal.close()


def said(directory: Path) -> bytes:
    return b"".join(line.data for line in read_lines(directory))


def test_its_records_go_and_the_chain_is_as_it_was(tmp_path: Path) -> None:
    filled(tmp_path)
    before = verify(tmp_path, KEY)
    fred = [line.data for line in read_lines(tmp_path) if records.agent_of(line.data) == "fred"]
    assert only_of(tmp_path, "wilma") == ({SESSION}, {"[mail:00112233445566aa]", "[card:00112233445566bb]"})
    assert forget_records(tmp_path, WORDS, KEY, 10**6) == 40
    after = verify(tmp_path, KEY)
    assert (after.n, after.hash, after.problem) == (before.n, before.hash, "")
    assert b"wilma" not in said(tmp_path)
    assert SESSION.encode() not in said(tmp_path)
    assert [line.data for line in read_lines(tmp_path) if records.agent_of(line.data) == "fred"] == fred
    events = [record.event for record in read_records(tmp_path)]
    assert sum(isinstance(event, RecordForgotten) for event in events) == 40
    assert {event.worker for event in events if isinstance(event, TaskClaimed)} == {"forgotten"}
    journal, found = Journal.open(tmp_path, key=KEY, segment_bytes=3_000)
    journal.append(TimerFired(agent="fred", at=1.0, mono=1.0, name="goes on"))
    journal.close()
    assert (found.torn, found.damage) == (None, ())
    assert verify(tmp_path, KEY).problem == ""
    assert forget_records(tmp_path, WORDS, KEY, 10**6) == 0, "a second call finds nothing"


def test_the_time_of_a_record_stays_to_the_second_and_its_kind_is_known_without_reading_it(tmp_path: Path) -> None:
    filled(tmp_path, 2)
    forget_records(tmp_path, WORDS, KEY, 10**6)
    lines = [line.data for line in read_lines(tmp_path)]
    assert {records.whose_and_when(line) for line in lines if records.agent_of(line) == ""} == {
        ("", 1_700_000_000.0),
        ("", 1_700_000_000.25),
    }
    assert [records.kind_of(line) for line in lines[4:8]] == [
        "timer_fired", "record_forgotten", "task_claimed", "record_forgotten",
    ]  # fmt: skip


def test_a_reader_in_the_middle_goes_on_with_the_next_record(tmp_path: Path) -> None:
    filled(tmp_path)
    cursor, slow = Cursor(tmp_path), Cursor(tmp_path, 33)
    taken = [line.n for line in cursor.take(7)]
    assert slow.take(34)[-1].n == 34
    forget_records(tmp_path, WORDS, KEY, 10**6)
    while lines := cursor.take():
        taken += [line.n for line in lines]
    assert taken == list(range(1, 81))
    assert slow.take()[0].n == 35


def test_files_that_may_still_grow_and_records_that_are_not_as_written_are_left(tmp_path: Path) -> None:
    filled(tmp_path)
    last = list_segments(tmp_path)[-1]
    whole = last.path.read_bytes()
    first = list_segments(tmp_path)[1]
    forged = first.path.read_bytes().replace(b'"m":"', b'"m":"00', 1)
    first.path.write_bytes(forged)
    forget_records(tmp_path, WORDS, KEY, last.first)
    assert last.path.read_bytes() == whole
    assert b"wilma" in first.path.read_bytes() or b'"m":"00' in first.path.read_bytes()


def test_an_index_and_what_was_put_aside_name_it_no_more(tmp_path: Path) -> None:
    filled(tmp_path)
    segment = list_segments(tmp_path)[0]
    save(build(segment), segment.path)
    torn = segment.path.with_name("x.jsonl.12.torn")
    seals = RecordSeals([b"k" * 32], seals=True)
    sealed = [
        records.frame(
            7, seals.event(records.spell(TimerFired(agent="fred", at=1.5, mono=1.5, name=name))), records.ORIGIN, b"k"
        )[0]
        for name in ("wilma", "barney")
    ]
    torn.write_bytes(b'half of "wilma"\n{"agent":"fred"}\n' + b"".join(sealed))
    forget_records(tmp_path, WORDS, KEY, 10**6, seals=seals)
    assert not index_path(segment.path).exists()
    assert torn.read_bytes() == b'{"agent":"fred"}\n' + sealed[1]


@pytest.mark.parametrize("step", range(1, 30, 3))
def test_one_that_is_cut_anywhere_leaves_a_journal_that_is_whole_and_a_second_call_does_the_rest(
    tmp_path: Path, step: int
) -> None:
    filled(tmp_path)
    with contextlib.suppress(OSError):
        forget_records(tmp_path, WORDS, KEY, 10**6, FaultyDisk(step, mode="dead"))
    assert verify(tmp_path, KEY).problem == ""
    forget_records(tmp_path, WORDS, KEY, 10**6)
    assert b"wilma" not in said(tmp_path)
    assert verify(tmp_path, KEY).problem == ""


def test_words_are_taken_out_whole_and_only_where_names_of_agents_stand() -> None:
    words = ForgottenWords("main", ("/w/main",))
    record = {
        "agent": "main",
        "target": "main",
        "text": "in /w/main, and /w/main-2 and /w/main.old",
        "agents": ["main", "other"],
        "carried_out": {"o-1": ["main", "other"]},
        "agent_states": {"main": "done", "other": "done"},
    }
    assert words.taken_out(record) == {
        "agent": "forgotten",
        "target": "main",
        "text": "in forgotten, and /w/main-2 and /w/main.old",
        "agents": ["forgotten", "other"],
        "carried_out": {"o-1": ["forgotten", "other"]},
        "agent_states": {"other": "done"},
    }


def test_lines_of_another_file_go_and_those_of_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "incidents.jsonl"
    disk = FaultyDisk()
    forget_lines(path, lambda line: line["agent"] == "wilma", WORDS, disk)
    path.write_text(
        f'{{"agent":"wilma","x":1}}\n{{"agent":"fred","x":"{SESSION}"}}\n{{"agent":"fred","x":2}}\nhalf "wilma\nhalf "fred'
    )
    forget_lines(path, lambda line: line["agent"] == "wilma", WORDS, disk)
    assert path.read_text() == '{"agent":"fred","x":"forgotten"}\n{"agent":"fred","x":2}\nhalf "wilma\nhalf "fred'
