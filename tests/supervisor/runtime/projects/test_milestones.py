"""A checkpoint of the project after every so many of its tasks, each of them done in a worktree of its own."""

import pytest

from supervisor.protocol.kinds.projects import ProjectCheckpointMade
from tests.stages.daemon import Base, ended, served, until
from tests.supervisor.runtime.projects.test_checkpoints import make_repository

pytestmark = pytest.mark.slow

DONE = """\
begin()
done()
hear()
"""


@pytest.mark.parametrize("enabled", [True, False])
async def test_tasks_in_worktrees_of_their_own_count_together(base: Base, enabled: bool) -> None:
    make_repository(base)
    base.cli(DONE)
    base.config = {"checkpoints": {"periodic": 2, "enabled": enabled}, "workspaces": {"mode": "new"}}
    async with served(base) as (daemon, _):
        for name in ("a1", "a2", "a3"):
            await daemon.submit(base.submission(name=name), by="ann")
            await ended(daemon, name)
    async with served(base) as (daemon, _):  # the count outlives the daemon
        await daemon.submit(base.submission(name="a4"), by="ann")
        await ended(daemon, "a4")
    made = [event.checkpoint for event in base.events(ProjectCheckpointMade)]
    expected = ["after-a2", "after-a4"] if enabled else []
    assert [one.name.rpartition("-")[0] for one in made] == expected
    assert all(one.reason == "periodic" and one.note.startswith("after 2 tasks") for one in made)


async def test_stored_tasks_count_and_those_that_are_not_done_do_not(base: Base) -> None:
    make_repository(base)
    base.cli(DONE)
    base.config = {"checkpoints": {"periodic": 1}, "tasks": {"retries": 0}}
    wanted = [
        {"prompt": "go", "repository": str(base.repo)},
        {"prompt": "go", "repository": str(base.repo), "verify": "false"},
    ]
    async with served(base) as (daemon, client):
        rows = (await client.post("/v1/tasks", json={"tasks": wanted})).json()["tasks"]
        done, failed = (row["task"] for row in rows)
        await until(lambda: all(daemon.board.tasks.get(id_).state.over for id_ in (done, failed)))
        await until(lambda: bool(daemon.board.projects.all()))
        made = daemon.board.projects.all()
    assert [one.name.startswith(f"after-{done}-") for one in made] == [True]


async def test_a_failure_is_reported_and_the_next_task_makes_it_due_again(base: Base) -> None:
    make_repository(base)
    base.cli(DONE)
    base.config = {"checkpoints": {"periodic": 1}}
    project = str(base.repo)
    async with served(base) as (daemon, _):
        real = daemon.projects._parts.worktrees.all
        daemon.projects._parts.worktrees.all = _fails  # type: ignore[method-assign, assignment]
        await daemon.submit(base.submission(name="a1"), by="ann")
        await ended(daemon, "a1")
        assert daemon.board.projects.all() == []
        daemon.projects._parts.worktrees.all = real  # type: ignore[method-assign]
        await daemon.submit(base.submission(name="a2"), by="ann")
        await ended(daemon, "a2")
        assert [one.note for one in daemon.board.projects.all(project)] == ["after 2 tasks done since the one before"]
    assert [one["type"] for one in base.incidents()] == ["project_not_captured"]


async def _fails() -> list[object]:
    from checkpoints.errors import CheckpointError

    raise CheckpointError("The disk is gone.")
