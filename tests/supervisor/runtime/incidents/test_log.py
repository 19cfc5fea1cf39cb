import errno
import json
import os
from dataclasses import asdict, replace
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.durable import Reserve
from interventions.decisions import Incident
from monitors.contract.errors import UsageError
from monitors.contract.words import Severity
from supervisor.runtime.incidents.log import IncidentLog, IncidentLogError, latest, spell_incident
from tests.faults import FaultyDisk, every_fault
from tests.support import acting


def incident(incident_id: str = "20261121T081500Z-a3-i-17", **fields: str) -> Incident:
    return Incident(
        id=incident_id,
        at=1795248900.25,
        agent="a3",
        type="emergency_stop",
        severity=Severity.CRITICAL,
        summary="The agent was stopped: it tried to delete /home.",
        way_out="chaperon show a3",
        issue=fields.get("issue", ""),
        seq=17,
    )


def logged(directory: Path) -> list[str]:
    path = directory / "incidents.jsonl"
    return [json.loads(line)["id"] for line in path.read_text().splitlines()] if path.exists() else []


def test_a_line_begins_with_what_a_person_looks_for() -> None:
    line = spell_incident(incident())
    assert line.startswith(
        b'{"time":"2026-11-21T08:15:00.250Z","severity":"critical","agent":"a3","type":"emergency_stop","summary":"'
    )
    assert line.endswith(b"}\n")
    assert list(json.loads(line)) == [
        "time", "severity", "agent", "type", "summary", "way_out", "issue", "report", "id", "seq", "at",
    ]  # fmt: skip


def test_lines_are_added_in_order_and_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    log = IncidentLog.open(tmp_path)
    assert log.record(incident("a"))
    assert log.record(incident("b"))
    assert logged(tmp_path) == ["a", "b"]
    assert (tmp_path / "incidents.jsonl").stat().st_mode & 0o777 == 0o600


def test_an_id_is_written_once_also_after_a_new_start(tmp_path: Path) -> None:
    log = IncidentLog.open(tmp_path)
    assert log.record(incident("a"))
    assert not log.record(incident("a"))
    again = IncidentLog.open(tmp_path)
    assert not again.record(incident("a"))
    assert again.record(incident("b"))
    assert logged(tmp_path) == ["a", "b"]


def test_an_incident_whose_number_was_given_before_in_a_journal_that_has_gone_is_written_and_the_earlier_report_stays(
    tmp_path: Path,
) -> None:
    assert IncidentLog.open(tmp_path).record(incident("a"), {"of": "the first"})
    again = IncidentLog.open(tmp_path)
    later = replace(incident("a"), at=incident("a").at + 60)
    assert again.record(later, {"of": "the second"})
    assert not again.record(later, {"of": "the second"})
    assert logged(tmp_path) == ["a", "a"]
    assert json.loads((tmp_path / "incidents" / "a.json").read_text()) == {"of": "the second"}
    assert json.loads((tmp_path / "incidents" / "a.1.json").read_text()) == {"of": "the first"}


def test_a_report_is_a_file_of_its_own_that_the_line_names(tmp_path: Path) -> None:
    log = IncidentLog.open(tmp_path)
    log.record(incident("a"), {"why": "it tried", "big": 10**30})
    log.record(incident("b"), {"why": "again"})
    assert json.loads((tmp_path / "incidents" / "a.json").read_text()) == {"why": "it tried", "big": 10**30}
    assert (tmp_path / "incidents" / "b.json").read_text() == '{\n  "why": "again"\n}\n'
    assert (tmp_path / "incidents" / "b.json").stat().st_mode & 0o777 == 0o600
    lines = (tmp_path / "incidents.jsonl").read_text().splitlines()
    assert [json.loads(line)["report"] for line in lines] == ["incidents/a.json", "incidents/b.json"]


@given(st.text(st.characters(exclude_categories=())), st.text(st.characters(exclude_categories=())))
def test_no_text_makes_a_line_that_few_can_read_or_that_a_terminal_acts_upon(summary: str, way_out: str) -> None:
    line = spell_incident(replace(incident(), summary=summary, way_out=way_out, report=summary))
    assert orjson.loads(line)["id"] == incident().id
    assert len(line.decode().splitlines()) == 1
    assert acting(line.decode()) == {"\n"}


def test_a_sentence_without_end_is_cut_and_the_line_says_where_the_rest_is() -> None:
    read = json.loads(spell_incident(replace(incident(), summary="ab" * 10**6, way_out="cd" * 10**6)))
    assert len(read["summary"]) + len(read["way_out"]) < 10_000
    assert read["summary"].endswith("… (2000000 characters; the journal has all)")


def test_a_line_of_an_older_version_that_few_can_read_is_known_and_told(tmp_path: Path) -> None:
    old = json.dumps({**asdict(incident("a")), "summary": "bad\udcff"}).encode() + b"\n"
    (tmp_path / "incidents.jsonl").write_bytes(b"no line\n" + old)
    assert not IncidentLog.open(tmp_path).record(incident("a"))
    assert [one.id for one in latest(tmp_path)] == ["a"]


def test_a_line_cut_at_any_byte_is_ended_and_its_incident_written_again(tmp_path: Path) -> None:
    line = spell_incident(incident("b"))
    path = tmp_path / "incidents.jsonl"
    for size in range(1, len(line) - 1):
        path.write_bytes(spell_incident(incident("a")) + line[:size])
        log = IncidentLog.open(tmp_path)
        assert not log.record(incident("a"))
        assert log.record(incident("b"))
        assert path.read_bytes() == spell_incident(incident("a")) + line[:size] + b"\n" + line
    path.write_bytes(line[:-1])  # whole but for its newline
    log = IncidentLog.open(tmp_path)
    assert not log.record(incident("b"))
    assert log.record(incident("c"))
    assert logged(tmp_path) == ["b", "c"]


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "-a", "a b", "a\n", "ä", "a" * 201])
def test_an_id_that_cannot_name_a_file_is_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    log = IncidentLog.open(tmp_path)
    with pytest.raises(UsageError, match="nothing was written"):
        log.record(incident(name), {"a": 1})
    assert logged(tmp_path) == []
    assert list((tmp_path / "incidents").iterdir()) == []


@pytest.mark.parametrize("landed", [0.0, 0.5, 1.0])
def test_whatever_operation_fails_a_new_start_can_ask_again_and_there_is_one_line(
    tmp_path: Path, landed: float
) -> None:
    for disk in every_fault(errno.EIO, "dead", landed):
        directory = tmp_path / str(disk.fail_at)
        try:
            log = IncidentLog.open(directory, disk=disk)
            log.record(incident("a"), {"why": "x"})
        except IncidentLogError as error:
            assert "Input/output error (errno 5)" in str(error)  # noqa: PT017 - the loop's last turn does not raise
        again = IncidentLog.open(directory)
        again.record(incident("a"), {"why": "x"})
        lines = (directory / "incidents.jsonl").read_bytes().splitlines()
        assert [line for line in lines if line.endswith(b"}")] == [lines[-1]]
        assert json.loads((directory / "incidents" / "a.json").read_text()) == {"why": "x"}


def test_asking_again_after_a_failed_sync_writes_no_second_line(tmp_path: Path) -> None:
    class BadSync(FaultyDisk):
        def sync(self, fd: int) -> None:
            raise OSError(errno.EIO, f"{os.strerror(errno.EIO)} on {fd}")

    log = IncidentLog.open(tmp_path, disk=BadSync())
    with pytest.raises(IncidentLogError):
        log.record(incident("a"))
    assert not log.record(incident("a"))
    assert logged(tmp_path) == ["a"]


class FullButForTheReserve(FaultyDisk):
    """Has room only after the reserve was given up."""

    def unlink(self, path: Path) -> None:
        super().unlink(path)
        if path.name == "reserve":
            self.full = False


def test_on_a_full_disk_the_reserve_makes_room_for_line_and_report(tmp_path: Path) -> None:
    disk = FullButForTheReserve()
    reserve = Reserve(tmp_path / "reserve", 4096, disk)
    assert reserve.hold()
    log = IncidentLog.open(tmp_path, disk=disk, reserve=reserve)
    disk.full = True
    assert log.record(incident("a"), {"why": "x"})
    assert logged(tmp_path) == ["a"]
    assert (tmp_path / "incidents" / "a.json").exists()
    assert not reserve.held


def test_where_there_is_no_room_at_all_the_error_says_so_and_it_can_be_asked_again(tmp_path: Path) -> None:
    disk = FaultyDisk()
    log = IncidentLog.open(tmp_path, disk=disk)
    disk.full = True
    with pytest.raises(IncidentLogError, match=r"No space left on device .* The journal has it"):
        log.record(incident("a"), {"why": "x"})
    disk.full = False
    assert log.record(incident("a"), {"why": "x"})
    assert logged(tmp_path) == ["a"]


def test_where_only_the_report_fails_the_line_is_written_without_it(tmp_path: Path) -> None:
    disk = FaultyDisk()
    log = IncidentLog.open(tmp_path, disk=disk)
    disk.fail_at = disk.operations + 1
    assert log.record(incident("a"), {"why": "x"})
    assert json.loads((tmp_path / "incidents.jsonl").read_text())["report"] == ""
    assert list((tmp_path / "incidents").iterdir()) == []


def test_half_a_line_that_found_no_room_is_taken_off_again(tmp_path: Path) -> None:
    disk = FaultyDisk(code=errno.ENOSPC, landed=0.5)
    log = IncidentLog.open(tmp_path, disk=disk)
    log.record(incident("a"))
    disk.fail_at = disk.operations + 2
    with pytest.raises(IncidentLogError):
        log.record(incident("b"))
    assert disk.fired == "write"
    assert (tmp_path / "incidents.jsonl").read_bytes() == spell_incident(incident("a"))


def test_reports_go_after_their_days_and_lines_stay(tmp_path: Path) -> None:
    log = IncidentLog.open(tmp_path)
    log.record(incident("old"), {"a": 1})
    log.record(incident("new"), {"a": 1})
    now = 1_800_000_000.0
    os.utime(tmp_path / "incidents" / "old.json", (now, now - 30 * 86400 - 1))
    os.utime(tmp_path / "incidents" / "new.json", (now, now - 30 * 86400 + 1))
    assert log.prune(now) == ["old"]
    assert [path.name for path in (tmp_path / "incidents").iterdir()] == ["new.json"]
    assert logged(tmp_path) == ["old", "new"]


def test_a_log_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("")
    (tmp_path / "incidents.jsonl").symlink_to(tmp_path / "target")
    with pytest.raises(IncidentLogError):
        IncidentLog.open(tmp_path).record(incident("a"))
    assert (tmp_path / "target").read_text() == ""
