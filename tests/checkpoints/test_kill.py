"""Killed at any step, nothing that was announced is lost, and no workspace is left half restored."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from checkpoints.git.trees import files_in
from checkpoints.store.store import Store
from checkpoints.workspace.capture import Capturer
from tests.checkpoints.support import MOMENT

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent


SEALED_TOO = pytest.mark.parametrize("how", [(), ("--sealed",)], ids=["open", "sealed"])


def kill_at_each_step(action: str, folder: Path, *how: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.checkpoints.victim", action, str(folder), *how],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def lived_through_the_last_alone(found: list[dict[str, Any]], steps: int) -> bool:
    """Whether each was killed but the last, and there were about as many as the action has."""
    return len(found) > steps and [one["killed"] for one in found] == [True] * (len(found) - 1) + [False]


@pytest.mark.parametrize(
    ("action", "steps", "first", "last"),
    [
        ("make_store", 30, 0, 1),
        ("capture", 20, 1, 3),
        ("capture_much", 25, 1, 3),
        ("grow", 20, 1, 3),
        ("open_again", 10, 2, 2),
    ],
)
@SEALED_TOO
@pytest.mark.timeout(300)
def test_a_capture_killed_before_any_change_of_the_disk_loses_nothing_that_was_announced(
    tmp_path: Path, action: str, steps: int, first: int, last: int, how: tuple[str, ...]
) -> None:
    found = kill_at_each_step(action, tmp_path, *how)
    assert lived_through_the_last_alone(found, steps)
    announced = [one["checkpoints"] for one in found]
    assert announced == sorted(announced)
    assert (announced[0], announced[-1]) == (first, last)
    for one in found:
        assert one["broken"] == []
        assert one["captured_again"]


@SEALED_TOO
@pytest.mark.timeout(300)
def test_dropping_and_packing_killed_before_any_change_of_the_disk_leave_every_checkpoint_whole(
    tmp_path: Path, how: tuple[str, ...]
) -> None:
    found = kill_at_each_step("maintain", tmp_path, *how)
    assert lived_through_the_last_alone(found, 35)
    left = [one["checkpoints"] for one in found]
    assert left == sorted(left, reverse=True)
    assert (left[0], left[-1]) == (3, 2)
    for one in found:
        assert one["broken"] == []
        assert one["captured_again"]


@pytest.mark.timeout(300)
def test_a_restore_killed_before_any_change_of_the_disk_completes_or_returns(tmp_path: Path) -> None:
    found = kill_at_each_step("restore", tmp_path)
    assert lived_through_the_last_alone(found, 45)
    for one in found:
        assert one["broken"] == []
        assert one["is_first"] if one["completed"] or not one["killed"] else one["is_before"] or one["is_first"]
        assert one["captured_again"]
        assert not one["pending"] or one["completed"] or one["is_before"]
    assert {one["completed"] for one in found} == {True, False}
    assert found[0]["is_before"]
    assert found[-1]["is_first"]


@pytest.mark.timeout(300)
def test_a_restore_that_returns_killed_before_any_change_of_the_disk_returns_all_the_same(tmp_path: Path) -> None:
    found = kill_at_each_step("restore_and_return", tmp_path)
    assert lived_through_the_last_alone(found, 50)
    for one in found:
        assert one["broken"] == []
        assert one["is_first"] if one["completed"] else one["is_before"]
        assert one["captured_again"]
    assert found[-1]["is_before"]


def test_a_workspace_killed_at_any_step_of_its_life_leaves_nothing_behind(tmp_path: Path) -> None:
    found = kill_at_each_step("workspaces", tmp_path)
    assert [one["killed"] for one in found] == [True] * 9 + [False]
    assert {state for one in found for state in one["found"]} == {"half made", "active"}
    for one in found:
        assert one["left"] == []
        assert one["worktrees"] == 1


def test_what_the_power_took_before_it_was_synced_comes_back_from_the_log(store: Store, workspace: Path) -> None:
    """Everything that was written without a sync is taken away by hand; the log alone is left."""
    capturer = Capturer(store, workspace)
    (workspace / "first").write_text("settled")
    capturer.capture(MOMENT)
    store.settle()
    settled = store.ledger.size_bytes
    packs = set(store.packs.iterdir())
    for number in range(3):
        (workspace / "more").write_text(f"{number}")
        capturer.capture(MOMENT)
    assert not store.is_settled
    names = [checkpoint.name for checkpoint in store.checkpoints]
    capturer.close()
    for place in set(store.packs.iterdir()) - packs:
        place.unlink()
    with (store.folder / "ledger.jsonl").open("r+b") as ledger:
        ledger.truncate(settled + 10)
    store.lose()
    again = Store(store.folder, workspace)
    assert [checkpoint.name for checkpoint in again.checkpoints] == names
    for number, checkpoint in enumerate(again.checkpoints[1:]):
        found = dict(files_in(again, bytes.fromhex(checkpoint.tree)))
        assert again.read(found[b"more"].id)[1] == f"{number}".encode()
        assert (again.objects / "refs/checkpoints" / checkpoint.name).read_text().strip() == checkpoint.commit
    again.close()


def test_a_line_that_never_reached_the_log_was_never_announced(store: Store, workspace: Path) -> None:
    capturer = Capturer(store, workspace)
    capturer.capture(MOMENT)
    store.settle()
    line = (store.folder / "ledger.jsonl").read_bytes()
    capturer.close()
    store.lose()
    with (store.folder / "ledger.jsonl").open("ab") as ledger:
        ledger.write(line.replace(b"a3-turn-1", b"a3-turn-2"))
    again = Store(store.folder, workspace)
    assert [checkpoint.name for checkpoint in again.checkpoints] == ["a3-turn-1"]
    assert again.ledger.damaged == ()
    again.close()


@pytest.mark.parametrize("torn_bytes", [1, 20, 200])
def test_a_torn_promise_counts_as_not_made(store: Store, workspace: Path, torn_bytes: int) -> None:
    capturer = Capturer(store, workspace)
    capturer.capture(MOMENT)
    store.settle()
    (workspace / "more").write_text("more")
    capturer.capture(MOMENT)
    capturer.close()
    with (store.folder / "wal").open("r+b") as log:
        log.seek(512 + torn_bytes)
        log.write(b"\xee\xee\xee")
    store.lose()
    again = Store(store.folder, workspace)
    assert [checkpoint.name for checkpoint in again.checkpoints] == ["a3-turn-1"]
    again.close()


@pytest.mark.timeout(300)
def test_packing_killed_while_a_store_becomes_encrypted_leaves_every_checkpoint_whole(tmp_path: Path) -> None:
    found = kill_at_each_step("become_sealed", tmp_path, "--sealed")
    assert lived_through_the_last_alone(found, 20)
    assert {one["checkpoints"] for one in found} == {3}
    for one in found:
        assert one["broken"] == []
        assert one["captured_again"]
