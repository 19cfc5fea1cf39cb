import errno
from pathlib import Path
from typing import Any

import orjson
import pytest

from supervisor.runtime.journal.snapshots import (
    SNAPSHOT_NAME,
    NoSnapshot,
    Snapshot,
    read_snapshot,
    unless_ahead,
    write_snapshot,
)
from tests.faults import every_fault

STATE: dict[str, Any] = {"agents": {"a1": {"state": "running", "big": 2**70, "half": "\ud800", "n": [1, 2.5, None]}}}


def test_a_state_comes_back_as_it_was_and_the_file_is_plain_json(tmp_path: Path) -> None:
    digest = write_snapshot(tmp_path, 17, "1.0", STATE)
    assert read_snapshot(tmp_path, "1.0") == Snapshot(17, STATE, digest)
    write_snapshot(tmp_path, 18, "1.0", {"a": 1})
    assert orjson.loads((tmp_path / SNAPSHOT_NAME).read_bytes())["state"] == {"a": 1}
    write_snapshot(tmp_path, 18, "1.0", STATE)
    assert orjson.loads((tmp_path / SNAPSHOT_NAME).read_bytes())["state"].keys() == STATE.keys()
    assert write_snapshot(tmp_path, 19, "1.0", {"a": 1}) == write_snapshot(tmp_path, 20, "1.0", {"a": 1})


def test_none_is_no_problem(tmp_path: Path) -> None:
    assert read_snapshot(tmp_path, "1.0") == NoSnapshot("")


def test_cut_at_any_byte_or_with_any_bit_flipped_it_is_never_another_state(tmp_path: Path) -> None:
    write_snapshot(tmp_path, 17, "1.0", {"agents": {"a1": "running"}})
    path = tmp_path / SNAPSHOT_NAME
    whole = path.read_bytes()
    good = read_snapshot(tmp_path, "1.0")
    for place in range(len(whole)):
        path.write_bytes(whole[:place])
        assert isinstance(read_snapshot(tmp_path, "1.0"), NoSnapshot)
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << bit
            path.write_bytes(damaged)
            found = read_snapshot(tmp_path, "1.0")
            assert isinstance(found, NoSnapshot), damaged
            assert "the journal alone is used" in found.problem
    path.write_bytes(whole)
    assert read_snapshot(tmp_path, "1.0") == good


def test_one_of_another_version_is_passed_over_by_name(tmp_path: Path) -> None:
    write_snapshot(tmp_path, 17, "0.9", {})
    found = read_snapshot(tmp_path, "1.0")
    assert isinstance(found, NoSnapshot)
    assert "is of version '0.9', this is '1.0'" in found.problem


def test_one_ahead_of_the_journal_is_passed_over_by_number(tmp_path: Path) -> None:
    write_snapshot(tmp_path, 17, "1.0", {})
    snapshot = read_snapshot(tmp_path, "1.0")
    assert unless_ahead(snapshot, 17) is snapshot
    found = unless_ahead(snapshot, 16)
    assert isinstance(found, NoSnapshot)
    assert "goes to event 17 and the journal only to 16" in found.problem


def test_one_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / SNAPSHOT_NAME).mkdir()
    found = read_snapshot(tmp_path, "1.0")
    assert isinstance(found, NoSnapshot)
    assert "Is a directory" in found.problem


@pytest.mark.parametrize("landed", [0.0, 0.5, 1.0])
def test_whatever_fails_the_old_one_or_the_new_one_is_there(tmp_path: Path, landed: float) -> None:
    for disk in every_fault(errno.ENOSPC, "dead", landed):
        write_snapshot(tmp_path, 1, "1.0", "old")
        try:
            write_snapshot(tmp_path, 2, "1.0", "new", disk=disk)
        except OSError as error:
            assert error.errno == errno.ENOSPC  # noqa: PT017 - the loop's last turn does not raise
        found = read_snapshot(tmp_path, "1.0")
        assert isinstance(found, Snapshot)
        assert (found.n, found.state) in {(1, "old"), (2, "new")}
