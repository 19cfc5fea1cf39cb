import subprocess
from pathlib import Path

import pytest

from monitors.contract.errors import UsageError
from supervisor.runtime.api.routes.directories import project_meant, worktree_meant
from tests.stages.daemon import Base, served


def test_a_directory_means_its_worktree_and_its_repository(tmp_path: Path) -> None:
    git = ("git", "-C", str(tmp_path / "main"), "-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", "init", "--quiet", str(tmp_path / "main")], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "first"], check=True)
    subprocess.run([*git, "worktree", "add", "--quiet", str(tmp_path / "beside")], check=True)
    below = tmp_path / "beside" / "below"
    below.mkdir()
    assert worktree_meant(str(below), ()) == str(tmp_path / "beside")
    assert project_meant(str(below / ".." / "below"), ()) == str(tmp_path / "main")


def test_a_repository_that_has_gone_is_meant_by_its_path_if_it_is_known() -> None:
    assert (
        project_meant("/gone/repo/", {"/gone/repo"}) == worktree_meant("/gone/./repo", {"/gone/repo"}) == "/gone/repo"
    )


@pytest.mark.parametrize(
    ("directory", "says"),
    [
        ("/nope", "'/nope' does not exist, and nothing is known"),
        ("/etc/passwd", "is not a directory, and nothing is known"),
        ("nope", "is not an absolute path"),
        ("/a\0b", "is not an absolute path"),
        ("/" + "x" * 5_000, "does not exist"),
        ("/proc", "is not in a git worktree"),
    ],
)
def test_a_directory_that_can_mean_nothing_is_refused(directory: str, says: str) -> None:
    for meant in (worktree_meant, project_meant):
        with pytest.raises(UsageError, match=says):
            meant(directory, {"/other"})


async def test_a_request_about_a_directory_that_is_no_repository_is_refused_and_leaves_no_order(base: Base) -> None:
    async with served(base) as (daemon, client):
        for control in ("pause", "resume", "stop", "say"):
            body = {"repository": "/nope", **({"text": "x"} if control == "say" else {})}
            answer = await client.post(f"/v1/orders/{control}", json=body)
            assert (answer.status_code, "'/nope' does not exist" in answer.json()["what"]) == (422, True), control
        assert not daemon.board.orders.given
        assert not daemon.board.orders.pauses
        for route in ("/v1/tasks", "/v1/discoveries"):
            answer = await client.get(route, params={"repository": "/nope"})
            assert (answer.status_code, "'/nope' does not exist" in answer.json()["what"]) == (422, True), route
        answer = await client.get("/v1/tasks", params={"repository": str(base.repo)})
        assert (answer.status_code, answer.json()) == (200, [])
