"""The program that prepares a workspace: what it knows, how its failure is told, and that nothing of it runs on."""

import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from supervisor.runtime.service import run_daemon
from tests.stages.daemon import PATIENCE_SECONDS, Base, ended, served, until
from tests.stages.live import IDENTITY, git_environment
from tests.support import alive

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def base(tmp_path: Path) -> Base:
    made = Base(tmp_path)
    git = ["git", "-C", str(made.repo), *IDENTITY]
    for words in (["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True, env=git_environment(made.repo))
    return made


def program(base: Base, text: str, *, first: str = "#!/bin/sh") -> Path:
    path = base.root / "set-up"
    path.write_text(f"{first}\n{text}\n")
    path.chmod(0o755)
    base.config = {"workspaces": {"mode": "new", "set_up": str(path), "set_up_seconds": 20}}
    return path


async def refusal(base: Base) -> tuple[dict[str, Any], Path]:
    """What whoever asks is told, and the one workspace that was kept."""
    async with served(base) as (daemon, client):
        answer = await client.post("/v1/agents", json={"prompt": "go", "repository": str(base.repo)})
        assert answer.status_code == 424, answer.text
        assert daemon.board.summaries() == []
        (kept,) = await daemon.worktrees.all()
        assert kept.why == "its set-up failed"
    return answer.json(), Path(kept.path)


async def test_it_runs_in_the_workspace_first_and_knows_where_it_is(base: Base) -> None:
    program(base, 'echo "$AGENT $WORKSPACE $REPOSITORY $(pwd)" > set-up.txt')
    base.cli("begin()\ndone()\nhear()")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="ann")
        summary = await ended(daemon)
    said = (Path(summary.workspace) / "set-up.txt").read_text().split()
    assert said == ["a1", summary.workspace, str(base.repo), summary.workspace]


async def test_what_it_leaves_running_is_ended_and_holds_up_nobody(base: Base) -> None:
    program(base, "sleep 600 & echo $! > child")
    base.cli("begin()\ndone()\nhear()")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="ann")
        summary = await ended(daemon)
    assert not alive(int((Path(summary.workspace) / "child").read_text()))


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("echo no luck; exit 3", "ended with exit code 3. The last that it said:\nno luck\n"),
        ("kill -9 $$", "was ended by signal 9 (SIGKILL). It said nothing."),
    ],
)
async def test_its_failure_names_it_and_what_it_said_and_what_became_of_the_workspace(
    base: Base, text: str, how: str
) -> None:
    path = program(base, text)
    problem, kept = await refusal(base)
    assert problem["kind"] == "SetUp"
    assert problem["what"].startswith(f"The set-up program {path} {how}")
    assert problem["what"].endswith(f" No agent was started; the workspace {kept} was kept for a look.")
    assert f"git -C {base.repo} worktree remove --force {kept}" in problem["way_out"]
    async with run_daemon(base.setup()):
        assert kept.is_dir()


async def test_a_program_that_cannot_be_started_is_said_to_be_so(base: Base) -> None:
    path = program(base, "", first="#!/no/such/interpreter")
    problem, _ = await refusal(base)
    assert f"{path} could not be started (No such file or directory)" in problem["what"]


async def test_one_that_takes_too_long_is_ended_with_all_it_started(base: Base) -> None:
    program(base, "echo so far; sleep 600 & echo $! > child; wait")
    base.config["workspaces"]["set_up_seconds"] = 1
    problem, kept = await refusal(base)
    assert (
        "took more than 1 s and was ended with all that it had started. The last that it said:\nso far"
        in problem["what"]
    )
    assert not alive(int((kept / "child").read_text()))


async def test_whoever_hangs_up_meanwhile_takes_the_task_back(base: Base) -> None:
    child = base.root / "child"
    program(base, f"echo half > half-made; sleep 600 & echo $! > {child}.new; mv {child}.new {child}; wait")
    async with served(base) as (daemon, client):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: client.post("/v1/agents", json={"prompt": "go", "repository": str(base.repo)}))
            await until(child.exists)
            (made,) = await daemon.worktrees.all()
            tasks.cancel_scope.cancel()
        await until(lambda: not alive(int(child.read_text())))
        await until(lambda: not list(Path(made.path).parent.iterdir()))
        assert daemon.board.summaries() == []
    assert not subprocess.run(
        ["git", "-C", str(base.repo), "branch", "--list", made.branch], check=True, capture_output=True
    ).stdout


async def test_it_is_long_work_of_which_the_daemon_tells_while_it_lasts(base: Base) -> None:
    program(base, f"until [ -e {base.root}/go-on ]; do sleep 0.1; done")
    base.cli("begin()\ndone()\nhear()")
    async with served(base) as (daemon, client), anyio.create_task_group() as tasks:
        tasks.start_soon(partial(daemon.submit, base.submission(), by="ann"))
        rows: list[dict[str, Any]] = []
        with anyio.fail_after(PATIENCE_SECONDS):
            while not rows:
                work = (await client.get("/v1/work")).json()
                rows = [row for row in work if row["what"] == "setting up"]
        assert [(row["what"], row["subject"], row["total"]) for row in rows] == [("setting up", "a1", None)]
        assert rows[0]["sentence"].startswith("setting up a1, for ")
        (base.root / "go-on").touch()
        await until(lambda: bool(daemon.board.summaries()))
        await ended(daemon)
        with anyio.fail_after(PATIENCE_SECONDS):
            while (await client.get("/v1/work")).json():  # a capture at its end is such work too
                pass
