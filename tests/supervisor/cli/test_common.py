from collections.abc import Callable

import anyio
import anyio.lowlevel
import pytest

from supervisor.cli import common
from supervisor.cli.client import DaemonGoneError, NoDaemonError
from supervisor.protocol.errors import ChaperonError, NotFoundError, UsageError


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


@pytest.mark.parametrize("code", [None, 0, 1])
def test_work_says_its_own_code(code: int | None) -> None:
    def work() -> int | None:
        return code

    assert code_of(work) == (code or 0)


def test_a_bug_is_no_failure_that_was_foreseen() -> None:
    def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        common.run(work)


def test_text_that_was_no_utf_8_can_be_sent() -> None:
    assert common.whole_text(b"caf\xe9".decode(errors="surrogateescape")) == "caf�"
    assert common.whole_text("fine ä 🙂") == "fine ä 🙂"


@pytest.mark.parametrize(("name", "path"), [("a1", "/v1/agents/a1"), ("a/b?", "/v1/agents/a%2Fb%3F")])
def test_a_name_is_one_part_of_a_path(name: str, path: str) -> None:
    assert common.agent_path(name) == path
