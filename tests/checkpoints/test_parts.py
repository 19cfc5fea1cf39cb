"""The small parts, each held against git or against its own inverse."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoints.git import trees
from checkpoints.git.objects import (
    EMPTY_TREE,
    EXECUTABLE,
    FILE,
    FOLDER,
    ObjectKind,
    TreeEntry,
    encode_tree,
    object_id,
    parse_tree,
)
from checkpoints.git.pack import NothingWritten, PackWriter, put_pack
from checkpoints.model import (
    Checkpoint,
    ConversationContext,
    ConversationPosition,
    Nested,
    RepositoryState,
    RunHealth,
    Skipped,
    Why,
)
from checkpoints.paths import bytes_of, is_within, self_and_above, text_of
from checkpoints.store.records import from_data, from_message, message_of, to_data
from checkpoints.workspace import repository
from monitors.contract.tasks import Limits
from tests.checkpoints.support import MOMENT, git

NAMES = st.binary(min_size=1, max_size=6).filter(lambda name: not set(name) & {0, 0x2F})


@given(st.binary(max_size=30))
def test_any_path_comes_back_from_its_text(path: bytes) -> None:
    text = text_of(path)
    assert bytes_of(text) == path
    assert text.isprintable()
    assert orjson.loads(orjson.dumps(text)) == text


def test_a_plain_path_is_shown_as_it_is() -> None:
    assert text_of("src/Größe.py".encode()) == "src/Größe.py"
    assert text_of(b"a\xff\\\n") == "a\\xff\\\\\\x0a"


def test_a_path_lies_in_folders_and_not_in_names_that_begin_alike() -> None:
    assert list(self_and_above(b"a/b/c")) == [b"a/b/c", b"a/b", b"a"]
    assert is_within(b"a/b", b"a")
    assert not is_within(b"ab", b"a")


@given(st.dictionaries(NAMES, st.sampled_from([FILE, EXECUTABLE, FOLDER]), max_size=8))
def test_a_tree_comes_back_from_its_bytes(names: dict[bytes, int]) -> None:
    tree = {name: TreeEntry(mode, object_id(ObjectKind.BLOB, name)) for name, mode in names.items()}
    assert parse_tree(encode_tree(tree)) == tree


def test_ids_and_order_of_a_tree_are_those_of_git(workspace: Path) -> None:
    for name in ("a", "a-b", "a.b", "ab"):
        (workspace / name).write_text(name)
    (workspace / "a0").mkdir()
    (workspace / "a").unlink()
    (workspace / "a").mkdir()
    (workspace / "a/x").write_text("x")
    git(workspace, "add", "-A")
    oid = git(workspace, "write-tree").strip()
    raw = subprocess.run(["git", "-C", str(workspace), "cat-file", "tree", oid], check=True, capture_output=True).stdout
    assert encode_tree(parse_tree(raw)) == raw
    assert object_id(ObjectKind.TREE, raw).hex() == oid


@given(objects=st.lists(st.binary(max_size=300), max_size=6))
def test_a_sealed_pack_is_one_that_git_accepts_with_the_index_that_git_makes(
    objects: list[bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("pack")
    writer = PackWriter(folder, "w")
    for content in objects:
        writer.add(ObjectKind.BLOB, content)
    if not objects:
        assert writer.seal() == b""
        return
    put_pack(folder, writer.seal())
    (pack,) = folder.glob("*.pack")
    ours = pack.with_suffix(".idx").read_bytes()
    pack.with_suffix(".idx").unlink()
    git(folder, "index-pack", str(pack))
    assert pack.with_suffix(".idx").read_bytes() == ours


def test_a_large_pack_goes_to_the_disk_as_it_comes_and_is_one_that_git_accepts(tmp_path: Path) -> None:
    writer = PackWriter(tmp_path, "w")
    for number in range(40):
        writer.add(ObjectKind.BLOB, b"".join(b"%d %d " % (number, word * word) for word in range(20_000)))
    assert writer.is_large
    writer.finish()
    (pack,) = tmp_path.glob("*.pack")
    assert git(tmp_path, "verify-pack", "-v", str(pack)).count(" blob ") == 40


def test_an_abandoned_pack_leaves_no_trace(tmp_path: Path) -> None:
    writer = PackWriter(tmp_path, "w")
    for number in range(40):
        writer.add(ObjectKind.BLOB, b"".join(b"%d %d " % (number, word * word) for word in range(20_000)))
    writer.abandon()
    assert list(tmp_path.glob("*pack*")) == []


class InMemory(NothingWritten):
    """Trees kept in a dictionary."""

    def __init__(self) -> None:
        self.kept: dict[bytes, dict[bytes, TreeEntry]] = {EMPTY_TREE: {}}

    def tree(self, oid: bytes) -> dict[bytes, TreeEntry]:
        return self.kept[oid]

    def remember_tree(self, oid: bytes, entries: dict[bytes, TreeEntry]) -> None:
        self.kept[oid] = entries


PATHS = st.lists(st.sampled_from([b"a", b"b", b"c"]), min_size=1, max_size=3).map(b"/".join)
FILES = st.dictionaries(PATHS, st.sampled_from([b"1", b"2"]), max_size=6).filter(
    lambda files: not any(one != other and is_within(one, other) for one in files for other in files)
)


def built(memory: InMemory, files: dict[bytes, bytes]) -> bytes:
    edits = {path: TreeEntry(FILE, object_id(ObjectKind.BLOB, content)) for path, content in files.items()}
    return trees.apply(memory, memory, EMPTY_TREE, edits)


@given(FILES, FILES)
def test_applying_the_differences_leads_from_one_tree_to_the_other(
    before: dict[bytes, bytes], after: dict[bytes, bytes]
) -> None:
    memory = InMemory()
    old, new = built(memory, before), built(memory, after)
    found = list(trees.differences(memory, old, new))
    edits = {pair.path: pair.after for pair in found if pair.after is None or not pair.after.is_folder}
    changed = trees.apply(memory, memory, old, edits)
    assert dict(trees.files_in(memory, changed)) == dict(trees.files_in(memory, new))
    assert (found == []) == (old == new)


def test_a_checkpoint_comes_back_from_json_and_from_its_commit() -> None:
    facts = replace(
        MOMENT,
        position=ConversationPosition("s-1", "m-2"),
        context=ConversationContext(("goal\nwith a line",), ("keep",), Limits(max_cost_usd=1.5)),
        task_states={"t-1": "done"},
        agent_states={"a3": "running"},
        health=RunHealth(0.9, 61.5),
        note="before the\nrefactor",
    )
    checkpoint = Checkpoint(
        "c1", 7, "/w", "ab" * 20, "cd" * 20, facts, RepositoryState("ef" * 20, "refs/heads/main", "merge"),
        (Skipped("big", Why.TOO_LARGE, 12),), (Nested("inner", ""),), ("live",),
    )  # fmt: skip
    assert from_data(orjson.loads(orjson.dumps(to_data(checkpoint)))) == checkpoint
    message = message_of(replace(checkpoint, commit=""))
    assert from_message(checkpoint.commit, message) == checkpoint
    trailers = subprocess.run(
        ["git", "interpret-trailers", "--parse"], input=message, check=True, capture_output=True, text=True
    ).stdout
    for line in (
        "Chaperon-Session: s-1",
        "Chaperon-Message: m-2",
        "Chaperon-Reason: turn",
        "Chaperon-Branch: refs/heads/main",
    ):
        assert line in trailers


def test_what_is_no_checkpoint_is_refused() -> None:
    with pytest.raises(ValueError, match="no checkpoint"):
        from_data({"name": "x"})
    with pytest.raises(ValueError, match="no record"):
        from_message("ab", "a commit of somebody else")


def test_head_is_read_from_loose_and_packed_refs_and_from_a_worktree(workspace: Path, tmp_path: Path) -> None:
    head = git(workspace, "rev-parse", "HEAD").strip()
    assert repository.look(repository.find(workspace)) == RepositoryState(head, "refs/heads/main", "")
    git(workspace, "pack-refs", "--all")
    assert repository.look(repository.find(workspace)).head == head
    git(workspace, "worktree", "add", "-q", str(tmp_path / "side"))
    assert repository.look(repository.find(tmp_path / "side")) == RepositoryState(head, "refs/heads/side", "")


def test_what_reads_checkpoints_is_made_for_the_first_of_them_and_not_at_each_start() -> None:
    program = "from checkpoints.store import records; print(records._checkpoints.cache_info().currsize)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout == b"0\n"
