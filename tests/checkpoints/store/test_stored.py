"""What is read of stores beside the process that owns them."""

from pathlib import Path

from checkpoints.store import stored
from checkpoints.store.records import to_data
from checkpoints.store.store import Store
from checkpoints.workspace.capture import Capturer
from tests.checkpoints.support import MOMENT


def test_what_is_read_beside_an_open_store_is_what_it_has(store: Store, workspace: Path) -> None:
    capturer = Capturer(store, workspace)
    for number in range(3):
        (workspace / "new").write_text(f"{number}")
        capturer.capture(MOMENT)
    store.drop([store.checkpoints[1].name])
    capturer.close()
    made, problems = stored.recorded(store.folder)
    assert made == [to_data(one) for one in store.checkpoints]
    assert len(made) == 2
    assert problems == []
    assert stored.folders(store.folder.parent) == [store.folder]
    assert stored.sizes(store.folder.parent) == {str(workspace): store.size_bytes}


def test_lines_that_are_no_records_are_told_and_the_rest_is_read(store: Store, workspace: Path) -> None:
    capturer = Capturer(store, workspace)
    capturer.capture(MOMENT)
    capturer.close()
    with (store.folder / stored.LEDGER).open("ab") as ledger:
        ledger.write(b'nonsense\n0 {}\nffffffff []\nefbfbdef {"made":7}\n')
        ledger.write(b'8eb69d2a {"made":{"name":"half')
    made, problems = stored.recorded(store.folder)
    assert [one["name"] for one in made] == [store.checkpoints[0].name]
    assert len(problems) == 4
    assert all("a line is no record" in problem for problem in problems)


def test_a_store_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    made, problems = stored.recorded(tmp_path / "gone")
    assert made == []
    assert "gone" in problems[0]
