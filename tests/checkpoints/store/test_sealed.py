"""An encrypted store: nothing of a workspace stands in it in the clear, and a key that is lost destroys nothing."""

from dataclasses import replace
from pathlib import Path

import pytest

from checkpoints.errors import CheckpointError
from checkpoints.git.objects import ObjectKind, object_id
from checkpoints.git.sealed_pack import CLEAR, SealedPacks, StoreSeals
from checkpoints.store import stored
from checkpoints.store.deletion import delete_store
from checkpoints.store.health import examine
from checkpoints.store.packing import pack
from checkpoints.store.store import Store
from checkpoints.store.upkeep import forget, maintain
from checkpoints.workspace.capture import Capturer
from monitors.contract.errors import ChaperonError
from supervisor.runtime.protection.seals import RecordSeals
from tests.checkpoints.restore.test_restore import go_back
from tests.checkpoints.support import MOMENT, SEALS, packs_of, shape

OLD, NEW = b"k" * 32, b"n" * 32
PLANTED = b"the word that is planted"
"""Twice in a file, and a file's name: neither what git compresses nor what it names is left."""


def standing(folder: Path) -> list[str]:
    """Return the files that have the planted word, or that git can read."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if PLANTED in path.read_bytes() or path.suffix in (".pack", ".idx")]


def work(workspace: Path, store: Store, *texts: str) -> None:
    """Make a checkpoint of each text."""
    capturer = Capturer(store, workspace)
    for text in texts:
        with_file(workspace, text)
        capturer.capture(MOMENT)
    capturer.close()


def with_file(workspace: Path, text: str) -> bytes:
    content = PLANTED * 2 + text.encode()
    (workspace / PLANTED.decode()).write_bytes(content)
    return content


@pytest.mark.parametrize("seals", ["sealed"], indirect=True)
def test_nothing_stands_in_the_clear_at_any_time_and_all_comes_back(
    store: Store, workspace: Path, capturer: Capturer
) -> None:
    """In the log, in settled packs, in one that is too large for the log, in the ledger, and packed."""
    first = capturer.capture(MOMENT)
    before = shape(workspace)
    with_file(workspace, "1")
    second = capturer.capture(MOMENT)
    now = shape(workspace)
    assert not store.is_settled
    assert standing(store.folder) == []
    store.settle()
    (workspace / "much").write_bytes(PLANTED * 200_000)
    (workspace / "much more").write_bytes(bytes(range(256)) * 9_000)
    capturer.capture(MOMENT)
    assert standing(store.folder) == []
    pack(store)
    assert (len(packs_of(store)), standing(store.folder), examine(store)) == (1, [], ())
    go_back(capturer, first)
    assert shape(workspace) == before
    go_back(capturer, second)
    assert shape(workspace) == now


def test_a_store_of_before_is_encrypted_by_the_next_upkeep_and_one_of_after_is_read(
    tmp_path: Path, workspace: Path
) -> None:
    folder = tmp_path / "state"
    store = Store(folder, workspace)
    work(workspace, store, "1", "2")
    kept = store.checkpoints
    store.close()
    assert standing(folder)
    store = Store(folder, workspace, SEALS)
    assert (store.checkpoints, store.lies_open) == (kept, True)
    assert b'"made"' in (folder / "wal").read_bytes()
    maintain(store, MOMENT.at)
    assert b'"made"' not in (folder / "wal").read_bytes()
    assert (standing(folder), store.lies_open, store.checkpoints, examine(store)) == ([], False, kept, ())
    assert maintain(store, MOMENT.at).packed is None, "once is enough"
    store.close()
    store = Store(folder, workspace, RecordSeals([OLD]))  # switched off: read, and written as it always was
    work(workspace, store, "3")
    pack(store)
    assert (len(store.checkpoints), examine(store)) == (3, ())
    assert standing(folder)
    store.close()
    store = Store(folder, workspace)
    assert (len(store.checkpoints), examine(store)) == (3, ())
    store.close()


def test_a_new_key_seals_what_comes_and_packing_seals_the_rest_anew(tmp_path: Path, workspace: Path) -> None:
    folder = tmp_path / "state"
    store = Store(folder, workspace, SEALS)
    work(workspace, store, "1")
    store.close()
    both = RecordSeals([OLD, NEW], seals=True)
    store = Store(folder, workspace, both)
    work(workspace, store, "2")
    pack(store)
    assert examine(store) == ()
    store.close()
    (path,) = packs_of(store)
    left = SealedPacks(path.parent, RecordSeals([b"x" * 32, NEW]))
    made, problems = stored.recorded(folder, both)
    assert (len(made), problems) == (2, [])
    for one in made:
        assert left.find(bytes.fromhex(one["commit"])), "the new key alone opens it"


@pytest.mark.parametrize("settled", [True, False])
@pytest.mark.parametrize("known", [CLEAR, RecordSeals([NEW], seals=True)], ids=["none", "another"])
def test_without_the_key_a_store_is_not_opened_and_nothing_is_lost(
    tmp_path: Path, workspace: Path, known: StoreSeals, settled: bool
) -> None:
    folder = tmp_path / "state"
    store = Store(folder, workspace, SEALS)
    work(workspace, store, "1")
    store.close()
    store = Store(folder, workspace, SEALS)
    work(workspace, store, "2")
    if settled:
        store.settle()
    kept = store.checkpoints
    store.lose()
    for _ in range(2):
        with pytest.raises(ChaperonError) as error:
            Store(folder, workspace, known)
        assert error.value.way_out
    _, problems = stored.recorded(folder, known)
    assert problems
    store = Store(folder, workspace, SEALS)
    assert store.checkpoints == kept
    assert [problem.what for problem in examine(store) if "rely" not in problem.what] == []
    store.close()


def test_a_store_whose_key_is_lost_can_be_deleted(tmp_path: Path, workspace: Path) -> None:
    store = Store(tmp_path / "state", workspace, SEALS)
    work(workspace, store, "1")
    with pytest.raises(CheckpointError, match="in use"):
        delete_store(store.folder)
    store.close()
    delete_store(store.folder)
    assert not store.folder.exists()


@pytest.mark.parametrize("seals", ["sealed"], indirect=True)
def test_of_a_forgotten_agent_no_object_is_left(store: Store, workspace: Path, capturer: Capturer) -> None:
    content = with_file(workspace, "1")
    gone = capturer.capture(MOMENT)
    with_file(workspace, "2")
    stays = capturer.capture(replace(MOMENT, agent="fred"))
    oid = object_id(ObjectKind.BLOB, content)
    assert store.has(oid)
    assert forget(store, MOMENT.agent) == (gone.name,)
    assert (store.has(oid), store.checkpoints, examine(store)) == (False, (stays,), ())
    assert standing(store.folder) == []


@pytest.mark.parametrize("hurt", [b"", b"CHAPPACK", b"CHAPPACK" + bytes(100), None])
def test_a_pack_that_is_damaged_costs_what_it_has_alone(tmp_path: Path, workspace: Path, hurt: bytes | None) -> None:
    store = Store(tmp_path / "state", workspace, SEALS)
    work(workspace, store, "1")
    store.settle()
    first = packs_of(store)
    work(workspace, store, "2")
    store.close()
    (path,) = packs_of(store) - first
    data = path.read_bytes()
    path.chmod(0o600)
    path.write_bytes(data[:-30] if hurt is None else hurt)
    store = Store(tmp_path / "state", workspace, SEALS)
    told = [problem.checkpoints for problem in examine(store) if "rely" not in problem.what]
    assert told == [(store.checkpoints[1].name,)]
    with pytest.raises(CheckpointError):
        pack(store)
    assert len(packs_of(store)) == 2, "nothing was changed"
    store.close()
