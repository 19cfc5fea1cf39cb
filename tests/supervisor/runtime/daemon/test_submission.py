import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from monitors.contract.errors import UsageError
from monitors.contract.tasks import MAX_PROMPT_BYTES, Limits
from supervisor.runtime.daemon.submission import Defaults, Submission
from tests.stages.daemon import Base, served


async def refused(says: str, **about: object) -> UsageError:
    with pytest.raises(UsageError, match=says) as caught:
        await Submission(**{"prompt": "go", "repository": "/", **about}).check()
    return caught.value


async def test_a_directory_below_the_worktree_stands_for_the_worktree(base: Base) -> None:
    (base.repo / "below").mkdir()
    assert await base.submission(repository=str(base.repo / "below")).check() == str(base.repo)


@pytest.mark.parametrize("prompt", ["", " \n\t"])
async def test_an_empty_prompt_is_refused(prompt: str) -> None:
    assert (await refused("The prompt is empty", prompt=prompt)).way_out


async def test_a_prompt_may_have_a_megabyte_and_not_a_byte_more(base: Base) -> None:
    assert await base.submission(prompt="ä" * (MAX_PROMPT_BYTES // 2)).check()
    error = await refused(f"has {MAX_PROMPT_BYTES + 1} bytes", prompt="ä" * (MAX_PROMPT_BYTES // 2) + "x")
    assert "into a file" in error.way_out


@pytest.mark.parametrize("name", ["", "a/b", "..", "-x", "a" * 33, "a b", "ä", "a\n"])
async def test_a_name_that_could_name_no_directory_is_refused(name: str) -> None:
    await refused("cannot be an agent's name", name=name)


async def test_a_repository_that_cannot_be_is_refused_with_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for repository, problem in (
        ("relative", "is not an absolute path"),
        (str(tmp_path / "nowhere"), "does not exist"),
        (str(tmp_path / "file"), "is not a directory"),
        ("/nul\0", "NUL"),
        ("/" + "a" * 5_000, "does not exist"),
    ):
        await refused(problem, repository=repository)


async def test_a_directory_outside_git_is_refused_with_the_command_that_helps(tmp_path: Path) -> None:
    error = await refused("is not in a git worktree", repository=str(tmp_path))
    assert error.way_out == f"Run `git init` there: git -C {tmp_path} init"


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="needs setpriv to be less than root")
def test_a_repository_that_cannot_be_read_is_refused(base: Base) -> None:
    base.repo.chmod(0o000)
    program = (
        "import anyio\nfrom supervisor.runtime.daemon.submission import Submission\n"
        f"anyio.run(Submission(prompt='go', repository={str(base.repo)!r}).check)"
    )
    weaker = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"]
    command = [*(weaker if os.geteuid() == 0 else []), sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    base.repo.chmod(0o755)
    assert "cannot be read by this user" in done.stderr


async def test_a_git_that_is_not_there_is_told(base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(base.root / "nowhere"))
    error = await refused("cannot be read, so nothing was started: git is not on PATH", repository=str(base.repo))
    assert error.way_out == "Install git."


async def test_a_worktree_that_says_that_it_is_elsewhere_is_refused(base: Base) -> None:
    """The workspace of an agent bounds what it may delete."""
    subprocess.run(["git", "-C", str(base.repo), "config", "core.worktree", str(base.home)], check=True)
    error = await refused("says that its worktree is .*own-home.*nothing was started", repository=str(base.repo))
    assert f"git config --file {base.repo}/.git/config --unset core.worktree" in error.way_out


@pytest.mark.parametrize("workspace", ["/home/ada", "/home", "/", "/srv/state", "/srv"])
def test_no_workspace_is_or_holds_what_no_agent_may_change(workspace: str) -> None:
    defaults = Defaults(off_limits={"/home/ada": "your home directory", "/srv/state": "chaperon's own state"})
    with pytest.raises(
        UsageError, match=r"An agent may change all of its workspace, so it cannot be one; nothing was star"
    ):
        defaults.refuse_off_limits(workspace)
    defaults.refuse_off_limits("/home/ada/src")
    defaults.refuse_off_limits("/srv/stated")


@pytest.mark.parametrize("of", ["home", "state"])
async def test_a_task_in_home_or_around_the_state_is_refused_and_may_have_a_workspace_of_its_own(
    base: Base, of: str
) -> None:
    workspace = {"home": base.home, "state": base.root}[of]
    commit = ["-c", "user.name=x", "-c", "user.email=x@y", "commit", "--quiet", "--allow-empty", "-m", "one"]
    for arguments in (["init", "--quiet"], commit):
        subprocess.run(["git", "-C", str(workspace), *arguments], check=True)
    base.config["workspaces"] = {"folder": str(base.root / "workspaces")}
    async with served(base) as (daemon, client):
        wanted = {"prompt": "go", "repository": str(workspace), "name": "a1"}
        answer = await client.post("/v1/agents", json=wanted)
        assert answer.status_code == 422
        assert "cannot be one; nothing was started" in answer.json()["what"]
        assert "--workspace new" in answer.json()["way_out"]
        assert (await client.post("/v1/agents", json={**wanted, "workspace": "new"})).status_code == 201, answer.text
        assert str(base.root / "workspaces") in daemon.board.summary("a1").workspace


async def test_variables_of_git_do_not_lead_it_astray(base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert await base.submission().check() == str(base.repo)


@pytest.mark.parametrize("number", ["inf", "nan", float("inf")])
def test_a_cost_that_bounds_nothing_is_refused(number: object) -> None:
    for one in ({"max_cost_usd": number}, {"own_limits": {"max_cost_usd": number}}):
        with pytest.raises(ValidationError, match="max_cost_usd"):
            Submission.model_validate({"prompt": "x", "repository": "/r", **one})


def test_a_task_takes_what_it_does_not_say_from_the_configuration() -> None:
    defaults = Defaults("plan", Limits(max_token_usage=5))
    task = Submission(prompt="go", repository="/r").task("t-1", "/r", defaults)
    assert (task.permission_mode, task.limits.max_token_usage) == ("plan", 5)
    own = Submission(prompt="go", repository="/r", permission_mode="default", limits=Limits(max_token_usage=9))
    assert own.task("t-2", "/r", defaults).limits.max_token_usage == 9
    assert own.task("t-2", "/r", defaults).permission_mode == "default"
