"""Upkeep: a store stays small by itself, and what must stay stays."""

import subprocess
from dataclasses import replace
from pathlib import Path

from checkpoints.model import Reason
from checkpoints.retention import RetentionPolicy
from checkpoints.store.health import examine
from checkpoints.store.store import Store
from checkpoints.store.upkeep import forget, maintain
from checkpoints.workspace.capture import Capturer
from tests.checkpoints.support import MOMENT

LATER = MOMENT.at + 3_600


def capture(workspace: Path, capturer: Capturer, count: int) -> None:
    for number in range(count):
        (workspace / "README").write_text(f"{number}")
        capturer.capture(MOMENT)


def test_what_is_old_goes_and_what_is_left_is_sound_and_borrows_nothing(
    store: Store, workspace: Path, capturer: Capturer
) -> None:
    named = capturer.capture(replace(MOMENT, name="good", reason=Reason.PERSON))
    capture(workspace, capturer, 6)
    done = maintain(store, LATER)
    assert len(done.dropped) == 3
    assert store.checkpoints[0].name == named.name
    assert len(store.checkpoints) == 4
    assert store.pack_count == 1
    assert not store.borrows
    assert examine(store) == ()
    assert (done.size_bytes, done.over_quota) == (store.size_bytes, False)


def test_with_nothing_to_do_nothing_is_done(store: Store, workspace: Path, capturer: Capturer) -> None:
    capture(workspace, capturer, 2)
    maintain(store, MOMENT.at)
    again = maintain(store, MOMENT.at)
    assert (again.dropped, again.packed) == ((), None)


def test_over_its_quota_it_drops_more_and_says_if_that_was_not_enough(
    store: Store, workspace: Path, capturer: Capturer
) -> None:
    capture(workspace, capturer, 10)
    done = maintain(store, MOMENT.at, RetentionPolicy(max_count=100, quota_bytes=1))
    assert len(done.dropped) == 4
    assert done.over_quota
    assert examine(store) == ()


def test_a_checkpoint_that_an_interrupted_restore_needs_stays(
    store: Store, workspace: Path, capturer: Capturer
) -> None:
    capture(workspace, capturer, 6)
    first, second = store.checkpoints[:2]
    journal = (
        f'{{"workspace": "w", "target": "{first.name}", "undo": "{second.name}", "blocks": {{}}, "phase": "applying"}}'
    )
    (store.folder / "restores/x.json").write_text(journal)
    assert not {first.name, second.name} & set(maintain(store, LATER).dropped)


def test_of_a_forgotten_agent_no_checkpoint_no_object_and_no_byte_of_the_log_is_left(
    store: Store, workspace: Path, capturer: Capturer
) -> None:
    (workspace / "README").write_text("of another")
    other = capturer.capture(replace(MOMENT, agent="fred"))
    (workspace / "secret").write_text("planted")
    gone = capturer.capture(replace(MOMENT, agent="wilma"))
    (workspace / "secret").unlink()
    last = capturer.capture(replace(MOMENT, agent="fred"))
    assert forget(store, "wilma") == (gone.name,)
    assert [one.name for one in store.checkpoints] == [other.name, last.name]
    assert examine(store) == ()
    exists = [
        subprocess.run(["git", "-C", str(store.objects), "cat-file", "-e", one]).returncode
        for one in (other.commit, gone.commit)
    ]
    assert exists[0] == 0
    assert exists[1] != 0
    assert [path for path in store.folder.rglob("*") if path.is_file() and b"wilma" in path.read_bytes()] == []
    (workspace / "README").write_text("goes on")
    capturer.capture(replace(MOMENT, agent="fred"))
    assert examine(store) == ()
    assert forget(store, "wilma") == ()
