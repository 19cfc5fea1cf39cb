"""The list of checkpoints as readers ask for it."""

from pathlib import Path

import orjson
import pytest

from checkpoints.store.store import Store
from checkpoints.workspace.capture import Capturer
from supervisor.runtime.reading.checkpoint_list import listed
from tests.checkpoints.support import MOMENT


@pytest.fixture(autouse=True)
def _no_blocking_calls() -> None:
    """Stores are made in the loop, by the test itself."""


async def read(folder: Path, agent: str = "") -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = orjson.loads(b"".join([part async for part in listed(folder, agent)]))
    return found


async def test_it_has_those_of_all_projects_or_of_one_agent_and_what_is_wrong(tmp_path: Path) -> None:
    stores = tmp_path / "checkpoints"
    assert await read(stores) == {"checkpoints": [], "problems": []}
    for number in range(3):
        workspace = tmp_path / f"project{number}"
        workspace.mkdir()
        store = Store(stores / f"{number}", workspace)
        capturer = Capturer(store, workspace)
        capturer.capture(MOMENT)
        capturer.close()
        store.close()
    (stores / "1" / "ledger.jsonl").unlink()
    found = await read(stores)
    assert [one["workspace"] for one in found["checkpoints"]] == [f"{tmp_path}/project0", f"{tmp_path}/project2"]
    assert [one["project"] for one in found["checkpoints"]] == [f"{tmp_path}/project0", f"{tmp_path}/project2"]
    assert len(found["problems"]) == 1
    (stores / "0" / "project.json").write_bytes(b"[]")
    assert [one["project"] for one in (await read(stores))["checkpoints"]] == ["", f"{tmp_path}/project2"]
    assert len((await read(stores, MOMENT.agent))["checkpoints"]) == 2
    assert (await read(stores, "nobody"))["checkpoints"] == []
