"""Packing, damage, and the end of a store."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from checkpoints.errors import CheckpointError, StoreDamagedError, StoreFullError
from checkpoints.store import packing
from checkpoints.store.deletion import delete_store
from checkpoints.store.health import examine, repair
from checkpoints.store.packing import pack
from checkpoints.store.store import Store
from checkpoints.workspace.capture import Capturer
from host.threads import until_cancelled
from supervisor.runtime.shim import process_tree
from tests.checkpoints.restore.test_restore import go_back
from tests.checkpoints.support import BOTH, MOMENT, git, packs_of, shape


def capture_some(workspace: Path, capturer: Capturer, count: int) -> None:
    for number in range(count):
        (workspace / "README").write_text(f"version {number}\n" * 200)
        capturer.capture(MOMENT)
        capturer.store.settle()


@BOTH
def test_packing_gives_back_what_was_borrowed(store: Store, workspace: Path, capturer: Capturer) -> None:
    before = shape(workspace)
    first = capturer.capture(MOMENT)
    assert store.borrows
    assert "rely on objects of" in examine(store)[-1].what
    assert pack(store).gave_back
    assert examine(store) == ()
    shutil.rmtree(workspace / ".git")
    (workspace / "README").unlink()
    (workspace / "src/main.py").unlink()
    go_back(capturer, first)
    assert shape(workspace) == before


@BOTH
def test_packing_leaves_one_pack_and_every_checkpoint(store: Store, workspace: Path, capturer: Capturer) -> None:
    capture_some(workspace, capturer, 10)
    kept = store.checkpoints
    packed = pack(store)
    assert packed.packs_before == 10
    assert len(packs_of(store)) == 1
    assert store.checkpoints == kept
    assert examine(store) == ()
    capture_some(workspace, capturer, 1)
    assert examine(store) == ()


@BOTH
def test_what_was_dropped_takes_no_room_after_packing(store: Store, workspace: Path, capturer: Capturer) -> None:
    secret = workspace / "secret"
    secret.write_text("a password")
    dropped = capturer.capture(MOMENT)
    blob = git(workspace, "hash-object", "secret").strip()
    secret.unlink()
    capture_some(workspace, capturer, 2)
    store.drop([dropped.name])
    assert store.has(bytes.fromhex(blob))
    pack(store)
    assert not store.has(bytes.fromhex(blob))
    with pytest.raises(StoreDamagedError):
        store.read(bytes.fromhex(blob))
    assert examine(store) == ()


@BOTH
def test_a_workspace_whose_checkpoints_were_all_dropped_is_captured_on(
    store: Store, workspace: Path, capturer: Capturer
) -> None:
    capture_some(workspace, capturer, 2)
    store.drop([checkpoint.name for checkpoint in store.checkpoints])
    pack(store)
    capture_some(workspace, capturer, 1)
    assert examine(store) == ()


@BOTH
def test_captures_while_packing_are_kept(
    store: Store, workspace: Path, capturer: Capturer, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture_some(workspace, capturer, 3)
    begin = store.begin_packing

    def capture_in_between() -> tuple[frozenset[str], frozenset[str]]:
        begun = begin()
        (workspace / "README").write_text("written while packing")
        capturer.capture(MOMENT)
        return begun

    monkeypatch.setattr(store, "begin_packing", capture_in_between)
    pack(store)
    assert len(store.checkpoints) == 4
    assert examine(store) == ()


@BOTH
def test_packing_asks_for_free_space_first(
    store: Store, workspace: Path, capturer: Capturer, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture_some(workspace, capturer, 2)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(100, 99, 1))
    with pytest.raises(StoreFullError, match="1 are; nothing was changed"):
        pack(store)
    assert len(packs_of(store)) == 2


def test_without_git_packing_says_so_and_captures_go_on(
    store: Store, workspace: Path, capturer: Capturer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    capture_some(workspace, capturer, 2)
    with pytest.raises(CheckpointError, match="git is not on PATH"):
        pack(store)
    capture_some(workspace, capturer, 1)
    assert len(store.checkpoints) == 3


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[12:-20] = bytes(len(data) - 32)
    path.chmod(0o600)
    path.write_bytes(bytes(data))


@BOTH
def test_damage_is_found_and_named_and_the_rest_is_usable(
    store: Store, workspace: Path, capturer: Capturer, opening: Callable[[Path, Path], Store]
) -> None:
    capturer.capture(MOMENT)
    store.settle()
    known = packs_of(store)
    (workspace / "README").write_text("in the pack that is damaged")
    bad = capturer.capture(MOMENT)
    store.settle()
    (hurt,) = packs_of(store) - known
    (workspace / "README").write_text("in a pack that is not")
    (workspace / "src/main.py").write_text("so that no folder is shared")
    good = capturer.capture(MOMENT)
    store.close()
    damage(hurt)
    again = opening(store.folder, workspace)
    problems = [problem for problem in examine(again) if "rely" not in problem.what]
    assert [problem.checkpoints for problem in problems] == [(bad.name,)]
    assert len(dict(again.tree(bytes.fromhex(good.tree)))) == 3


@BOTH
def test_a_capture_upon_a_damaged_tree_says_so_once_and_the_next_writes_everything_anew(
    store: Store, workspace: Path, capturing: Callable[..., Capturer], opening: Callable[[Path, Path], Store]
) -> None:
    first = capturing(store, workspace)
    (workspace / "new").write_text("only here")
    first.capture(MOMENT)
    first.close()
    store.close()
    for hurt in packs_of(store):
        damage(hurt)
    again = opening(store.folder, workspace)
    capturer = capturing(again, workspace)
    with pytest.raises(StoreDamagedError):
        capturer.capture(MOMENT)
    sound = capturer.capture(MOMENT)
    assert sound.name not in [
        name for problem in examine(again) if "rely" not in problem.what for name in problem.checkpoints
    ]


@BOTH
def test_a_checkpoint_whose_line_was_lost_is_taken_back_in_from_its_commit(
    store: Store, workspace: Path, capturer: Capturer, opening: Callable[[Path, Path], Store]
) -> None:
    capture_some(workspace, capturer, 3)
    lost = store.checkpoints[1]
    store.close()
    ledger = store.folder / "ledger.jsonl"
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(lines[0] + b"x" * (len(lines[1]) - 1) + b"\n" + lines[2])
    again = opening(store.folder, workspace)
    assert lost.name not in [checkpoint.name for checkpoint in again.checkpoints]
    assert any("is no record" in problem.what for problem in examine(again))
    assert [problem.checkpoints for problem in repair(again)] == [(lost.name,)]
    assert again.find(lost.name).tree == lost.tree


@BOTH
@pytest.mark.parametrize("hurt", [b"garbage", b"", None])
def test_a_log_that_is_damaged_or_gone_costs_no_checkpoint_that_was_settled(
    store: Store, workspace: Path, capturer: Capturer, opening: Callable[[Path, Path], Store], hurt: bytes | None
) -> None:
    capture_some(workspace, capturer, 3)
    kept = store.checkpoints
    store.close()
    (store.folder / "wal").unlink()
    if hurt is not None:
        (store.folder / "wal").write_bytes(hurt)
    again = opening(store.folder, workspace)
    assert again.checkpoints == kept
    assert bool(again.problem) == (hurt is not None)
    assert any("moved to" in problem.what for problem in examine(again)) == (hurt is not None)


@BOTH
def test_a_deleted_store_leaves_nothing(store: Store, workspace: Path, capturer: Capturer) -> None:
    capture_some(workspace, capturer, 2)
    with pytest.raises(CheckpointError, match="in use"):
        delete_store(store.folder)
    store.close()
    before = shape(workspace)
    delete_store(store.folder)
    assert not store.folder.exists()
    assert list(store.folder.parent.glob("state*")) == []
    assert shape(workspace) == before


def test_what_is_no_store_is_not_deleted(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "precious")
    for folder in (tmp_path / "precious", tmp_path / "link", tmp_path / "missing"):
        with pytest.raises(CheckpointError, match="is no store"):
            delete_store(folder)
    assert (tmp_path / "precious").is_dir()


def test_a_store_of_another_project_is_refused(store: Store, tmp_path: Path) -> None:
    store.close()
    with pytest.raises(CheckpointError, match="belongs to"):
        Store(store.folder, tmp_path / "other")


@pytest.mark.parametrize("content", [b"", b"CHAPWAL1\x00\xb9" * 60_000, b"\xff", b"0" * 40])
def test_a_ref_of_which_a_power_cut_left_anything_is_written_anew(
    store: Store, workspace: Path, capturer: Capturer, content: bytes
) -> None:
    made = capturer.capture(MOMENT)
    store.settle()
    store.close()
    ref = store.objects / "refs/checkpoints" / made.name
    ref.write_bytes(content)
    again = Store(store.folder, workspace)
    assert ref.read_text() == f"{made.commit}\n"
    again.close()


@pytest.mark.parametrize("place", ["info/alternates", "pack/pack-a.idx", "aa/" + "b" * 38])
def test_a_store_that_borrows_from_a_folder_with_a_pipe_is_not_packed(
    store: Store, workspace: Path, capturer: Capturer, place: str
) -> None:
    capturer.capture(MOMENT)
    assert store.borrows
    pipe = workspace / ".git/objects" / place
    pipe.parent.mkdir(exist_ok=True)
    os.mkfifo(pipe)
    with pytest.raises(CheckpointError, match=r"is no plain file|cannot be looked at|could not be looked at"):
        pack(store)
    pipe.unlink()
    assert pack(store).gave_back


async def test_a_pack_that_waits_for_an_agents_pipe_ends_as_soon_as_it_is_given_up(
    store: Store, workspace: Path, capturer: Capturer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "check_borrowed", lambda _: None)  # it came after the look
    capturer.capture(MOMENT)
    os.mkfifo(workspace / ".git/objects/info/alternates")
    children = set(process_tree.descendants(os.getpid()))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(until_cancelled, lambda stop: pack(store, stop=stop), anyio.CapacityLimiter(1))
        with anyio.fail_after(20):
            while not set(process_tree.descendants(os.getpid())) - children:
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
    assert set(process_tree.descendants(os.getpid())) <= children
