"""Lines of the journal that are not what was written there."""

import zlib
from pathlib import Path

import pytest

from host.durable import REAL_DISK
from supervisor.protocol import records
from supervisor.protocol.events import RecordDamaged, TimerFired
from supervisor.runtime.journal.journal import Journal
from supervisor.runtime.journal.mending import damage_words
from supervisor.runtime.journal.reader import JournalDamagedError, list_segments, read_lines, read_records
from supervisor.runtime.journal.recovery import JournalRecovery, recover
from supervisor.runtime.journal.signing import SigningKey

KEY = SigningKey(b"k" * 32)
SEGMENT = 900
"""Bytes of a file: four lines or so."""


def write(directory: Path, key: SigningKey | None = KEY, *, segment_bytes: int = 10**6) -> list[bytes]:
    """Write ten lines of two agents and the daemon, and return them."""
    journal, _ = Journal.open(directory, key=key, segment_bytes=segment_bytes)
    for number in range(10):
        agent = ("a1", "a2", "")[number % 3]
        journal.append(TimerFired(agent=agent, at=1.5 + number, mono=1.0, name=f"timer {number}"))
    journal.close()
    return [line.data for line in read_lines(directory)]


def forge(directory: Path, begin: int, agent: str = "a1") -> None:
    """Write the lines from here on anew, chained and with checksums, as who knows the make but not the key."""
    path = list_segments(directory)[-1].path
    header, *lines = path.read_bytes().splitlines(keepends=True)
    previous = records.line_hash(lines[begin - 2]) if begin > 1 else records.line_hash(header)
    kept = lines[: begin - 1]
    for n in range(begin, begin + 3):
        line, previous = records.frame(
            n, records.spell(TimerFired(agent=agent, at=9.0, mono=1.0, name="forged")), previous
        )
        kept.append(line)
    path.write_bytes(header + b"".join(kept))


def again(directory: Path, key: SigningKey | None = KEY) -> JournalRecovery:
    found = recover(directory, REAL_DISK, key=key)
    assert recover(directory, REAL_DISK, key=key).damage == (), "what was put aside is found once"
    return found


def test_what_was_written_is_believed_with_and_without_the_key(tmp_path: Path) -> None:
    lines = write(tmp_path)
    assert all(records.is_signed(line, KEY.key) and records.is_marked(line) for line in lines)
    assert not any(records.is_signed(line, b"other") for line in lines)
    assert again(tmp_path).n == 10
    found = again(tmp_path, None)
    assert (found.n, found.marked) == (10, True)
    assert [record.event.name for record in read_records(tmp_path)][3] == "timer 3"  # type: ignore[union-attr]
    assert records.kind_of(lines[0]) == "timer_fired"


def test_lines_that_somebody_wrote_anew_count_for_nothing_whatever_agent_they_name(tmp_path: Path) -> None:
    write(tmp_path)
    forge(tmp_path, 6)
    found = again(tmp_path)
    (damage,) = found.damage
    assert (damage.first, damage.lines, damage.why, damage.agents) == (6, 3, "signature", ())
    events = [record.event for record in read_records(tmp_path)]
    assert [getattr(event, "name", "") for event in events[:5]] == [f"timer {n}" for n in range(5)]
    (lost,) = events[5:]
    assert isinstance(lost, RecordDamaged)
    assert (lost.agent, lost.begins, lost.lines, lost.why) == ("", 6, 3, "signature")
    (kept,) = damage.kept
    assert b"forged" in kept.read_bytes()
    journal, after = Journal.open(tmp_path, key=KEY)
    journal.append(TimerFired(agent="a2", at=1.0, mono=1.0, name="on"))
    journal.close()
    assert (after.n, again(tmp_path).n) == (6, 7)


def test_a_last_line_that_was_changed_is_not_believed_though_its_chain_is_right(tmp_path: Path) -> None:
    lines = write(tmp_path)
    path = list_segments(tmp_path)[0].path
    unsealed = lines[-1].replace(b"timer 9", b"forged!").removesuffix(b"\n")[: -len(',"c":"00000000"}')]
    path.write_bytes(path.read_bytes().replace(lines[-1], b'%b,"c":"%08x"}\n' % (unsealed, zlib.crc32(unsealed))))
    assert again(tmp_path, None).n == 10
    (damage,) = again(tmp_path).damage
    assert damage.first == 10


def test_forged_lines_over_several_files_go_with_their_files(tmp_path: Path) -> None:
    write(tmp_path, segment_bytes=SEGMENT)
    segments = list_segments(tmp_path)
    assert len(segments) > 2
    other = tmp_path / "other"
    write(other, SigningKey(b"x" * 32), segment_bytes=SEGMENT)
    for segment in segments[1:]:
        segment.path.write_bytes((other / segment.path.name).read_bytes())
    before = segments[1].first - 1
    first = segments[0].path.read_bytes().splitlines(keepends=True)
    theirs = (other / segments[0].path.name).read_bytes().splitlines(keepends=True)
    segments[0].path.write_bytes(b"".join([*first[:2], *theirs[2:]]))
    assert before > 1
    (damage,) = again(tmp_path).damage
    assert damage.first == 2
    assert len(damage.kept) == len(segments)
    assert [segment.path for segment in list_segments(tmp_path)] == [segments[0].path]


def damaged(directory: Path, n: int) -> Path:
    """Change one byte in the middle of a line."""
    segment = next(one for one in reversed(list_segments(directory)) if one.first <= n)
    lines = segment.path.read_bytes().splitlines(keepends=True)
    lines[n - segment.first + 1] = lines[n - segment.first + 1].replace(b"timer", b"timex")
    segment.path.write_bytes(b"".join(lines))
    return segment.path


@pytest.mark.parametrize("key", [KEY, None])
@pytest.mark.parametrize("numbers", [[4], [4, 5], [1], [4, 8, 10]])
def test_a_line_that_is_damaged_among_whole_ones_costs_its_agent_and_no_other_line(
    tmp_path: Path, key: SigningKey | None, numbers: list[int]
) -> None:
    lines = write(tmp_path, key, segment_bytes=SEGMENT)
    within = [n for n in numbers if n != 10]
    for n in within:
        damaged(tmp_path, n)
    found = recover(tmp_path, REAL_DISK, key=key)
    assert found.n == 10
    now = [line.data for line in read_lines(tmp_path)]
    assert [n for n, (was, is_) in enumerate(zip(lines, now, strict=True), 1) if was != is_] == within
    for n in within:
        event = records.decode(now[n - 1]).event
        assert isinstance(event, RecordDamaged)
        assert (event.agent, event.lines, event.why) == (("a1", "a2", "")[(n - 1) % 3], 1, "checksum")
    journal, _ = Journal.open(tmp_path, key=key, segment_bytes=SEGMENT)
    journal.append(TimerFired(agent="a2", at=1.0, mono=1.0, name="on"))
    journal.close()
    assert again(tmp_path, key).n == 11


def test_with_the_key_a_line_that_was_changed_with_its_checksum_costs_its_agent_and_without_it_stops_the_start(
    tmp_path: Path,
) -> None:
    for key, folder in ((KEY, tmp_path / "signed"), (None, tmp_path / "plain")):
        lines = write(folder, key)
        path = list_segments(folder)[0].path
        unsealed = lines[3].replace(b"timer 3", b"forged!").removesuffix(b"\n")[: -len(',"c":"00000000"}')]
        path.write_bytes(path.read_bytes().replace(lines[3], b'%b,"c":"%08x"}\n' % (unsealed, zlib.crc32(unsealed))))
    (damage,) = again(tmp_path / "signed").damage
    assert (damage.first, damage.lines, damage.agents) == (4, 1, ("a1",))
    with pytest.raises(JournalDamagedError):
        recover(tmp_path / "plain", REAL_DISK)


def test_a_line_of_the_daemon_that_is_damaged_stops_the_start_and_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path)
    path = damaged(tmp_path, 3)
    before = path.read_bytes()
    with pytest.raises(JournalDamagedError):
        recover(tmp_path, REAL_DISK, key=KEY)
    assert path.read_bytes() == before


def test_lines_that_were_taken_out_stop_the_start(tmp_path: Path) -> None:
    lines = write(tmp_path)
    path = list_segments(tmp_path)[0].path
    path.write_bytes(path.read_bytes().replace(lines[4], b""))
    with pytest.raises(JournalDamagedError):
        recover(tmp_path, REAL_DISK, key=KEY)


def test_lines_before_the_first_signed_one_count_as_they_are(tmp_path: Path) -> None:
    write(tmp_path, None)
    key = SigningKey(KEY.key, since=10)
    journal, _ = Journal.open(tmp_path, key=key)
    journal.append(TimerFired(agent="a2", at=1.0, mono=1.0, name="on"))
    journal.close()
    assert again(tmp_path, key).n == 11
    (damage,) = again(tmp_path, SigningKey(KEY.key, since=9)).damage
    assert damage.first == 10


def test_a_torn_tail_of_a_signed_journal_is_set_aside_as_ever(tmp_path: Path) -> None:
    write(tmp_path)
    path = list_segments(tmp_path)[0].path
    path.write_bytes(path.read_bytes()[:-20])
    found = again(tmp_path)
    assert found.torn is None or found.n == 9


def test_damage_is_told_with_its_agents_and_where_it_is_kept(tmp_path: Path) -> None:
    write(tmp_path)
    forge(tmp_path, 6)
    (damage,) = recover(tmp_path, REAL_DISK, key=KEY).damage
    what, severity, way_out = damage_words(damage)
    assert "3 lines from number 6 are not what was written" in what
    assert "all agents that lived are ended" in what
    assert str(damage.kept[0]) in what
    assert severity == "critical"
    assert "audit.exporters" in way_out
