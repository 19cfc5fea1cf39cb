import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import reduce
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from monitors.contract.errors import ChaperonError, NotFoundError, UsageError
from supervisor import __version__
from supervisor.cli import common
from supervisor.cli.client_errors import DaemonGoneError, NoDaemonError
from supervisor.config.kept import PLAIN_KEYS
from supervisor.config.model import Config
from tests.stages.daemon import Base, ended, served
from tests.supervisor.cli.conftest import chaperon


def code_of(work: Callable[[], int | None]) -> object:
    with pytest.raises(SystemExit) as ended:
        common.run(work)
    return ended.value.code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ChaperonError("It failed."), 1), (UsageError("It is wrong."), 2), (NoDaemonError(()), 3),
        (NotFoundError("There is none."), 1),
        (DaemonGoneError("It went."), 3), (KeyboardInterrupt(), 130),
    ],
)  # fmt: skip
def test_a_failure_is_told_and_has_its_exit_code(
    error: BaseException, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def work() -> None:
        raise error

    assert code_of(work) == code
    assert capsys.readouterr().err == (f"chaperon: {error}\n" if str(error) else "")


def test_failures_of_several_tasks_are_told_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    async def fail(text: str) -> None:
        await anyio.lowlevel.checkpoint()
        raise ChaperonError(text)

    async def work() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fail, "One.")
            tasks.start_soon(fail, "Two.")

    assert code_of(lambda: anyio.run(work)) == 1
    assert sorted(capsys.readouterr().err.splitlines()) == ["chaperon: One.", "chaperon: Two."]


def test_the_defaults_of_plain_keys_are_those_of_the_configuration() -> None:
    assert {key: reduce(getattr, key.split("."), Config()) for key in PLAIN_KEYS} == PLAIN_KEYS


@pytest.mark.parametrize("command", [("keys",), ("trust", "--record"), ("explain", "ls")])
def test_a_command_loads_the_model_of_the_configuration_only_for_one_that_was_not_checked(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "c.yaml").write_text("audit: {key: file:/k}\n")
    environ = {**os.environ, "HOME": str(tmp_path), "STATE_DIRECTORY": str(tmp_path / "state")}

    def ran(*words: str) -> tuple[str, bool]:
        """What it prints, without the time that it took, and whether the model was loaded for it."""
        whole = [sys.executable, "-X", "importtime", "-m", "supervisor.cli", *words, *command]
        done = subprocess.run(whole, capture_output=True, text=True, timeout=50, check=True, env=environ, cwd=tmp_path)
        return re.sub(r"[0-9.]+ ms", "", done.stdout), "supervisor.config.model" in done.stderr

    named = ("--config", str(tmp_path / "c.yaml"))
    said, loaded = ran(*named)
    assert loaded
    assert [ran(*named), ran()[1]] == [(said, False), False]


@pytest.mark.parametrize("code", [None, 0, 1])
def test_work_says_its_own_code(code: int | None) -> None:
    def work() -> int | None:
        return code

    assert code_of(work) == (code or 0)


def test_a_bug_is_no_expected_failure() -> None:
    def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        common.run(work)


def test_text_that_was_no_utf_8_can_be_sent() -> None:
    assert common.whole_text(b"caf\xe9".decode(errors="surrogateescape")) == "caf�"
    assert common.whole_text("fine ä 🙂") == "fine ä 🙂"


@pytest.mark.parametrize(("name", "path"), [("a1", "/v1/agents/a1"), ("a b?", "/v1/agents/a%20b%3F")])
def test_a_name_is_one_part_of_a_path(name: str, path: str) -> None:
    assert common.agent_path(name) == path


@pytest.mark.parametrize("name", ["", ".", "..", "chaperon/a1", "/"])
def test_a_text_that_can_be_no_part_of_a_path_names_nothing(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be a name") as raised:
        common.path_part(name, "chaperon merge")
    assert raised.value.way_out == "chaperon merge lists them."


async def test_a_configuration_that_is_named_to_a_command_is_said_to_be_without_effect_where_a_daemon_runs(
    base: Base,
) -> None:
    common._tell_once.cache_clear()
    async with served(base):
        told = (await chaperon("--config", "/x.yaml", "ps")).stderr
        assert "--config /x.yaml is without effect: a daemon runs here" in told
        assert not (await chaperon("ps")).stderr


async def test_a_daemon_of_another_version_is_told_of_once(base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    common._tell_once.cache_clear()
    async with served(base):
        monkeypatch.setattr(common, "__version__", "9.9.9")
        first, second = await chaperon("ps"), await chaperon("ps")
    assert (
        f"The daemon that runs is of version {__version__}, and this command of 9.9.9. Restart the daemon"
        in first.stderr
    )
    assert not second.stderr


def test_a_daemon_that_does_not_say_its_version_is_an_older_one(capsys: pytest.CaptureFixture[str]) -> None:
    common._tell_once.cache_clear()
    common._tell_of_other_version("")
    assert "is of an older version" in capsys.readouterr().err


async def test_one_who_names_a_folder_of_a_worktree_is_told_that_the_agent_works_in_all_of_it(base: Base) -> None:
    (base.repo / "src").mkdir()
    base.cli("begin()\ndone()\nhear()")
    async with served(base) as (daemon, _):
        inner = await chaperon("run", "go", "--repo", str(base.repo / "src"), "--detach")
        whole = await chaperon("run", "go", "--repo", str(base.repo), "--detach")
        for name in ("a1", "a2"):
            await ended(daemon, name)
    assert f"works in {base.repo}, the whole worktree that {base.repo / 'src'} is in" in inner.stderr
    assert "--expect-path 'src/**'" in inner.stderr
    assert "whole worktree" not in whole.stderr


async def test_who_gives_work_to_agents_is_told_what_of_the_configuration_is_not_in_force(base: Base) -> None:
    base.cli("begin()\ndone()\nhear()")
    (base.root / "plan.yaml").write_text(f"- {{prompt: go, repository: {base.repo}}}\n")
    ways = (
        ("run", "go", "--repo", str(base.repo), "--detach"),
        ("task", "add", "go", "--repo", str(base.repo)),
        ("submit", str(base.root / "plan.yaml")),
    )
    async with served(base) as (daemon, _):
        assert "not in force" not in (await chaperon(*ways[0])).stderr
        daemon.has_unused_configuration("the daemon takes agent.sandbox at its start alone. Start the daemon again")
        for words in ways:
            told = await chaperon(*words)
            assert told.exit_code == 0, told.stderr
            assert "is not in force: the daemon takes agent.sandbox at its start alone. Start" in told.stderr
