"""All stores of a daemon, by its commands: a checkpoint is forgotten, a project's checkpoints are deleted, and nothing else."""

import json
import os
import shutil
from pathlib import Path

import pytest
from anyio import to_thread

from checkpoints.store.store import Store
from checkpoints.store.stored import LEDGER, recorded
from checkpoints.workspace.capture import Capturer, CaptureSettings
from monitors.contract.errors import NotFoundError
from supervisor.protocol.words import AgentState
from supervisor.rehearsal.script import Say
from supervisor.runtime.checkpointing.stores import Stores
from tests.checkpoints.support import MOMENT
from tests.stages.live import Live, files_of, live, make_repository

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(180)]


async def done(stage: Live, *arguments: str) -> str:
    finished = await stage.chaperon(*arguments)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


async def test_a_checkpoint_is_forgotten_and_a_projects_are_deleted_and_its_files_stay(tmp_path: Path) -> None:
    make_repository(tmp_path / "repo", {"a.txt": "a\n"})
    (tmp_path / "home").mkdir(exist_ok=True)
    async with live(tmp_path, (Say("hello"),)) as stage:
        await stage.submit("the-task", keep_open=True)
        await stage.state(AgentState.IDLE)
        await done(stage, "checkpoint", "named")
        forgotten = json.loads(await done(stage, "checkpoints", "forget", "named", "--json"))
        assert (forgotten["name"], forgotten["facts"]["agent"]) == ("named", "a1")
        assert "named" not in await done(stage, "checkpoints")
        again = await stage.chaperon("checkpoints", "forget", "named")
        assert again.returncode == 1
        assert "There is no checkpoint 'named'" in again.stderr

        busy = await stage.chaperon("checkpoints", "delete", str(stage.repo), "--yes")
        assert busy.returncode == 2
        assert "Agent a1 works in" in busy.stderr
        await stage.stop()
        unasked = await stage.chaperon("checkpoints", "delete", str(stage.repo))
        assert unasked.returncode == 2
        assert "--yes" in unasked.stderr
        known = json.loads(await done(stage, "checkpoints", "doctor", "--json"))
        assert [one["project"] for one in known] == [str(stage.repo)]
        deleted = json.loads(await done(stage, "checkpoints", "delete", str(stage.repo), "--yes", "--json"))
        assert deleted == {"project": str(stage.repo)}
        assert json.loads(await done(stage, "checkpoints", "doctor", "--json")) == []
        assert files_of(stage.repo) == {"a.txt": "a\n"}
        with pytest.raises(NotFoundError):
            await stage.daemon.checkpoint_manager.forget_project(str(stage.repo))
    assert list((tmp_path / "state/checkpoints").iterdir()) == []


async def test_a_store_whose_folder_somebody_removed_is_closed_and_said_to_be(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make_repository(tmp_path / "repo", {"a.txt": "a\n"})
    stores = Stores(tmp_path / "stores")
    store = await stores.of(tmp_path / "repo")
    capturer = Capturer(store, tmp_path / "repo", CaptureSettings())
    capturer.capture(MOMENT)
    capturer.close()
    shutil.rmtree(stores.folder)
    await stores.close(store)
    assert not stores.opened
    assert "was closed as it is" in caplog.text


async def test_a_checkpoint_that_only_the_log_has_after_a_power_cut_is_listed_once_it_was_replayed(
    tmp_path: Path,
) -> None:
    workspace = tmp_path / "project"
    workspace.mkdir()
    store = await to_thread.run_sync(Store, tmp_path / "stores/one", workspace)
    capturer = Capturer(store, workspace)
    made = await to_thread.run_sync(capturer.capture, MOMENT)
    capturer.close()
    await to_thread.run_sync(store.lose)
    os.truncate(store.folder / LEDGER, 0)  # no sync reached it
    assert (await to_thread.run_sync(recorded, store.folder))[0] == []
    stores = Stores(tmp_path / "stores")
    await stores.replay()
    listed, problems = await to_thread.run_sync(recorded, store.folder)
    assert ([one["tree"] for one in listed], problems) == ([made.tree], [])
    for each in list(stores.opened.values()):
        await stores.close(each)
